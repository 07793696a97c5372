"""Every secret there is, given to a whole run that uses it: none is found again anywhere, whatever goes wrong on the way."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from retro.periods import DAY
from tests.worlds.service_world import life, lines_of
from tests.worlds.smtp_server import Mailbox, free_port, serve

SECRETS = {
    "RETRO_SMTP_PASSWORD": "correct-horse-battery",
    "RETRO_NOTIFY_URLS": "json://ada:staple-and-paper@127.0.0.1:9/hook-of-ada",
    "RETRO_FORGE_TOKEN": "ghp_0123456789abcdefghijklmnopqrstuvwxyz",
    "ANTHROPIC_API_KEY": "sk-ant-api03-zzyzx-zzyzx-zzyzx",
}
NEVER_SEEN = ("correct-horse-battery", "staple-and-paper", "hook-of-ada", "ghp_0123456789", "zzyzx")
LOOKS = (["run", "--once"], ["doctor"], ["deliver", "--json"], ["reviews", "--json"], ["-v", "run", "--once"])


def test_no_secret_is_in_a_mail_a_log_a_database_a_file_or_an_error(tmp_path: Path) -> None:
    """One recipient is refused by a server that repeats what it heard; model, forge and hook are not there."""
    start = time.time_ns() // 1000 // DAY * DAY - 15 * DAY
    (tmp_path / "bot.jsonl").write_bytes(lines_of(life(1, start=start)[:1]))
    mailbox = Mailbox(
        users={"ada": SECRETS["RETRO_SMTP_PASSWORD"]},
        to_recipient={"bob@example.org": f"550 not with {SECRETS['RETRO_SMTP_PASSWORD']}"},
    )
    env = {k: v for k, v in os.environ.items() if not k.startswith(("RETRO_", "ANTHROPIC_"))} | SECRETS
    output = b""
    with serve(mailbox) as port:
        (tmp_path / "config.toml").write_text(
            '[store]\nurl = "retro.db"\n'
            '[[source]]\nkind = "journal"\npath = "bot.jsonl"\n'
            f'[mail]\nhost = "127.0.0.1"\nport = {port}\nsecurity = "none"\nusername = "ada"\n'
            'recipients = ["ada@example.org", "bob@example.org"]\nkinds = ["weekly"]\n'
            '[notify]\nkinds = ["weekly"]\n'
            f'[llm]\nbase_url = "http://127.0.0.1:{free_port()}"\ntimeout_s = 2\n'
            f'[playbook]\nchannel = "github"\nrepository = "{tmp_path}/no.git"\nslug = "ada/agent"\n'
            f'api_url = "http://127.0.0.1:{free_port()}"\n'
        )
        for look in LOOKS:
            done = subprocess.run(
                [sys.executable, "-m", "retro", *look], cwd=tmp_path, env=env, capture_output=True, timeout=100, check=False
            )  # fmt: skip
            output += done.stdout + done.stderr
    assert len(mailbox.received) == 1
    assert ("ada", SECRETS["RETRO_SMTP_PASSWORD"]) in mailbox.logged_in
    assert b"550" in output
    assert b"Traceback" not in output
    places = {path.name: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    places |= {"what was said": output, "the mail": mailbox.received[0].data, "its text": _text(mailbox)}
    leaks = [
        (name, secret)
        for name, content in places.items()
        for secret in NEVER_SEEN
        if secret.encode() in content
    ]
    assert leaks == []


def _text(mailbox: Mailbox) -> bytes:
    parts = mailbox.received[0].mail.walk()
    return b"".join(bytes(part.get_payload(decode=True)) for part in parts if not part.is_multipart())
