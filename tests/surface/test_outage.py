"""`run --once` says by its exit code that a channel took nothing of what there was for it."""

from __future__ import annotations

from pathlib import Path

from tests.worlds.commands import Retro, retro, round_trip

__all__ = ["retro"]

UNREACHABLE = """\
[mail]
host = "127.0.0.1"
port = 9
security = "none"
sender = "retro@example.org"
recipients = ["ada@example.org"]
[retrospective]
daily_review_enabled = false
epoch_review_enabled = false
position_close_review = false
"""


def test_run_once_fails_when_every_mail_failed_though_files_were_written(retro: Retro) -> None:
    Path("config.toml").write_text(UNREACHABLE)
    Path("a.jsonl").write_text(round_trip("p1"))
    assert retro("ingest", "journal", "a.jsonl").code == 0
    result = retro("run", "--once")
    assert result.code == 1
    assert list(Path("memory_data/reviews").rglob("*.md"))
