"""What an owner may do from a screen: each by a page that asks once more, by the functions of the command line, and noted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, urlencode

from retro.app.questions.screens.today import mark_seen
from retro.errors import RetroError, UnknownError, UsageError
from retro.present.page.blocks import Headline, Page
from retro.present.screen import ActForm, plain_page, screen_of
from retro.safe import plain_text
from retro.store.jobs import interventions, outbox
from retro.surface.guard.access import CALLER
from retro.surface.web.replies import TYPES, reply

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.requests import Request as HttpRequest
    from starlette.responses import Response

    from retro.present.screen import ScreenFrame
    from retro.surface.screens.house import House

__all__ = ["ACT", "act_address", "asked", "done"]

ACT: Final = "/-/act"
"""Where an act is asked for, and where it is done."""
_FIELDS: Final = 8
_LONGEST: Final = 500


@dataclass(frozen=True, slots=True)
class _Act:
    """A verb of the command line: what it says it will do, where one goes on, whether it wants a reason, and who does it."""

    title: str
    sentence: str
    onward: str
    do: Callable[[House, str, str], str]
    why: bool = False


def _retry(house: House, review: str, _: str) -> str:
    with house.store.write() as conn:
        return interventions.retry(conn, review, house.clock()).state


def _skip(house: House, review: str, why: str) -> str:
    with house.store.write() as conn:
        return interventions.skip(conn, review, why).state


def _resend(house: House, which: str, _: str) -> str:
    with house.store.write() as conn:
        count = outbox.resend(conn, which, house.clock())
    if not count:
        raise UnknownError("there is no message or review of that name to send again")
    return f"{count} to send"


def _seen(house: House, page: str, _: str) -> str:
    at, _, digest = page.partition(".")
    if not (at.isascii() and at.isdigit() and len(at) < 19 and digest.isalnum()):
        raise UsageError("what was seen is no page of Today")
    mark_seen(house.store, min(int(at), house.clock()), digest)
    return "seen"


_ACTS: Final = {
    "retry": _Act("Retry", "is made at the next knock", "/reviews", _retry),
    "skip": _Act("Skip", "is passed over for good", "/reviews", _skip, why=True),
    "resend": _Act("Send again", "goes out again at the next knock", "/reviews", _resend),
    "seen": _Act("Mark as seen", "what comes after this page is new the next time", "/", _seen),
}
"""Every act there is."""


def act_address(verb: str, subject: str) -> str:
    """Where an act on something is asked for."""
    return f"{ACT}?{urlencode({'do': verb, 'of': subject})}"


def asked(http: HttpRequest, frame: ScreenFrame, query: bytes) -> Response:
    """The page that asks once more; nothing has happened when it is drawn."""
    fields = _fields(query)
    act, subject = _ACTS.get(fields.get("do", "")), fields.get("of", "")
    if act is None or not subject:
        return reply(http, "there is no such act\n", status=HTTPStatus.NOT_FOUND)
    named = "" if act.title == "Mark as seen" else subject
    page = Page(Headline("Sure?", act.title, named, act.sentence.capitalize(), "", "plain"), ())
    form = ActForm(ACT, (("do", fields["do"]), ("of", subject)), act.title, act.why)
    return reply(http, screen_of(plain_page(page), replace(frame, act=form)), TYPES["html"])


def done(house: House, http: HttpRequest, body: bytes, note: Callable[[str], None]) -> Response:
    """Do it, write down who did, and go on where one came from; what could not be done says why."""
    fields = _fields(body)
    act, subject, why = _ACTS.get(fields.get("do", "")), fields.get("of", ""), fields.get("why", "")
    if act is None or not subject:
        return reply(http, "there is no such act\n", status=HTTPStatus.NOT_FOUND)
    if act.why and not 0 < len(why.strip()) <= _LONGEST:
        return reply(http, "say why, in a sentence\n", status=HTTPStatus.BAD_REQUEST)
    try:
        became = act.do(house, subject, why.strip())
    except (UsageError, UnknownError) as error:
        return reply(http, f"{plain_text(str(error))}\n", status=HTTPStatus.CONFLICT)
    except RetroError:
        return reply(
            http, "the database could not take it; try again\n", status=HTTPStatus.SERVICE_UNAVAILABLE
        )
    note(
        f"{http.scope[CALLER].name} ({http.client.host if http.client else 'socket'}): {fields['do']} {subject}: {became}"
    )
    return reply(http, status=HTTPStatus.SEE_OTHER, headers={"location": act.onward})


def _fields(text: bytes) -> Mapping[str, str]:
    try:
        return dict(parse_qsl(text.decode("ascii"), max_num_fields=_FIELDS, errors="strict"))
    except ValueError:
        return {}
