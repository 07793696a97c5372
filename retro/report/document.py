"""A stored text read back as the document it is, and the digest of one."""

from __future__ import annotations

import hashlib

from retro.kinds import KINDS
from retro.report import PositionRetrospective, RetrospectiveReport, dump

__all__ = ["Document", "digest_of", "read", "with_revision"]


Document = RetrospectiveReport | PositionRetrospective


def with_revision(document: Document, revision: int, before: Document | None = None) -> Document:
    """The document under the number of its revision, where its form has one.

    Where the revision `before` it followed other definitions, the new one says so, and the one after it no more.
    """
    if not isinstance(document, RetrospectiveReport):
        return document
    quality = document.data_quality
    if (
        isinstance(before, RetrospectiveReport)
        and before.provenance.definitions != document.provenance.definitions
    ):
        line = (
            f"these figures follow newer definitions (docs/numbers.md) than those of revision {before.revision}:"
            " some differ though no fact does"
        )
        quality = quality.model_copy(update={"warnings": [line, *quality.warnings]})
    return document.model_copy(update={"revision": revision, "data_quality": quality})


def digest_of(document: Document) -> str:
    """A digest of the figures: not of the revision, the program's versions or other agents' faults."""
    if isinstance(document, RetrospectiveReport):
        quality = document.data_quality.model_copy(update={"quarantined": 0})
        origin = document.provenance.model_copy(update={"code_version": "", "definitions": 0})
        document = document.model_copy(update={"revision": 0, "data_quality": quality, "provenance": origin})
    return hashlib.sha256(dump(document, indent=None).encode()).hexdigest()


def read(text: str, kind: str) -> Document:
    """A stored document, of a review of that kind: the ledger knows what it owed, no text is asked what it is."""
    form = PositionRetrospective if KINDS[kind].scope == "position" else RetrospectiveReport
    return form.model_validate_json(text)
