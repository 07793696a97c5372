"""What one file said in each commit: real repositories, whole, shallow, damaged, linked and none."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from retro.forge.file_history import FileVersion, file_history
from retro.forge.process import GitError

SECOND = 1_000_000
NOBODY = {
    "PATH": os.environ["PATH"],
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}


class Repository:
    """A work tree whose commits are dated in seconds."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *words: str, at: int = 0) -> str:
        env = NOBODY | {"GIT_AUTHOR_DATE": "@1 +0000", "GIT_COMMITTER_DATE": f"@{at} +0200"}
        command = ["git", "-c", "protocol.file.allow=always", *words]
        done = subprocess.run(command, cwd=self.folder, env=env, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def commit(self, at: int, **files: str | None) -> None:
        for name, content in files.items():
            path = self.folder / f"{name}.md"
            path.unlink(missing_ok=True) if content is None else path.write_text(content)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message=x", at=at)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "agent with ünicode")


def versions(file: Path) -> list[tuple[int, bytes | None]]:
    history = file_history(file, os.environ)
    assert history is not None
    return [(version.at // SECOND, version.content) for version in history.versions]


def test_each_commit_that_changed_the_file_oldest_first_by_its_committers_date(
    repository: Repository,
) -> None:
    repository.commit(1_000_000_000, P="one\n")
    repository.commit(1_000_000_500, P="one\n", other="no business of ours")
    repository.commit(1_000_001_000, P="two\n")
    repository.commit(1_000_002_000, P=None)
    repository.commit(1_000_003_000, P="again\n")
    (repository.folder / "P.md").write_text("not committed")
    assert versions(repository.folder / "P.md") == [
        (1_000_000_000, b"one\n"),
        (1_000_001_000, b"two\n"),
        (1_000_002_000, None),
        (1_000_003_000, b"again\n"),
    ]


def test_a_file_that_was_moved_is_followed_to_where_it_lay(repository: Repository) -> None:
    text = "".join(f"line {n}\n" for n in range(20))
    repository.commit(1_000_000_000, old=text)
    (repository.folder / "in a folder").mkdir()
    repository.git("mv", "old.md", "in a folder/P: é.md")
    repository.git("commit", "--quiet", "--message=move", at=1_000_000_100)
    history = file_history(repository.folder / "in a folder" / "P: é.md", os.environ)
    assert history is not None
    assert history.versions == [
        FileVersion(1_000_000_000 * SECOND, text.encode()),
        FileVersion(1_000_000_100 * SECOND, text.encode()),
    ]
    assert (history.moved, history.shallow) == (True, False)


def test_a_branch_counts_from_the_commit_that_merged_it(repository: Repository) -> None:
    repository.commit(1_000_000_000, P="one\n")
    repository.git("switch", "--quiet", "--create", "side")
    repository.commit(1_000_000_100, P="two\n")
    repository.git("switch", "--quiet", "main")
    repository.commit(1_000_000_200, other="x")
    repository.git("merge", "--quiet", "--no-ff", "--message=m", "side", at=1_000_000_300)
    assert versions(repository.folder / "P.md") == [(1_000_000_000, b"one\n"), (1_000_000_300, b"two\n")]


def test_a_linked_work_tree_and_a_link_to_the_file_lead_to_the_same_history(
    repository: Repository, tmp_path: Path
) -> None:
    repository.commit(1_000_000_000, P="one\n")
    repository.git("worktree", "add", "--quiet", "--detach", str(tmp_path / "linked"))
    (tmp_path / "link.md").symlink_to(repository.folder / "P.md")
    for file in (tmp_path / "linked" / "P.md", tmp_path / "link.md"):
        assert versions(file) == [(1_000_000_000, b"one\n")]


def test_a_shallow_clone_says_so(repository: Repository, tmp_path: Path) -> None:
    repository.commit(1_000_000_000, P="one\n")
    repository.commit(1_000_000_100, P="two\n")
    clone = tmp_path / "clone"
    repository.git("clone", "--quiet", "--depth=1", repository.folder.as_uri(), str(clone))
    history = file_history(clone / "P.md", os.environ)
    assert history is not None
    assert history.shallow
    assert [version.content for version in history.versions] == [b"two\n"]


def test_no_repository_an_empty_one_and_a_file_that_nobody_committed(
    repository: Repository, tmp_path: Path
) -> None:
    (tmp_path / "P.md").write_text("x")
    assert file_history(tmp_path / "P.md", os.environ) is None
    (repository.folder / "P.md").write_text("x")
    assert versions(repository.folder / "P.md") == []
    repository.commit(1_000_000_000, other="x")
    repository.git("rm", "--quiet", "--cached", "P.md")
    repository.git("commit", "--quiet", "--amend", "--message=x", at=1_000_000_000)
    assert versions(repository.folder / "P.md") == []


@pytest.mark.parametrize("damaged", ["commit", "content"])
def test_what_cannot_be_read_is_an_error_that_names_it(repository: Repository, damaged: str) -> None:
    repository.commit(1_000_000_000, P="one\n")
    broken = repository.git("rev-parse", {"commit": "HEAD", "content": "HEAD:P.md"}[damaged])
    repository.commit(1_000_000_100, P="two\n")
    (repository.folder / ".git" / "objects" / broken[:2] / broken[2:]).unlink()
    with pytest.raises(GitError) as error:
        file_history(repository.folder / "P.md", os.environ)
    assert len(str(error.value)) < 400


def test_without_git_on_the_path_it_says_so(repository: Repository) -> None:
    repository.commit(1_000_000_000, P="one\n")
    with pytest.raises(GitError, match="no git on the path"):
        file_history(repository.folder / "P.md", {"PATH": ""})


def test_nothing_a_repository_configures_is_run(repository: Repository, tmp_path: Path) -> None:
    repository.commit(1_000_000_000, P="one\n")
    repository.commit(1_000_000_100, P="two\n")
    mark = tmp_path / "ran"
    for key in ("core.pager", "core.fsmonitor", "diff.external", "diff.x.textconv", "gpg.program"):
        repository.git("config", key, f"touch '{mark}'; cat")
    repository.git("config", "log.showSignature", "true")
    (repository.folder / ".git" / "info" / "attributes").write_text("*.md diff=x\n")
    assert len(versions(repository.folder / "P.md")) == 2
    assert not mark.exists()
