"""How proposals travel to their owner: which repository, which forge, and where patches and the git cache lie."""

from __future__ import annotations

import os
import re
import tempfile
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from retro.errors import RetroError
from retro.forge.api import Forge, ForgeError
from retro.forge.git import Git
from retro.secret import FORGE_TOKEN, find_secret

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from retro.config import Config
    from retro.store.database import Store

__all__ = ["ProposalRemote", "is_local", "remote_from"]


@dataclass(frozen=True, slots=True)
class ProposalRemote:
    """Through which repository and forge, if any. `pushes`: our branch goes into the repository itself."""

    channel: Literal["patch", "github"]
    file: str
    base_branch: str | None
    git: Git | None
    forge: Forge | None
    pushes: bool
    patches: Path

    @contextmanager
    def open(self) -> Iterator[None]:
        """Have the git cache to ourselves and a connection to the forge."""
        with ExitStack() as stack:
            if self.git is not None:
                stack.enter_context(self.git.alone())
            if self.forge is not None:
                stack.enter_context(self.forge)
            yield

    def patch(self, branch: str) -> Path:
        """Where the patch of a branch lies."""
        return self.patches / f"{branch.removeprefix('retro/playbook/')}.patch"

    def write_patch(self, branch: str, content: bytes) -> Path:
        """Write it, whole or not at all; the same bytes are not written again."""
        path = self.patch(branch)
        try:
            if path.exists() and path.read_bytes() == content:
                return path
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor, name = tempfile.mkstemp(dir=path.parent)
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            Path(name).replace(path)
        except OSError as error:
            raise RetroError(f"{path} cannot be written: {error.strerror or error}") from error
        return path


def remote_from(
    store: Store, config: Config, env: Mapping[str, str], *, wait: Callable[[float], None] | None = None
) -> ProposalRemote:
    """The remote of a configuration; `ForgeError` when it has no token. `wait`: for a pause the forge asks for."""
    table = config.playbook
    beside = store.path.parent if store.path is not None else config.memory.directory
    place = beside / "playbook"
    token = find_secret(FORGE_TOKEN, env) if table.channel == "github" else None
    if table.channel == "github" and token is None:
        raise ForgeError(f"channel github needs a token: the secret {FORGE_TOKEN}", permanent=True)
    forge = None
    if table.channel == "github" and table.slug is not None:
        forge = Forge(table.api_url, table.slug, token, wait=wait)
    git = None if table.repository is None else Git(table.repository, place / "git", env, token)
    pushes = table.channel == "github" or (table.repository is not None and is_local(table.repository))
    return ProposalRemote(table.channel, table.file, table.base_branch, git, forge, pushes, place)


def is_local(repository: str) -> bool:
    """Whether a repository is a path on this machine."""
    return "://" not in repository and not re.match(r"[^/]+:", repository)
