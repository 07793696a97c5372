"""What one file said in each commit of the repository it lies in: read by plumbing, nothing is fetched or written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from retro.forge.process import GitError, GitProcess

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

__all__ = ["FileHistory", "FileVersion", "file_history"]

_TIMEOUT_S: Final = 60.0
_OFFLINE: Final = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none", "GIT_OPTIONAL_LOCKS": "0"}
"""A partial clone would fetch what it lacks: here that is a commit which cannot be read."""

_LOG: Final = (
    *("log", "--first-parent", "--follow", "--diff-merges=first-parent", "--no-show-signature", "--no-ext-diff"),
    *("--no-textconv", "--name-status", "-z", "--format=%x01%H %ct"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class FileVersion:
    """The file as a commit left it: its committer's date in microseconds; `content` None where the commit removed it."""

    at: int
    content: bytes | None


@dataclass(frozen=True, slots=True)
class FileHistory:
    """Versions of a file, oldest first, along the first parents of HEAD and through its renames.

    `shallow`: the clone lacks older commits. `moved`: it once lay elsewhere in the repository.
    """

    versions: Sequence[FileVersion]
    shallow: bool
    moved: bool


def file_history(file: Path, env: Mapping[str, str]) -> FileHistory | None:
    """The history of a file; None where it lies in no repository; `GitError` says why one cannot be read."""
    try:
        place = _place(file.resolve())
    except OSError as error:
        raise GitError(f"the repository of {file.name} cannot be read: {error.strerror or error}") from error
    if place is None:
        return None
    git_directory, inside = place
    git = GitProcess(str(git_directory), git_directory, env, None, _TIMEOUT_S)
    if git.run("rev-parse", "--verify", "--quiet", "HEAD", env=_OFFLINE, fails=True).code:
        return FileHistory((), shallow=False, moved=False)
    shallow = git.run("rev-parse", "--is-shallow-repository", env=_OFFLINE).out.strip() == b"true"
    listed = git.run(*_LOG, "HEAD", "--", f":(top,literal){inside}", env=_OFFLINE).out
    commits = list(_commits(listed))[::-1]
    contents = _contents(git, [(commit.id, commit.path) for commit in commits if not commit.removes])
    versions = [FileVersion(c.at, None if c.removes else contents[c.id]) for c in commits]
    return FileHistory(versions, shallow, moved=len({commit.path for commit in commits}) > 1)


def _place(file: Path) -> tuple[Path, str] | None:
    """The git directory of the repository that holds a file, and the file's path in it."""
    for folder in file.parents:
        entry = folder / ".git"
        if entry.is_dir():
            return entry, file.relative_to(folder).as_posix()
        if entry.is_file():  # of a linked work tree or a submodule
            pointer = entry.read_text(encoding="utf-8", errors="surrogateescape").strip()
            return folder / pointer.removeprefix("gitdir:").strip(), file.relative_to(folder).as_posix()
    return None


class _Commit(NamedTuple):
    """A commit that touched the file: its committer's date, where the file lies in it, and whether it removed it."""

    id: str
    at: int
    path: bytes
    removes: bool


def _commits(listed: bytes) -> Iterator[_Commit]:
    """The commits that git printed, newest first."""
    for chunk in listed.split(b"\x01")[1:]:
        head, status, *paths = chunk.rstrip(b"\0").split(b"\0")
        commit, _, seconds = head.decode("ascii").partition(" ")
        # of a rename both paths stand there, the new one last
        yield _Commit(commit, int(seconds) * 1_000_000, paths[-1], status.strip() == b"D")


def _contents(git: GitProcess, wanted: Sequence[tuple[str, bytes]]) -> dict[str, bytes]:
    """What stands at these paths of these commits, by commit."""
    if any(b"\n" in path for _, path in wanted):
        raise GitError("a name of the file has a line break in it", permanent=True)
    asked = b"".join(commit.encode() + b":" + path + b"\n" for commit, path in wanted)
    answer = git.run("cat-file", "--batch", stdin=asked, env=_OFFLINE).out
    contents: dict[str, bytes] = {}
    start = 0
    for commit, _ in wanted:
        end = answer.find(b"\n", start)
        header = answer[start:end].split(b" ")
        if end < 0 or len(header) != 3 or header[1] != b"blob":
            raise GitError(f"what commit {commit[:12]} says of the file cannot be read", permanent=True)
        start = end + 1 + int(header[2])
        contents[commit] = answer[end + 1 : start]
        start += 1
    return contents
