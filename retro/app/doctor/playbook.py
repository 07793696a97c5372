"""Can proposals reach their owner: git, the repository and its playbook, the forge and what the token may do there."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

import playbook
from retro.app.doctor.check import Examination, broken, note, ok
from retro.errors import ConfigError
from retro.figures import count
from retro.forge.api import Forge, ForgeError
from retro.forge.git import Git, GitError, git_version
from retro.secret import FORGE_TOKEN, find_secret
from retro.store import proposals as stored_proposals

if TYPE_CHECKING:
    from collections.abc import Iterator

    from retro.app.doctor.check import Check, Installation
    from retro.secret import Secret

__all__ = ["CHECKS", "proposals", "requests"]

_PATIENCE_S: Final = 10.0
_SHOWN: Final = 5


def requests(house: Installation) -> Iterator[Check]:
    """How the playbook's proposals travel. Nothing is asked over the network unless a repository is configured."""
    table = house.config.playbook
    if table.repository is None:
        yield ok(
            "playbook", "`retro playbook pr` writes patches; [playbook] repository makes branches of them"
        )
        return
    version = git_version(house.env)
    if version is None:
        yield broken("git", "there is no git on the path; install it, or remove [playbook] repository")
        return
    yield ok("git", version)
    token = None
    if table.channel == "github":
        try:
            token = find_secret(FORGE_TOKEN, house.env)
        except ConfigError as error:
            yield broken("forge", str(error))
            return
        if token is None:
            yield broken("forge", f"no token: set {FORGE_TOKEN} (contents and pull requests of {table.slug})")
            return
        yield from _forge(house, token)
    yield from _repository(house, token)


def _forge(house: Installation, token: Secret) -> Iterator[Check]:
    table = house.config.playbook
    slug = table.slug or ""
    if table.api_url.startswith("http://"):
        yield note("forge", f"{table.api_url}: the token travels unencrypted")
    try:
        with Forge(table.api_url, slug, token, timeout_s=_PATIENCE_S) as forge:
            repository = forge.repository()
    except ForgeError as error:
        yield broken("forge", str(error)) if error.permanent else note("forge", str(error))
        return
    name, rights = str(repository.get("full_name") or slug), repository.get("permissions")
    if isinstance(rights, dict) and rights.get("push") is False:
        yield broken("forge", f"{slug}: the token of {token.origin} may read, not write")
        return
    if name.lower() != slug.lower():
        yield note("forge", f"{slug} is {name} now; put that into [playbook] slug")
        return
    yield ok("forge", f"{name} on {table.api_url}, token from {token.origin}")


def _repository(house: Installation, token: Secret | None) -> Iterator[Check]:
    """The playbook as it stands at the base, read through a cache that is thrown away."""
    table = house.config.playbook
    with tempfile.TemporaryDirectory() as place:
        git = Git(table.repository or "", Path(place), house.env, token, timeout_s=_PATIENCE_S)
        try:
            with git.alone():
                tips = git.tips(table.base_branch, "retro/none")
                try:
                    git.fetch(tips, "retro/none")
                except GitError as error:  # it answers; a large one takes longer than anybody waits here
                    yield note("repository", f"{tips.base_branch} was not read: {error}")
                    return
                content = git.read(tips.base, table.file)
        except GitError as error:
            yield broken("repository", str(error))
            return
    if content is None:
        yield note("repository", f"{tips.base_branch} has no {table.file} yet; the first proposal makes it")
        return
    book = playbook.parse(content)
    for fault in book.faults[:_SHOWN]:
        yield broken("repository", f"{tips.base_branch}: {table.file}:{fault.line}: {fault.reason}")
    if not book.faults:
        yield ok(
            "repository", f"{tips.base_branch}: {table.file}, {count(len(book.heuristics), 'heuristic')}"
        )


def proposals(house: Installation) -> Iterator[Check]:
    """Proposals that cannot be read any more: the rest is read without them."""
    if house.store is None:
        return
    with house.store.read() as conn:
        damaged = stored_proposals.damaged(conn)
    for proposal in damaged:
        yield broken(
            "proposal",
            f"{proposal.id} of {proposal.agent} ({proposal.state}) cannot be read: {proposal.reason}; the others"
            " are; it is not asked again. Put the row back from a backup",
        )


CHECKS: Final = (Examination("requests", requests), Examination("proposals", proposals))
"""In the order in which they are told."""
