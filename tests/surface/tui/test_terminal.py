"""`retro tui` in a terminal of its own: started, made narrower, ended from outside; and where there is none."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from pathlib import Path

from tests.worlds.commands import Retro, retro
from tests.worlds.places import ROOT

__all__ = ["retro"]

_PATIENCE_S = 30


def _sized(terminal: int, columns: int, rows: int) -> None:
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def _read_until(terminal: int, wanted: bytes) -> bytes:
    """What the terminal is sent until that stands in it, or it is closed."""
    out = b""
    end = time.monotonic() + _PATIENCE_S
    while wanted not in out and time.monotonic() < end:
        if select.select([terminal], [], [], 0.2)[0]:
            try:
                out += os.read(terminal, 65536)
            except OSError:  # Linux says so when the other side is closed
                break
    return out


def test_it_is_drawn_and_drawn_anew_and_gives_the_terminal_back_when_it_is_ended(reviewed_db: Path) -> None:
    before = reviewed_db.read_bytes()
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(ROOT)
        os.environ["TERM"] = "xterm-256color"
        os.execv(sys.executable, [sys.executable, "-m", "retro", "--db", str(reviewed_db), "tui"])  # noqa: S606
    _sized(terminal, 100, 30)
    assert b"The slow mirror" in _read_until(terminal, b"Today")
    os.write(terminal, b"gr")
    assert b"14 reviews" in _read_until(terminal, b"14 reviews")
    _sized(terminal, 60, 20)
    assert b"14 reviews" in _read_until(terminal, b"14 reviews")
    os.kill(pid, signal.SIGTERM)
    out = _read_until(terminal, b"\x1b[?25h")
    assert b"\x1b[?1049l" in out, "the screen from before is back"
    assert b"\x1b[?25h" in out, "and its cursor"
    _read_until(terminal, b"never")
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 128 + signal.SIGTERM
    os.close(terminal)
    assert reviewed_db.read_bytes() == before


def test_without_a_terminal_it_says_what_prints_the_same(retro: Retro) -> None:
    result = retro("tui")
    assert result.code == 2
    assert "retro fleet" in result.err
