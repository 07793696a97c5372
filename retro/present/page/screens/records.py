"""What is on record beside the ledger, as pages: experiments, hypotheses, the layers of a library, what an agent leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from retro.figures import DASH, count
from retro.present.page.blocks import Cell, Column, Figure, FigureList, Notes, Prose, Table, page_of_blocks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memory.library.layers.replay import ReplayResult
    from retro.model import Fault
    from retro.present.page.blocks import Block, Page

__all__ = [
    "estate_page",
    "experiments_page",
    "faults_page",
    "feedback_words",
    "hypotheses_page",
    "layers_page",
    "replay_page",
]


def experiments_page(agent: str, records: Sequence[Mapping[str, Any]]) -> Page:
    """Experiments as they stand in their files, in the order given."""
    columns = (
        Column("Experiment", right=False, cut=28),
        Column("When", right=False),
        Column("Strategy", right=False, cut=12),
        Column("About", right=False, cut=10),
        Column("Verdict", right=False),
    )
    cells = [
        (
            Cell(str(record["id"]), "strong"),
            Cell(str(record.get("timestamp") or "")[:10]),
            Cell(str(record.get("strategy_name") or "")),
            Cell(_about(record)),
            Cell(str(record["assessment"].get("verdict") or "")),
        )
        for record in records
    ]
    result = count(len(records), "experiment")
    return page_of_blocks("Experiments", agent, "what was tried", result, (Table.of(columns, cells),))


def _about(record: Mapping[str, Any]) -> str:
    """The heuristic that a review tested, else the review's horizon; nothing of an agent's own experiment."""
    context = record.get("context")
    fields = context if isinstance(context, dict) else {}
    return str(fields.get("heuristic") or fields.get("horizon") or "")


def hypotheses_page(agent: str, records: Sequence[Mapping[str, Any]]) -> Page:
    """Hypotheses as they stand in their file: what is open, and what was settled by how many experiments."""
    blocks: list[Block] = []
    for record in records:
        status = str(record.get("status") or "untested")
        tests = record.get("tested_by")
        number = count(len(tests) if isinstance(tests, list) else 0, "experiment")
        so_far = tests and status == "untested"
        tested = f"in {number} so far, none decided it" if so_far else f"tested by {number}"
        blocks.append(Prose(f"{record['text']} ({tested})", f"{record['id']}  {status}"))
    result = count(len(records), "hypothesis", "hypotheses")
    return page_of_blocks("Hypotheses", agent, "what is open, and what was settled", result, blocks)


def layers_page(agent: str, document: Mapping[str, Any]) -> Page:
    """How an agent's layers stand, by the JSON of `retro library layers`: items, their means, what flowed."""
    names = ("Layer", "Items", "Importance", "Recency", "Oldest")
    fields = (("mean_importance", ".2f"), ("mean_recency", ".3f"), ("oldest_delta", ",d"))
    cells = [
        (
            Cell(name, "strong"),
            Cell(f"{standing['items']:,}"),
            *(
                Cell(DASH if standing[field] is None else format(standing[field], form))
                for field, form in fields
            ),
        )
        for name, standing in document.items()
        if name != "flow"
    ]
    flow = document["flow"]
    words = (
        f"{count(flow['steps'], 'step')} so far: {flow['added']:,} added, {flow['moved_up']:,} rose,"
        f" {flow['moved_down']:,} fell, {flow['cleaned']:,} cleaned up"
    )
    items = sum(standing["items"] for name, standing in document.items() if name != "flow")
    table = Table.of([Column(name, right=name != "Layer") for name in names], cells)
    return page_of_blocks(
        "Layers", agent, "how its library stands", count(items, "item"), (table, Prose(words))
    )


def replay_page(file: str, result: ReplayResult) -> Page:
    """What recorded steps came to, and the items that are left."""
    names = ("Item", "Layer", "Importance", "Recency", "Age", "Access")
    cells = [
        (
            Cell(state.id, "strong"),
            Cell(state.layer),
            Cell(f"{state.importance:.2f}"),
            Cell(f"{state.recency:.3f}"),
            Cell(f"{state.delta:,}"),
            Cell(f"{state.access_counter:+,}"),
        )
        for state in result.survivors
    ]
    done = (
        f"{count(result.steps, 'step')} by {result.preset}: {result.added:,} added, {result.moved_up:,} rose,"
        f" {result.moved_down:,} fell, {result.cleaned:,} cleaned up"
    )
    blocks: list[Block] = [Notes((done, feedback_words(result.feedback, result.skipped)))]
    if cells:
        blocks.append(Table.of([Column(name, right=name not in ("Item", "Layer")) for name in names], cells))
    left = f"{count(len(result.survivors), 'item')} left"
    return page_of_blocks("Replay", file, "recorded steps through the layers", left, blocks)


def feedback_words(feedback: int, skipped: int) -> str:
    """What the feedback of steps reached."""
    return f"feedback reached {count(feedback, 'item')}; {skipped:,} it named were gone or never there"


def estate_page(document: Mapping[str, Any]) -> Page:
    """What there is of one agent, by the JSON of `retro agents show`: when it lived, rows by table, files, earlier names."""
    labels = (
        ("First event", "first_event"),
        ("Last event", "last_event"),
        ("Currency", "base_currency"),
        ("Capital", "capital"),
        ("Time zone", "time_zone"),
    )
    facts = [Figure(label, str(document[name])) for label, name in labels if document[name] is not None]
    facts += [Figure("Earlier name", life["agent"], life["reason"]) for life in document["earlier_names"]]
    files = {f"{name} (files)": size for name, size in document["files"].items() if size}
    sizes = {**document["rows"], **files}
    cells = [(Cell(name.replace("_", " ")), Cell(f"{size:,}")) for name, size in sizes.items()]
    table = Table.of((Column("What", right=False), Column("Rows")), cells)
    result = count(sum(document["rows"].values()), "row")
    return page_of_blocks(
        "Agent", document["agent"], "what there is of it", result, (FigureList(tuple(facts)), table)
    )


def faults_page(rows: Sequence[Fault], total: int, agent: str | None) -> Page:
    """Foreign rows that could not be used, `total` in all: where each stood, and why."""
    columns = (Column("Where", right=False, cut=24), Column("Line"), Column("Why", right=False, cut=30))
    cells = [
        (Cell(row.where, "strong"), Cell(DASH if row.line is None else f"{row.line:,}"), Cell(row.reason))
        for row in rows
    ]
    nothing = Notes(("Everything that was ingested could be used.",), tone="faint")
    block: Block = Table.of(columns, cells) if rows else nothing
    return page_of_blocks(
        "Faults", agent or "Faults", "what could not be used, and why", count(total, "fault"), (block,)
    )
