"""`retro` and `python -m retro`."""

from __future__ import annotations

import gc
import sys

_ALLOCATED: int = 100_000
"""New objects until a collection: at the usual 700, looking through what was just imported is a tenth of a command."""


def main() -> None:
    """Run the command line and exit with its code."""
    gc.set_threshold(_ALLOCATED, 20, 100)
    from retro.surface.cli.main import run  # noqa: PLC0415  # importing retro stays light

    code = run(sys.argv[1:])
    gc.freeze()  # all is closed: a last look through what was imported, for cycles to let go of, would be another tenth
    sys.exit(code)


if __name__ == "__main__":
    main()
