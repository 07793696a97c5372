"""A service that has worked starts itself anew through here, without what a command line needs."""

from __future__ import annotations

import json
import sys

from retro.daemon import RunOptions, serve
from retro.errors import RetroError

__all__: list[str] = []

if __name__ == "__main__":
    try:
        sys.exit(serve(RunOptions(**json.loads(sys.argv[1]))))
    except RetroError as error:
        sys.stderr.write(f"retro: {error}\n")
        sys.exit(error.exit_code)
