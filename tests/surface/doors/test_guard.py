"""The guard: who is let in by Host, origin and key, and how much one caller may send and hold."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retro.surface.guard.access import CALLER, Access, Caller, Keyring, Refusal, is_loopback
from retro.surface.guard.guard import Guard, Limits

KEYS = Keyring({"ada-token": "ada", "zoe-token": "zoe", "owner-key": None})
OPEN = Keyring({})
HERE = "mirror.example.org"
SERVER = ("192.168.7.5", 8765)


def scope_of(method: str = "POST", /, **headers: str) -> dict[str, Any]:
    """A request, by default one of a program on this machine."""
    fields = {
        "host": "127.0.0.1:8765",
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    return {
        "type": "http",
        "method": method,
        "path": "/mcp",
        "raw_path": b"/mcp",
        "query_string": b"",
        "client": ("192.168.7.9", 50000),
        "server": SERVER,
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in fields.items() if value],
    }


def status(access: Access, *words: str, **headers: str) -> int:
    verdict = access.judge(scope_of(*words, **headers))
    return verdict.status if isinstance(verdict, Refusal) else 200


# Host, for every method

OURS = [
    "127.0.0.1", "127.0.0.1:8765", "127.9.9.9:1", "localhost", "LOCALHOST:8765", "localhost.", "localhost.:8765", "[::1]",
    "[::1]:8765", "[0:0:0:0:0:0:0:1]:8765", "mirror.localhost:8600", "192.168.7.5:8765", "mirror.example.org",
    "Mirror.Example.org.:8765", "[::ffff:127.0.0.1]:8765",
]  # fmt: skip
FOREIGN = [
    "evil.example", "evil.example:8765", "localhost.evil.example", "127.0.0.1.evil.example", "evil-localhost", "localhost..",
    "192.168.7.6:8765", "0.0.0.0:8765", "x.localhost", "mirror.example.org.evil.example", "evil.example#@127.0.0.1",
    "127.0.0.1@evil.example", "127.0.0.1:8765:1", "127.0.0.1:x", "[::1", "::1", "[::2]:8765", "[fe80::1%25eth0]", "",
    "localhost\u00a0", "2130706433", "0x7f000001", "127.1", "*", "mirror.example.org/evil", " ",
]  # fmt: skip


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "DELETE", "OPTIONS", "PATCH"])
@pytest.mark.parametrize(("hosts", "expected"), [(OURS, 200), (FOREIGN, 421)])
def test_only_names_that_are_ours_are_answered(method: str, hosts: list[str], expected: int) -> None:
    access = Access(OPEN, frozenset({HERE}))
    assert {host: status(access, method, host=host) for host in hosts} == dict.fromkeys(hosts, expected)


def test_a_name_is_judged_before_origin_and_key() -> None:
    """What a page sends whose name was bound to our address: its origin is its host, and nothing else betrays it."""
    rebound = {"host": "evil.example:8765", "origin": "http://evil.example:8765"}
    assert status(Access(OPEN), "POST", **rebound) == 421
    assert status(Access(KEYS), "POST", **rebound, authorization="Bearer owner-key") == 421
    assert status(Access(KEYS), "POST", sec_fetch_site="cross-site") == 403
    assert status(Access(KEYS), "POST") == 401


def test_a_header_that_is_given_twice_is_refused() -> None:
    for name, value in (
        (b"host", b"localhost"),
        (b"origin", b"http://127.0.0.1:8765"),
        (b"authorization", b"x"),
    ):
        request = scope_of("POST", origin="http://127.0.0.1:8765", authorization="Bearer owner-key")
        request["headers"].append((name, value))
        assert Access(KEYS).judge(request) == Refusal(400)


PIECES = [
    "localhost",
    "127.0.0.1",
    ".",
    ":",
    "evil",
    "@",
    "[",
    "]",
    "8765",
    "/",
    "%",
    "\\",
    " ",
    "LOCALHOST",
    "-",
]


@given(st.lists(st.sampled_from(PIECES), max_size=5).map("".join))
def test_whatever_is_pieced_together_only_the_names_themselves_are_ours(host: str) -> None:
    verdict = Access(OPEN).judge(scope_of("POST", host=host))
    ours = re.fullmatch(r"\s*(localhost|127\.0\.0\.1)\.?(:\d{1,5})?\s*", host, re.IGNORECASE)
    assert (verdict == Refusal(421)) is (ours is None)


# Where a browser says it comes from


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, 200),  # a program
        ({"origin": "http://127.0.0.1:8765"}, 200),
        ({"origin": "HTTP://127.0.0.1:8765", "sec_fetch_site": "same-origin"}, 200),
        ({"sec_fetch_site": "none"}, 200),  # typed by hand
        ({"sec_fetch_site": "cross-site"}, 403),
        ({"sec_fetch_site": "same-site"}, 403),  # a page on another port of this machine
        ({"sec_fetch_site": "something-new"}, 403),
        ({"origin": "http://127.0.0.1:9999"}, 403),
        ({"origin": "http://localhost:8765"}, 403),  # another name is another origin
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "file://"}, 403),
        ({"origin": "http://127.0.0.1:8765.evil.example"}, 403),
        ({"origin": "http://127.0.0.1"}, 403),
        ({"origin": "https://mirror.example.org", "host": HERE}, 200),  # behind a proxy that speaks TLS
        ({"origin": "https://mirror.example.org:443", "host": HERE}, 200),
        ({"origin": "http://mirror.example.org:443", "host": HERE}, 403),
        ({"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate", "sec_fetch_dest": "document"}, 403),
    ],
)  # fmt: skip
def test_a_foreign_page_is_refused(headers: dict[str, str], expected: int) -> None:
    for method in ("GET", "POST"):
        assert status(Access(OPEN, frozenset({HERE})), method, **headers) == expected


LINK = {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate", "sec_fetch_dest": "document"}


@pytest.mark.parametrize(
    ("method", "headers", "expected"),
    [
        ("GET", LINK, 200),
        ("HEAD", LINK, 200),
        ("POST", LINK, 403),
        ("GET", {**LINK, "sec_fetch_dest": "iframe"}, 403),
        ("GET", {**LINK, "sec_fetch_mode": "no-cors"}, 403),
        ("POST", {}, 403),
        ("POST", {"authorization": "Bearer owner-key"}, 200),
        ("POST", {"origin": "http://127.0.0.1:8765"}, 200),
        ("GET", {}, 200),
    ],
)
def test_where_there_are_pages_a_link_leads_in_and_a_form_says_where_it_stands(
    method: str, headers: dict[str, str], expected: int
) -> None:
    assert status(Access(OPEN, pages=True), method, **headers) == expected


# Keys


@pytest.mark.parametrize(
    ("authorization", "caller"),
    [
        ("Bearer ada-token", Caller("agent ada", "ada")),
        ("bearer  zoe-token ", Caller("agent zoe", "zoe")),
        ("Bearer owner-key", Caller("the owner", None)),
        ("Bearer ada-toke", None),
        ("Bearer ada-tokenx", None),
        ("Bearer", None),
        ("Bearer ", None),
        ("Basic ada-token", None),
        ("ada-token", None),
        ("", None),
        ("Bearer Ada-Token", None),
        ("Bearer ada-token zoe-token", None),
    ],
)
def test_a_key_is_its_agent_s_and_nothing_else_opens(authorization: str, caller: Caller | None) -> None:
    verdict = Access(KEYS).judge(scope_of("POST", authorization=authorization))
    assert verdict == (caller or Refusal(401, ((b"www-authenticate", b"Bearer"),)))


def test_no_key_shows_in_any_text_of_the_ring() -> None:
    assert "token" not in f"{KEYS!r} {KEYS!s} {vars(KEYS)}"


def test_without_keys_callers_are_told_apart_by_address() -> None:
    assert Access(OPEN).judge(scope_of()) == Caller("address 192.168.7.9")


@pytest.mark.parametrize(
    ("host", "expected"),
    [("127.0.0.1", True), ("localhost", True), ("::1", True), ("0.0.0" + ".0", False), ("::", False), ("192.168.7.5", False), ("example.org", False), ("localhost.evil.example", False)],
)  # fmt: skip
def test_what_is_reached_from_this_machine_alone(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


# The limits


class Asked:
    """A request put to a guarded application that answers with its body, a gate holding it back where wanted."""

    def __init__(self, limits: Limits = Limits(), keyring: Keyring = OPEN, **settings: Any) -> None:  # noqa: B008  it is frozen
        self.gate = asyncio.Event()
        self.gate.set()
        self.seen: list[Caller] = []
        access = Access(keyring, frozenset({HERE}))
        self.guard = Guard(self.application, access, limits=limits, **settings)

    async def application(self, scope: Any, receive: Any, send: Any) -> None:
        self.seen.append(scope[CALLER])
        body = (await receive())["body"]
        await self.gate.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": body})

    async def __call__(
        self, *parts: bytes, stall: bool = False, **request: Any
    ) -> tuple[int, bytes, dict[bytes, bytes]]:
        """Status, body and headers of the answer to a request with these parts as its body."""
        scope, messages, sent = {**scope_of(), **request}, list(parts) or [b""], []

        async def receive() -> dict[str, Any]:
            if not messages:
                await asyncio.sleep(3600)
            return {"type": "http.request", "body": messages.pop(0), "more_body": bool(messages) or stall}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        await self.guard(scope, receive, send)
        start, *bodies = sent
        return start["status"], b"".join(message["body"] for message in bodies), dict(start["headers"])


def test_a_request_within_the_limits_reaches_the_application_whole() -> None:
    async def script() -> None:
        asked = Asked(keyring=KEYS)
        answer = await asked(b"one ", b"two", headers=scope_of(authorization="Bearer ada-token")["headers"])
        assert answer[:2] == (200, b"one two")
        assert answer[2][b"x-content-type-options"] == b"nosniff"
        assert answer[2][b"cache-control"] == b"no-store"
        assert b"access-control-allow-origin" not in answer[2]
        assert asked.seen == [Caller("agent ada", "ada")]

    asyncio.run(script())


def test_a_byte_too_many_is_refused_and_the_last_one_is_not() -> None:
    async def script() -> None:
        asked = Asked(Limits(target=20, headers=60, body=10, body_s=0.2))
        assert (await asked(b"x" * 10))[0] == 200
        assert (await asked(b"x" * 6, b"x" * 4))[0] == 200
        assert (await asked(b"x" * 11))[:2] == (413, b"")
        assert (await asked(b"x" * 6, b"x" * 5, b"x" * 99))[0] == 413
        for length, expected in ((b"10", 200), (b"11", 413), (b"1" * 5000, 413), (b"-1", 413), (b"ten", 413)):
            headers = [*scope_of()["headers"], (b"content-length", length)]
            answer = await Asked(Limits(body=10, headers=10_000))(b"x", headers=headers)
            assert answer[0] == expected
        assert (await asked(raw_path=b"/" * 20))[0] == 200
        assert (await asked(raw_path=b"/" * 15, query_string=b"q" * 6))[0] == 414
        filler = 60 - len("host127.0.0.1:8765") - len("x")
        assert (await asked(headers=[*scope_of()["headers"], (b"x", b"y" * filler)]))[0] == 200
        assert (await asked(headers=[*scope_of()["headers"], (b"x", b"y" * (filler + 1))]))[0] == 431

    asyncio.run(script())


def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    async def script() -> None:
        asked = Asked(Limits(body_s=0.05))
        assert (await asked(b"half", stall=True))[:2] == (408, b"")
        assert asked.seen == []
        assert (await asked(b"whole"))[0] == 200

    asyncio.run(script())


def test_what_one_caller_holds_is_bounded_and_leaves_room_for_the_others() -> None:
    async def script() -> None:
        asked = Asked(Limits(of_one=3, of_all=5), keyring=KEYS)

        async def by(key: str) -> int:
            return (await asked(b"x", headers=scope_of(authorization=f"Bearer {key}")["headers"]))[0]

        asked.gate.clear()
        waiting = [asyncio.create_task(by("ada-token")) for _ in range(3)]
        await asyncio.sleep(0)
        assert await by("ada-token") == 429
        waiting += [asyncio.create_task(by("zoe-token")) for _ in range(2)]
        await asyncio.sleep(0)
        assert await by("zoe-token") == 503
        assert await by("nobody") == 401
        asked.gate.set()
        assert await asyncio.gather(*waiting) == [200] * 5
        assert await by("ada-token") == 200

    asyncio.run(script())


def test_a_caller_with_much_at_hand_does_not_stand_before_the_others() -> None:
    """Of each caller one request is with the application; whoever comes waits for one of each, not for ten of one."""

    async def script() -> None:
        asked = Asked(keyring=KEYS)
        asked.gate.clear()

        def by(key: str) -> asyncio.Task[Any]:
            headers = scope_of(authorization=f"Bearer {key}")["headers"]
            return asyncio.create_task(asked(b"x", headers=headers))

        many = [by("ada-token") for _ in range(10)]
        await asyncio.sleep(0)
        single = by("zoe-token")
        for _ in range(5):
            await asyncio.sleep(0)
        assert [caller.agent for caller in asked.seen] == ["ada", "zoe"]
        asked.gate.set()
        assert {answer[0] for answer in await asyncio.gather(*many, single)} == {200}
        assert len(asked.seen) == 11

    asyncio.run(script())


def test_a_request_that_fails_gives_its_place_back() -> None:
    async def script() -> None:
        async def fails(scope: Any, receive: Any, send: Any) -> None:
            raise ZeroDivisionError

        asked = Asked(Limits(of_one=1, of_all=1))
        asked.guard = Guard(fails, Access(OPEN), limits=Limits(of_one=1, of_all=1))
        for _ in range(3):
            with pytest.raises(ZeroDivisionError):
                await asked(b"x")

    asyncio.run(script())


def test_other_methods_and_sockets_are_turned_away_after_the_key() -> None:
    async def script() -> None:
        asked = Asked(methods={"POST"}, keyring=KEYS)
        assert (await asked(method="GET"))[0] == 401
        key = scope_of(authorization="Bearer ada-token")["headers"]
        status_, _, headers = await asked(method="GET", headers=key)
        assert (status_, headers[b"allow"]) == (405, b"POST")
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        await asked.guard({"type": "websocket"}, None, send)  # type: ignore[arg-type]  # it is not asked for anything
        assert sent == [{"type": "websocket.close", "code": 1008}]
        assert asked.seen == []

    asyncio.run(script())
