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

    Bound = Callable[..., AbstractContextManager[None]]

__all__ = ["Log", "set_up"]


class Log:
    """Writes events. It is set up when the first is written, so that a service that waits has not loaded it."""

    def __init__(self, set_up: Callable[[], tuple[Any, Bound]]) -> None:
        self._set_up = set_up
        self._ready: tuple[Any, Bound] | None = None

    def __call__(
        self, event: str, *, level: str = "info", exception: BaseException | None = None, **fields: object
    ) -> None:
        """One event with its fields; an exception comes with its traceback."""
        self.wake()[0].log(logging.getLevelName(level.upper()), event, exc_info=exception, **fields)

    def bound(self, **fields: object) -> AbstractContextManager[None]:
        """Adds fields to everything that is logged inside it, by whichever library."""
        return self.wake()[1](**fields)

    def wake(self) -> tuple[Any, Bound]:
        """Set everything up, once."""
        if self._ready is None:
            self._ready = self._set_up()
        return self._ready


class _Sleeping(logging.Handler):
    """Stands in for what formats until somebody, ours or a library, has something to say."""

    def __init__(self, log: Log) -> None:
        super().__init__()
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Wake up, and let the record go its way."""
        self._log.wake()
        logging.getLogger().handle(record)


def set_up(
    secrets: Iterable[Secret], *, stream: TextIO | None = None, verbose: bool = False, quiet: bool = False
) -> Log:
    """Send our events and those of every library to a stream, redacted as the last step before they are written."""
    out = sys.stderr if stream is None else stream
    known_secrets = tuple(secrets)
    log = Log(lambda: _configured(out, known_secrets))
    root = logging.getLogger()
    root.handlers[:] = [_Sleeping(log)]
    root.setLevel(logging.DEBUG if verbose else logging.WARNING)
    level = logging.DEBUG if verbose else logging.WARNING if quiet else logging.INFO
    logging.getLogger("retro").setLevel(level)
    return log


def _configured(out: TextIO, secrets: tuple[Secret, ...]) -> tuple[Any, Bound]:
    import structlog  # noqa: PLC0415  heavy: only where something is logged

    def redacted(_: object, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        clean_event: dict[str, Any] = redact(dict(event), secrets)
        return clean_event

    renderer: Any = (
        structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
        if out.isatty()
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
    logging.getLogger().handlers[:] = [handler]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )
    return structlog.stdlib.get_logger("retro"), structlog.contextvars.bound_contextvars
