"""The journal an agent writes about itself: validated before it is written, one atomic append a line.

    journal = Journal("agent.jsonl", "momentum-7")
    journal.fill(position="p-1", side="buy", quantity="0.5", price=3012.55, instrument="ETH/USDC")

Nothing here waits for anything: no lock, no fsync, no network. When a line cannot be written, because it is no event
or because the disk is full, the one error raised is `JournalError`, and nothing of the agent's state has changed.
Threads and processes may share a journal.
"""

from __future__ import annotations

import errno
import itertools
import json
import os
import secrets
import stat
import time
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from retro.errors import RetroError
from retro.journal.line import RejectedError, parse
from retro.journal.values import LONGEST_LINE, quote, wrong_with
from retro.periods import format_instant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Unpack

    Quantity = Decimal | int | float | str
    """A number, or its decimal string; a Decimal is written as a string, digit for digit."""

    Instant = datetime | str | int
    """An aware datetime, an RFC 3339 string with offset, or Unix milliseconds."""

__all__ = ["Common", "Journal", "JournalError"]


class JournalError(RetroError):
    """The event was not written; the text says why."""


class Common(TypedDict, total=False):
    """What every event may be given: its instant (else the clock's), its id (else one is made), the agent's tick."""

    at: Instant
    id: str
    tick: int


