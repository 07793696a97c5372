"""What a page leads to: one address and one command for each thing, whatever somebody named it."""

from __future__ import annotations

import shlex
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retro.present.links import address_of, command_of
from retro.present.references import (
    AgentReference,
    PeriodReference,
    PositionReference,
    ProposalReference,
    Reference,
    ReviewReference,
    RuleReference,
    RulesReference,
    ScreenReference,
)
from retro.surface.cli.main import app

REFERENCES: list[tuple[Reference, str, str]] = [
    (ReviewReference("a.weekly.2026-W47"), "/r/a.weekly.2026-W47", "retro show a.weekly.2026-W47"),
    (ReviewReference("a.life", 2), "/r/a.life@2", "retro show a.life@2"),
    (PositionReference("bot", "lp/1"), "/p/bot/lp%2F1", "retro review position lp/1 --agent bot"),
    (RuleReference("bot", "H-7"), "/rules/bot/H-7", "retro rule bot H-7"),
    (ProposalReference("bot", "p-1"), "/proposals/p-1?agent=bot", "retro playbook proposal p-1 --agent bot"),
    (RulesReference("bot"), "/rules/bot", "retro playbook audit --agent bot"),
    (PositionReference("bot", "x.json"), "/p/bot/x%2Ejson", "retro review position x.json --agent bot"),
    (AgentReference(".."), "/a/%2E%2E", "retro agents show .."),
    (
        PeriodReference("bot", "2026-W47"),
        "/reviews?agent=bot&in=2026-W47",
        "retro reviews --agent bot",
    ),
    (ScreenReference("today"), "/", "retro today"),
    (ScreenReference("positions", (("q", "pnl<0"),)), "/positions?q=pnl%3C0", "retro positions"),
    (ScreenReference("search"), "/search", ""),
]


@pytest.mark.parametrize(("reference", "address", "command"), REFERENCES, ids=lambda value: str(value)[:30])
def test_a_reference_has_one_address_and_one_command(
    reference: Reference, address: str, command: str
) -> None:
    assert (address_of(reference), command_of(reference)) == (address, command)


@pytest.mark.parametrize("command", sorted({command for _, _, command in REFERENCES if command}))
def test_every_command_is_one_of_ours(command: str) -> None:
    import typer

    group = typer.main.get_command(app)
    names = shlex.split(command)[1:]
    while names and hasattr(group, "commands") and names[0] in group.commands:
        group = group.commands[names.pop(0)]
    options = {option for parameter in group.params for option in parameter.opts}
    assert {name for name in names if name.startswith("--")} <= options


@given(st.text(min_size=1, max_size=20), st.text(min_size=1, max_size=20))
def test_whatever_a_thing_is_called_it_is_one_segment_and_can_be_read_back(agent: str, position: str) -> None:
    try:
        position.encode(), agent.encode()
    except UnicodeEncodeError:
        return
    address = urlsplit(address_of(PositionReference(agent, position)))
    _, letter, *segments = address.path.split("/")
    assert (letter, [unquote(segment) for segment in segments]) == ("p", [agent, position])
    assert not {".", ".."} & set(segments)
    query = parse_qs(urlsplit(address_of(PeriodReference(agent, "2026-W47"))).query, keep_blank_values=True)
    assert query["agent"] == [agent]
    words = shlex.split(command_of(PositionReference(agent, position)))
    assert (words[3], words[5]) == (position, agent)
