"""`retro` and `python -m retro`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and exit with its code."""
    from retro.surface.cli import run  # noqa: PLC0415  # importing retro stays light

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
