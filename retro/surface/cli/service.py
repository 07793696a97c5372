"""`retro run`, `reviews`, `show`, `diff`: the service, what it owes, and what it has written."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from retro.app.questions.bounds import ListBounds
from retro.errors import UsageError
from retro.surface.cli.context import call
from retro.surface.cli.pages import PageFormat, PageOutput, answer, write_out
from retro.surface.cli.screen import After, Limit, Newest, RowList, Where, print_list, selected

if TYPE_CHECKING:
    from retro.app.questions.reviews import Stored
    from retro.daemon import RunOptions

__all__ = ["add_to", "orders"]

reviews_app = typer.Typer(
    invoke_without_command=True,
    rich_markup_mode=None,
    help="What is due, running, done, parked or skipped, and why.",
    epilog="Example: retro reviews --state parked",
)

_STATES = ("waiting", "due", "running", "done", "parked", "skipped", "superseded")

AgentName = Annotated[str | None, typer.Option("--agent", metavar="A", help="only this agent's")]


def add_to(parent: typer.Typer) -> None:
    """Hang the commands into the tree."""
    parent.command("run")(run)
    parent.add_typer(reviews_app, name="reviews")
    parent.command("show")(show)
    parent.command("diff")(diff)


def run(
    once: Annotated[bool, typer.Option("--once", help="do what is due and end: for cron and timers")] = False,
) -> None:
    """Run the service: read the sources, make what is due, deliver it. Ends in good order at SIGTERM.

    Example: retro run --once
    """
    from retro import daemon

    call.code = (daemon.once if once else daemon.serve)(orders())


def orders() -> RunOptions:
    """This call's global options, as the service takes them."""
    from retro.daemon import RunOptions

    path = None if call.config_path is None else str(call.config_path)
    return RunOptions(config=path, db=call.db, verbose=call.verbose, quiet=call.quiet)


@reviews_app.callback()
def reviews(
    context: typer.Context,
    agent: AgentName = None,
    state: Annotated[
        str | None,
        typer.Option("--state", metavar="S", help=f"only those: {', '.join(_STATES)}"),
    ] = None,
    where: Where = "",
    limit: Limit = None,
    after: After = None,
    newest: Newest = False,
    form: PageFormat = "text",
    output: PageOutput = None,
) -> None:
    """List the reviews; a parked one needs you: retry or skip it.

    Example: retro reviews --state parked
    """
    if context.invoked_subcommand is None:
        _list(agent, state, ListBounds(limit, after, newest), where, form, output)


@reviews_app.command("list")
def list_reviews(
    agent: AgentName = None, limit: Limit = None, after: After = None, newest: Newest = False
) -> None:
    """List every review. The same as `retro reviews`.

    Example: retro reviews list --json
    """
    _list(agent, None, ListBounds(limit, after, newest))


def _list(
    agent: str | None,
    state: str | None,
    bounds: ListBounds,
    where: str = "",
    form: str = "text",
    output: Path | None = None,
) -> None:
    from retro.app.questions import reviews as subject
    from retro.app.questions.lists.filters import REVIEWS
    from retro.present.page.screens.pages import reviews_page

    if state is not None and state not in _STATES:
        raise UsageError(f"--state takes {', '.join(_STATES)}")
    question = subject.ReviewsQuestion(agent, state, selection=selected(where, REVIEWS))

    def count() -> int:
        return subject.count_reviews(call.store, question)

    listed = RowList(
        "reviews",
        lambda part: subject.reviews(call.store, replace(question, bounds=part)),
        count,
        lambda review: review.id,
        lambda review: subject.overview_of(review).document(),
        lambda rows: reviews_page([subject.overview_of(row) for row in rows], count(), agent, state),
    )
    print_list(listed, bounds, form, output, lambda: _none_there(agent, state, bounds, where))


def _none_there(agent: str | None, state: str | None, bounds: ListBounds, where: str) -> str:
    """What an empty list means: nobody was ever reviewed, or there are reviews of other agents or in other states."""
    from retro.app.questions.reviews import ReviewsQuestion, count_reviews
    from retro.figures import count

    if bounds.after is not None:
        return f"no review follows {bounds.after}"
    if where:
        return "no review is so; leave out --where to see all"
    everything = count_reviews(call.store, ReviewsQuestion(agent))
    if not everything:
        return "no reviews; `retro run --once` makes what is due"
    return f"no review is {state}; {count(everything, 'review')} in other states"


