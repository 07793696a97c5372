"""What must hold whatever the facts are: checked where a silent wrong number could otherwise be printed.

Not `assert`, which `python -O` leaves out. Facts of the world that look wrong are no invariants: those are faults
(`retro.model.Fault`) or marks at a figure. Kernels check nothing here: those who call them check what comes out.
"""

from __future__ import annotations

from retro.errors import InvariantError

__all__ = ["invariant"]


def invariant(holds: bool, name: str, detail: str = "") -> None:
    """Raise `InvariantError` unless `holds`. `name` says what must hold; `detail` the values that break it.

    `detail` is made whether it is needed or not: where it is dear, ask first (`if not holds: invariant(False, ...)`).
    """
    if not holds:
        raise InvariantError(name, detail)
