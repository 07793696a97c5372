"""How git is run: without a terminal, a person's own settings or hooks, and with the token in its environment alone.

A git that does not end is stopped with all it started; what it says in an error passes the redaction of secrets.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlsplit

from retro.errors import RetroError
from retro.safe import plain_text
from retro.secret import SECRETS, redact

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from retro.secret import Secret

__all__ = ["GitError", "GitOutput", "GitProcess", "origin_of"]

_KEPT: Final = frozenset({"GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "GIT_EXEC_PATH"})
_HELPER: Final = (  # a function of the shell: the token is in its environment, never in anyone's arguments
    '!f() { test "$1" = get && echo username=x-access-token && echo "password=$RETRO_GIT_PASSWORD"; }; f'
)
_SETTINGS: Final = (
    "-c", "core.hooksPath=/dev/null",
    "-c", "core.askPass=",
    "-c", "credential.helper=",
    "-c", "credential.useHttpPath=false",
    "-c", "gc.auto=0",
    "-c", "commit.gpgSign=false",
    "-c", "push.gpgSign=false",
    "-c", "protocol.ext.allow=never",
)  # fmt: skip


class GitError(RetroError):
    """Git could not do it; `permanent` when trying again will not help without a person."""

    def __init__(self, reason: str, *, permanent: bool = False) -> None:
        super().__init__(reason)
        self.permanent = permanent


class GitOutput(NamedTuple):
    """What a git that ended left behind: its exit code and both streams."""

    code: int
    out: bytes
    err: bytes


class GitProcess:
    """The git program, on one repository and its bare cache `directory`. `timeout_s` is for each command."""

    def __init__(
        self, repository: str, directory: Path, env: Mapping[str, str], token: Secret | None, timeout_s: float
    ) -> None:
        self._repository = repository
        self._directory = directory
        self._token = token
        self._env = _child_env(env, token)
        self._origin = origin_of(repository) if token else None
        self._program = shutil.which("git", path=env.get("PATH"))
        self._timeout_s = timeout_s

    @property
    def display_name(self) -> str:
        """The repository as it may be shown: without the token."""
        return str(redact(self._repository, self._secrets))

    @property
    def _secrets(self) -> tuple[Secret, ...]:
        return (self._token,) if self._token else ()

    def run(
        self, *arguments: str, stdin: bytes = b"", env: Mapping[str, str] | None = None, fails: bool = False
    ) -> GitOutput:
        """Run git in the cache. A failure is a `GitError`, unless the caller expects some."""
        if self._program is None:
            raise GitError("there is no git on the path; install it", permanent=True)
        command = [self._program, f"--git-dir={self._directory}", *_SETTINGS]
        if self._origin:
            command += ["-c", f"credential.{self._origin}.helper={_HELPER}"]
        output = self._finish([*command, *arguments], stdin, {**self._env, **(env or {})}, arguments[0])
        if output.code and not fails:
            raise self.error(arguments[0], output.err)
        return output

    def _finish(self, command: list[str], stdin: bytes, env: Mapping[str, str], subcommand: str) -> GitOutput:
        pipe = subprocess.PIPE
        try:
            child = subprocess.Popen(  # noqa: S603  no shell; what could be an option stands behind `--`
                command, stdin=pipe, stdout=pipe, stderr=pipe, env=env, start_new_session=True
            )  # a session of its own: no terminal to ask on, and one group to stop
        except OSError as error:
            raise GitError(f"git could not be started: {error.strerror}") from error
        with child:
            try:
                out, err = child.communicate(stdin, timeout=self._timeout_s)
            except BaseException as error:
                with suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)
                if not isinstance(error, subprocess.TimeoutExpired):
                    raise
                late = f"git {subcommand} of {self.display_name} did not end in {self._timeout_s:.0f} s"
                raise GitError(late) from None
        return GitOutput(child.returncode, out, err)

    def error(self, subcommand: str, stderr: bytes) -> GitError:
        """What git said went wrong, in at most three lines; `permanent` where a person has to act."""
        lines = [line for line in stderr.decode("utf-8", "replace").splitlines() if line.strip()]
        telling = [line for line in lines if line.startswith(("fatal:", "error:", "!", "remote:"))] or lines
        reason = (
            "; ".join(plain_text(str(redact(line, self._secrets))) for line in telling[:3])
            or "it does not say why"
        )
        permanent = bool(
            re.search(
                r"(?i)authentication failed|denied|not found|not appear to be a git|could not read (user|pass)",
                reason,
            )
        )
        return GitError(f"git {subcommand} of {self.display_name}: {reason}", permanent=permanent)


def _child_env(env: Mapping[str, str], token: Secret | None) -> dict[str, str]:
    """The environment for git: ours without any secret and without git's own settings, but for the way out."""
    hidden = {*SECRETS, *(f"{name}_FILE" for name in SECRETS), "CREDENTIALS_DIRECTORY", "SSH_ASKPASS"}
    child_env = {
        name: value
        for name, value in env.items()
        if name not in hidden and (name in _KEPT or not name.startswith("GIT_"))
    }
    child_env |= {
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ASKPASS": "",
        "LC_ALL": "C",
    }
    child_env.setdefault("GIT_SSH_COMMAND", "ssh -o BatchMode=yes -o ConnectTimeout=20")
    if token is not None:
        child_env["RETRO_GIT_PASSWORD"] = token.reveal()
    return child_env


def origin_of(repository: str) -> str | None:
    """Scheme and host, the only ones git may give the token to; None where none is needed (ssh, a path)."""
    try:
        split = urlsplit(repository)
    except ValueError:
        return None
    if split.scheme not in {"http", "https"} or not split.netloc:
        return None
    return f"{split.scheme}://{split.netloc.rpartition('@')[2]}"
