"""Reading a large journal in a second process while this one stores what it found.

Reading a line costs about as much as storing it, so two cores halve the wait. The child writes one marshalled frame
a batch to its standard output and ends with an empty one; it is the same interpreter, so the format is agreed.
"""

from __future__ import annotations

import gc
import marshal
import os
import signal
import subprocess
import sys
from array import array
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, cast

import numpy as np

from retro.errors import InputError
from retro.ingest.journal.reader import read
from retro.ingest.source import open_source
from retro.model import Batch, EventRow, Fault, MarkSeries

if TYPE_CHECKING:
    from collections.abc import Iterator


__all__ = ["read_ahead", "read_path", "worth_it"]

_SMALL: Final = 8 << 20
_LENGTH: Final = 8
_ROW: Final = partial(tuple.__new__, EventRow)


def worth_it(path: str) -> bool:
    """Whether a file is so large, and a core so free, that a second process pays."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        return cores > 1 and path != "-" and Path(path).is_file() and Path(path).stat().st_size >= _SMALL
    except (OSError, ValueError):
        return False


def read_path(path: str, *, now: int, size: int = 2000, ahead: bool = True) -> Iterator[Batch]:
    """What `read` gives for a file, a gzip file or, for "-", standard input; `InputError` when it cannot be opened.

    A large file is read in a second process while this one works on the batches; `ahead` False prevents it.
    """
    if ahead and worth_it(path):
        yield from read_ahead(path, now=now, size=size)
        return
    with open_source(path) as stream:
        yield from read(stream, path, now=now, size=size)


def read_ahead(path: str, *, now: int, size: int) -> Iterator[Batch]:
    """What `read` gives for a file, read by a child process a few batches ahead.

    Where no child can be had the file is read here.
    """
    command = [sys.executable, "-P", "-m", "retro.ingest.journal.parallel", path, str(now), str(size)]
    try:
        child = subprocess.Popen(  # noqa: S603 - ourselves
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
    except OSError:
        child = None
    if child is None:
        yield from read_path(path, now=now, size=size, ahead=False)
        return
    frames = cast("BinaryIO", child.stdout)
    with child:
        try:
            if _frame(frames) != "ready":
                yield from read_path(path, now=now, size=size, ahead=False)
                return
            while (frame := _frame(frames)) is not None:
                if isinstance(frame, str):
                    raise InputError(frame)
                if not frame:
                    return
                yield _unpacked(frame, path)
            raise InputError(f"{path} could not be read to its end: its reader was stopped; ingest it again")
        finally:
            child.terminate()
            frames.close()


def _frame(stream: BinaryIO) -> Any:
    """The next frame, or None at the end of the stream."""
    length = stream.read(_LENGTH)
    if len(length) < _LENGTH:
        return None
    data = stream.read(int.from_bytes(length, "little"))
    return marshal.loads(data) if len(data) == int.from_bytes(length, "little") else None  # noqa: S302 - our own child


def _packed(batch: Batch) -> tuple[Any, ...]:
    """A batch as few large values: columns of text, which no newline can break, cost a fraction of many small ones."""
    agents, kinds, ids, ats, positions, bodies = zip(*batch.rows, strict=True) if batch.rows else ((),) * 6
    return (
        "\n".join(agents),
        "\n".join(kinds),
        "\n".join(ids),
        array("q", ats).tobytes(),
        "\n".join([position or "" for position in positions]),
        "\n".join(bodies),
        array("q", batch.lines).tobytes(),
        [(m.agent, m.instrument, m.t.tobytes(), m.price.tobytes()) for m in batch.marks],
        [(fault.line, fault.reason, fault.agent) for fault in batch.faults],
        batch.events,
        batch.unknown,
    )


def _unpacked(frame: tuple[Any, ...], where: str) -> Batch:
    agents, kinds, ids, ats, positions, bodies, lines, marks, faults, events, unknown = frame
    columns = (
        map(sys.intern, agents.split("\n")),
        map(sys.intern, kinds.split("\n")),
        ids.split("\n"),
        array("q", ats).tolist(),
        [position or None for position in positions.split("\n")],
        bodies.split("\n"),
    )
    return Batch(
        rows=list(map(_ROW, zip(*columns, strict=True))) if ats else [],
        lines=array("q", lines).tolist(),
        marks=[
            MarkSeries(agent, instrument, np.frombuffer(t, np.int64), np.frombuffer(price, np.float64))
            for agent, instrument, t, price in marks
        ],
        faults=[Fault(where, line, reason, agent) for line, reason, agent in faults],
        events=events,
        unknown=unknown,
    )


def _main(path: str, now: int, size: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent is interrupted too, and ends us
    gc.freeze()
    gc.set_threshold(100_000, 50, 50)  # rows hold no cycles, and looking for some takes a tenth of the time
    out = sys.stdout.buffer
    try:
        _send(out, "ready")
        for batch in read_path(path, now=now, size=size, ahead=False):
            _send(out, _packed(batch))
        _send(out, ())
    except InputError as error:
        _send(out, str(error))
    except BrokenPipeError:
        os._exit(0)  # the parent has seen enough; there is nobody to flush to


def _send(out: BinaryIO, frame: str | tuple[Any, ...]) -> None:
    data = marshal.dumps(frame)
    out.write(len(data).to_bytes(_LENGTH, "little") + data)
    out.flush()


if __name__ == "__main__":
    _main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
