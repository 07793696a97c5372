"""Git by plumbing, on a bare cache clone: one file changed in one commit, the same input giving the same commit id.

There is no work tree, so a crash leaves nothing half done; hooks and the user's own configuration play no part. A
token goes to git through its environment alone, and git hands it to the repository's own host only.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from retro.forge.process import GitError, GitProcess
from retro.safe import plain_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from retro.secret import Secret

__all__ = ["AUTHOR", "Commit", "Git", "GitError", "LeaseError", "Tips", "git_version"]

AUTHOR: Final = "slow mirror <slow-mirror@localhost>"
"""Who makes our commits: one of anybody else on a branch of ours is a person's work, and stays."""

_TIMEOUT_S: Final = 120.0
_ID: Final = re.compile(r"[0-9a-f]{40,64}")
_HEADER: Final = re.compile(r"(tree|parent|author|committer) (.*)")


class LeaseError(GitError):
    """The branch on the other side is not what it was: somebody else has pushed meanwhile."""


@dataclass(frozen=True, slots=True)
class Tips:
    """Where a repository's branches stand: the base branch by name and commit, and ours; None where there is none."""

    base_branch: str
    base: str
    head: str | None


@dataclass(frozen=True, slots=True)
class Commit:
    """What a commit says of itself. `author` and `committer` with their dates, as git writes them."""

    id: str
    parents: tuple[str, ...]
    author: str
    committer: str
    message: str

    @property
    def is_ours(self) -> bool:
        """Made here and not touched since: amending, rebasing or merging leaves another committer's name."""
        return (
            self.author == self.committer and self.author.startswith(f"{AUTHOR} ") and len(self.parents) == 1
        )


def git_version(env: Mapping[str, str]) -> str | None:
    """The version of the git on the path; None when there is none."""
    program = shutil.which("git", path=env.get("PATH"))
    if program is None:
        return None
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False, timeout=10)  # noqa: S603  a program found by name
    return done.stdout.strip().removeprefix("git version ") or None


