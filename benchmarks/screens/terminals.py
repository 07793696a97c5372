"""What a terminal costs: its first screen beside the command that prints the same, and a key until it is drawn."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import statistics
import struct
import termios
import time
from typing import TYPE_CHECKING

from benchmarks.screens.house import Bar

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.screens.house import House

KEYS = {"j": b"j", "k": b"k", "Page Down": b"\x1b[6~", "End": b"\x1b[F", "Home": b"\x1b[H"}
PRESSES = 15
QUIET_S = 0.15
"""A screen is drawn when nothing has come for so long."""


class Typist:
    """Runs a command in a terminal, types, and reads what it shows."""

    def __init__(self, words: list[str], folder: Path) -> None:
        self.started = time.perf_counter()
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.environ["TERM"] = "xterm-256color"
            os.execv(words[0], words)
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))

    def read(self, patience_s: float) -> bytes:
        """What comes next; nothing where nothing comes in time, or it has ended."""
        if not select.select([self.terminal], [], [], patience_s)[0]:
            return b""
        with contextlib.suppress(OSError):
            return os.read(self.terminal, 1 << 16)
        return b""

    def seconds_until(self, wanted: bytes) -> float:
        """Until this is shown, from the start on."""
        shown = b""
        while wanted not in shown and time.perf_counter() - self.started < 30:
            shown += self.read(0.5)
        return time.perf_counter() - self.started

    def press(self, key: bytes) -> float:
        """Type a key when all is quiet: milliseconds until the last byte of what it draws is here."""
        while self.read(QUIET_S):
            pass
        pressed = drawn = time.perf_counter()
        os.write(self.terminal, key)
        while self.read(QUIET_S if drawn > pressed else 2.0):
            drawn = time.perf_counter()
        return (drawn - pressed) * 1e3

    def end(self) -> float:
        """Seconds of the processor that it took in all."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGTERM)
        with contextlib.suppress(OSError):
            while os.read(self.terminal, 1 << 16):
                pass
        usage = os.wait4(self.pid, 0)[2]
        os.close(self.terminal)
        return usage.ru_utime + usage.ru_stime


def compare_terminals(house: House) -> list[Bar]:
    """The terminal's first screen beside the command that prints the same; keys on a long list."""
    print(f"\n{'until Today is shown, s':28}{'clock':>8}{'processor':>11}")
    clocks = []
    for name, words, wanted in (
        ("retro today", ("today",), b"That is all"),
        ("retro tui", ("tui",), b"TODAY"),
    ):
        runs = []
        for _ in range(4):
            typist = Typist(house.words(*words), house.folder)
            runs.append((typist.seconds_until(wanted), typist.end()))
        clocks.append(statistics.median(run[0] for run in runs[1:]))
        print(f"{name:28}{clocks[-1]:8.2f}{statistics.median(run[1] for run in runs[1:]):11.2f}")
    print(f"the screen takes {clocks[1] / clocks[0]:.2f} times what the command takes")
    return [Bar("until the terminal shows Today", clocks[1], 0.8, "s"), *_keys(house)]


def _keys(house: House) -> list[Bar]:
    typist = Typist(house.words("tui"), house.folder)
    typist.seconds_until(b"TODAY")
    for key in (b"g", b"p", *KEYS.values()):
        typist.press(key)  # the list, and what is read for the first time
    presses: dict[str, list[float]] = {name: [] for name in KEYS}
    for _ in range(PRESSES):
        for name, key in KEYS.items():
            presses[name].append(typist.press(key))
    times = {name: statistics.median(values) for name, values in presses.items()}
    print(f"\n{'a key on the list, ms':28}{'median':>8}{'longest':>9}")
    for name, values in presses.items():
        print(f"{name:28}{times[name]:8.1f}{max(values):9.1f}")
    typist.end()
    return [Bar(f"{name} in the terminal", ms, 50.0) for name, ms in times.items() if name in {"j", "End"}]
