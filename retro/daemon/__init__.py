"""The service process: what `retro run` starts. Nothing below knows about signals, systemd or the wall clock."""

from __future__ import annotations

from retro.daemon.once import once, send
from retro.daemon.serve import serve
from retro.daemon.setup import RunOptions

__all__ = ["RunOptions", "once", "send", "serve"]
