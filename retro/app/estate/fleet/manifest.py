"""What an export of a fleet says of itself: its files with their digests. Format 1, docs/fleet.md."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from typing import Any, Final

import msgspec

from retro.errors import InputError

__all__ = ["FLEET_FORMAT", "FLEET_MANIFEST", "TABLES", "FleetManifest", "PartitionFile", "is_ours"]

FLEET_FORMAT: Final = 1
FLEET_MANIFEST: Final = "manifest.json"
TABLES: Final = ("facts", "marks", "outcomes", "reviews")
_KIND: Final = "slow-mirror fleet"
_NAME: Final = re.compile(rf"(?:{'|'.join(TABLES)})/bucket=\d+/quarter=\d+Q[1-4]/[0-9a-f]{{32}}\.parquet")


def is_ours(name: str) -> bool:
    """Whether a file in the place of an export has a name that an export gives: only those are ever deleted."""
    return _NAME.fullmatch(name) is not None


@dataclass(frozen=True, slots=True)
class PartitionFile:
    """A file of an export: which rows it holds, their number, its size in bytes and its SHA-256.

    `quarter` as in `2026Q1`, UTC. It is named after its digest: a file of that name never changes.
    """

    table: str
    bucket: int
    quarter: str
    rows: int
    bytes: int
    sha256: str

    @property
    def name(self) -> str:
        """Where it lies in the export."""
        return f"{self.table}/bucket={self.bucket}/quarter={self.quarter}/{self.sha256[:32]}.parquet"


@dataclass(frozen=True, slots=True)
class FleetManifest:
    """The file `manifest.json`: every file of the export. It is written last, in one piece."""

    definitions: int | str
    files: tuple[PartitionFile, ...] = ()
    kind: str = _KIND
    format: int = FLEET_FORMAT

    def text(self) -> str:
        """As it is written: the same files give the same bytes."""
        files = [
            {"name": file.name, **asdict(file)} for file in sorted(self.files, key=lambda file: file.name)
        ]
        head = {"definitions": self.definitions, "format": self.format, "kind": self.kind}
        return json.dumps({**head, "files": files}, indent=1) + "\n"

    @classmethod
    def read(cls, text: str, where: str) -> FleetManifest:
        """The manifest of an earlier export; `InputError` where it is another's, or of a newer format."""
        try:
            raw: Any = json.loads(text)
        except ValueError as error:
            raise InputError(f"{where}/{FLEET_MANIFEST} cannot be read: {error}; move it away") from error
        if not isinstance(raw, dict) or raw.get("kind") != _KIND:
            raise InputError(
                f"{where}/{FLEET_MANIFEST} is not the manifest of a fleet's export; name another place"
            )
        if not isinstance(raw.get("format"), int) or raw["format"] > FLEET_FORMAT:
            raise InputError(
                f"{where}/{FLEET_MANIFEST}: format {raw.get('format')} is of a newer version; upgrade slow-mirror"
            )
        try:
            return msgspec.convert(raw, cls)
        except msgspec.ValidationError as error:
            raise InputError(f"{where}/{FLEET_MANIFEST}: {error}") from error
