"""Logs of the service: lines for people on a terminal, JSON otherwise, and no secret in either."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, Any, TextIO

from retro.secret import redact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, MutableMapping
    from contextlib import AbstractContextManager

    from retro.secret import Secret

__all__ = ["Log", "set_up"]


class Log:
    """Writes events. `bound` adds fields to everything that is logged inside it, by whichever library."""

    def __init__(self, write: Any, bound: Callable[..., AbstractContextManager[None]]) -> None:
        self._write = write
        self.bound = bound

    def __call__(
        self, event: str, *, level: str = "info", exception: BaseException | None = None, **fields: object
    ) -> None:
        """One event with its fields; an exception comes with its traceback."""
        self._write.log(logging.getLevelName(level.upper()), event, exc_info=exception, **fields)


def set_up(
    secrets: Iterable[Secret], *, stream: TextIO | None = None, verbose: bool = False, quiet: bool = False
) -> Log:
    """Send our events and those of every library to a stream, redacted as the last step before they are written."""
    import structlog  # noqa: PLC0415  heavy: only where something is logged

    out = sys.stderr if stream is None else stream
    known = tuple(secrets)

    def redacted(_: object, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        told: dict[str, Any] = redact(dict(event), known)
        return told

    on_terminal = out.isatty()
    renderer: Any = (
        structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
        if on_terminal
        else structlog.processors.JSONRenderer(ensure_ascii=False)
    )
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    handler = logging.StreamHandler(out)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, redacted, renderer],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.DEBUG if verbose else logging.WARNING)
    own = logging.getLogger("retro")
    own.setLevel(logging.DEBUG if verbose else logging.WARNING if quiet else logging.INFO)
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )
    return Log(structlog.stdlib.get_logger("retro"), structlog.contextvars.bound_contextvars)
