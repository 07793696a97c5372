"""Secrets: found in three places, trusted only when private, shown nowhere."""

from __future__ import annotations

import copy
import json
import logging
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retro.errors import ConfigError
from retro.secret import SECRETS, Secret, find_secret, find_secrets, redact
from tests.worlds.places import ROOT

KEY = "ANTHROPIC_API_KEY"
VALUE = "correct-horse-battery"
law = settings(deadline=None, max_examples=100)


def private(path: Path, content: str | bytes = VALUE, mode: int = 0o600) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    path.chmod(mode)
    return path


def value_of(env: dict[str, str], name: str = KEY) -> str | None:
    secret = find_secret(name, env)
    return secret.reveal() if secret else None


def test_the_credentials_directory_comes_before_the_file_before_the_environment(tmp_path: Path) -> None:
    file = private(tmp_path / "key", "from-file\n")
    env = {KEY: "from-environment"}
    assert value_of(env) == "from-environment"
    env[f"{KEY}_FILE"] = str(file)
    assert value_of(env) == "from-file"
    env["CREDENTIALS_DIRECTORY"] = str(tmp_path)
    assert value_of(env) == "from-file"
    private(tmp_path / KEY.lower(), "from-systemd", 0o400)
    assert value_of(env) == "from-systemd"
    private(tmp_path / KEY, "from-systemd-too", 0o400)
    assert value_of(env) == "from-systemd-too"


def test_a_secret_nobody_gave_is_none_and_an_empty_variable_gives_none() -> None:
    assert find_secret(KEY, {}) is None
    assert find_secret(KEY, {KEY: "", f"{KEY}_FILE": "", "CREDENTIALS_DIRECTORY": ""}) is None
    assert find_secrets({}) == ()
    assert [secret.name for secret in find_secrets(dict.fromkeys(SECRETS, "x"))] == list(SECRETS)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o620, 0o602, 0o610, 0o666, 0o777])
@pytest.mark.parametrize("place", ["file", "directory"])
def test_a_file_that_others_can_reach_is_refused(tmp_path: Path, mode: int, place: str) -> None:
    file = private(tmp_path / KEY, VALUE, mode)
    env = {f"{KEY}_FILE": str(file)} if place == "file" else {"CREDENTIALS_DIRECTORY": str(tmp_path)}
    with pytest.raises(ConfigError) as caught:
        find_secret(KEY, env)
    assert f"others can read this secret (mode {mode:03o}); run: chmod 600 {file}" in str(caught.value)
    assert VALUE not in str(caught.value)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a file of root's")
