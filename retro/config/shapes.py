"""What a single value of the configuration may be: names, paths, zones, durations, addresses.

A shape answers a wrong value with a sentence that says what is expected.
"""

from __future__ import annotations

import os
import re
from datetime import date
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo

from retro.errors import UsageError
from retro.kinds import OwedKind
from retro.periods import parse_duration, zone
from retro.secret import is_secret_name

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "NARROWEST",
    "Address",
    "Addresses",
    "AgentName",
    "Branch",
    "ConfigTable",
    "Count",
    "Currency",
    "DatabaseUrl",
    "Duration",
    "Durations",
    "FilePath",
    "Host",
    "HostNames",
    "Kinds",
    "Line",
    "MapName",
    "Money",
    "NotNegative",
    "NotifyUrls",
    "Number",
    "Positive",
    "Repository",
    "RepositoryFile",
    "SecretName",
    "Slug",
    "Tier",
    "TimeZone",
    "WebUrl",
    "by_name",
    "calendar_day",
    "database_url",
    "one_word",
]

NARROWEST: Final = 1e-9
"""The least bandwidth of a context field that is compared by distance."""
_SCHEMES: Final = ("sqlite", "postgresql", "postgres")


class ConfigTable(BaseModel):
    """What every table is: frozen, strict about types, closed to unknown keys."""

    # Defaults are validated too: relative paths among them resolve, and two keys that contradict each other are
    # found when only one of them was written.
    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, validate_default=True, hide_input_in_errors=True
    )


def _matching(pattern: str, expected: str) -> Callable[[str], str]:
    compiled = re.compile(pattern, re.ASCII)

    def check(value: str) -> str:
        if not compiled.fullmatch(value):
            raise ValueError(f"must be {expected}")
        return value

    return check


def _time_zone(value: str) -> str:
    try:
        zone(value)
    except UsageError as error:
        raise ValueError(str(error)) from None
    return value


def _duration(value: str) -> str:
    parse_duration(value)
    return value


def _durations(values: tuple[str, ...]) -> tuple[str, ...]:
    lengths = [parse_duration(value) for value in values]
    if lengths != sorted(set(lengths)):
        raise ValueError("must be in ascending order, each once")
    return values


def _path(value: object, info: ValidationInfo) -> object:
    """A path below the file that names it; a default's is below the working directory."""
    if not isinstance(value, str | Path):
        return value
    if not str(value) or "\0" in str(value):
        raise ValueError("must be a path")
    return Path(os.path.abspath(_base(info) / os.path.expanduser(value)))  # noqa: PTH100, PTH111 - no symlink is resolved, an unknown ~user stays as it is


def _map_file(value: object, info: ValidationInfo) -> object:
    """A mapping by the path of its file, below the file that names it, or by the name of a shipped one."""
    return str(_path(value, info)) if isinstance(value, str) and value.endswith(".toml") else value


def _base(info: ValidationInfo) -> Path:
    base: Path = (info.context or {}).get("base", Path())
    return base


def database_url(value: str, base: Path) -> str:
    """A database as `store.url` and `--db` name it: a URL, or the absolute path of an SQLite file.

    Relative paths, also those of `sqlite:///relative.db`, begin at `base`.
    """
    scheme, separator, location = value.partition("://")
    if separator and scheme.split("+")[0] not in _SCHEMES:
        raise ValueError(
            "must be the path of an SQLite file or a URL such as postgresql://user@host/database"
        )
    if separator and (not scheme.startswith("sqlite") or "?" in location):
        return value
    path = location.removeprefix("/") if separator else value
    if path == ":memory:" or (separator and not path):
        return ":memory:"
    if not path or "\0" in path:
        raise ValueError("must be the path of an SQLite file or a database URL")
    return os.path.abspath(base / os.path.expanduser(path))  # noqa: PTH100, PTH111 - as in _path


def _database_url(value: str, info: ValidationInfo) -> str:
    return database_url(value, _base(info))


def _repository(value: str, info: ValidationInfo) -> str:
    """A git URL, a `host:path` as git reads it, or a local path below the configuration file."""
    if value.startswith("-") or re.search(r"[\x00-\x1f\x7f]", value):
        raise ValueError("must be a git URL or a path")
    if "://" in value or re.match(r"[^/]+:", value):
        return value
    return str(_path(value, info))


