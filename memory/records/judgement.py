"""What a review judged, written into the files: its experiments, and the hypotheses they test.

A review may be written again (a retry, a new revision), and a person may have edited the file meanwhile. What stands
there is compared with what the review said last: where they differ, a person was there, and theirs stays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from memory.records.experiment import experiment_of, moment, path_of
from memory.records.files import locked, read_text, update
from memory.records.hypothesis import change_registry, next_id, tested
from memory.records.owner import REVIEW_ID
from memory.records.splice import rewritten
from memory.records.text import block, storable

if TYPE_CHECKING:
    from pathlib import Path

    from memory.records.hypothesis import Status

_COPIES: Final = 50


@dataclass(frozen=True, slots=True)
class Claim:
    """A hypothesis as one review sees it.

    `key` finds it again in the registry, whatever its number (such as agent and heuristic). `experiment` tested it,
    when `tests` says so; `verdict` is what the evidence says by then, None: nothing yet. `evidence` is kept beside it.
    """

    key: dict[str, str]
    text: str
    rationale: str
    experiment: str
    created: str
    tests: bool
    verdict: Status | None
    evidence: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Judgement:
    """The records of one revision of one review: experiments as they are written, the first being the review's own."""

    review: str
    at: str
    experiments: tuple[dict[str, Any], ...]
    claims: tuple[Claim, ...]


def keep(judgement: Judgement, *, directory: Path, previous: Judgement | None = None) -> None:
    """Write a review's records; `previous` is the revision that was written before, if any.

    Raises `DamagedError` or `Unwritable` for a file that a person has to look at, after everything else was written.
    """
    before = (
        {experiment["id"]: experiment for experiment in previous.experiments} if previous is not None else {}
    )
    places: dict[str, str] = {}
    failed: list[Exception] = []
    for record in judgement.experiments:
        try:
            with locked(directory):
                places[record["id"]] = _keep(storable(record), before.get(record["id"]), directory)
        except Exception as error:  # noqa: BLE001  the other files have nothing to do with it; raised below
            failed.append(_named(error, f"{record['id']}.yaml"))
    try:
        if judgement.claims:
            change_registry(lambda entries: _claim(entries, judgement, places), directory)
    except Exception as error:  # noqa: BLE001  as above
        failed.append(_named(error, "hypotheses.yaml"))
    if failed:
        raise failed[0]


def _named(error: Exception, file: str) -> Exception:
    """The error with the file's name in it; what is no sentence of ours stays as it is."""
    if type(error).__module__.startswith("memory."):
        return type(error)(f"{file}: {error}")
    return error


# experiments


def _keep(record: dict[str, Any], base: dict[str, Any] | None, directory: Path) -> str:
    """Write one experiment; gives the id it has, which differs where another record has taken its name."""
    subject = _subject(record)
    for copy in range(_COPIES):
        identity = record["id"] if not copy else f"{record['id']}_{copy}"
        path = path_of(identity, directory)
        text = read_text(path)
        if text is None or _subject(experiment_of(text, identity)) == subject:
            update(path, lambda text: _merged_text(text, record | {"id": identity}, base))  # noqa: B023  called at once
            return identity
    return str(record["id"])


def _subject(record: dict[str, Any]) -> tuple[Any, ...]:
    """What a record is about: two of the same name are one record only if this agrees too."""
    return record.get("source"), record["context"].get("review"), record["context"].get("heuristic")


def _merged_text(text: str | None, record: dict[str, Any], base: dict[str, Any] | None) -> str:
    if text is None:
        return block(record)
    stored = experiment_of(text, record["id"])
    return rewritten(text, merged(stored, _base(stored, record, base) | {"id": record["id"]}, record))


def _base(stored: dict[str, Any], record: dict[str, Any], previous: dict[str, Any] | None) -> dict[str, Any]:
    """What we wrote last into this file, as far as that is known."""
    revision = stored["context"].get("revision")
    for candidate in (record, previous):
        if candidate is not None and candidate["context"].get("revision") == revision:
            return candidate
    return _as_ours(stored, record)


