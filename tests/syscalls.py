"""Deaths and failures at the system call: a child that is stopped at each of its writes, fsyncs, renames and sends.

The kernel's own tracer does it (Linux on x86-64), so nothing is compiled and no layer of ours can look away.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import signal
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Literal

from tests.worlds.databases import wait_for_the_disk

__all__ = ["CAN_TRACE", "MODES", "Mode", "Traced", "traced"]

CAN_TRACE: Final = sys.platform == "linux" and platform.machine() == "x86_64"

Mode = Literal["count", "killed before", "killed after", "fails"]
MODES: Final[tuple[Mode, ...]] = ("killed before", "killed after", "fails")
"""`killed after`: a write is cut in the middle, as by a power cut; anything else is done. `fails`: it is refused."""

_CALLS: Final = {
    1: "write",
    18: "pwrite",
    20: "writev",
    74: "fsync",
    75: "fdatasync",
    77: "ftruncate",
    82: "rename",
    83: "mkdir",
    86: "link",
    87: "unlink",
    44: "send",
    46: "sendmsg",
    263: "unlinkat",
    264: "renameat",
    265: "linkat",
    316: "renameat2",
}
_ON_HANDLES: Final = frozenset({"write", "pwrite", "writev", "fsync", "fdatasync", "ftruncate"})
_TRACEME, _SYSCALL, _SETOPTIONS, _GETREGS, _SETREGS = 0, 24, 0x4200, 12, 13
_GOOD, _EXITKILL = 1, 0x100000
_RAX, _RDX, _RDI, _ORIG = 10, 12, 14, 15
_Registers = ctypes.c_ulonglong * 27


@dataclass(slots=True)
class Traced:
    """What a child did: the calls it passed, and how it ended (its exit code, or minus the signal)."""

    calls: list[str] = field(default_factory=list)
    code: int = 0


def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    libc.ptrace.restype = ctypes.c_long
    return libc


def traced(work: Callable[[], None], mode: Mode = "count", at: int = 0) -> Traced:
    """Do `work` in a child, and at its `at`-th call (from 1) let it die or fail."""
    libc = _libc()
    child = os.fork()
    if not child:
        _live(libc, work)
    os.waitpid(child, 0)
    libc.ptrace(_SETOPTIONS, child, None, _GOOD | _EXITKILL)
    trace, pending, signal_ = Traced(), "", 0
    entering = True
    while True:
        libc.ptrace(_SYSCALL, child, None, signal_)
        _, status = os.waitpid(child, 0)
        if not os.WIFSTOPPED(status):
            trace.code = os.waitstatus_to_exitcode(status)
            return trace
        stop = os.WSTOPSIG(status)
        signal_ = 0 if stop in {signal.SIGTRAP | 0x80, signal.SIGTRAP} else stop
        if stop != signal.SIGTRAP | 0x80:
            continue
        if not entering and pending:
            _leave(libc, child, mode, pending)
            pending = ""
        elif entering:
            name = _call(libc, child)
            if name:
                trace.calls.append(name)
                if len(trace.calls) == at and _enter(libc, child, mode, name):
                    pending = name
        entering = not entering


def _live(libc: ctypes.CDLL, work: Callable[[], None]) -> None:
    """The child, whose database waits for the disk again. Its standard streams are not part of what is counted."""
    code = 0
    try:
        wait_for_the_disk()
        libc.ptrace(_TRACEME, 0, None, None)
        os.kill(os.getpid(), signal.SIGSTOP)
        work()
    except BaseException:  # noqa: BLE001  # whatever it was, the child must exit
        code = 1
        if os.environ.get("RETRO_TEST_TRACEBACKS"):
            traceback.print_exc()
    finally:
        os._exit(code)


def _call(libc: ctypes.CDLL, child: int) -> str:
    registers = _Registers()
    libc.ptrace(_GETREGS, child, None, ctypes.addressof(registers))
    name = _CALLS.get(registers[_ORIG], "")
    return "" if name in _ON_HANDLES and registers[_RDI] <= 2 else name


def _enter(libc: ctypes.CDLL, child: int, mode: Mode, name: str) -> bool:
    """Just before the call; whether something is left to do after it."""
    if mode == "killed before":
        os.kill(child, signal.SIGKILL)
        return False
    if mode == "count":
        return False
    registers = _Registers()
    libc.ptrace(_GETREGS, child, None, ctypes.addressof(registers))
    if mode == "fails":
        registers[_ORIG] = (1 << 64) - 1
    elif name in {"write", "pwrite"}:
        registers[_RDX] //= 2
    libc.ptrace(_SETREGS, child, None, ctypes.addressof(registers))
    return True


def _leave(libc: ctypes.CDLL, child: int, mode: Mode, name: str) -> None:
    if mode == "killed after":
        os.kill(child, signal.SIGKILL)
        return
    reason = errno.ENOSPC if "write" in name else errno.ECONNRESET if "send" in name else errno.EIO
    registers = _Registers()
    libc.ptrace(_GETREGS, child, None, ctypes.addressof(registers))
    registers[_RAX] = (1 << 64) - reason
    libc.ptrace(_SETREGS, child, None, ctypes.addressof(registers))