def test_a_credential_of_systemd_is_root_s_and_its_group_bits_are_the_mask_of_a_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A service that runs as somebody else finds its credentials so; the same bits on any other file are refused."""
    file = private(tmp_path / KEY, VALUE, 0o440)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert value_of({"CREDENTIALS_DIRECTORY": str(tmp_path)}) == VALUE
    with pytest.raises(ConfigError, match="others can read"):
        find_secret(KEY, {f"{KEY}_FILE": str(file)})
    file.chmod(0o444)
    with pytest.raises(ConfigError, match="others can read"):
        find_secret(KEY, {"CREDENTIALS_DIRECTORY": str(tmp_path)})


@pytest.mark.parametrize("mode", [0o600, 0o400, 0o700])
def test_a_private_file_is_read_through_a_link_and_without_its_last_line_end(
    tmp_path: Path, mode: int
) -> None:
    private(tmp_path / "key", f"{VALUE}\r\n", mode)
    (tmp_path / "link").symlink_to("key")
    assert value_of({f"{KEY}_FILE": str(tmp_path / "link")}) == VALUE


def test_a_file_that_holds_no_secret_is_refused_with_its_reason(tmp_path: Path) -> None:
    cases: dict[str, str | bytes] = {
        "is empty": " \n",
        "not UTF-8": b"\xff\xfe1",
        "too long": b"x" * 70_000,
        "a secret is one line": "one\ntwo",
        "control character": "one\0two",
    }
    for reason, content in cases.items():
        with pytest.raises(ConfigError, match=reason):
            find_secret(KEY, {f"{KEY}_FILE": str(private(tmp_path / "key", content))})
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        find_secret(KEY, {f"{KEY}_FILE": str(tmp_path / "gone")})
    with pytest.raises(ConfigError, match="regular file"):
        find_secret(KEY, {f"{KEY}_FILE": str(tmp_path)})
    with pytest.raises(ConfigError, match="line break"):
        find_secret(KEY, {KEY: "one\r\nX-Header: two"})


def test_a_pipe_nobody_writes_to_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    with pytest.raises(ConfigError, match="regular file"):
        find_secret(KEY, {f"{KEY}_FILE": str(tmp_path / "pipe")})


def test_notification_urls_may_be_several_lines(tmp_path: Path) -> None:
    file = private(tmp_path / "urls", "tgram://1/2\nntfy://x\n")
    assert value_of({"RETRO_NOTIFY_URLS_FILE": str(file)}, "RETRO_NOTIFY_URLS") == "tgram://1/2\nntfy://x"


def test_a_secret_shows_itself_only_when_asked(caplog: pytest.LogCaptureFixture) -> None:
    secret = Secret(KEY, VALUE)
    logging.getLogger("x").warning("key %s %r", secret, secret)
    representations = [
        str(secret),
        repr(secret),
        f"{secret}",
        f"{secret!r:>40}",
        repr([secret]),
        caplog.text,
    ]
    representations += [json.dumps({"key": secret}, default=repr), repr(vars(type(secret)))]
    assert all(VALUE not in text for text in representations)
    assert all(KEY in text for text in representations[:-1])
    assert secret.reveal() == VALUE
    for take in (pickle.dumps, copy.copy, copy.deepcopy, json.dumps):
        with pytest.raises(TypeError):
            take(secret)


def test_a_traceback_does_not_show_it(tmp_path: Path) -> None:
    script = f"from retro.secret import find_secret\nkey = find_secret({KEY!r}, {{{KEY!r}: 'correct-' + 'horse-battery'}})\n1 / key\n"
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert "TypeError" in done.stderr
    assert VALUE not in done.stderr


@pytest.mark.parametrize(
    "text",
    [
        VALUE,
        f"key={VALUE}!",
        f"https://api.example.org/?q={VALUE}&x=1",
        f'{{"k": "{VALUE}"}}',
        f"{VALUE}{VALUE}",
    ],
)
def test_a_known_secret_leaves_no_trace(text: str) -> None:
    assert VALUE not in redact(text, [Secret(KEY, VALUE)])


def test_a_known_secret_is_found_in_its_other_spellings() -> None:
    awkward = Secret("RETRO_SMTP_PASSWORD", 'p"a/s s&é')
    for text in ('p"a/s s&é', 'p\\"a/s s&\\u00e9', "p%22a%2Fs%20s%26%C3%A9"):
        assert redact(f"<{text}>", [awkward]) == "<[redacted]>"


def test_each_notification_url_and_its_tokens_are_redacted() -> None:
    urls = Secret(
        "RETRO_NOTIFY_URLS",
        "tgram://123456789:AAabcdefgh/-100200300, json://ada:opensesame@example.org/hook-4711-4711",
    )
    for text in ("tgram://123456789:AAabcdefgh/-100200300", "opensesame", "-100200300", "hook-4711-4711"):
        assert redact(f"failed: {text}", [urls]) == "failed: [redacted]"
    assert redact("failed: example.org", [urls]) == "failed: example.org"


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("postgresql://retro:hunter2@db/retro", "postgresql://retro:[redacted]@db/retro"),
        ("https://hunter2@github.com/a/b.git", "https://[redacted]@github.com/a/b.git"),
        ("ssh://git@github.com/a/b.git", "ssh://git@github.com/a/b.git"),
        ("key sk-ant-api03-abc_DEF-123", "key [redacted]"),
        ("ghp_abcdefghijklmnopqrst", "[redacted]"),
        ("github_pat_11ABCDEFG0abcdefghij", "[redacted]"),
        ("Authorization: Bearer abc.def", "Authorization: Bearer [redacted]"),
        ("{'authorization': 'token abc'}", "{'authorization': 'token [redacted]'}"),
        ("host=db password=hunter2 user=x", "host=db password=[redacted] user=x"),
        ("https://x/?token=abc&y=1", "https://x/?token=[redacted]&y=1"),
        ("bought 3 tokens at 2.5, secret plan", "bought 3 tokens at 2.5, secret plan"),
        ("mailto ada@example.org", "mailto ada@example.org"),
    ],
)
def test_what_looks_like_a_secret_is_redacted_and_plain_words_are_not(text: str, clean: str) -> None:
    assert redact(text) == clean


def test_a_log_event_is_redacted_at_every_depth_and_keeps_its_figures() -> None:
    event = {
        "event": f"used {VALUE}",
        "password": "pw",
        "api_key": None,
        "tokens_in": 17,
        "cost": 0.25,
        "ok": True,
        "nested": [{"x-token": "abc", "deep": (VALUE, 1)}],
        "error": ValueError(VALUE),
        "raw": VALUE.encode(),
        VALUE: 1,
    }
    assert redact(event, [Secret(KEY, VALUE)]) == {
        "event": "used [redacted]",
        "password": "[redacted]",
        "api_key": None,
        "tokens_in": 17,
        "cost": 0.25,
        "ok": True,
        "nested": [{"x-token": "[redacted]", "deep": ["[redacted]", 1]}],
        "error": "[redacted]",
        "raw": "[redacted]",
        "[redacted]": 1,
    }


def test_a_value_that_contains_itself_ends() -> None:
    loop: list[Any] = [VALUE]
    loop.append(loop)
    assert VALUE not in json.dumps(redact(loop, [Secret(KEY, VALUE)]))


@law
@given(
    st.text(st.characters(codec="utf-8"), min_size=4, max_size=30), st.text(max_size=20), st.text(max_size=20)
)
def test_no_secret_survives_redaction(value: str, before: str, after: str) -> None:
    """Whatever it is and wherever it stands; only the mark itself may repeat a piece of it."""
    text = redact(before + value + after, [Secret(KEY, value)])
    assert value not in text.replace("[redacted]", "")


@law
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text("abc 123"),
        lambda x: st.lists(x) | st.dictionaries(st.text("abc"), x),
    )
)
def test_what_carries_no_secret_is_left_alone(value: Any) -> None:
    assert redact(value, [Secret(KEY, VALUE)]) == value
    assert redact(redact(value)) == redact(value)
