"""A stored text read back as the document it is, and the digest of one."""

from __future__ import annotations

import hashlib

from retro.kinds import KINDS
from retro.report import PositionRetrospective, RetrospectiveReport, dump

__all__ = ["Document", "digest_of", "read", "with_revision"]


Document = RetrospectiveReport | PositionRetrospective


def with_revision(document: Document, revision: int) -> Document:
    """The document under the number of its revision, where its form has one."""
    if isinstance(document, RetrospectiveReport):
        return document.model_copy(update={"revision": revision})
    return document


def digest_of(document: Document) -> str:
    """A digest of the figures: not of the revision, the program's version or other agents' faults."""
    if isinstance(document, RetrospectiveReport):
        quality = document.data_quality.model_copy(update={"quarantined": 0})
        origin = document.provenance.model_copy(update={"code_version": ""})
        document = document.model_copy(update={"revision": 0, "data_quality": quality, "provenance": origin})
    return hashlib.sha256(dump(document, indent=None).encode()).hexdigest()


def read(text: str, kind: str) -> Document:
    """A stored document, of a review of that kind: the ledger knows what it owed, no text is asked what it is."""
    form = PositionRetrospective if KINDS[kind].scope == "position" else RetrospectiveReport
    return form.model_validate_json(text)
