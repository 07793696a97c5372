"""A review in ten lines to Telegram, Discord, Slack, ntfy, webhooks and others, through apprise.

A URL of apprise holds its own secret, so a recipient is a name such as `tgram-1` (scheme and count), and no reason
quotes a URL or a part of one.
"""

from __future__ import annotations

import logging
import re
import warnings
from typing import TYPE_CHECKING, Any, Final

from retro.deliver.briefing import briefing_of, sanitise
from retro.deliver.channel import Rejected, Retry, Sent
from retro.figures import count
from retro.safe import plain_text, shorten
from retro.secret import NOTIFY_URLS, Secret, find_secret, redact

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from retro.config import Config
    from retro.deliver.channel import Message, Outcome
    from retro.present.page.answers import HeadlineAnswer

__all__ = ["NotifyChannel", "notify_channel", "summary"]

_LINES: Final = 10
_WIDEST: Final = 180
_HOUR: Final = 3600.0
_NEXT_URL: Final = re.compile(r"\s+|,+(?=[A-Za-z][\w+.-]*://)")
_MARKUP: Final = str.maketrans({"<": "(", ">": ")", "@": "@ ", "`": "'", "[": "(", "]": ")"})


def notify_channel(config: Config, env: Mapping[str, str]) -> NotifyChannel:
    """The channel as configured, with the secret URLs from the environment."""
    return NotifyChannel(config, find_secret(NOTIFY_URLS, env))


class NotifyChannel:
    """The channel `notify`."""

    name: Final = "notify"

    def __init__(self, config: Config, secret: Secret | None = None, *, deadline_s: float = 30.0) -> None:
        urls = [*config.notify.urls, *_NEXT_URL.split(secret.reveal() if secret else "")]
        self._urls = _named(url for url in urls if url)
        self._masked = Secret(NOTIFY_URLS, "\n".join(self._urls.values()))
        self._deadline_s = deadline_s

    def recipients(self, config: Config) -> tuple[str, ...]:  # noqa: ARG002  the secret URLs are ours alone
        """A name for each URL, without its secret."""
        return tuple(self._urls)

    def send(self, message: Message) -> Outcome:
        """Notify one URL."""
        url = self._urls.get(message.recipient)
        if url is None:
            return Rejected(f"{plain_text(message.recipient)} is not configured any more")
        service = _service(url)
        if service is None:
            return Retry(f"{message.recipient}: apprise knows no such URL; see [notify] urls", _HOUR)
        title, body = summary(message)
        log_lines: list[str] = []
        delivered = service.notify(
            body,
            title=title,
            body_format="text",
            timeout=self._deadline_s,
            log_callback=lambda entry, _: log_lines.append(str(entry.message)),
            log_level=logging.WARNING,
        )
        if delivered:
            return Sent()
        why = plain_text(str(redact("; ".join(dict.fromkeys(log_lines)), (self._masked,))))
        return Retry(f"{message.recipient} did not take it{f': {why}' if why else ''}"[:300])


def summary(message: Message) -> tuple[str, str]:
    """Title and body: ten lines at most together, nothing in them that a chat would take for markup or a mention."""
    page = briefing_of(message)
    title = sanitise(message.subject_line, 120) or f"{page.agent}, {page.kicker.lower()}"
    first = [f"{page.result}. {page.why}"]
    if page.revision > 1:
        changed = "; ".join(f"{c.label} {c.before}, now {c.after}" for c in page.changed[:2])
        first.append(f"Revision {page.revision}: {changed or 'no figure changed'}")
    first += page.alarms[:1]
    first += page.notices
    last = [f"retro show {page.review_id}"]
    if page.older:
        last.insert(0, f"{count(len(page.older) + page.more_older, 'older review')}, caught up with.")
    room = _LINES - 1 - len(first) - len(last)
    lines = [*first, *[_in_a_line(answer) for answer in page.answers][:room], *last]
    return _unmarked(title), "\n".join(_unmarked(line) for line in lines)


def _in_a_line(answer: HeadlineAnswer) -> str:
    named = ", ".join(f"{line.name} {line.verdict}" for line in answer.lines)
    remainder = f" and {answer.omitted:,} more" if answer.omitted else ""
    if answer.key == "decisions" and answer.lines:
        return f"Wants a decision: {named}{remainder}"
    text = ", ".join(part for part in (answer.answer, answer.note) if part)
    joint = " " if answer.question.endswith("?") else ": "
    return f"{answer.question}{joint}{text}{': ' if text and named else ''}{named}{remainder}"


def _unmarked(text: str) -> str:
    """A line in which no chat finds markup or a mention."""
    return shorten(plain_text(text).translate(_MARKUP), _WIDEST)


def _named(urls: Iterable[str]) -> dict[str, str]:
    """Each URL under its scheme and how many of that scheme came before it."""
    named: dict[str, str] = {}
    counts: dict[str, int] = {}
    for url in dict.fromkeys(urls):
        scheme = re.sub(r"[^a-z0-9]", "", url.partition("://")[0].lower())[:20] or "url"
        counts[scheme] = counts.get(scheme, 0) + 1
        named[f"{scheme}-{counts[scheme]}"] = url
    return named


def _service(url: str) -> Any | None:
    """An apprise object with this one URL; None when it knows no such URL. Nothing is fetched, kept or logged."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of modules its plugins still import
        return _service_of(url)


def _service_of(url: str) -> Any | None:
    import apprise  # noqa: PLC0415  heavy: loaded when something is sent

    # Lines for debugging quote URLs and paths; what its warnings say is passed on masked.
    for name, level in (("apprise", logging.WARNING), ("urllib3", logging.INFO)):
        logging.getLogger(name).setLevel(level)
    logging.getLogger("apprise").propagate = False
    asset = apprise.AppriseAsset(
        app_id="Slow Mirror",
        app_desc="Reviews of trading agents",
        app_url="",
        image_url_mask="",
        image_url_logo="",
        storage_mode=apprise.PersistentStoreMode.MEMORY,
    )
    service = apprise.Apprise(asset=asset)
    return service if service.add(url) else None
