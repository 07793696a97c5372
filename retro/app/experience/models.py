"""Which model of sentences this installation searches by."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from memory.errors import RefusedError
from memory.library.models import finance, minilm
from retro.errors import UsageError
from retro.secret import EMBEDDING_KEY, find_secret

if TYPE_CHECKING:
    from memory.library.embedder import Embedder
    from retro.config import Config

__all__ = ["WORDS", "local_model", "model_named", "model_of_house"]

_SERVED: Final = ("https://", "http://")
WORDS: Final = "words"
"""What `[memory] model` says where words alone are to be compared."""


def model_of_house(config: Config) -> Embedder | None:
    """The model that `[memory] model` names; None where it is `words`, or the extra `library` is not installed."""
    name = config.memory.model
    if name == WORDS or (name in (finance.MODEL, minilm.PLAIN) and not minilm.is_installed()):
        return None
    return model_named(name)


def local_model(config: Config, name: str | None) -> Embedder | None:
    """The installation's model where it is the one of this name and on this machine: quick enough for one sentence."""
    if name is None or config.memory.model.startswith(_SERVED):
        return None
    model = model_of_house(config)
    return model if model is not None and model.name == name else None


def model_named(name: str) -> Embedder:
    """A model by what an owner calls it; `UsageError` says what there is."""
    if name == finance.MODEL and minilm.is_installed():
        return finance.bundled_model()
    from memory.library.models.choices import model_of  # noqa: PLC0415  only who names another needs it

    key = find_secret(EMBEDDING_KEY, os.environ) if name.startswith(_SERVED) else None
    try:
        return model_of(name, key.reveal() if key is not None else None)
    except RefusedError as error:
        raise UsageError(f"model {name}: {error}") from None