@reviews_app.command("retry")
def retry(review: Annotated[str, typer.Argument(metavar="ID")]) -> None:
    """Let a parked or skipped review be made at the next knock.

    Example: retro reviews retry my-agent.weekly.2026-W47
    """
    from retro.store.jobs.interventions import retry as retry_review

    with call.store.write() as conn:
        record = retry_review(conn, review, time.time_ns() // 1000)
    _changed(record.id, record.state)


@reviews_app.command("skip")
def skip(
    review: Annotated[str, typer.Argument(metavar="ID")],
    why: Annotated[str, typer.Option("--why", metavar="REASON", help="stands in the list")],
) -> None:
    """Pass a review over for good.

    Example: retro reviews skip my-agent.weekly.2026-W47 --why "the bot was being moved"
    """
    from retro.store.jobs.interventions import skip as skip_review

    with call.store.write() as conn:
        record = skip_review(conn, review, why)
    _changed(record.id, record.state)


@reviews_app.command("remake")
def remake(
    review: Annotated[str | None, typer.Argument(metavar="[ID]")] = None,
    since: Annotated[
        str | None, typer.Option("--since", metavar="T", help="every one whose period ends after this")
    ] = None,
    agent: AgentName = None,
) -> None:
    """Make reviews that are done again, at the next knock: after changed thresholds or a mended fault.

    The one that is named gets a new revision; of those since T each of which a figure has changed. What was written
    stays as it was.

    Example: retro reviews remake my-agent.weekly.2026-W47
    """
    from retro.figures import count
    from retro.store.jobs import interventions
    from retro.surface.cli.context import instant

    if (review is None) == (since is None):
        raise UsageError("name one review, or say --since T for all that end after it")
    if review is not None:
        with call.store.write() as conn:
            record = interventions.remake(conn, review)
        call.out(f"{record.id} is made again at the next knock")
        return
    at = instant(since or "", "--since")
    name = None if agent is None else call.agent(agent).name
    with call.store.write() as conn:
        number = interventions.remake_since(conn, at, name)
    call.out(
        f"{count(number, 'review')} looked at again at the next knock; what has changed is a new revision"
    )


def _changed(review: str, state: str) -> None:
    from retro.app.questions.reviews import overview_of
    from retro.store.jobs.reviews import by_id

    if call.json:
        with call.store.read() as conn:
            call.out_json(overview_of(by_id(conn, review)).document())
    else:
        call.out(f"{review} is {state}")


def show(
    review: Annotated[
        str, typer.Argument(metavar="ID", help="as `retro reviews` lists it; ID@1: a revision")
    ],
    form: PageFormat = "text",
    output: PageOutput = None,
    exchange: Annotated[
        bool, typer.Option("--model-exchange", help="what a model was asked and what it answered")
    ] = False,
) -> None:
    """Print a stored review again, exactly as it was written.

    Example: retro show my-agent.weekly.2026-W47 --format html -o week.html
    """
    from retro.app.questions.reviews import stored

    form = "json" if call.json else form
    stored_review = stored(call.store, review)
    if exchange:
        from retro.app.narration.narrate import model_exchanges

        call.out_json(model_exchanges(call.store, stored_review.review.id, stored_review.revision))
        return
    _print(stored_review, form, output)


def _print(stored_review: Stored, form: str, output: Path | None) -> None:
    from retro.present.formats import render

    if form == "json":
        text = stored_review.text
    else:
        text = render(
            stored_review.document,
            cast("Literal['text', 'md', 'html']", form),
            colour=form == "text" and output is None and call.colour,
            currency=_currency(stored_review),
            twins=stored_review.twins,
        )
    write_out(text, output)
    if output is None:
        _say_what_changed(stored_review)


def _currency(stored_review: Stored) -> str:
    """A position does not say its unit; its agent's settings do."""
    return call.settings(call.agent(stored_review.review.agent)).base_currency


def _say_what_changed(stored_review: Stored) -> None:
    from retro.app.questions.reviews import compare, stored

    if stored_review.revision < 2:
        return
    before = stored(call.store, f"{stored_review.review.id}@{stored_review.revision - 1}")
    changes = "; ".join(
        f"{c.label} {c.before} -> {c.after}"
        for c in compare(before, stored_review, _currency(stored_review))[:5]
    )
    call.say(
        f"revision {stored_review.revision}: {_cause(before, stored_review)}; {changes or 'no figure that is shown has changed'}"
    )


def _cause(before: Stored, after: Stored) -> str:
    """Why there is a revision: on the same facts it was asked for, or definitions have changed."""
    digests = {
        getattr(getattr(one.document, "provenance", None), "data_digest", one.text) for one in (before, after)
    }
    return "made again on the same facts" if len(digests) == 1 else "facts came in late"


def diff(
    before: Annotated[str, typer.Argument(metavar="REVIEW")],
    after: Annotated[str, typer.Argument(metavar="REVIEW", help="ID@1 names a revision")],
    form: PageFormat = "text",
    output: PageOutput = None,
) -> None:
    """Say what differs between two stored reviews, or two revisions of one.

    Example: retro diff my-agent.weekly.2026-W46 my-agent.weekly.2026-W47
    """
    from retro.app.questions.reviews import compare, stored
    from retro.present.page.screens.pages import differences_page

    earlier, later = stored(call.store, before), stored(call.store, after)
    changes = compare(earlier, later, _currency(later))
    answer(
        [{"what": c.label, "before": c.before, "after": c.after} for c in changes],
        lambda: differences_page(later.review.agent, before, after, changes),
        form,
        output,
        "" if changes else "no figure differs",
    )
