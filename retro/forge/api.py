"""Pull requests over the REST interface that GitHub, Gitea and Forgejo share, as far as we use it.

Requests are found by their head branch first. A redirect of a renamed repository is followed on the same host only,
so that the token never leaves it. Whatever a forge says in an error passes the redaction of secrets.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Final, Literal, Self
from urllib.parse import urljoin, urlsplit

from retro.errors import RetroError
from retro.safe import plain_text
from retro.secret import FORGE_TOKEN, Secret, redact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType

    from httpx2 import Client, Response

__all__ = ["Forge", "ForgeError", "PullRequest"]

_VERSION: Final = "2022-11-28"
_MOVED: Final = frozenset({301, 302, 307, 308})
_MOST_MOVES: Final = 3
_MOST_PAGES: Final = 40
_NEXT: Final = re.compile(r'<([^>]*)>\s*;[^,]*\brel="?next"?')
_SHOWN: Final = 300
_COLOUR: Final = "5b6ee1"
_MINUTE: Final = 60.0
_HOUR: Final = 3600.0


class ForgeError(RetroError):
    """The forge could not or would not. `after_s`: it said when to come back; `permanent`: a person has to act."""

    def __init__(self, reason: str, *, permanent: bool = False, after_s: float | None = None) -> None:
        super().__init__(reason)
        self.permanent = permanent
        self.after_s = after_s


@dataclass(frozen=True, slots=True)
class PullRequest:
    """A pull request as the forge tells it."""

    number: int
    url: str
    state: Literal["open", "merged", "closed"]
    title: str
    body: str
    labels: tuple[str, ...]
    head: str


class Forge:
    """The pull requests of one repository, `owner/name`; use it as a context.

    `wait` is called for a pause the forge asks for, up to a minute, before one more try; without it, and for longer
    pauses, the error says how long.
    """

    def __init__(
        self,
        api_url: str,
        slug: str,
        token: Secret | None,
        *,
        timeout_s: float = 30.0,
        wait: Callable[[float], None] | None = None,
    ) -> None:
        self._api = api_url.rstrip("/")
        self._repository = f"{self._api}/repos/{slug}"
        self._slug = slug
        self._token = token
        self._timeout_s = timeout_s
        self._wait = wait
        self._client: Client | None = None

    def __enter__(self) -> Self:
        import httpx2  # noqa: PLC0415  heavy, and only needed here

        headers = {
            "Accept": "application/vnd.github+json, application/json;q=0.9",
            "X-GitHub-Api-Version": _VERSION,
            "User-Agent": "slow-mirror",
        }
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token.reveal()}"
        self._client = httpx2.Client(headers=headers, timeout=self._timeout_s)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._client is not None:
            self._client.close()

    @property
    def _is_gitea(self) -> bool:
        return urlsplit(self._api).path.endswith("/api/v1")

    def repository(self) -> dict[str, Any]:
        """What the forge tells of the repository: `full_name`, `permissions` and more."""
        answer = self._call("GET", "")
        return answer if isinstance(answer, dict) else {}

    def find(self, branch: str) -> list[PullRequest]:
        """Every pull request ever made from this branch of this repository, newest first."""
        owner = self._slug.split("/")[0]
        query = {"state": "all", "head": f"{owner}:{branch}", "per_page": "100"}
        if self._is_gitea:  # it knows no filter by head, and counts pages in its own word
            query = {"state": "all", "limit": "50"}
        pulls = [pull for pull in self._pages("/pulls", query) if _is_from(pull, branch)]
        return sorted((_pull_request(pull) for pull in pulls), key=lambda request: -request.number)

    def get(self, number: int) -> PullRequest:
        """One pull request by its number."""
        return _pull_request(self._call("GET", f"/pulls/{number}"))

    def create(self, branch: str, base: str, title: str, body: str) -> PullRequest:
        """Open a pull request; one that is open already counts as made."""
        fields = {"title": title, "head": branch, "base": base, "body": body}
        try:
            return _pull_request(self._call("POST", "/pulls", fields))
        except ForgeError as error:
            if "already exists" not in str(error).lower():
                raise
            open_requests = [request for request in self.find(branch) if request.state == "open"]
            if not open_requests:
                raise
            return open_requests[0]

    def update(self, number: int, title: str, body: str) -> PullRequest:
        """Other words for a pull request."""
        return _pull_request(self._call("PATCH", f"/pulls/{number}", {"title": title, "body": body}))

    def label(self, number: int, label: str) -> None:
        """Put a label on it, made when the repository has none of that name."""
        names: list[Any] = [label]
        if self._is_gitea:
            matches = [row for row in self._pages("/labels", {"limit": "50"}) if row.get("name") == label]
            repository_label = (
                matches[0]
                if matches
                else self._call("POST", "/labels", {"name": label, "color": f"#{_COLOUR}"})
            )
            names = [repository_label["id"]]
        self._call("POST", f"/issues/{number}/labels", {"labels": names})

    def comment_once(self, number: int, marker: str, text: str) -> None:
        """Say something under it, unless a comment with this marker stands there."""
        query = {"limit": "50"} if self._is_gitea else {"per_page": "100"}
        comments = self._pages(f"/issues/{number}/comments", query)
        if not any(marker in str(comment.get("body") or "") for comment in comments):
            self._call("POST", f"/issues/{number}/comments", {"body": f"{text}\n\n{marker}"})

    # The wire

    def _pages(self, path: str, query: dict[str, str]) -> Iterator[dict[str, Any]]:
        url: str | None = f"{self._repository}{path}"
        params: dict[str, str] | None = query
        for _ in range(_MOST_PAGES):
            if url is None:
                return
            answer = self._ask("GET", url, None, params)
            rows = _json(answer)
            yield from (row for row in (rows if isinstance(rows, list) else []) if isinstance(row, dict))
            following = _NEXT.search(answer.headers.get("link", ""))
            url = urljoin(str(answer.url), following[1]) if following else None
            params = None

    def _call(self, method: str, path: str, fields: dict[str, Any] | None = None) -> Any:
        return _json(self._ask(method, f"{self._repository}{path}", fields, None))

    def _ask(
        self, method: str, url: str, fields: dict[str, Any] | None, params: dict[str, str] | None
    ) -> Response:
        answer = self._send(method, url, fields, params)
        pause = _pause(answer)
        if pause is not None and pause <= _MINUTE and self._wait is not None:
            self._wait(pause)
            answer = self._send(method, url, fields, params)
        if answer.is_success:
            return answer
        raise self._refusal(answer, f"{method} {urlsplit(url).path}")

    def _send(
        self, method: str, url: str, fields: dict[str, Any] | None, params: dict[str, str] | None
    ) -> Response:
        import httpx2  # noqa: PLC0415  as above

        if self._client is None:
            raise RuntimeError("a Forge is used within `with`")
        for _ in range(_MOST_MOVES + 1):
            if _origin(url) != _origin(self._api):
                raise ForgeError(
                    f"{self._api} sends us to another host; see [playbook] api_url", permanent=True
                )
            try:
                answer = self._client.request(method, url, json=fields, params=params)
            except (httpx2.HTTPError, httpx2.InvalidURL) as error:
                reason = self._clean(f"{type(error).__name__}: {error}")
                raise ForgeError(f"{self._api} cannot be reached: {reason}") from None
            if answer.status_code not in _MOVED or "location" not in answer.headers:
                return answer
            url, params = urljoin(str(answer.url), answer.headers["location"]), None  # it carries the query
        raise ForgeError(f"{self._api} sends us in circles")

    def _refusal(self, answer: Response, request: str) -> ForgeError:
        status = answer.status_code
        pause = _pause(answer)
        message = self._clean(_message(answer))
        if pause is not None:
            return ForgeError(f"{self._api} asks to come back in {pause:.0f} s: {message}", after_s=pause)
        if status in {401, 403, 404, 410, 451}:
            needed = f"{FORGE_TOKEN} needs contents and pull requests of this repository, read and write"
            return ForgeError(f"{self._slug}: {status} {message}; {needed}", permanent=True)
        return ForgeError(
            f"{self._slug}: {request}: {status} {message}", permanent=status in {400, 409, 413, 422}
        )

    def _clean(self, text: str) -> str:
        return plain_text(str(redact(text, (self._token,) if self._token else ())))[:_SHOWN]


def _origin(url: str) -> tuple[str, str]:
    try:
        split = urlsplit(url)
    except ValueError:
        return ("", url)
    return (split.scheme.lower(), split.netloc.lower())


def _json(answer: Response) -> Any:
    try:
        return json.loads(answer.content or b"null")
    except ValueError:
        raise ForgeError("the forge's answer is not JSON; see [playbook] api_url", permanent=True) from None


def _message(answer: Response) -> str:
    """What the body of an error says, also in its list of particulars."""
    try:
        body = json.loads(answer.content)
        parts = [
            body["message"],
            *(error["message"] for error in body.get("errors") or [] if error.get("message")),
        ]
        return "; ".join(map(str, parts))
    except (ValueError, KeyError, TypeError, AttributeError):
        return answer.reason_phrase or "no reason given"


def _pause(answer: Response) -> float | None:
    """Seconds the forge asks us to wait; None when it does not. An exhausted limit without a date is an hour."""
    if answer.status_code not in {403, 429, 503}:
        return None
    headers = answer.headers
    retry_after = headers.get("retry-after", "").strip()
    if retry_after.isascii() and retry_after.isdigit():
        return float(retry_after[:9])
    server_time = _instant(headers.get("date", ""))
    if (then := _instant(retry_after)) is not None and server_time is not None:
        return max(0.0, then - server_time)
    reset = headers.get("x-ratelimit-reset", "").strip()
    if headers.get("x-ratelimit-remaining") == "0":
        has_reset = reset.isascii() and reset.isdigit() and server_time is not None
        return max(1.0, float(reset[:12]) - (server_time or 0.0)) if has_reset else _HOUR
    return (
        _MINUTE if answer.status_code == 429 or "secondary rate limit" in _message(answer).lower() else None
    )


def _instant(text: str) -> float | None:
    """Seconds of a date as headers carry it."""
    try:
        at = parsedate_to_datetime(text)
    except (TypeError, ValueError):
        return None
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() if isinstance(at, datetime) else None


def _is_from(pull: dict[str, Any], branch: str) -> bool:
    """From this branch of the repository itself: a fork may have one of the same name."""
    head, base = pull.get("head") or {}, pull.get("base") or {}
    ours = (head.get("repo") or {}).get("id", -1) == (base.get("repo") or {}).get("id", -2)
    return ours and head.get("ref") == branch


def _pull_request(pull: Any) -> PullRequest:
    try:
        merged = pull.get("merged_at") is not None or pull.get("merged") is True
        state: Literal["open", "closed"] = "open" if pull["state"] == "open" else "closed"
        return PullRequest(
            number=int(pull["number"]),
            url=str(pull["html_url"]),
            state="merged" if merged else state,
            title=str(pull.get("title") or ""),
            body=str(pull.get("body") or ""),
            labels=tuple(str(label.get("name")) for label in pull.get("labels") or []),
            head=str((pull.get("head") or {}).get("ref") or ""),
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        raise ForgeError(
            "the forge's answer is no pull request; see [playbook] api_url", permanent=True
        ) from None
