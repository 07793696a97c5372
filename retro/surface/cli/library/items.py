"""`retro library add`, `search`, `show`, `lineage`, `versions`: what is known, and where it comes from."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from retro.surface.cli.context import call, instant
from retro.surface.cli.memory import AsOf, experience_of, instant_of, print_imports
from retro.surface.cli.pages import PageFormat, PageOutput, answer

__all__ = ["ItemName", "ItemOwner", "add_to"]

ItemName = Annotated[str, typer.Argument(metavar="ID", help="the item's id")]
ItemOwner = Annotated[str | None, typer.Option("--agent", metavar="A", help="as this agent sees it")]


def add_to(parent: typer.Typer) -> None:
    """Hang the commands into the tree."""
    parent.command("add")(add)
    parent.command("search")(search)
    parent.command("show")(show)
    parent.command("lineage")(lineage)
    parent.command("versions")(versions)


def add(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE...", help="items as JSON Lines, .gz too, - for stdin")
    ],
) -> None:
    """Add texts to the library: what agents found out, decided, learned.

    Example: retro library add items.jsonl
    """
    from retro.app.questions.library.items import add_file
    from retro.periods import DAY

    experience, limit = experience_of(), time.time_ns() // 1000 + DAY
    print_imports([add_file(experience, file, not_after=limit) for file in files], "item")
    if call.code == 0 and not call.json:
        call.say(f"next: {call.command('library', 'search', 'TEXT')}")


def search(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="what is looked for, in any words")],
    agent: ItemOwner = None,
    collection: Annotated[
        str | None, typer.Option("--collection", metavar="C", help="only of this one")
    ] = None,
    symbol: Annotated[
        str | None, typer.Option("--symbol", metavar="S", help="only about this symbol")
    ] = None,
    layer: Annotated[
        str | None, typer.Option("--layer", metavar="L", help="short, mid, long or reflection")
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            "--where", metavar="KEY=VALUE", help="on metadata, also != < <= > >=; several are and-ed"
        ),
    ] = None,
    since: Annotated[str | None, typer.Option("--since", metavar="T", help="nothing older than T")] = None,
    as_of: AsOf = None,
    min_score: Annotated[
        float | None, typer.Option("--min-score", metavar="X", help="nothing below X")
    ] = None,
    min_confidence: Annotated[
        float | None,
        typer.Option("--min-confidence", metavar="X", help="nothing less sure, or unsure how sure"),
    ] = None,
    archived: Annotated[bool, typer.Option("--archived", help="what lies in the archive too")] = False,
    k: Annotated[int, typer.Option("-k", metavar="N", help="how many")] = 5,
    form: PageFormat = "text",
    output: PageOutput = None,
) -> None:
    """Find what means the same, best first; with the parts of each score.

    Example: retro library search 'why do breakouts fail' --collection lessons_learned -k 3
    """
    from retro.app.questions.library.items import LibrarySearch, search_items
    from retro.present.page.screens.items import items_page

    asked = LibrarySearch(
        text=text,
        agent=agent,
        collection=collection,
        symbol=symbol,
        layer=layer,
        where=where or (),
        since=None if since is None else instant(since, "--since"),
        as_of=instant_of(as_of),
        min_score=min_score,
        min_confidence=min_confidence,
        archived=archived,
        k=k,
    )
    found = search_items(experience_of(), asked, now=time.time_ns() // 1000)
    if found.note is not None:
        call.say(f"note: {found.note}")
    nothing = "" if found.hits else "nothing in the library is like it"
    answer(found.list_document(), lambda: items_page(text, found.hits), form, output, nothing)


def show(
    item: ItemName, agent: ItemOwner = None, form: PageFormat = "text", output: PageOutput = None
) -> None:
    """One item as it was told, and whether it lies in the archive.

    Example: retro library show lesson-7
    """
    from retro.app.questions.library.items import show_item
    from retro.present.page.screens.items import item_page

    document = show_item(experience_of(), agent, item).document()
    answer(document, lambda: item_page(document), form, output)


def lineage(item: ItemName, agent: ItemOwner = None) -> None:
    """What an item rests on, over any number of generations, and what rests on it.

    Example: retro library lineage strategy-2
    """
    from memory import as_document
    from retro.app.questions.library.items import item_lineage
    from retro.safe import plain_text

    line = item_lineage(experience_of(), agent, item, now=time.time_ns() // 1000)
    if call.json:
        call.out_json(as_document(line))
        return
    for title, relatives in (("rests on", line.ancestors), ("led to", line.descendants)):
        for relative in relatives:
            kind = "" if relative.kind == "item" else f" ({relative.kind})"
            call.out(plain_text(f"{title} {relative.id}, {relative.distance} away{kind}"))
    if not line.ancestors and not line.descendants:
        call.say(f"{plain_text(item)} rests on nothing, and nothing on it")


def versions(item: ItemName, agent: ItemOwner = None) -> None:
    """Every version of a thing, oldest first, whichever of them is named.

    Example: retro library versions strategy-2
    """
    from memory import written
    from retro.app.questions.document import documents_of
    from retro.app.questions.library.items import item_versions
    from retro.safe import plain_text

    listed = item_versions(experience_of(), agent, item)
    if call.json:
        call.out_json(documents_of(listed))
        return
    for entry in listed:
        status = f"  {entry.status}" if entry.status else ""
        call.out(plain_text(f"{entry.version:>3}. {entry.id}  {written(entry.at)}{status}"))
