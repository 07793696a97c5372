"""A forge on the loopback interface: pull requests, labels and comments over a real bare git repository.

    with FakeForge(repository, token="t0ken") as forge:
        ...  # [playbook] api_url = forge.url, slug = forge.slug, repository = forge.git_url
        forge.close(1)

It answers as GitHub does; with `flavour="gitea"` as Gitea and Forgejo do where they differ: the address, no filter by
head, labels by number, 409 for a pull request that exists. The repository is served over HTTP too, for the token's sake.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
from base64 import b64decode
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import parse_qs, unquote, urlsplit

from retro.testing import forge_shapes as shapes

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

__all__ = ["Answer", "Asked", "FakeForge"]

_KEY: Final = 4711
_PAGE: Final = 30
_LONGEST_TITLE: Final = 256


@dataclass(frozen=True, slots=True)
class Answer:
    """A status, a JSON value and headers."""

    status: int
    told: Any = None
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as it arrived, and how it was answered."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any
    answer: Answer


class FakeForge:
    """The server. `asked` keeps every request to the interface; `trouble` holds answers to be given first, in turn."""

    def __init__(
        self,
        repository: Path,
        *,
        slug: str = "ada/agent",
        token: str = "",
        base: str = "main",
        flavour: Literal["github", "gitea"] = "github",
    ) -> None:
        self.repository = repository
        self.slug = slug
        self.token = token
        self.base = base
        self.flavour = flavour
        self.asked: list[Asked] = []
        self.trouble: list[Answer] = []
        self.pulls: list[dict[str, Any]] = []
        self.comments: list[dict[str, Any]] = []
        self.labels: list[str] = []
        self._former: list[str] = []
        self._lock = threading.RLock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"forge": self}))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> FakeForge:  # noqa: PYI034  it is final
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def web(self) -> str:
        """Where people would look."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def url(self) -> str:
        """Where it listens, as `[playbook] api_url` takes it."""
        return f"{self.web}/api/v1" if self.flavour == "gitea" else self.web

    @property
    def git_url(self) -> str:
        """Where git finds the repository."""
        return f"{self.web}/{self.slug}.git"

    # What people do

    def close(self, number: int) -> None:
        """Close a pull request unmerged."""
        self.pulls[number - 1]["state"] = "closed"

    def merge(self, number: int) -> None:
        """Merge a pull request, so that its base has what its head has."""
        pull = self.pulls[number - 1]
        head = self.commit_of(pull["head"])
        self.git("update-ref", f"refs/heads/{pull['base']}", str(head))
        pull |= {"state": "closed", "merged": head}

    def rename(self, slug: str) -> None:
        """Give the repository another name; the old one leads there."""
        self._former.append(self.slug)
        self.slug = slug

    def commit_of(self, branch: str) -> str | None:
        """Where a branch points to; None when there is none."""
        commit = self.git("for-each-ref", "--format=%(objectname)", f"refs/heads/{branch}")
        return commit or None

    def git(self, *arguments: str) -> str:
        """Ask the repository."""
        command = ["git", f"--git-dir={self.repository}", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603  a test's own words
        return done.stdout.strip()

    # What programs ask

    def answer(self, method: str, target: str, headers: dict[str, str], body: bytes) -> Answer:
        """Answer one request, and keep it."""
        split = urlsplit(target)
        query = {name: values[-1] for name, values in parse_qs(split.query).items()}
        try:
            document = json.loads(body) if body else None
        except ValueError:
            document = body.decode("utf-8", "replace")
        with self._lock:
            answer = self._respond(method, unquote(split.path), query, headers, document)
            self.asked.append(Asked(method, split.path, query, headers, document, answer))
        return answer

    def _respond(
        self, method: str, path: str, query: dict[str, str], headers: dict[str, str], document: Any
    ) -> Answer:
        if self.trouble:
            return self.trouble.pop(0)
        authorization = headers.get("Authorization", "")
        if self.token and authorization.partition(" ")[2] != self.token:
            return _no(401 if authorization else 404, "Bad credentials" if authorization else "Not Found")
        prefix = urlsplit(self.url).path
        for slug in self._former:
            if path.startswith(f"{prefix}/repos/{slug}"):
                suffix = path.removeprefix(f"{prefix}/repos/{slug}") + (f"?{_joined(query)}" if query else "")
                status = 301 if method == "GET" else 307
                where = f"{self.web}{prefix}/repositories/{_KEY}{suffix}"
                return Answer(status, {"message": "Moved Permanently", "url": where}, {"Location": where})
        for root in (f"{prefix}/repos/{self.slug}", f"{prefix}/repositories/{_KEY}"):
            if path == root or path.startswith(f"{root}/"):
                return self._of_repository(method, path.removeprefix(root), query, document)
        return _no(404, "Not Found")

    def _of_repository(self, method: str, path: str, query: dict[str, str], document: Any) -> Answer:
        numbered = re.fullmatch(r"/(pulls|issues)/([0-9]+)(/labels|/comments)?", path)
        if numbered and not 1 <= int(numbered[2]) <= len(self.pulls):
            return _no(404, "Not Found")
        number = int(numbered[2]) if numbered else 0
        match (method, path, numbered and (numbered[1], numbered[3])):
            case ("GET", "", _):
                return Answer(200, shapes.repository(self.web, self.url, self.slug, _KEY, self.base))
            case ("GET", "/pulls", _):
                return self._list_pulls(query)
            case ("POST", "/pulls", _):
                return self._create(document)
            case ("GET", _, ("pulls", None)):
                return Answer(200, self._pull(number))
            case ("PATCH", _, ("pulls", None)):
                changes = {name: document[name] for name in ("title", "body", "state") if name in document}
                self.pulls[number - 1] |= changes
                return Answer(200, self._pull(number))
            case ("GET", _, ("issues", "/comments")):
                mine = [
                    comment for comment in self.comments if comment["issue_url"].endswith(f"/issues/{number}")
                ]
                return self._paged(mine, query)
            case ("POST", _, ("issues", "/comments")):
                comment = shapes.comment(
                    self.web, self.url, self.slug, len(self.comments) + 1, number, document["body"]
                )
                self.comments.append(comment)
                return Answer(201, comment)
            case ("POST", _, ("issues", "/labels")):
                return self._label(number, document)
            case ("GET", "/labels", _):
                return self._paged([self._known_label(name) for name in self.labels], query)
            case ("POST", "/labels", _):
                self.labels.append(document["name"])
                return Answer(201, self._known_label(document["name"]))
            case _:
                return _no(404, "Not Found")

    def _list_pulls(self, query: dict[str, str]) -> Answer:
        wanted = query.get("state", "open")
        pulls = [pull for pull in reversed(self.pulls) if wanted in ("all", pull["state"])]
        if "head" in query and self.flavour == "github":
            owner, _, branch = query["head"].partition(":")
            pulls = [pull for pull in pulls if pull["head"] == branch and owner == self.slug.split("/")[0]]
        repo = shapes.repository(self.web, self.url, self.slug, _KEY, self.base)
        listing = [
            shapes.pull_request_in_a_list(self.web, self.url, self.slug, self._with_commits(pull), repo)
            for pull in pulls
        ]
        return self._paged(listing, query, "/pulls")

    def _paged(self, rows: list[Any], query: dict[str, str], path: str = "") -> Answer:
        size = int(query.get("limit" if self.flavour == "gitea" else "per_page", _PAGE))
        page = int(query.get("page", "1"))
        headers = {}
        if page * size < len(rows):
            following = _joined(query | {"page": str(page + 1)})
            headers["Link"] = f'<{self.url}/repos/{self.slug}{path}?{following}>; rel="next"'
        return Answer(200, rows[(page - 1) * size : page * size], headers)

    def _create(self, document: dict[str, Any]) -> Answer:
        head, base = str(document["head"]).rpartition(":")[2], document["base"]
        tip, ground = self.commit_of(head), self.commit_of(base)
        if tip is None or ground is None:
            wrong = "head" if tip is None else "base"
            return _invalid({"resource": "PullRequest", "field": wrong, "code": "invalid"})
        if any(
            pull["state"] == "open" and (pull["head"], pull["base"]) == (head, base) for pull in self.pulls
        ):
            if self.flavour == "gitea":
                return _no(409, f"pull request already exists for these targets [head_branch: {head}]")
            return _custom(f"A pull request already exists for {self.slug.split('/')[0]}:{head}.")
        if not self.git("rev-list", "--max-count=1", tip, f"^{ground}"):
            return _custom(f"No commits between {base} and {head}")
        if len(document["title"]) > _LONGEST_TITLE:
            return _custom(f"title is too long (maximum is {_LONGEST_TITLE} characters)")
        number = len(self.pulls) + 1
        self.pulls.append(
            {
                "number": number,
                "state": "open",
                "title": document["title"],
                "body": document.get("body") or "",
                "labels": [],
                "head": head,
                "base": base,
                "merged": None,
            }
        )
        return Answer(201, self._pull(number), {"Location": f"{self.url}/repos/{self.slug}/pulls/{number}"})

    def _with_commits(self, pull: dict[str, Any]) -> dict[str, Any]:
        commits = {
            f"{side}_commit": self.commit_of(pull[side]) or pull["merged"] or "" for side in ("head", "base")
        }
        return {**pull, **commits, "labels": [self._known_label(name) for name in pull["labels"]]}

    def _pull(self, number: int) -> dict[str, Any]:
        repo = shapes.repository(self.web, self.url, self.slug, _KEY, self.base)
        return shapes.pull_request(
            self.web, self.url, self.slug, self._with_commits(self.pulls[number - 1]), repo, 0
        )

    def _known_label(self, name: str) -> dict[str, Any]:
        if name not in self.labels:
            self.labels.append(name)
        return shapes.label(self.url, self.slug, self.labels.index(name) + 1, name)

    def _label(self, number: int, document: dict[str, Any]) -> Answer:
        for wanted in document["labels"]:
            if self.flavour == "gitea" and not (isinstance(wanted, int) and 1 <= wanted <= len(self.labels)):
                return _no(422, "labels are numbers here")
            name = self.labels[wanted - 1] if isinstance(wanted, int) else wanted
            if name not in self.pulls[number - 1]["labels"]:
                self.pulls[number - 1]["labels"].append(name)
        return Answer(200, [self._known_label(name) for name in self.pulls[number - 1]["labels"]])


def _joined(query: dict[str, str]) -> str:
    return "&".join(f"{name}={value}" for name, value in query.items())


def _no(status: int, message: str) -> Answer:
    return Answer(status, {"message": message, "documentation_url": "", "status": str(status)})


def _invalid(error: dict[str, str]) -> Answer:
    return Answer(422, {"message": "Validation Failed", "documentation_url": "", "errors": [error]})


def _custom(message: str) -> Answer:
    return _invalid({"resource": "PullRequest", "code": "custom", "message": message})


class _Handler(BaseHTTPRequestHandler):
    forge: FakeForge
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._serve()

    do_POST = do_PATCH = do_PUT = do_DELETE = do_GET  # noqa: N815  as above

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Quiet."""

    def _serve(self) -> None:
        body = self._body()
        if ".git/" in self.path:
            self._serve_git(body)
            return
        answer = self.forge.answer(self.command, self.path, dict(self.headers.items()), body)
        self._write(
            answer.status, answer.headers, b"" if answer.told is None else json.dumps(answer.told).encode()
        )

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _write(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        sent_headers = {"Content-Type": "application/json; charset=utf-8"} | headers
        for name, value in (sent_headers | {"Content-Length": str(len(body))}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _serve_git(self, body: bytes) -> None:
        """The repository over git's own HTTP protocol; to write one needs the token as password."""
        path, _, query = self.path.partition("?")
        authorization = self.headers.get("Authorization", "").removeprefix("Basic ")
        password = b64decode(authorization).decode().partition(":")[2] if authorization else ""
        if self.forge.token and password != self.forge.token:
            self._write(401, {"WWW-Authenticate": 'Basic realm="forge"'}, b"")
            return
        path_info = path.partition(".git/")[2]
        environment = {
            "GIT_PROJECT_ROOT": str(self.forge.repository.parent),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "http.receivepack",
            "GIT_CONFIG_VALUE_0": "true",
            "PATH_INFO": f"/{self.forge.repository.name}/{path_info}",
            "QUERY_STRING": query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type") or "",
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding") or "",
            "GIT_PROTOCOL": self.headers.get("Git-Protocol") or "",
            "REMOTE_USER": "ada",
        }
        command = ["git", "http-backend"]
        environment["PATH"] = os.environ["PATH"]
        done = subprocess.run(command, input=body, capture_output=True, check=False, env=environment)  # noqa: S603  as above
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
        self._write(int(headers.pop("Status", "200").split()[0]), headers, content)
