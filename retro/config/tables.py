"""The tables of config.toml: one frozen model each, which is validation, documentation and default in one.

A field's description is the comment beside it in config.toml; its examples stand there when it has no default.
"""

from __future__ import annotations

from datetime import date  # noqa: TC003 - pydantic reads the annotations when it makes the class
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, PrivateAttr, ValidationInfo, field_validator

from retro.config import shapes
from retro.config.retrospective import RetrospectiveTable
from retro.config.shapes import ConfigTable
from retro.config.sources import SourceTable  # noqa: TC001 - pydantic reads the annotations
from retro.kinds import MAILED
from retro.secret import EMBEDDING_KEY, FORGE_TOKEN, MCP_KEY, NOTIFY_URLS, SMTP_PASSWORD

__all__ = [
    "AgentTable",
    "BenchmarkTable",
    "Config",
    "ContextField",
    "LlmTable",
    "MailTable",
    "McpTable",
    "MemoryTable",
    "NotifyTable",
    "OwnerTable",
    "PlaybookTable",
    "RetrospectiveTable",
    "ServiceTable",
    "ShadowTable",
    "StoreTable",
    "WebTable",
]


class OwnerTable(ConfigTable):
    """Who reads the reviews."""

    name: Annotated[str, Field(max_length=100)] = Field(default="", description="greeted by this name")
    time_zone: shapes.TimeZone = Field(
        default="UTC", description="days and weeks of new agents begin at midnight of this zone"
    )
    base_currency: shapes.Currency = Field(
        default="USDC", description="what money is counted in; an agent's own wins"
    )
    benchmark: shapes.Line | None = Field(
        default=None,
        examples=["BTC/USDT"],
        description="what trades are held against: any instrument with marks",
    )


class BenchmarkTable(ConfigTable):
    """How what is held moves with the benchmark of [owner]."""

    beta: dict[shapes.Line, shapes.Number] = Field(
        default_factory=dict, description="Asset or instrument -> its beta; 1 where none is named"
    )


class StoreTable(ConfigTable):
    """Where facts and reviews are kept."""

    url: shapes.DatabaseUrl = Field(
        default="memory_data/retro.db", description="an SQLite file, or postgresql://user@host/database"
    )
    reviews: shapes.FilePath | None = Field(
        default=None,
        examples=["reviews"],
        description="folder of the review files; default: reviews/ beside the database",
    )


class AgentTable(ConfigTable):
    """What the owner knows about one agent and its journal does not say."""

    playbook: shapes.FilePath | None = Field(
        default=None, description="its PLAYBOOK.md: the texts of its heuristics"
    )
    capital: shapes.Money | None = Field(
        default=None, description="opening capital where it states no equity"
    )
    base_currency: shapes.Currency | None = Field(default=None, description="default: the owner's")
    predecessor: shapes.AgentName | None = Field(
        default=None, description="the agent it came after, for `retro learning`"
    )
    backtest: shapes.AgentName | None = Field(
        default=None, description="the agent its backtest was read as: weekly reviews say why live was not it"
    )


class LlmTable(ConfigTable):
    """The model that words reviews; every figure is computed before it is asked."""

    enabled: bool | None = Field(default=None, examples=[False], description="default: when a key is found")
    base_url: shapes.WebUrl | None = Field(
        default=None, examples=["https://llm-proxy.example.org"], description="/v1/messages is appended"
    )
    t1_model: shapes.Line = Field(
        default="claude-haiku-5-5", description="words daily, weekly, position and loss reviews"
    )
    t2_model: shapes.Line = Field(default="claude-sonnet-5-5", description="words epoch and death reviews")
    max_usd_per_review: shapes.NotNegative = Field(
        default=0.25, description="reserved before a call, settled after it"
    )
    max_usd_per_day: shapes.NotNegative = Field(
        default=1.0, description="beyond a cap the plain narrative stands in"
    )
    max_usd_per_month: shapes.NotNegative = Field(default=10.0, description="of all agents together")
    timeout_s: Annotated[float, Field(gt=0, le=3600, allow_inf_nan=False)] = Field(
        default=120.0, description="seconds for one whole call"
    )