class Git:
    """One repository, seen through a bare cache below `cache`. Use it within `with git.alone():`."""

    def __init__(
        self,
        repository: str,
        cache: Path,
        env: Mapping[str, str],
        token: Secret | None = None,
        *,
        timeout_s: float = _TIMEOUT_S,
    ) -> None:
        self.repository = repository
        self.directory = cache / f"{hashlib.sha256(repository.encode()).hexdigest()[:16]}.git"
        self._process = GitProcess(repository, self.directory, env, token, timeout_s)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other processes off the cache; made when it is not there, and again when it is damaged."""
        try:
            self.directory.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = os.open(self.directory.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise GitError(f"{self.directory.parent} cannot be used: {error.strerror}") from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._prepare()
            yield
        finally:
            os.close(lock)

    def _prepare(self) -> None:
        for left_behind in self.directory.rglob("*.lock"):  # by a git that was killed: nobody else is here
            left_behind.unlink(missing_ok=True)
        sound = (
            self.directory.is_dir()
            and self._process.run("rev-parse", "--is-bare-repository", fails=True).code == 0
        )
        if not sound:
            shutil.rmtree(self.directory, ignore_errors=True)
            self.directory.mkdir(mode=0o700)
            self._process.run("init", "--quiet", "--bare")

    def tips(self, base_branch: str | None, branch: str) -> Tips:
        """Ask the other side where its branches stand; nothing is fetched."""
        wanted = f"refs/heads/{base_branch}" if base_branch else "HEAD"
        ours = f"refs/heads/{branch}"
        listing = self._process.run("ls-remote", "--symref", "--", self.repository, wanted, ours).out.decode(
            "utf-8", "replace"
        )
        refs: dict[str, str] = {}
        for line in listing.splitlines():
            value, _, name = line.partition("\t")
            if value.startswith("ref: ") and not base_branch:
                base_branch = value.removeprefix("ref: refs/heads/")
            elif _ID.fullmatch(value):
                refs[name] = value
        if wanted not in refs or not base_branch:
            where = f"branch {base_branch}" if base_branch else "default branch; name [playbook] base_branch"
            raise GitError(f"{self._process.display_name} has no {where}", permanent=True)
        return Tips(base_branch, refs[wanted], refs.get(ours))

    def fetch(self, tips: Tips, branch: str) -> None:
        """Bring the commits of these tips here."""
        specs = [f"+refs/heads/{tips.base_branch}:refs/retro/base"]
        if tips.head is not None:
            specs.append(f"+refs/heads/{branch}:refs/retro/head")
        options = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-gc", "--no-recurse-submodules")
        self._process.run("fetch", *options, "--", self.repository, *specs)

    def commit(self, commit: str) -> Commit:
        """One commit that was fetched or made here."""
        head, _, message = self._process.run("cat-file", "commit", _checked(commit)).out.partition(b"\n\n")
        lines = [_HEADER.match(line) for line in head.decode("utf-8", "replace").split("\n")]
        headers = [(match[1], match[2]) for match in lines if match]
        header = dict(headers)
        parents = tuple(value for name, value in headers if name == "parent")
        text = message.decode("utf-8", "replace")
        return Commit(commit, parents, header.get("author", ""), header.get("committer", ""), text)

    def foreign(self, base: str, head: str) -> Commit | None:
        """The newest commit on a branch that is not ours; None when all of it was made here."""
        listed = self._process.run(
            "rev-list", "--max-count=50", _checked(head), f"^{_checked(base)}"
        ).out.decode()
        commits = (self.commit(line) for line in listed.split())
        return next((commit for commit in commits if not commit.is_ours), None)

    def holds(self, commit: str) -> bool:
        """Whether a commit is here at all."""
        return self._process.run("cat-file", "-e", f"{_checked(commit)}^{{commit}}", fails=True).code == 0

    def contains(self, base: str, commit: str) -> bool:
        """Whether a commit is part of the base's history."""
        return (
            self._process.run(
                "merge-base", "--is-ancestor", _checked(commit), _checked(base), fails=True
            ).code
            == 0
        )

    def read(self, commit: str, file: str) -> bytes | None:
        """The file in a commit; None when there is none; `GitError` when something else stands in its place."""
        entry = self._entry(commit, file)
        return None if entry is None else self._process.run("cat-file", "blob", entry[1]).out

    def _entry(self, commit: str, file: str) -> tuple[str, str] | None:
        listed = self._process.run("ls-tree", "-z", "--full-tree", _checked(commit), "--", file).out.rstrip(
            b"\0"
        )
        if not listed:
            return None
        mode, kind, blob = listed.partition(b"\t")[0].decode().split(" ")
        if kind != "blob" or not mode.startswith("100"):
            raise GitError(f"{file} in {self._process.display_name} is not a regular file", permanent=True)
        return mode, blob

    def write(self, base: str, file: str, content: bytes, message: str, at_s: int) -> str:
        """Commit the file with this content on top of `base`: the same arguments, the same commit id."""
        entry = self._entry(base, file)
        blob = self._process.run("hash-object", "-w", "--stdin", stdin=content).out.decode().strip()
        with tempfile.TemporaryDirectory(dir=self.directory) as place:
            index = {"GIT_INDEX_FILE": str(Path(place, "index"))}
            self._process.run("read-tree", _checked(base), env=index)
            info = f"{entry[0] if entry else '100644'},{blob},{file}"
            self._process.run("update-index", "--add", "--cacheinfo", info, env=index)
            tree = self._process.run("write-tree", env=index).out.decode().strip()
        name, _, address = AUTHOR.removesuffix(">").partition(" <")
        who = {
            f"GIT_{role}_{part}": value
            for role in ("AUTHOR", "COMMITTER")
            for part, value in (("NAME", name), ("EMAIL", address), ("DATE", f"@{at_s} +0000"))
        }
        output = self._process.run(
            "commit-tree", tree, "-p", _checked(base), "-F", "-", stdin=message.encode(), env=who
        ).out
        return output.decode().strip()

    def push(self, commit: str, branch: str, expected: str | None) -> None:
        """Let a branch over there point to a commit, as long as it still points to `expected` (None: is not there)."""
        lease = f"--force-with-lease=refs/heads/{branch}:{expected or ''}"
        spec = f"{_checked(commit)}:refs/heads/{branch}"
        arguments = ("push", "--quiet", "--porcelain", "--no-verify", lease, "--", self.repository, spec)
        code, out, err = self._process.run(*arguments, fails=True)
        if code == 0 or self._points_to(branch, commit):  # somebody else may have pushed the very same
            return
        if b"stale info" in out + err:
            raise LeaseError(f"{branch} was changed by somebody else meanwhile")
        raise self._process.error("push", err + out)

    def _points_to(self, branch: str, commit: str) -> bool:
        listing = self._process.run(
            "ls-remote", "--", self.repository, f"refs/heads/{branch}", fails=True
        ).out
        return listing.split()[:1] == [commit.encode()]

    def keep(self, branch: str, commit: str) -> None:
        """Let a branch of the cache itself point to a commit."""
        self._process.run("update-ref", f"refs/heads/{branch}", _checked(commit))


def _checked(commit: str) -> str:
    if not _ID.fullmatch(commit):
        raise GitError(f"{plain_text(commit)[:60]!r} is no commit id")
    return commit
