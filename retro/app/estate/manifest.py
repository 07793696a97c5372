"""What an export says of itself: its format, whose it is, and a digest of each of its files. Format 1, docs/operating.md."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final

import msgspec

from retro.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["FORMAT", "MANIFEST", "AgentFacts", "ExportFile", "Manifest", "digest_of_file", "read_manifest"]

FORMAT: Final = 1
MANIFEST: Final = "manifest.json"
_KIND: Final = "slow-mirror agent"
_BLOCK: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class ExportFile:
    """A file of an export: its SHA-256, its size in bytes, its lines."""

    sha256: str
    bytes: int
    lines: int


@dataclass(frozen=True, slots=True)
class AgentFacts:
    """The row of an agent: what its sources told of it as a whole, and the grid of its reviews."""

    first_at: int | None
    last_at: int | None
    as_of: int | None
    capital: str | None
    base_currency: str | None
    events: int
    origin: str | None
    time_zone: str | None
    epoch_days: int | None
    day_grid: int
    epoch_grid: int
    grid_since: int | None


@dataclass(frozen=True, slots=True)
class Manifest:
    """The file `manifest.json`. `schema`: component -> the version of the tables it was written from."""

    agent: str
    schema: dict[str, int]
    facts: AgentFacts
    files: dict[str, ExportFile] = field(default_factory=dict)
    kind: str = _KIND
    format: int = FORMAT

    def text(self) -> str:
        """As it is written."""
        return json.dumps(asdict(self), indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def read_manifest(folder: Path, schema: dict[str, int]) -> Manifest:
    """The manifest of an export, its files verified; `InputError` says what is not as it was written, or too new."""
    path = folder / MANIFEST
    try:
        raw: Any = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(
            f"{path} cannot be read: {reason}; is {folder} what `retro export` wrote?"
        ) from error
    if not isinstance(raw, dict) or raw.get("kind") != _KIND:
        raise InputError(f"{path} is not the manifest of an exported agent")
    if not isinstance(raw.get("format"), int) or raw["format"] > FORMAT:
        raise InputError(
            f"{path}: format {raw.get('format')} is of a newer version (known here: {FORMAT}); upgrade slow-mirror"
        )
    try:
        manifest = msgspec.convert(raw, Manifest)
    except msgspec.ValidationError as error:
        raise InputError(f"{path}: {error}") from error
    newer = {name for name, version in manifest.schema.items() if version > schema.get(name, 0)}
    if newer:
        raise InputError(
            f"{path}: written from newer tables ({', '.join(sorted(newer))}); upgrade slow-mirror"
        )
    _verify(folder, manifest)
    return manifest


def _verify(folder: Path, manifest: Manifest) -> None:
    there = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()} - {MANIFEST}
    missing, unlisted = sorted(manifest.files.keys() - there), sorted(there - manifest.files.keys())
    if missing or unlisted:
        what = f"{missing[0]} is missing" if missing else f"{unlisted[0]} is not in the manifest"
        raise InputError(f"{folder}: {what}; copy the whole folder as `retro export` wrote it")
    for name, written in sorted(manifest.files.items()):
        if digest_of_file(folder / name) != (written.sha256, written.bytes):
            raise InputError(
                f"{folder / name} is not what was written: its SHA-256 differs from the manifest's"
            )


def digest_of_file(path: Path) -> tuple[str, int]:
    """The SHA-256 of a file, and its size."""
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
            size += len(block)
    return digest.hexdigest(), size