def _money(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return value
    try:
        amount = Decimal(str(value))  # a float prints as the digits that were written
    except InvalidOperation:
        raise ValueError("must be an amount such as 1000 or 250.50") from None
    if not (amount.is_finite() and 0 < amount < Decimal("1e15")):
        raise ValueError("must be an amount greater than 0")
    return amount


def _secret_name(value: str) -> str:
    if not is_secret_name(value):
        raise ValueError("must be the name of a secret, in capitals, such as RETRO_MCP_HARBOR_4")
    return value


def _inside(value: str) -> str:
    parts = value.split("/")
    if (
        not value
        or "\\" in value
        or {"", ".", "..", ".git"} & set(parts)
        or re.search(r"[\x00-\x1f\x7f]", value)
    ):
        raise ValueError("must be the path of a file inside the repository, such as PLAYBOOK.md")
    return value


Count = Annotated[int, Field(ge=1, le=1_000_000_000)]
Positive = Annotated[float, Field(gt=0, le=1e12, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False)]
Number = Annotated[float, Field(ge=-1e12, le=1e12, allow_inf_nan=False)]
Tier = Literal["T0", "T1", "T2"]

Line = Annotated[
    str, AfterValidator(_matching(r"[^\x00-\x1f\x7f]{1,200}", "one line of 1 to 200 characters"))
]
AgentName = Annotated[str, AfterValidator(_matching(r"[A-Za-z0-9._-]{1,64}", "1 to 64 of A-Z a-z 0-9 . _ -"))]
Currency = Annotated[
    str, AfterValidator(_matching(r"[A-Za-z0-9._-]{1,32}", "a currency such as USDC or BTC"))
]
TimeZone = Annotated[str, AfterValidator(_time_zone)]
Duration = Annotated[str, AfterValidator(_duration)]
Durations = Annotated[tuple[str, ...], Field(strict=False), AfterValidator(_durations)]
FilePath = Annotated[Path, BeforeValidator(_path)]
MapName = Annotated[Line, BeforeValidator(_map_file)]
DatabaseUrl = Annotated[str, AfterValidator(_database_url)]
Money = Annotated[Decimal, BeforeValidator(_money)]
WebUrl = Annotated[
    str,
    AfterValidator(
        _matching(r"https?://[^\s/?#]+[^\s\x00-\x1f\x7f]*", "a URL that begins with https:// or http://")
    ),
]
Host = Annotated[str, AfterValidator(_matching(r"[^\s/@\x00-\x1f\x7f]{1,253}", "the name of a server"))]
HostName = Annotated[
    str,
    AfterValidator(
        _matching(
            r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?|[0-9A-Fa-f:]*:[0-9A-Fa-f:.]+",
            "the name or address of a host, without scheme and port",
        )
    ),
    AfterValidator(lambda value: value.lower().removesuffix(".")),
]
HostNames = Annotated[tuple[HostName, ...], Field(strict=False)]
SecretName = Annotated[str, AfterValidator(_secret_name)]
NotifyUrl = Annotated[
    str,
    AfterValidator(
        _matching(r"[A-Za-z][\w+.-]*://[^\s\x00-\x1f\x7f]{1,2000}", "a URL such as ntfys://ntfy.sh/TOPIC")
    ),
]
NotifyUrls = Annotated[tuple[NotifyUrl, ...], Field(strict=False)]
Address = Annotated[
    str,
    AfterValidator(
        _matching(
            r"[^\s<>@,;\x00-\x1f\x7f]+@[^\s<>@,;\x00-\x1f\x7f]+|[^<>@\r\n\x00-\x1f\x7f]*<[^\s<>@,;\x00-\x1f\x7f]+@[^\s<>@,;\x00-\x1f\x7f]+>",
            "a mail address such as ada@example.org or Ada <ada@example.org>",
        )
    ),
]
Addresses = Annotated[tuple[Address, ...], Field(strict=False)]
Repository = Annotated[str, AfterValidator(_repository)]
RepositoryFile = Annotated[str, AfterValidator(_inside)]
Branch = Annotated[
    str,
    AfterValidator(
        _matching(
            r"(?!-|/|.*\.\.|.*//|.*@\{|.*\.lock$)[^\s~^:?*\[\\\x00-\x1f\x7f]{1,200}(?<![./])",
            "the name of a branch",
        )
    ),
]
Slug = Annotated[str, AfterValidator(_matching(r"[\w.-]+/[\w.-]+", "a repository as owner/name"))]
Kinds = Annotated[tuple[OwedKind, ...], Field(strict=False)]


def one_word(value: object) -> object:
    """The kind of a context field by the word the memory has for it."""
    return {"categorical": "category", "log_ratio": "ratio", "log-ratio": "ratio"}.get(str(value), value)


def calendar_day(value: object) -> object:
    """A day, whether it stands in quotes or not."""
    if isinstance(value, str):
        try:
            return date.fromisoformat(value)
        except ValueError:
            raise ValueError("must be a day such as 2026-03-01") from None
    return value


def by_name(value: Any) -> Any:
    """Tables by name: `[t.NAME]` as it stands, and the list form `[[t]] name = ...` turned into it."""
    if not isinstance(value, list) or not all(
        isinstance(row, dict) and isinstance(row.get("name"), str) for row in value
    ):
        return value
    named = {row["name"]: {key: item for key, item in row.items() if key != "name"} for row in value}
    if len(named) != len(value):
        raise ValueError("names one field twice")
    return named