def _as_ours(stored: dict[str, Any], record: dict[str, Any]) -> dict[str, Any]:
    """Nobody knows what we wrote: single values count as ours, what a list holds as somebody's."""
    ours: dict[str, Any] = {}
    for name in stored.keys() & record.keys():
        mine, new = stored[name], record[name]
        both = isinstance(mine, dict) and isinstance(new, dict)
        ours[name] = _as_ours(mine, new) if both else [] if isinstance(mine, list) else mine
    return ours


def merged(stored: Any, base: Any, latest: Any) -> Any:
    """Three ways: what stands there, what we wrote, what we say now. Where the first two differ, the first stays."""
    if isinstance(stored, dict) and isinstance(latest, dict):
        ours = base if isinstance(base, dict) else {}
        out = {}
        for name, value in stored.items():
            if name in latest:
                out[name] = merged(value, ours.get(name, latest[name]), latest[name])
            elif name not in ours or ours[name] != value:
                out[name] = value
        return out | {
            name: value for name, value in latest.items() if name not in stored and name not in ours
        }
    if isinstance(stored, list) and isinstance(latest, list):
        ours_ = base if isinstance(base, list) else []
        if stored == ours_:
            return latest
        retained = [item for item in stored if item in latest or item not in ours_]
        return retained + [item for item in latest if item not in retained and item not in ours_]
    return latest if stored == base else stored


# hypotheses


def _claim(entries: list[Any], judgement: Judgement, places: dict[str, str]) -> None:
    for claim in judgement.claims:
        experiment = places.get(claim.experiment, claim.experiment)
        for place, entry in enumerate(entries):
            if isinstance(entry, dict) and all(entry.get(name) == value for name, value in claim.key.items()):
                entries[place] = storable(_tested(entry, claim, judgement, experiment))
                break
        else:
            entries.append(storable(_new(next_id(entries), claim, judgement, experiment)))


def _new(identity: str, claim: Claim, judgement: Judgement, experiment: str) -> dict[str, Any]:
    status = claim.verdict or "untested"
    return {
        "id": identity,
        "text": claim.text,
        "source_experiment": experiment,
        "rationale": claim.rationale,
        "status": status,
        "tested_by": [experiment] if claim.tests else [],
        "created": claim.created,
        **claim.key,
        "evidence": _evidence(claim, judgement, status),
    }


def _evidence(claim: Claim, judgement: Judgement, status: str) -> dict[str, Any]:
    return {"review": judgement.review, "at": judgement.at, "says": status, **claim.evidence}


def _tested(entry: dict[str, Any], claim: Claim, judgement: Judgement, experiment: str) -> dict[str, Any]:
    """The entry after one more review, whichever of them was finished first.

    Where it came from is the earliest review's to say, its status and evidence the newest's: `inconclusive` where that
    one finds nothing that an earlier one found. The status is ours to change as long as it is what we set last: a
    person's word stands, and so does the wording that stood there first.
    """
    out = tested(entry, experiment) if claim.tests else dict(entry)
    first = (moment(entry.get("created")), str(entry.get("source_experiment")))
    if (moment(claim.created), experiment) < first:
        out |= {"source_experiment": experiment, "created": claim.created}
        if REVIEW_ID.search(str(entry.get("rationale"))):  # a person's reasons name no review
            out["rationale"] = claim.rationale
    evidence = entry.get("evidence")
    evidence = evidence if isinstance(evidence, dict) else {}
    before = str(evidence.get("says") or "untested")
    newest = (moment(evidence.get("at")), str(evidence.get("review") or ""))
    if newest > (moment(judgement.at), judgement.review):
        status = "inconclusive" if claim.verdict and before == "untested" else before
        out["evidence"] = evidence | {"says": status}
    else:
        status = claim.verdict or ("untested" if before == "untested" else "inconclusive")
        out["evidence"] = _evidence(claim, judgement, status)
    if entry.get("status") in (before, None):
        out["status"] = status
    return out
