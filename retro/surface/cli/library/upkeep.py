"""`retro library stats`, `archive`, `restore`, `forget`, `export`, `import`, `reindex`: keeping what is known."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from retro.errors import UsageError
from retro.surface.cli.context import call
from retro.surface.cli.library.items import ItemName, ItemOwner
from retro.surface.cli.memory import experience_of, print_imports
from retro.surface.cli.pages import PageFormat, PageOutput, answer

__all__ = ["add_to"]

_OneLibrary = Annotated[str | None, typer.Option("--agent", metavar="A", help="only this agent's library")]


def add_to(parent: typer.Typer) -> None:
    """Hang the commands into the tree."""
    parent.command("stats")(stats)
    parent.command("archive")(archive)
    parent.command("restore")(restore)
    parent.command("forget")(forget)
    parent.command("export")(export)
    parent.command("reindex")(reindex)
    parent.command("import")(import_)


def stats(agent: _OneLibrary = None, form: PageFormat = "text", output: PageOutput = None) -> None:
    """How each library stands: items, layers, index, archive, how long searches take.

    Example: retro library stats --json
    """
    from retro.app.questions.document import documents_of
    from retro.app.questions.library.upkeep import library_sizes
    from retro.present.page.screens.items import libraries_page

    sizes = library_sizes(experience_of(), agent)
    nothing = "" if sizes else "the library is empty; `retro library add FILE` and reviews fill it"
    answer(documents_of(sizes), lambda: libraries_page(sizes), form, output, nothing)


def archive(
    unused_for: Annotated[
        str, typer.Option("--unused-for", metavar="DAYSd", help="since when nothing has used them")
    ] = "90d",
    agent: _OneLibrary = None,
) -> None:
    """Put texts that nothing has used for long into compressed blocks; they stay to be found and restored.

    Example: retro library archive --unused-for 90d
    """
    from retro.app.questions.library.upkeep import archive_unused
    from retro.figures import count
    from retro.periods import DAY

    days = unused_for.removesuffix("d")
    if not days.isdecimal() or len(days) > 6:
        raise UsageError(f"--unused-for takes days such as 90d, not {unused_for!r}")
    now = time.time_ns() // 1000
    total = archive_unused(experience_of(), agent, now - int(days) * DAY, now)
    if call.json:
        call.out_json({"archived": total})
    else:
        call.out(f"{count(total, 'item')} archived")


def restore(item: ItemName, agent: ItemOwner = None) -> None:
    """Take an item out of the archive, as it was to the last bit.

    Example: retro library restore note-1
    """
    from retro.app.questions.library.upkeep import restore as take_out

    moved = take_out(experience_of(), agent, item)
    if call.json:
        call.out_json({"id": item, "restored": moved})
    else:
        call.out("restored" if moved else "it was not in the archive")


def forget(item: ItemName, agent: ItemOwner = None) -> None:
    """Erase an item: text, vector and archive copy go; its id stays, so that lineage does not break.

    Example: retro library forget note-1
    """
    from retro.app.questions.library.upkeep import forget as erase

    erase(experience_of(), agent, item, at=time.time_ns() // 1000, who="owner")
    if call.json:
        call.out_json({"id": item, "forgotten": True})
    else:
        call.out("forgotten; copies in backups are yours to delete")


def export(
    file: Annotated[str, typer.Argument(metavar="FILE", help="where to write it; - for stdout")],
    agent: _OneLibrary = None,
) -> None:
    """Write the libraries as JSON Lines, vectors and all.

    Example: retro library export library.jsonl
    """
    from retro.app.questions.library.upkeep import export_library
    from retro.surface.cli.files import write_whole

    lines = export_library(experience_of(), agent)
    if file == "-":
        call.out_parts(lines)
        return
    write_whole(Path(file), "".join(lines))
    if call.json:
        call.out_json({"file": file})


def import_(
    file: Annotated[str, typer.Argument(metavar="FILE", help="what `export` wrote, .gz too, - for stdin")],
) -> None:
    """Take in an exported library; what is there already stays as it is.

    Example: retro library import library.jsonl
    """
    from retro.app.questions.library.upkeep import import_library

    print_imports([import_library(experience_of(), file)], "item")


def reindex(
    model: Annotated[
        str | None, typer.Option("--model", metavar="NAME", help="default: that of [memory] model")
    ] = None,
    agent: _OneLibrary = None,
) -> None:
    """Search by the vectors of another model: built beside, changed at once, resumed where it was killed.

    Example: retro library reindex --model all-MiniLM-L6-v2-int8-finance
    """
    from retro.app.questions.document import documents_of
    from retro.app.questions.library.upkeep import reindex_libraries
    from retro.figures import count

    changed = reindex_libraries(experience_of(), agent, model)
    if call.json:
        call.out_json(documents_of(changed))
        return
    for entry in changed:
        call.out(f"{entry.agent or 'everybody'}: {count(entry.items, 'item')} by {entry.model}")
