"""Secrets: where they come from, how they are held, and how they are kept out of every text.

A secret comes from `$CREDENTIALS_DIRECTORY/<name>` (systemd), else the file that `$<NAME>_FILE` names, else the
environment; never from config.toml. A file that others may read is refused.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from secrets import token_hex, token_urlsafe
from typing import Any, Final, NoReturn
from urllib.parse import parse_qsl, quote, urlsplit

from retro.errors import ConfigError

__all__ = [
    "EMBEDDING_KEY",
    "FORGE_TOKEN",
    "MCP_KEY",
    "MODEL_KEY",
    "NOTIFY_URLS",
    "SECRETS",
    "SMTP_PASSWORD",
    "Secret",
    "find_secret",
    "find_secrets",
    "find_tokens",
    "is_secret_name",
    "key_file",
    "redact",
]

MODEL_KEY: Final = "ANTHROPIC_API_KEY"
SMTP_PASSWORD: Final = "RETRO_SMTP_PASSWORD"  # noqa: S105  its name, not its value
FORGE_TOKEN: Final = "RETRO_FORGE_TOKEN"  # noqa: S105  its name, not its value
NOTIFY_URLS: Final = "RETRO_NOTIFY_URLS"
MCP_KEY: Final = "RETRO_MCP_KEY"
EMBEDDING_KEY: Final = "RETRO_EMBEDDING_KEY"
SECRETS: Final = (MODEL_KEY, SMTP_PASSWORD, FORGE_TOKEN, NOTIFY_URLS, MCP_KEY, EMBEDDING_KEY)
"""Every secret there is, by its name in the environment; agents' tokens have names that the configuration gives."""

_NAME: Final = re.compile(r"[A-Z][A-Z0-9_]{0,63}", re.ASCII)
_LIMIT: Final = 64 * 1024
_SHORTEST: Final = 4  # a shorter value would blot out ordinary words
_DEEPEST: Final = 12

_MANY_LINES: Final = frozenset({NOTIFY_URLS})
_SENSITIVE_KEY: Final = re.compile(r"(?i)(?:^|[_.-])(password|passwd|secret|token|api_?key|authorization)$")
_PATTERNS: Final = (
    (("://",), re.compile(r"(://[^/\s:@]*):[^/\s@]+@"), r"\1:[redacted]@"),
    (("://",), re.compile(r"(https?://)[^/\s:@]+@"), r"\1[redacted]@"),
    (
        ("sk-ant-", "_"),
        re.compile(r"\bsk-ant-[\w-]{8,}|\bgh[pousr]_\w{16,}|\bgithub_pat_\w{16,}"),
        "[redacted]",
    ),
    (
        ("author",),
        re.compile(r"(?i)(\bauthorization['\"]?\s*[:=]\s*['\"]?(?:\w+\s+)?)[^\s'\",]+"),
        r"\1[redacted]",
    ),
    (
        ("=",),
        re.compile(r"(?i)\b((?:password|passwd|secret|token|api_?key)=)[^&\s'\",]+"),
        r"\1[redacted]",
    ),
)
"""What looks like a secret, and before it what the lower case of a text holds that may have one: most have none."""


class Secret:
    """A value that shows itself only when asked by `reveal()`; its text, its repr and its copies do not."""

    __slots__ = ("_value", "name", "origin")

    def __init__(self, name: str, value: str, origin: str = "") -> None:
        self.name = name
        self.origin = origin
        self._value = value

    def reveal(self) -> str:
        """The value itself: only for the call that needs it."""
        return self._value

    def __repr__(self) -> str:
        return f"[{self.name}]"

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{self.name} is a secret: it is not written anywhere")


def find_secret(name: str, env: Mapping[str, str]) -> Secret | None:
    """The secret of that name, or None when nobody gave one; `ConfigError` when its file cannot be trusted."""
    if directory := env.get("CREDENTIALS_DIRECTORY"):
        for path in (Path(directory, name), Path(directory, name.lower())):
            if os.path.lexists(path):
                return Secret(name, _read_private(path, name, from_systemd=True), str(path))
    if file := env.get(f"{name}_FILE"):
        return Secret(name, _read_private(Path(file), name), file)
    if value := env.get(name):
        return Secret(name, _one_value(value, name, f"${name}"), f"${name}")
    return None


def find_secrets(env: Mapping[str, str]) -> tuple[Secret, ...]:
    """Every secret that was given: what logs and errors are redacted by."""
    return tuple(secret for name in SECRETS if (secret := find_secret(name, env)))


def is_secret_name(text: str) -> bool:
    """Whether a text can name a secret of the configuration's own: in capitals, as in the environment, and not ours."""
    return bool(_NAME.fullmatch(text)) and text not in SECRETS


