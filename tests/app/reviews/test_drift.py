"""The weekly review of an agent with a backtest says in a line what `retro drift` says of its week."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from retro.deliver.briefing import briefing_of
from retro.report import RetrospectiveReport
from tests.evaluate.drift.bots import bought, differing, month
from tests.worlds.commands import Retro, retro
from tests.worlds.freqtrade_databases import result, write, zipped
from tests.worlds.mails import message

__all__ = ["retro"]

CONFIGURATION = '[agent.live]\nbacktest = "bt"\n'


def read(retro: Retro, *, backtest: bool = True) -> None:
    differing(Path.cwd())
    assert retro("ingest", "freqtrade", "tradesv3.sqlite", "--agent", "live").code == 0
    if backtest:
        assert retro("ingest", "freqtrade", "backtest-result.zip", "--agent", "bt").code == 0


def week(retro: Retro, day: str = "2026-01-08") -> dict[str, Any]:
    review: dict[str, Any] = retro("review", "weekly", "--agent", "live", "--at", day, "--json").data
    return review


def test_its_line_is_that_of_the_command_and_it_is_in_page_and_mail(retro: Retro) -> None:
    read(retro)
    bare = week(retro)
    assert "evaluators" not in bare
    Path("config.toml").write_text(CONFIGURATION)
    review = week(retro)
    drift = review["evaluators"]["drift"]
    answer = retro("drift", "live", "bt", "--from", "2026-01-05", "--to", "2026-01-12", "--json").data
    assert (drift["live"], drift["backtest"], drift["difference"], drift["matched"]) == tuple(
        answer[name] for name in ("live", "backtest", "difference", "matched")
    )
    assert (drift["live_only"], drift["backtest_only"]) == (0, 1)
    largest = max(answer["lines"], key=lambda name: abs(answer["lines"][name]))
    assert (drift["line"], drift["amount"]) == (largest, answer["lines"][largest])
    line = f"Live less backtest (bt): {drift['difference']:+.2f} USDT; 6 pairs, 0 by live alone, 1 by the"
    assert line in " ".join(retro("review", "weekly", "--agent", "live", "--at", "2026-01-08").out.split())
    page = retro("review", "weekly", "--agent", "live", "--at", "2026-01-08", "--format", "html").out
    assert f"Largest line: {largest.replace('_', ' ')}" in page
    mail = briefing_of(message(RetrospectiveReport.model_validate(review)))
    assert "drift" in {section.key for section in mail.sections}
    Path("config.toml").unlink()
    assert week(retro) == bare  # without a backtest no byte of a review changes


def test_facts_of_later_weeks_do_not_change_it(retro: Retro) -> None:
    read(retro)
    Path("config.toml").write_text(CONFIGURATION)
    before = week(retro)["evaluators"]["drift"]
    later = [bought(day, 30.0, number=day) for day in (30, 31)]
    Path("tradesv3.sqlite").unlink()
    differing(Path.cwd())
    write(Path("more.sqlite"), [replace(trade, id=trade.id + 100) for trade in later])
    assert retro("ingest", "freqtrade", "more.sqlite", "--agent", "other").code == 0
    zipped(Path("longer.zip"), {"backtest-result-1.json": result([*month(), *later])})
    done = retro("ingest", "freqtrade", "longer.zip", "--agent", "bt", "--replace-source")
    assert done.code == 0, done.err
    assert week(retro)["evaluators"]["drift"] == before


def test_what_cannot_be_said_is_null_with_the_reason(retro: Retro) -> None:
    read(retro, backtest=False)
    Path("config.toml").write_text(CONFIGURATION)
    zipped(Path("short.zip"), {"backtest-result-1.json": result(month(1, 2, 3, 4))})
    for why in ("the database knows no agent bt", "bt tells nothing of this period that live tells of, too"):
        drift = week(retro, "2026-01-20")["evaluators"]["drift"]
        assert (drift["difference"], drift["line"], drift["live"]) == (None, None, None)
        assert drift["reasons"]["difference"] == why
        page = " ".join(retro("review", "weekly", "--agent", "live", "--at", "2026-01-20").out.split())
        assert f"Against bt: not known; {why}." in page
        assert retro("ingest", "freqtrade", "short.zip", "--agent", "bt").code == 0


def test_the_doctor_names_a_backtest_that_is_not_read_and_a_slip_is_refused(retro: Retro) -> None:
    read(retro, backtest=False)
    Path("config.toml").write_text(CONFIGURATION)
    assert "live: its backtest bt is no agent here" in " ".join(retro("doctor").out.split())
    Path("config.toml").write_text('[agent.live]\nbacktest = "live"\n')
    refused = retro("review", "weekly", "--agent", "live")
    assert refused.code == 2
    assert "backtest must name another agent" in refused.err
