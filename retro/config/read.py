"""Find, read and validate config.toml; whatever is wrong with it is said at once, with place and expectation."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from retro.config.faults import faults_of, secrets_in
from retro.config.shapes import database_url
from retro.config.tables import Config
from retro.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["load", "with_database"]

_LIMIT: Final = 1024 * 1024
_PLACE: Final = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


def load(path: Path | None, env: Mapping[str, str]) -> Config:
    """The configuration: of `path`, else of `$RETRO_CONFIG`, else of ./config.toml, else the built-in defaults.

    `ConfigError` lists every fault. A named file that is not there is one; the absence of ./config.toml is not.
    """
    if path is None and env.get("RETRO_CONFIG"):
        path = Path(env["RETRO_CONFIG"])
    if path is None and os.path.lexists("config.toml"):
        path = Path("config.toml")
    if path is None:
        return _validate({}, Path.cwd())
    path = Path(os.path.expanduser(path))  # noqa: PTH111 - an unknown ~user stays as it is, and is not found
    data, text = _parse(path)
    base = path.absolute().parent
    secrets = secrets_in(data)
    try:
        config = _validate(data, base)
    except ValidationError as error:
        raise ConfigError(
            str(path), faults_of(data, text, error.errors(include_url=False), secrets)
        ) from None
    if secrets:
        raise ConfigError(str(path), faults_of(data, text, [], secrets))
    config._file = path.absolute()  # noqa: SLF001 - the one place that knows it
    return config


def with_database(config: Config, url: str) -> Config:
    """The same configuration on another database, as `--db` names it: relative to the working directory."""
    try:
        store = config.store.model_copy(update={"url": database_url(url, Path.cwd())})
    except ValueError as error:
        raise UsageError(f"--db {error}") from None
    return config.model_copy(update={"store": store})


def _validate(data: dict[str, Any], base: Path) -> Config:
    # A table that is absent is validated like an empty one, so that its relative paths begin at the file as well.
    tables: dict[str, Any] = {
        name: {} for name, field in Config.model_fields.items() if field.default_factory
    }
    return Config.model_validate(tables | data, context={"base": base})


def _parse(path: Path) -> tuple[dict[str, Any], str]:
    try:
        with path.open("rb") as file:
            content = file.read(_LIMIT + 1)
    except FileNotFoundError:
        raise ConfigError(str(path), ["there is no such file; `retro init` writes one"]) from None
    except IsADirectoryError:
        raise ConfigError(str(path), ["is a directory; name the file in it"]) from None
    except (OSError, ValueError) as error:
        raise ConfigError(
            str(path), [f"cannot be read: {getattr(error, 'strerror', None) or error}"]
        ) from None
    if len(content) > _LIMIT:
        raise ConfigError(str(path), ["is larger than 1 MB; that is no configuration"])
    try:
        text = content.decode("utf-8-sig")
        return tomllib.loads(text), text
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ConfigError(str(path), [f"line {line}: is not UTF-8 text; save the file as UTF-8"]) from None
    except RecursionError:
        raise ConfigError(str(path), ["is nested too deeply"]) from None
    except ValueError as error:
        raise ConfigError(str(path), [_toml_fault(str(error), text)]) from None


def _toml_fault(message: str, text: str) -> str:
    """What tomllib says, with the place in front as in every other fault."""
    match = _PLACE.search(message)
    if not match:
        return f"is not TOML: {message}"
    line = match[1] or text.rstrip("\n").count("\n") + 1
    column = f", column {match[2]}" if match[2] else ""
    return f"line {line}{column}: is not TOML: {message[: match.start()]}"
