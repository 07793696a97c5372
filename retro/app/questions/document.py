"""The one dump: a typed answer as the JSON-ready data that `--json` prints, MCP returns and `retro.open` promises."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from retro.app.experience.door import memory

if TYPE_CHECKING:
    from collections.abc import Iterable

    from _typeshed import DataclassInstance

__all__ = ["Documented", "document_of", "documents_of"]


class Documented(Protocol):
    """An answer that says itself how it stands in JSON."""

    def document(self) -> dict[str, Any]:
        """JSON-ready; instants are RFC 3339 text."""


def document_of(answer: Documented | DataclassInstance) -> dict[str, Any]:
    """An answer as one object: by its own `document`, else field by field, instants as RFC 3339 text."""
    own = getattr(answer, "document", None)
    document: dict[str, Any] = memory.as_document(answer) if own is None else own()
    return document


def documents_of(answers: Iterable[Documented | DataclassInstance]) -> list[dict[str, Any]]:
    """Several answers, in their order."""
    return [document_of(answer) for answer in answers]