class MailTable(ConfigTable):
    """Reviews by mail; off until there is a host."""

    host: shapes.Host | None = Field(
        default=None, examples=["smtp.example.org"], description="the mail server"
    )
    port: Annotated[int, Field(ge=1, le=65535)] | None = Field(
        default=None, examples=[587], description="default: 587 with starttls, 465 with tls, 25 with none"
    )
    security: Literal["none", "starttls", "tls"] = Field(
        default="starttls", description="none, starttls or tls"
    )
    username: shapes.Line | None = Field(
        default=None,
        examples=["ada@example.org"],
        description=f"the password is the secret {SMTP_PASSWORD}",
    )
    sender: shapes.Address | None = Field(
        default=None,
        examples=["Slow Mirror <retro@example.org>"],
        description="default: username, else the first recipient",
    )
    recipients: shapes.Addresses = Field(
        default=(), examples=[["ada@example.org"]], description="each gets each mail once"
    )
    kinds: shapes.Kinds = Field(default=MAILED, description="also daily and position, if you like")
    fleet: bool = Field(default=False, description="one weekly mail for all agents instead of one each")

    @field_validator("recipients")
    @classmethod
    def _with_a_host(cls, value: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        if "host" in info.data and bool(info.data["host"]) != bool(value):
            raise ValueError("must be named when host is" if not value else "are named, but no host is")
        return value

    @property
    def server_port(self) -> int:
        """The port to connect to."""
        return self.port or {"none": 25, "starttls": 587, "tls": 465}[self.security]

    @property
    def from_address(self) -> str | None:
        """Whom mail comes from: the sender, else the user name if it is an address, else the first recipient."""
        named = self.sender or (self.username if self.username and "@" in self.username else None)
        return named or next(iter(self.recipients), None)


class NotifyTable(ConfigTable):
    """A ten-line summary to Telegram, Discord, Slack, ntfy, webhooks and others, through apprise."""

    urls: shapes.NotifyUrls = Field(
        default=(),
        examples=[["ntfys://ntfy.sh/TOPIC"]],
        repr=False,
        description=f"Those with a token or password in them belong in the secret {NOTIFY_URLS}",
    )
    kinds: shapes.Kinds = Field(default=MAILED, description="as for mail")


class PlaybookTable(ConfigTable):
    """How amendments of PLAYBOOK.md are proposed."""

    channel: Literal["patch", "github"] = Field(
        default="patch", description="patch, or github (also Gitea, Forgejo)"
    )
    repository: shapes.Repository | None = Field(
        default=None,
        examples=["git@github.com:ada/agent.git"],
        description="git URL or path of the playbook's repository",
    )
    file: shapes.RepositoryFile = Field(
        default="PLAYBOOK.md", description="the one file in it that is ever touched"
    )
    base_branch: shapes.Branch | None = Field(
        default=None, examples=["main"], description="default: the repository's own"
    )
    api_url: shapes.WebUrl = Field(
        default="https://api.github.com", description=f"the token is the secret {FORGE_TOKEN}"
    )
    slug: shapes.Slug | None = Field(
        default=None, examples=["ada/agent"], description="owner/name, for channel github"
    )

    @field_validator("repository", "slug")
    @classmethod
    def _needed_for_pull_requests(cls, value: str | None, info: ValidationInfo) -> str | None:
        if info.data.get("channel") == "github" and value is None:
            raise ValueError('must be named for channel = "github"')
        return value


class ContextField(ConfigTable):
    """One field of the context by which situations are compared; it replaces a built-in one of the same name."""

    kind: Annotated[Literal["category", "ratio", "absolute"], BeforeValidator(shapes.one_word)] = Field(
        description="category (same or not), ratio (of two sizes) or absolute (a difference)"
    )
    weight: shapes.NotNegative = Field(description="its share of the similarity; 0 leaves it out")
    bandwidth: shapes.NotNegative = Field(default=0.0, description="the difference that still counts as near")
    unit: Annotated[str, Field(max_length=100)] = Field(default="", description="for people")

    @field_validator("bandwidth")
    @classmethod
    def _wide_enough(cls, value: float, info: ValidationInfo) -> float:
        if info.data.get("kind") in {"ratio", "absolute"} and value < shapes.NARROWEST:
            raise ValueError(f"must be at least {shapes.NARROWEST:g} for kind {info.data['kind']}")
        return value


class MemoryTable(ConfigTable):
    """What agents remember."""

    records: bool = Field(default=True, description="experiments and hypotheses as YAML files")
    directory: shapes.FilePath = Field(
        default=Path("memory_data"), description="holds experiments/ and hypotheses.yaml"
    )
    use_attribution: bool = Field(
        default=False, description="recall weighs a memory by the decisions that had it in front of them"
    )
    model: str = Field(
        default="all-MiniLM-L6-v2-int8-finance",
        min_length=1,
        max_length=400,
        description=f"the library's: this, a folder with model.onnx, URL#MODEL (key: {EMBEDDING_KEY}), or words",
    )
    layers: Literal["own", "investor_bench", "finmem"] = Field(
        default="own", description="how items of the library rise, fall and are cleaned up"
    )
    fields: Annotated[dict[shapes.AgentName, ContextField], BeforeValidator(shapes.by_name)] = Field(
        default_factory=dict,
        description="The context registry: fields beside or instead of the built-in ones",
    )


class McpTable(ConfigTable):
    """Who may ask through `retro mcp --http`; beyond this machine nobody without a key."""

    hosts: shapes.HostNames = Field(
        default=(),
        examples=[["mirror.example.org"]],
        description="names it is reached by, beside localhost and its address",
    )
    tokens: dict[shapes.AgentName, shapes.SecretName] = Field(
        default_factory=dict,
        description=f"Agent -> the name of the secret that is its token; the owner's key is {MCP_KEY}, else mcp.key",
    )


class WebTable(ConfigTable):
    """Who may look through `retro web`; on an address beyond this machine its screens only read."""

    hosts: shapes.HostNames = Field(
        default=(),
        examples=[["mirror.example.org"]],
        description="names it is reached by, beside localhost; without one it listens on this machine alone",
    )
    writable: bool = Field(
        default=False, description="let who comes in from beyond this machine retry, skip, resend, too"
    )


class ServiceTable(ConfigTable):
    """The background service, `retro run`."""

    knock_seconds: Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)] = Field(
        default=60.0, description="how often it looks for what is due"
    )
    lease_seconds: Annotated[float, Field(gt=0, le=3600, allow_inf_nan=False)] = Field(
        default=90.0, description="a silent process loses its work after this long"
    )
    catch_up: Literal["all", "latest"] = Field(
        default="all", description="after an outage: all missed periods, or the latest"
    )
    ping_url: shapes.WebUrl | None = Field(
        default=None,
        examples=["https://hc.example.org/ping/agent"],
        description="told start, success and failure",
    )
    max_attempts: Annotated[int, Field(ge=1, le=100)] = Field(
        default=5, description="then a review waits for a person"
    )
    keep_daily_reviews: Annotated[int, Field(ge=1, le=36_500)] | None = Field(
        default=None,
        examples=[400],
        description="days; older daily reviews lose their text, all other figures stay",
    )
    keep_documents: Annotated[int, Field(ge=1, le=1000)] | None = Field(
        default=None, examples=[3], description="so many revisions of a review keep their text"
    )
    dormant_weeks: Annotated[int, Field(ge=0, le=520)] = Field(
        default=4,
        description="whole weeks without an event after which an agent gets one alarm and no more reviews; 0: never",
    )


