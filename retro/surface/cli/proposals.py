"""`retro playbook propose`, `apply`, `pr` and `status`, `accept` ...: amendments from the audit, and what became of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from retro.surface.cli.context import call, complain
from retro.surface.cli.memory import AsOf, instant_of
from retro.surface.cli.pages import PageFormat, PageOutput, answer

if TYPE_CHECKING:
    from retro.store.proposals import Proposal

__all__ = ["add_to"]

ProposalName = Annotated[str, typer.Argument(metavar="ID", help="as `retro playbook status --json` lists it")]
OneAgent = Annotated[str | None, typer.Option("--agent", metavar="A", help="whose, where several have it")]


def add_to(parent: typer.Typer) -> None:
    """Hang the commands into `retro playbook`."""
    parent.command("propose")(propose)
    parent.command("apply")(apply)
    parent.command("pr")(pr)
    parent.command("status")(status)
    parent.command("proposal")(proposal)
    parent.command("accept")(accept)
    parent.command("decline")(decline)


def propose(
    agent: Annotated[
        str | None, typer.Option("--agent", metavar="A", help="needed when there are several")
    ] = None,
    as_of: AsOf = None,
) -> None:
    """Show what the audit justifies changing in the playbook. Printed as a diff; nothing is changed.

    Example: retro playbook propose --agent sample > playbook.patch
    """
    import playbook
    from retro.app.proposals.files import amended_text
    from retro.app.proposals.justification import propose as propose_now
    from retro.forge.request import grounds_of

    agent_record = call.agent(agent)
    settings = call.settings(agent_record)
    book, amendments = propose_now(call.store, agent_record, settings, as_of=instant_of(as_of))
    if call.json:
        call.out_json([playbook.to_json(amendment) for amendment in amendments])
        return
    changed = amended_text(book, amendments)
    old = "" if settings.playbook is None else str(book)  # without a playbook, a new file
    diff = playbook.diff(old, changed, call.config.playbook.file) if amendments else ""
    if diff:
        call.out("".join(f"# {line}\n" for line in grounds_of(amendments)) + diff)
    else:
        call.say("the evidence justifies no change")


def apply(
    file: Annotated[Path, typer.Argument(metavar="FILE", readable=False, help="a PLAYBOOK.md")],
    proposals_file: Annotated[
        Path, typer.Argument(metavar="PROPOSALS.json", readable=False, help="from propose --json")
    ],
) -> None:
    """Print the playbook with proposals applied. The file stays as it is.

    Example: retro playbook apply PLAYBOOK.md proposals.json > amended.md
    """
    from retro.app.proposals.files import amended_text, read_playbook, read_proposals

    book = read_playbook(file)
    text = amended_text(book, read_proposals(proposals_file))
    call.out_bytes(text.encode("utf-8", "surrogateescape"))


def pr(
    agent: Annotated[
        str | None, typer.Option("--agent", metavar="A", help="needed when there are several")
    ] = None,
    week: Annotated[
        str | None,
        typer.Option("--week", metavar="W", help="such as 2026-W47; default: the last complete one"),
    ] = None,
) -> None:
    """Bring what the audit justifies to you: as a patch, or as a pull request. Again, it finds what is there.

    Example: retro playbook pr --agent sample
    """
    import os
    import time

    from retro.app.proposals.repository import remote_from
    from retro.app.proposals.requests import open_request

    agent_record = call.agent(agent)
    remote = remote_from(call.store, call.config, os.environ, wait=time.sleep)
    now = time.time_ns() // 1000
    done = open_request(call.store, agent_record, call.settings(agent_record), remote, now=now, week=week)
    if call.json:
        call.out_json({**done._asdict(), "proposals": list(done.proposals)})
    elif done.state == "none":
        call.say(done.reason or "nothing to propose")
    else:
        call.out(done.url or done.branch or "")
        if done.reason:
            call.say(done.reason)
    if done.state == "blocked":
        call.code = 1


def status(
    agent: Annotated[str | None, typer.Option("--agent", metavar="A", help="of one agent only")] = None,
    form: PageFormat = "text",
    output: PageOutput = None,
) -> None:
    """List every proposal and what became of it.

    Example: retro playbook status --json
    """
    from retro.app.questions.proposals import damaged_proposals, proposal_document, proposals
    from retro.present.page.screens.proposals import ProposalLine, proposals_page

    name = None if agent is None else call.agent(agent).name
    rows = proposals(call.store, name)
    for damaged in damaged_proposals(call.store, name):
        complain(f"retro: proposal {damaged.id} of {damaged.agent} cannot be read: {damaged.reason}")
        call.code = 1
    lines = [
        ProposalLine(row.agent, row.id, row.state, row.url or row.branch or "", row.amendment) for row in rows
    ]
    answer(
        [proposal_document(row) for row in rows],
        lambda: proposals_page(lines, name),
        form,
        output,
        "" if rows else "nothing was proposed yet; `retro playbook propose` shows what would be",
    )


def proposal(
    name: ProposalName,
    agent: OneAgent = None,
    form: PageFormat = "text",
    output: PageOutput = None,
) -> None:
    """Show one proposal whole: what it changes, on what evidence, and what would prove it wrong.

    Example: retro playbook proposal 0f3a91c2d4e5b6a7
    """
    from retro.app.questions.proposals import proposal as proposal_of
    from retro.app.questions.proposals import whole_document
    from retro.present.page.screens.proposals import proposal_page

    row = proposal_of(call.store, name, agent)
    currency = call.settings(call.agent(row.agent)).base_currency
    answer(
        whole_document(row),
        lambda: proposal_page(row.agent, row.state, row.url or row.branch or "", row.amendment, currency),
        form,
        output,
    )


def accept(name: ProposalName, agent: OneAgent = None) -> None:
    """Carry a proposal out in the agent's PLAYBOOK.md, and count it as merged. What a request asks is answered there.

    Example: retro playbook accept 0f3a91c2d4e5b6a7
    """
    import time

    from retro.app.proposals import answers
    from retro.app.questions.proposals import proposal as proposal_of

    row = proposal_of(call.store, name, agent)
    table = call.config.agent.get(row.agent)
    file = None if table is None or table.playbook is None else Path(table.playbook)
    _say_answer(row, answers.accept(call.store, row, file, time.time_ns() // 1000))


def decline(name: ProposalName, agent: OneAgent = None) -> None:
    """Say no to a proposal: it comes back only when its odds have grown tenfold.

    Example: retro playbook decline 0f3a91c2d4e5b6a7
    """
    import time

    from retro.app.proposals import answers
    from retro.app.questions.proposals import proposal as proposal_of

    row = proposal_of(call.store, name, agent)
    _say_answer(row, answers.decline(call.store, row, time.time_ns() // 1000))


def _say_answer(row: Proposal, state: str) -> None:
    if call.json:
        call.out_json({"agent": row.agent, "id": row.id, "state": state})
    else:
        call.out(f"{row.id} is {state}")