def find_tokens(names: Mapping[str, str], env: Mapping[str, str]) -> dict[str, Secret]:
    """Agent -> its token, by the names of their secrets; `ConfigError` lists who has none, or another's."""
    tokens: dict[str, Secret] = {}
    owners: dict[str, str] = {}
    faults = []
    for agent, name in names.items():
        try:
            secret = find_secret(name, env)
        except ConfigError as error:
            faults.append(f"{agent}: {error}")
            continue
        if secret is None or not secret.reveal():
            faults.append(f"{agent}: the secret {name} was not given: ${name}, ${name}_FILE or a credential")
        elif (other := owners.setdefault(secret.reveal(), agent)) != agent:
            faults.append(f"{agent}: {name} is the token of {other} too; each agent needs its own")
        else:
            tokens[agent] = secret
    if faults:
        raise ConfigError("[mcp.tokens]", faults)
    return tokens


def key_file(path: Path, name: str) -> Secret:
    """The key that a file of our own keeps, made with its first use: 32 random bytes, for its owner alone.

    Two processes that begin at once get the same one. `ConfigError` when it cannot be made, read or trusted.
    """
    if not os.path.lexists(path):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _make_key(path)
        except OSError as error:
            raise ConfigError(str(path), [f"{name}: cannot be made: {error.strerror or error}"]) from None
    return Secret(name, _read_private(path, name), str(path))


def _make_key(path: Path) -> None:
    """Written beside, then linked into place: whole or not at all, and never over another's."""
    beside = path.with_name(f".{path.name}.{token_hex(4)}")
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(handle, "w") as file:
            file.write(f"{token_urlsafe(32)}\n")
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(beside, path)
    finally:
        beside.unlink()


def redact(value: Any, secrets: Iterable[Secret] = ()) -> Any:
    """The same value without secrets: those given, in any usual spelling, and whatever looks like one.

    Texts, mappings and lists are walked; anything that is no JSON value becomes its redacted text. As the last
    step before a log line is rendered this is what keeps keys out of logs.
    """
    spellings = sorted({form for secret in secrets for form in _spellings(secret)}, key=len, reverse=True)
    mask = re.compile("|".join(map(re.escape, spellings))) if spellings else None
    return _redact(value, mask, 0)


def _redact(value: Any, mask: re.Pattern[str] | None, depth: int) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Mapping) and depth < _DEEPEST:
        return {
            _redact(key, mask, depth + 1): "[redacted]"
            if isinstance(key, str) and item is not None and _SENSITIVE_KEY.search(key)
            else _redact(item, mask, depth + 1)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple | set | frozenset) and depth < _DEEPEST:
        return [_redact(item, mask, depth + 1) for item in value]
    text = value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)
    if mask:
        text = mask.sub("[redacted]", text)
    lower = text.lower()
    for hints, pattern, replacement in _PATTERNS:
        if any(hint in lower for hint in hints):
            text = pattern.sub(replacement, text)
    return text


def _spellings(secret: Secret) -> set[str]:
    """The value as it may turn up elsewhere: part of a list, inside a URL, in JSON."""
    value = secret.reveal()
    parts = {value, *re.split(r"[\s,]+", value)} if secret.name in _MANY_LINES else {value}
    for url in [part for part in parts if "://" in part and not re.search(r"\s", part)]:
        try:
            split = urlsplit(url)
            values = (
                split.password,
                split.username,
                *split.path.split("/"),
                *dict(parse_qsl(split.query)).values(),
            )
        except ValueError:  # not a URL after all; the whole text is masked anyway
            continue
        parts |= {piece for piece in values if piece and len(piece) >= 2 * _SHORTEST}
    forms = {form for part in parts for form in (part, quote(part, safe=""), json.dumps(part)[1:-1])}
    return {form for form in forms if len(form) >= _SHORTEST}


def _read_private(path: Path, name: str, *, from_systemd: bool = False) -> str:
    def refuse(reason: str) -> NoReturn:
        raise ConfigError(str(path), [f"{name}: {reason}"])

    try:
        # Without O_NONBLOCK a named pipe that nobody writes to would hang the service.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError) as error:
        refuse(f"the secret file cannot be read: {getattr(error, 'strerror', None) or error}")
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            refuse("a secret comes from a regular file, not from a directory or a pipe")
        # systemd gives a service its credentials by an access list, whose mask shows as the group's bits
        masked = from_systemd and status.st_uid == 0 and os.geteuid() != 0
        if stat.S_IMODE(status.st_mode) & (0o037 if masked else 0o077):
            refuse(
                f"others can read this secret (mode {stat.S_IMODE(status.st_mode):03o}); run: chmod 600 {path}"
            )
        content = os.read(descriptor, _LIMIT + 1)
    except OSError as error:
        refuse(f"the secret file cannot be read: {error.strerror}")
    finally:
        os.close(descriptor)
    if len(content) > _LIMIT:
        refuse("too long for a secret")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        refuse("not UTF-8 text")
    if not text.strip():
        refuse("the secret file is empty")
    return _one_value(text, name, str(path))


def _one_value(text: str, name: str, where: str) -> str:
    value = text.strip("\r\n")
    if name not in _MANY_LINES and re.search(r"[\x00-\x1f\x7f]", value):
        raise ConfigError(
            where, [f"{name}: has a line break or control character inside; a secret is one line"]
        )
    return value