class Journal:
    """Appends the events of one agent to a file, which is made (mode 0600) with the first of them.

    Every method returns the id of the event it wrote. An id made here is unique also among processes, and ids made
    one after the other compare in that order. Arguments that are None are left out.
    """

    def __init__(
        self, path: str | os.PathLike[str], agent: str, *, clock: Callable[[], float] = time.time
    ) -> None:
        if wrong := wrong_with(agent, "agent"):
            raise JournalError(f"agent: {wrong}")
        self.path = Path(path)
        self.agent = agent
        self._clock = clock
        self._count = itertools.count()
        self._token = secrets.token_hex(4)

    def write(self, event: Mapping[str, Any]) -> str:
        """Append any event, fields nobody knows included; `agent`, `at` and `id` are filled in where absent."""
        now = int(self._clock() * 1_000_000)
        values = {name: value for name, value in event.items() if value is not None}
        defaults = {
            "id": f"{now // 1000}-{next(self._count)}-{os.getpid():x}{self._token}",
            "agent": self.agent,
        }
        fields = {"type": None, **defaults, "at": format_instant(now), **values}
        if fields["agent"] != self.agent:
            raise JournalError(f"agent: this journal is {self.agent}'s; open another for the other agent")
        try:
            text = json.dumps(fields, ensure_ascii=False, separators=(",", ":"), default=_spelled)
            line = text.encode() + b"\n"
            parse(text, now)
        except UnicodeEncodeError:
            raise JournalError("line: a text holds half a character (a lone surrogate); correct it") from None
        except RejectedError as error:
            raise JournalError(str(error)) from None
        except (TypeError, ValueError, RecursionError) as error:
            raise JournalError(f"line: cannot be written as JSON ({quote(str(error))})") from None
        if len(line) > LONGEST_LINE:
            raise JournalError(f"line: is longer than {LONGEST_LINE >> 20} MiB; shorten it")
        self._append(line)
        return str(fields["id"])

    def _tell(self, kind: str, arguments: dict[str, Any]) -> str:
        """Write an event whose fields are the arguments of one of the methods below."""
        fields = {name: value for name, value in arguments.items() if name not in {"self", "common"}}
        return self.write({**arguments["common"], **fields, "type": kind})

    def _append(self, line: bytes) -> None:
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK
        try:
            file = os.open(self.path, flags, 0o600)
            try:
                about = os.fstat(file)
                if not stat.S_ISREG(about.st_mode):
                    raise OSError(errno.EINVAL, "it is not a regular file")
                if about.st_size and os.pread(file, 1, about.st_size - 1) != b"\n":
                    line = b"\n" + line  # the last writer was cut off: its line must not swallow ours
                if os.write(file, line) != len(line):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            finally:
                os.close(file)
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            raise JournalError(f"the event could not be written to {self.path}: {why}") from error

    def position(
        self,
        *,
        position: str,
        kind: str,
        instrument: str,
        venue: str | None = None,
        side: str | None = None,
        strategy: str | None = None,
        risk: Quantity | None = None,
        funded_with: Mapping[str, Quantity] | None = None,
        token0: str | None = None,
        token1: str | None = None,
        lower: Quantity | None = None,
        upper: Quantity | None = None,
        liquidity: Quantity | None = None,
        **common: Unpack[Common],
    ) -> str:
        """A position came into being: spot, perp, lp, lending or staking."""
        return self._tell("position", locals())

    def fill(
        self,
        *,
        position: str,
        side: str,
        quantity: Quantity,
        price: Quantity,
        instrument: str | None = None,
        fee: Quantity | None = None,
        fee_asset: str | None = None,
        order: str | int | None = None,
        requested: Quantity | None = None,
        **common: Unpack[Common],
    ) -> str:
        """A trade execution; a fee below 0 is a rebate, `requested` the price the order was sent for."""
        return self._tell("fill", locals())

    def flow(
        self,
        *,
        kind: str,
        asset: str,
        quantity: Quantity,
        position: str | None = None,
        value: Quantity | None = None,
        kept: bool | None = None,
        **common: Unpack[Common],
    ) -> str:
        """Anything else that moves value in or out of a position, or of the wallet: deposit, lp_fee, interest, ...

        `kept`, of a withdrawal: the asset stays in the wallet as it is (True), or is sold at once (False).
        """
        return self._tell("flow", locals())

    def snapshot(
        self,
        *,
        position: str,
        holdings: Mapping[str, Quantity],
        claimable: Mapping[str, Quantity] | None = None,
        debt: Mapping[str, Quantity] | None = None,
        value: Quantity | None = None,
        **common: Unpack[Common],
    ) -> str:
        """The state of a position; `holdings` exclude `claimable`, `value` includes it, less `debt`."""
        return self._tell("snapshot", locals())

    def exit(
        self,
        *,
        position: str,
        reason: str | None = None,
        high: Quantity | None = None,
        low: Quantity | None = None,
        **common: Unpack[Common],
    ) -> str:
        """The position is closed; `high` and `low` are the extremes of its price while it was open."""
        return self._tell("exit", locals())

    def mark(
        self,
        *,
        price: Quantity,
        instrument: str | None = None,
        asset: str | None = None,
        **common: Unpack[Common],
    ) -> str:
        """A price of an instrument or of an asset, in base currency."""
        return self._tell("mark", locals())

    def decision(
        self,
        *,
        action: str,
        position: str | None = None,
        instrument: str | None = None,
        strategy: str | None = None,
        reasoning: str | None = None,
        cites: Iterable[str] | None = None,
        confidence: float | None = None,
        context: Mapping[str, Any] | None = None,
        tier: str | None = None,
        valence: float | None = None,
        trace: str | int | None = None,
        context_items: Iterable[str] | None = None,
        difficulty: str | None = None,
        **common: Unpack[Common],
    ) -> str:
        """What was decided and why; without `cites`, ids such as H-7 are taken from `reasoning`.

        `context_items` name what was in front of the agent (memories, rules, tools, documents), `difficulty` how hard
        the question was, in a word of its own.
        """
        cites = None if cites is None else list(cites)
        context_items = None if context_items is None else list(context_items)
        return self._tell("decision", locals())

    def prediction(
        self,
        *,
        predicted: Quantity | None = None,
        decision: str | None = None,
        position: str | None = None,
        category: str | None = None,
        item: str | None = None,
        regime: str | None = None,
        target_at: Instant | None = None,
        low: Quantity | None = None,
        high: Quantity | None = None,
        confidence: float | None = None,
        unit: str | None = None,
        source: Any = None,
        **common: Unpack[Common],
    ) -> str:
        """A claim about the future, with an optional interval."""
        return self._tell("prediction", locals())

    def resolution(
        self,
        *,
        prediction: str,
        actual: Quantity | None = None,
        correct: bool | None = None,
        **common: Unpack[Common],
    ) -> str:
        """How a prediction turned out."""
        return self._tell("resolution", locals())

    def cost(
        self,
        *,
        kind: str,
        amount: Quantity | None = None,
        asset: str | None = None,
        quantity: Quantity | None = None,
        position: str | None = None,
        decision: str | None = None,
        tier: str | None = None,
        model: str | None = None,
        tokens_in: int | None = None,
        tokens_out: int | None = None,
        **common: Unpack[Common],
    ) -> str:
        """Gas, inference or data: an amount of base currency, or a quantity of an asset."""
        return self._tell("cost", locals())

    def equity(
        self,
        *,
        value: Quantity | None = None,
        balances: Mapping[str, Quantity] | None = None,
        **common: Unpack[Common],
    ) -> str:
        """The agent's own statement of its total value just before the events of that instant."""
        return self._tell("equity", locals())

    def external(
        self,
        *,
        quantity: Quantity,
        asset: str | None = None,
        value: Quantity | None = None,
        **common: Unpack[Common],
    ) -> str:
        """The owner put in (> 0) or took out (< 0) base currency, or an asset worth `value`."""
        return self._tell("external", locals())

    def shadow(
        self,
        *,
        shadow: str,
        day: date | str,
        pnl: Quantity,
        note: str | None = None,
        **common: Unpack[Common],
    ) -> str:
        """What a strategy run beside the own one, without money, made on a day: net, in base currency."""
        return self._tell("shadow", locals())

    def death(self, *, cause: str | None = None, **common: Unpack[Common]) -> str:
        """The agent ended."""
        return self._tell("death", locals())


def _spelled(value: Any) -> Any:
    """JSON for what the standard library has no word for: decimals and times as text, numpy's numbers as numbers."""
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, date):
        return value.isoformat()
    if hasattr(value, "items"):
        return dict(value)
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{type(value).__name__} has no JSON")
