"""The double of a forge against GitHub's own description, and our client against both kinds of forge."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from email.utils import formatdate
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from openapi_core import OpenAPI
from openapi_core.testing import MockRequest, MockResponse

from retro.forge.api import Forge, ForgeError
from retro.secret import Secret
from retro.testing.forge import Answer, Asked, FakeForge
from tests.worlds import playbook_lives as lives
from tests.worlds.places import DATA

BRANCH = "retro/playbook/bot/2026-W06"
DESCRIPTION = DATA / "github-pulls.openapi.json"


@cache
def description() -> OpenAPI:
    document = json.loads(DESCRIPTION.read_text())
    return OpenAPI.from_dict(document | {"servers": [{"url": "http://forge.test"}]})


def check(asked: Asked) -> None:
    """A request and its answer as GitHub describes them; raises where they are not."""
    request = MockRequest(
        "http://forge.test",
        asked.method.lower(),
        asked.path,
        args=asked.query,
        data=None if asked.body is None else json.dumps(asked.body).encode(),
        content_type="application/json",
    )
    response = MockResponse(
        json.dumps(asked.answer.told).encode(),
        status_code=asked.answer.status,
        content_type="application/json",
        headers=asked.answer.headers,
    )
    description().validate_request(request)
    description().validate_response(request, response)


@pytest.fixture(params=["github", "gitea"])
def forge(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[FakeForge]:
    repository = lives.bare_repository(tmp_path / "agent.git")
    with FakeForge(repository, token=lives.TOKEN, flavour=request.param) as fake_forge:
        yield fake_forge


@pytest.fixture
def github(tmp_path: Path) -> Iterator[FakeForge]:
    with FakeForge(lives.bare_repository(tmp_path / "agent.git"), token=lives.TOKEN) as fake_forge:
        yield fake_forge


def client(forge: FakeForge, token: str = lives.TOKEN, **options: Any) -> Forge:
    return Forge(forge.url, forge.slug, Secret("RETRO_FORGE_TOKEN", token), **options)


def branch(forge: FakeForge, name: str = BRANCH) -> None:
    forge.git("update-ref", f"refs/heads/{name}", str(forge.commit_of("main")))
    lives.commit_of_a_person(forge.repository, name, {"PLAYBOOK.md": "# other\n"})


def everything(forge: FakeForge) -> None:
    """Whatever our client ever asks."""
    branch(forge)
    with client(forge) as hub:
        hub.repository()
        assert hub.find(BRANCH) == []
        pull = hub.create(BRANCH, "main", "title", "body")
        assert hub.create(BRANCH, "main", "title", "body") == pull  # exists already: found
        hub.label(pull.number, "retro")
        hub.update(pull.number, "other", "words")
        hub.comment_once(pull.number, "<!-- x -->", "said")
        hub.comment_once(pull.number, "<!-- x -->", "said")
        forge.merge(pull.number)
        assert hub.get(pull.number).state == "merged"


def test_the_double_and_our_requests_are_as_github_describes_them(github: FakeForge) -> None:
    everything(github)
    with client(github) as hub, pytest.raises(ForgeError):
        hub.create("absent", "main", "title", "body")
    with client(github) as hub, pytest.raises(ForgeError):
        hub.get(99)
    assert {(request.method, request.answer.status) for request in github.asked} >= {
        ("GET", 200), ("POST", 201), ("POST", 422), ("POST", 200), ("PATCH", 200), ("GET", 404),
    }  # fmt: skip
    for asked in github.asked:
        check(asked)


def test_the_description_does_notice_a_wrong_answer_and_a_wrong_request(github: FakeForge) -> None:
    branch(github)
    with client(github) as hub:
        hub.create(BRANCH, "main", "title", "body")
    asked = github.asked[0]
    lacking = {name: value for name, value in asked.answer.told.items() if name != "head"}
    with pytest.raises(Exception, match=r"(?i)invalid"):
        check(Asked(**{**_fields(asked), "answer": Answer(201, lacking)}))
    with pytest.raises(Exception, match=r"(?i)request body"):
        check(Asked(**{**_fields(asked), "body": {"title": "no head"}}))


def _fields(asked: Asked) -> dict[str, Any]:
    return {name: getattr(asked, name) for name in Asked.__slots__}


def test_a_pull_request_is_made_found_reworded_labelled_and_commented_once(forge: FakeForge) -> None:
    """The same on GitHub and on Gitea."""
    everything(forge)
    assert len(forge.pulls) == 1
    assert forge.pulls[0] | {"labels": ["retro"], "title": "other", "body": "words"} == forge.pulls[0]
    assert [comment["body"] for comment in forge.comments] == ["said\n\n<!-- x -->"]


def test_requests_are_found_among_many_pages_and_by_their_own_branch_only(forge: FakeForge) -> None:
    branch(forge)
    for number in range(60):
        forge.git("update-ref", f"refs/heads/other/{number}", BRANCH)
    with client(forge) as hub:
        first = hub.create(BRANCH, "main", "first", "")
        forge.close(first.number)
        for number in range(60):
            hub.create(f"other/{number}", "main", "x", "")
        second = hub.create(BRANCH, "main", "second", "")
        assert [pull.number for pull in hub.find(BRANCH)] == [second.number, first.number]
        assert [pull.state for pull in hub.find(BRANCH)] == ["open", "closed"]


def test_a_renamed_repository_is_followed_with_the_method_and_body_it_was_asked_with(
    forge: FakeForge,
) -> None:
    branch(forge)
    hub = client(forge)
    forge.rename("ada/another")
    with hub:
        pull = hub.create(BRANCH, "main", "title", "body")
        assert hub.find(BRANCH) == [hub.get(pull.number)]
    assert forge.pulls[0]["body"] == "body"


def test_a_redirect_to_another_host_is_not_followed(github: FakeForge) -> None:
    """The token stays with the host it was given for."""
    with FakeForge(github.repository) as other:
        github.trouble.append(Answer(301, {}, {"Location": f"{other.url}/repos/ada/agent/pulls"}))
        with client(github) as hub, pytest.raises(ForgeError, match="another host") as refused:
            hub.find(BRANCH)
        assert refused.value.permanent
        assert other.asked == []
    github.trouble += [Answer(307, {}, {"Location": "/repos/ada/agent/pulls"})] * 9
    with client(github) as hub, pytest.raises(ForgeError, match="circles"):
        hub.find(BRANCH)


@pytest.mark.parametrize(
    ("answer", "after_s"),
    [
        (Answer(429, {"message": "slow down"}, {"Retry-After": "7"}), 7.0),
        (Answer(403, {"message": "secondary rate limit"}, {"Retry-After": "61"}), 61.0),
        (Answer(403, {"message": "You have exceeded a secondary rate limit"}), 60.0),
        (Answer(503, {"message": "down"}, {"Retry-After": "120"}), 120.0),
        (Answer(429, {"message": "slow down"}), 60.0),
        (Answer(403, {"message": "limit"}, {"x-ratelimit-remaining": "0"}), 3600.0),
    ],
)
def test_a_forge_that_asks_for_patience_is_given_it(
    github: FakeForge, answer: Answer, after_s: float
) -> None:
    github.trouble.append(answer)
    with client(github) as hub, pytest.raises(ForgeError, match="come back") as raised:
        hub.repository()
    assert (raised.value.after_s, raised.value.permanent) == (after_s, False)


def test_an_exhausted_limit_lasts_until_it_is_renewed_by_the_forges_own_clock(github: FakeForge) -> None:
    headers = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(time.time()) + 900)}
    github.trouble.append(Answer(403, {"message": "limit"}, headers))
    with client(github) as hub, pytest.raises(ForgeError) as raised:
        hub.repository()
    assert raised.value.after_s == pytest.approx(900, abs=5)
    github.trouble.append(
        Answer(429, {"message": "x"}, {"Retry-After": formatdate(time.time() + 30, usegmt=True)})
    )
    with client(github) as hub, pytest.raises(ForgeError) as raised:
        hub.repository()
    assert raised.value.after_s == pytest.approx(30, abs=5)


def test_a_short_pause_is_waited_for_where_somebody_waits(github: FakeForge) -> None:
    waited: list[float] = []
    github.trouble.append(Answer(429, {"message": "x"}, {"Retry-After": "3"}))
    with client(github, wait=waited.append) as hub:
        assert hub.repository()["full_name"] == "ada/agent"
    github.trouble.append(Answer(429, {"message": "x"}, {"Retry-After": "3600"}))
    with client(github, wait=waited.append) as hub, pytest.raises(ForgeError, match="3600 s"):
        hub.repository()
    assert waited == [3.0]


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_lost_permission_needs_a_person_and_names_what_is_needed(github: FakeForge, status: int) -> None:
    github.trouble.append(Answer(status, {"message": f"Bad token {lives.TOKEN}"}))
    with client(github) as hub, pytest.raises(ForgeError, match="RETRO_FORGE_TOKEN needs") as raised:
        hub.repository()
    assert raised.value.permanent
    assert raised.value.after_s is None
    assert lives.TOKEN not in str(raised.value)


def test_a_revoked_token_is_told_apart_from_a_forge_that_is_down(github: FakeForge) -> None:
    with client(github, "revoked-token") as hub, pytest.raises(ForgeError) as raised:
        hub.find(BRANCH)
    assert raised.value.permanent
    github.trouble.append(Answer(500, {"message": "oh"}))
    with client(github) as hub, pytest.raises(ForgeError) as raised:
        hub.find(BRANCH)
    assert not raised.value.permanent
    with FakeForge(github.repository) as stopped:
        gone = client(stopped)
    with gone, pytest.raises(ForgeError, match="cannot be reached") as raised:
        gone.find(BRANCH)
    assert not raised.value.permanent


@pytest.mark.parametrize("answer", [[], {}, {"number": "x"}, None, "text", {"number": 1, "state": "open"}])
def test_an_answer_that_is_no_pull_request_is_said_to_be_none(github: FakeForge, answer: Any) -> None:
    github.trouble.append(Answer(200, answer))
    with client(github) as hub, pytest.raises(ForgeError, match="no pull request"):
        hub.get(1)


def test_the_token_goes_into_one_header_and_nowhere_else(github: FakeForge) -> None:
    everything(github)
    for asked in github.asked:
        assert asked.headers["Authorization"] == f"Bearer {lives.TOKEN}"
        other_headers = {name: value for name, value in asked.headers.items() if name != "Authorization"}
        assert lives.TOKEN not in json.dumps([asked.path, asked.query, asked.body, other_headers])