class ShadowTable(ConfigTable):
    """A what-if that runs forward beside the real strategy, is judged after its days, and never applied."""

    name: shapes.AgentName = Field(description="what `retro shadows` calls it")
    rule: shapes.Line = Field(examples=["stop -3%"], description="one rule, as `retro whatif` takes it")
    since: Annotated[date, BeforeValidator(shapes.calendar_day)] = Field(
        examples=["2026-03-01"], description="positions entered from this day on"
    )
    agent: shapes.AgentName | None = Field(default=None, description="default: every agent")


class Config(ConfigTable):
    """The slow mirror's configuration: every table of config.toml."""

    owner: OwnerTable = Field(default_factory=OwnerTable)
    benchmark: BenchmarkTable = Field(default_factory=BenchmarkTable)
    store: StoreTable = Field(default_factory=StoreTable)
    source: Annotated[tuple[SourceTable, ...], Field(strict=False)] = Field(
        default=(), description="What the service reads again on every knock; one table for each source."
    )
    agent: dict[shapes.AgentName, AgentTable] = Field(
        default_factory=dict, description="What the owner knows about one agent and its journal does not say."
    )
    retrospective: RetrospectiveTable = Field(default_factory=RetrospectiveTable)
    shadow: Annotated[tuple[ShadowTable, ...], Field(strict=False)] = Field(
        default=(),
        description="A what-if that runs forward beside the real strategy; one table for each, never applied.",
    )
    llm: LlmTable = Field(default_factory=LlmTable)
    mail: MailTable = Field(default_factory=MailTable)
    notify: NotifyTable = Field(default_factory=NotifyTable)
    playbook: PlaybookTable = Field(default_factory=PlaybookTable)
    memory: MemoryTable = Field(default_factory=MemoryTable)
    mcp: McpTable = Field(default_factory=McpTable)
    web: WebTable = Field(default_factory=WebTable)
    service: ServiceTable = Field(default_factory=ServiceTable)

    _file: Path | None = PrivateAttr(default=None)

    @field_validator("agent")
    @classmethod
    def _after_another(cls, value: dict[str, AgentTable]) -> dict[str, AgentTable]:
        for name, table in value.items():
            for key in ("predecessor", "backtest"):
                if getattr(table, key) == name:
                    raise ValueError(f"{name}: {key} must name another agent")
        return value

    @field_validator("shadow")
    @classmethod
    def _so_many_shadows(
        cls, value: tuple[ShadowTable, ...], info: ValidationInfo
    ) -> tuple[ShadowTable, ...]:
        review = info.data.get("retrospective", RetrospectiveTable())
        for agent in {table.agent for table in value}:
            names = [table.name for table in value if table.agent in {None, agent}]
            if len(names) > review.max_shadow_strategies:
                raise ValueError(
                    f"{len(names)} at once; max_shadow_strategies is {review.max_shadow_strategies}"
                )
            if len({*names}) < len(names):
                raise ValueError("two of one agent have the same name")
        return value

    @property
    def file(self) -> Path | None:
        """The file this was read from; None when these are the built-in defaults."""
        return self._file

    @property
    def home(self) -> Path:
        """Where files of ours lie: beside the database, or beside the configuration where that is a server's."""
        if "://" not in self.store.url:
            return Path(self.store.url).parent
        return self.file.parent if self.file is not None else Path.cwd()
