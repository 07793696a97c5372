"""Keys and tokens: where they come from, whose each is, and what `[mcp]` may say."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from retro.config import Config, load
from retro.errors import ConfigError, UsageError
from retro.secret import MCP_KEY, key_file
from retro.surface.guard.access import Caller
from retro.surface.mcp.http import keyring_of
from tests.worlds.commands import Retro, retro
from tests.worlds.episodes import episode
from tests.worlds.places import ROOT

__all__ = ["retro"]

ANYWHERE = "0.0.0" + ".0"


def test_two_that_make_the_key_at_once_have_the_same_one(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "mcp.key"
    script = f"from pathlib import Path; from retro.secret import key_file; print(key_file(Path({str(path)!r}), 'K').reveal())"
    runs = [
        subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, cwd=ROOT)
        for _ in range(6)
    ]
    assert len({run.communicate()[0] for run in runs}) == 1
    assert [file.name for file in path.parent.iterdir()] == ["mcp.key"]
    assert key_file(path, "K").origin == str(path)


def test_a_key_that_cannot_be_kept_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"RETRO_MCP_KEY: cannot be made: (?:Not a directory|File exists)"):
        key_file(tmp_path / "file" / "mcp.key", MCP_KEY)
    (tmp_path / "mcp.key").write_text("")
    (tmp_path / "mcp.key").chmod(0o600)
    with pytest.raises(ConfigError, match="is empty"):
        key_file(tmp_path / "mcp.key", MCP_KEY)


def config_of(tmp_path: Path, text: str) -> Config:
    (tmp_path / "config.toml").write_text(text)
    return load(tmp_path / "config.toml", {})


def test_every_token_that_is_missing_or_shared_is_named_at_once_and_none_is_shown(tmp_path: Path) -> None:
    config = config_of(tmp_path, '[mcp.tokens]\nada = "T_ADA"\nmia = "T_MIA"\nzoe = "T_ZOE"\n')
    with pytest.raises(ConfigError) as caught:
        keyring_of(config, {"T_ADA": "same-same", "T_ZOE": "same-same"}, "127.0.0.1")
    assert caught.value.faults == [
        "mia: the secret T_MIA was not given: $T_MIA, $T_MIA_FILE or a credential",
        "zoe: T_ZOE is the token of ada too; each agent needs its own",
    ]
    with pytest.raises(UsageError, match="needs one of its own") as shared:
        keyring_of(config, {"T_ADA": "a", "T_MIA": "m", "T_ZOE": "z", MCP_KEY: "z"}, "127.0.0.1")
    assert "same-same" not in str(caught.value)
    assert str(shared.value).startswith("$RETRO_MCP_KEY")


def test_whose_a_key_is(tmp_path: Path) -> None:
    config = config_of(tmp_path, '[store]\nurl = "r.db"\n[mcp.tokens]\nada = "T_ADA"\n')
    env = {"T_ADA": "a-a", MCP_KEY: "o-o"}
    ring = keyring_of(config, env, "::1")
    assert (ring.caller("Bearer a-a"), ring.caller("Bearer o-o")) == (
        Caller("agent ada", "ada"),
        Caller("the owner"),
    )
    assert keyring_of(config, env, "::1", agent="zoe").caller("Bearer a-a") is None
    assert not keyring_of(Config(), {}, "localhost")
    own = keyring_of(config_of(tmp_path, '[store]\nurl = "r.db"\n'), {}, ANYWHERE)
    assert own.caller(f"Bearer {(tmp_path / 'mcp.key').read_text().strip()}") == Caller("the owner")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('[mcp.tokens]\nada = "d41d8cd98f00b204"', "line 2: mcp.tokens.ada: must be the name of a secret, in capitals"),
        ('[mcp.tokens]\ntoken-7 = "sk-ant-abcdefghijkl"', "the token itself does not belong in this file"),
        ('[mcp.tokens]\nada = "RETRO_SMTP_PASSWORD"', "must be the name of a secret"),
        ('[mcp.tokens]\n"a b" = "T_ADA"', "1 to 64 of A-Z"),
        ('[mcp]\nhosts = ["http://x"]', "without scheme and port"),
        ('[mcp]\nhosts = ["x.org:80"]', "without scheme and port"),
        ('[mcp]\nhosts = ["*"]', "without scheme and port"),
        ('[mcp]\ntoken = "x"', "mcp.token: a secret does not belong in this file"),
    ],
)  # fmt: skip
def test_what_the_table_cannot_mean_is_said_without_the_value(tmp_path: Path, text: str, fault: str) -> None:
    with pytest.raises(ConfigError) as caught:
        config_of(tmp_path, text)
    assert fault in str(caught.value)
    assert not any(secret in str(caught.value) for secret in ("d41d8cd98", "sk-ant-abc"))


def test_hosts_are_names_in_one_spelling(tmp_path: Path) -> None:
    config = config_of(
        tmp_path,
        '[mcp]\nhosts = ["Mirror.Example.org.", "fe80::1", "10.0.0.7"]\n[mcp.tokens]\ntoken-7 = "T_7"',
    )
    assert config.mcp.hosts == ("mirror.example.org", "fe80::1", "10.0.0.7")
    assert config.mcp.tokens == {"token-7": "T_7"}


def test_doctor_says_how_the_tokens_stand(retro: Retro, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("config.toml").write_text('[mcp.tokens]\nada = "T_ADA"\nzoe = "T_ZOE"\n')
    monkeypatch.setenv("T_ADA", "short")
    monkeypatch.delenv("T_ZOE", raising=False)
    broken = retro("doctor")
    assert broken.code == 1
    assert "zoe: the secret T_ZOE was not given" in " ".join(broken.out.split())
    monkeypatch.setenv("T_ZOE", "a-token-that-is-long-enough")
    Path("e.jsonl").write_text(json.dumps(episode("e")) + "\n")
    retro("remember", "e.jsonl")
    findings = {
        (row["state"], row["detail"]) for row in retro("doctor", "--json").data if row["check"] == "mcp"
    }
    assert ("ok", "2 agents with a token") in findings
    assert ("note", "the token of ada is short; `openssl rand -hex 32` makes one") in findings
    assert "a-token-that-is-long-enough" not in str(findings)
