"""What an owner may do in a browser: each by a page that asks once more, and noted."""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, urlencode

from retro.errors import RetroError, UnknownError, UsageError
from retro.present.page.screens.pages import confirmation_page
from retro.present.screen import ActForm, plain_page, screen_of
from retro.safe import plain_text
from retro.surface.guard.access import CALLER
from retro.surface.screens.acts import ACTS, perform
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


def act_address(verb: str, subject: str) -> str:
    """Where an act on something is asked for."""
    return f"{ACT}?{urlencode({'do': verb, 'of': subject})}"


def asked(http: HttpRequest, frame: ScreenFrame, query: bytes) -> Response:
    """The page that asks once more; nothing has happened when it is drawn."""
    fields = _fields(query)
    act, subject = ACTS.get(fields.get("do", "")), fields.get("of", "")
    if act is None or not subject:
        return reply(http, "there is no such act\n", status=HTTPStatus.NOT_FOUND)
    name = subject if act.named else ""
    page = confirmation_page(act.title, name, act.sentence)
    form = ActForm(ACT, (("do", fields["do"]), ("of", subject)), act.title, act.why)
    return reply(http, screen_of(plain_page(page), replace(frame, act=form)), TYPES["html"])


def done(house: House, http: HttpRequest, body: bytes, note: Callable[[str], None]) -> Response:
    """Do it, write down who did, and go on where one came from; what could not be done says why."""
    fields = _fields(body)
    verb, subject, why = fields.get("do", ""), fields.get("of", ""), fields.get("why", "")
    act = ACTS.get(verb)
    if act is None or not subject:
        return reply(http, "there is no such act\n", status=HTTPStatus.NOT_FOUND)
    if act.why and not why.strip():
        return reply(http, "say why, in a sentence\n", status=HTTPStatus.BAD_REQUEST)
    try:
        became = perform(house, verb, subject, why)
    except (UsageError, UnknownError) as error:
        return reply(http, f"{plain_text(str(error))}\n", status=HTTPStatus.CONFLICT)
    except RetroError:
        return reply(
            http, "the database could not take it; try again\n", status=HTTPStatus.SERVICE_UNAVAILABLE
        )
    caller = http.client.host if http.client else "socket"
    note(f"{http.scope[CALLER].name} ({caller}): {verb} {subject}: {became}")
    return reply(http, status=HTTPStatus.SEE_OTHER, headers={"location": act.onward})


def _fields(text: bytes) -> Mapping[str, str]:
    try:
        return dict(parse_qsl(text.decode("ascii"), max_num_fields=_FIELDS, errors="strict"))
    except ValueError:
        return {}
