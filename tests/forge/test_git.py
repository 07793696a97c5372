"""Git by plumbing: the same input is the same commit, one file is touched, a person's commit is never overwritten."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from retro.forge.git import AUTHOR, Git, GitError, LeaseError, git_version
from retro.secret import Secret
from retro.testing.forge import FakeForge
from tests.worlds import playbook_lives as lives

ENV = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
BRANCH = "retro/playbook/bot/2026-W06"
AT_S = 1_770_595_200
NEW = lives.BOOK.replace("0.62", "0.12").encode()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return lives.bare_repository(tmp_path / "agent.git")


def write(git: Git, content: bytes = NEW, message: str = "playbook(bot): demote H-1\n") -> str:
    tips = git.tips(None, BRANCH)
    git.fetch(tips, BRANCH)
    return git.write(tips.base, "PLAYBOOK.md", content, message, AT_S)


def test_the_same_input_is_the_same_commit_in_any_clone(tmp_path: Path, repository: Path) -> None:
    commits = []
    for name in ("one", "other"):
        git = Git(str(repository), tmp_path / name, ENV)
        with git.alone():
            commits += [write(git), write(git)]
    assert len(set(commits)) == 1
    with git.alone():
        assert write(git, NEW + b"more\n") not in commits
        assert write(git, message="other words\n") not in commits


def test_only_the_playbook_is_touched_and_the_commit_is_ours(tmp_path: Path, repository: Path) -> None:
    git = Git(str(repository), tmp_path / "cache", ENV)
    with git.alone():
        commit_id = write(git)
        git.push(commit_id, BRANCH, None)
        commit = git.commit(commit_id)
    assert commit.is_ours
    assert commit.author == f"{AUTHOR} {AT_S} +0000"
    assert lives.git(repository, "diff", "--name-status", "main", BRANCH) == "M\tPLAYBOOK.md"
    assert lives.git(repository, "show", f"{BRANCH}:PLAYBOOK.md").encode() == NEW.strip()


def test_a_file_keeps_its_mode_and_one_in_a_folder_is_made(tmp_path: Path, repository: Path) -> None:
    git = Git(str(repository), tmp_path / "cache", ENV)
    with git.alone():
        base = git.tips(None, BRANCH)
        git.fetch(base, BRANCH)
        commit_id = git.write(base.base, "agents/a b/PLAYBOOK.md", b"# x\n", "m\n", AT_S)
        git.push(commit_id, BRANCH, None)
        assert git.read(commit_id, "agents/a b/PLAYBOOK.md") == b"# x\n"
        assert git.read(commit_id, "absent.md") is None
        with pytest.raises(GitError, match="not a regular file"):
            git.read(commit_id, "agents")
    assert lives.git(repository, "diff", "--name-status", "main", BRANCH) == "A\tagents/a b/PLAYBOOK.md"


def test_a_push_again_is_no_push_and_one_over_a_persons_commit_is_refused(
    tmp_path: Path, repository: Path
) -> None:
    git = Git(str(repository), tmp_path / "cache", ENV)
    with git.alone():
        commit_id = write(git)
        git.push(commit_id, BRANCH, None)
        git.push(commit_id, BRANCH, None)  # a retry that does not know of its first try
        theirs = lives.commit_of_a_person(repository, BRANCH, {"PLAYBOOK.md": "mine\n"})
        with pytest.raises(LeaseError):
            git.push(write(git, NEW + b"more\n"), BRANCH, commit_id)
        tips = git.tips(None, BRANCH)
        git.fetch(tips, BRANCH)
        assert tips.head == theirs
        foreign = git.foreign(tips.base, theirs)
    assert foreign is not None
    assert foreign.id == theirs


@pytest.mark.parametrize("how", ["amended", "merged", "author only"])
def test_a_commit_that_went_through_other_hands_is_foreign(
    tmp_path: Path, repository: Path, how: str
) -> None:
    git = Git(str(repository), tmp_path / "cache", ENV)
    with git.alone():
        commit_id = write(git)
        git.push(commit_id, BRANCH, None)
        tree, parents = lives.git(repository, "rev-parse", f"{commit_id}^{{tree}}"), ["-p", "main"]
        who = dict(lives.MESSAGE)
        if how == "amended":  # the author stays, the committer is a person
            name, _, address = AUTHOR.rstrip(">").partition(" <")
            who |= {"GIT_AUTHOR_NAME": name, "GIT_AUTHOR_EMAIL": address, "GIT_AUTHOR_DATE": f"@{AT_S} +0000"}
        if how == "merged":
            parents = ["-p", commit_id, "-p", "main"]
        old, lives.MESSAGE = lives.MESSAGE, who
        try:
            theirs = lives.git(repository, "commit-tree", tree, *parents, "-m", "x")
        finally:
            lives.MESSAGE = old
        lives.git(repository, "update-ref", f"refs/heads/{BRANCH}", theirs)
        tips = git.tips("main", BRANCH)
        git.fetch(tips, BRANCH)
        foreign = git.foreign(tips.base, theirs)
    assert foreign is not None
    assert foreign.id == theirs


def test_hooks_and_the_users_configuration_play_no_part(tmp_path: Path, repository: Path) -> None:
    """A hook in the cache and a configuration at home that would break everything are not read."""
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text('[url "file:///nowhere"]\n\tinsteadOf = /\n[user]\n\tname = Somebody\n')
    git = Git(str(repository), tmp_path / "cache", {**ENV, "HOME": str(home), "GIT_DIR": "/nowhere"})
    with git.alone():
        hook = git.directory / "hooks" / "pre-push"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text("#!/bin/sh\nexit 1\n")
        hook.chmod(0o755)
        git.push(write(git), BRANCH, None)
    assert lives.git(repository, "log", "-1", "--format=%an", BRANCH) == "slow mirror"


def test_what_a_killed_git_left_in_the_cache_is_in_nobodys_way(tmp_path: Path, repository: Path) -> None:
    git = Git(str(repository), tmp_path / "cache", ENV)
    with git.alone():
        first = write(git)
    (git.directory / "refs" / "retro" / "base.lock").touch()
    (git.directory / "HEAD").write_text("nonsense")
    with git.alone():
        assert write(git) == first


def test_refusals_say_what_where_and_whether_to_try_again(tmp_path: Path, repository: Path) -> None:
    nowhere = Git(str(tmp_path / "absent.git"), tmp_path / "cache", ENV)
    with nowhere.alone(), pytest.raises(GitError, match=r"absent\.git") as absent:
        nowhere.tips(None, BRANCH)
    assert absent.value.permanent
    git = Git(str(repository), tmp_path / "cache", ENV)
    with git.alone(), pytest.raises(GitError, match="no branch trunk"):
        git.tips("trunk", BRANCH)
    missing = Git(str(repository), tmp_path / "cache", {"PATH": str(tmp_path)})
    with pytest.raises(GitError, match="no git on the path"), missing.alone():
        pass
    assert git_version(ENV)
    assert git_version({"PATH": str(tmp_path)}) is None


def test_a_git_that_hangs_is_stopped(tmp_path: Path, repository: Path) -> None:
    slow = tmp_path / "bin" / "git"
    slow.parent.mkdir()
    slow.write_text(
        f'#!/bin/sh\nPATH={ENV["PATH"]}\ncase "$*" in *ls-remote*) sleep 60;; *) exec git "$@";; esac\n'
    )
    slow.chmod(slow.stat().st_mode | stat.S_IXUSR)
    git = Git(str(repository), tmp_path / "cache", {"PATH": str(slow.parent)}, timeout_s=0.5)
    with git.alone(), pytest.raises(GitError, match="did not end"):
        git.tips(None, BRANCH)


def test_the_token_reaches_its_host_through_the_environment_alone(tmp_path: Path, repository: Path) -> None:
    """A git of ours writes down its arguments; the forge asks for the token; the cache keeps none of it."""
    argument_log = tmp_path / "arguments"
    spy = tmp_path / "bin" / "git"
    spy.parent.mkdir()
    spy.write_text(f'#!/bin/sh\nPATH={ENV["PATH"]}\nprintf "%s\\n" "$@" >> {argument_log}\nexec git "$@"\n')
    spy.chmod(0o755)
    token = Secret("RETRO_FORGE_TOKEN", lives.TOKEN)
    with FakeForge(repository, token=lives.TOKEN) as forge:
        environment = {"PATH": f"{spy.parent}:{ENV['PATH']}", "RETRO_FORGE_TOKEN": lives.TOKEN}
        git = Git(forge.git_url, tmp_path / "cache", environment, token)
        with git.alone():
            commit_id = write(git)
            git.push(commit_id, BRANCH, None)
        assert forge.commit_of(BRANCH) == commit_id
        wrong = Git(
            forge.git_url, tmp_path / "cache", environment, Secret("RETRO_FORGE_TOKEN", "wr0ng-token")
        )
        with wrong.alone(), pytest.raises(GitError) as refused:
            wrong.tips(None, BRANCH)
        assert refused.value.permanent
        assert "wr0ng" not in str(refused.value)
    helpers = {line for line in argument_log.read_text().splitlines() if line.startswith("credential.http")}
    assert {line.partition(".helper=")[0] for line in helpers} == {f"credential.{forge.url}"}  # no other host
    assert "push" in argument_log.read_text()
    assert lives.TOKEN not in argument_log.read_text()
    cached_files = [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert all(lives.TOKEN.encode() not in path.read_bytes() for path in cached_files)
