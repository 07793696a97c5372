"""Models by name: the bundled one, a folder, sentence-transformers, or a server that speaks OpenAI's form."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from memory.errors import RefusedError
from memory.library.embedder import Vectors, unit
from memory.library.models.finance import MODEL, bundled_model
from memory.library.models.minilm import PLAIN, model_in_folder, plain_model

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.library.embedder import Embedder

__all__ = ["SentenceTransformersModel", "ServedModel", "model_of"]

_ST = "sentence-transformers:"


def model_of(name: str, key: str | None = None) -> Embedder:
    """The model of that name.

    `all-MiniLM-L6-v2-int8-finance`, `all-MiniLM-L6-v2-int8`, a folder with `model.onnx`, `sentence-transformers:NAME`, or URL#MODEL of a server that
    answers POST URL/embeddings; `key` is what such a server asks for.
    """
    if name == MODEL:
        return bundled_model()
    if name == PLAIN:
        return plain_model()
    if name.startswith(_ST):
        return SentenceTransformersModel(name.removeprefix(_ST))
    if name.startswith(("https://", "http://")):
        url, _, model = name.partition("#")
        if not model:
            raise RefusedError("a server's model is named after a #: https://host/v1#MODEL")
        return ServedModel(url, model, key)
    if Path(name).is_dir():
        return model_in_folder(Path(name))
    raise RefusedError(
        f"there is no such model; say {MODEL}, {PLAIN}, a folder with model.onnx, {_ST}NAME or URL#MODEL"
    )


class SentenceTransformersModel:
    """A model of the package sentence-transformers, which the user installs; see `Embedder`."""

    def __init__(self, name: str) -> None:
        try:
            from sentence_transformers import SentenceTransformer  # noqa: PLC0415  the user's own, and large
        except ImportError:
            raise RefusedError(
                "sentence-transformers is not installed: pip install sentence-transformers"
            ) from None
        os.environ.setdefault("HF_HUB_OFFLINE", "1")  # a search downloads nothing
        self._model: Any = SentenceTransformer(name)
        self.name = f"{_ST}{name}"
        self.dimensions = int(self._model.get_sentence_embedding_dimension())

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """One row a text, each computed alone."""
        rows = [self._model.encode(text) for text in texts]
        return unit(np.array(rows), self.dimensions, len(texts))

    def embed_query(self, text: str) -> Vectors:
        """The vector of what is looked for."""
        return np.asarray(self.embed_documents([text])[0])


class ServedModel:
    """A model behind a URL that answers as OpenAI's embeddings do; see `Embedder`."""

    AT_ONCE = 64

    def __init__(self, url: str, model: str, key: str | None = None) -> None:
        self._url = f"{url.rstrip('/')}/embeddings"
        self._model = model
        self._key = key
        self.name = f"{url.rstrip('/')}#{model}"
        self.dimensions = len(self._asked(["dimensions"])[0])

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """One row a text."""
        rows: list[list[float]] = []
        for start in range(0, len(texts), self.AT_ONCE):
            rows += self._asked(texts[start : start + self.AT_ONCE])
        return unit(np.array(rows), self.dimensions, len(texts))

    def embed_query(self, text: str) -> Vectors:
        """The vector of what is looked for."""
        return np.asarray(self.embed_documents([text])[0])

    def _asked(self, texts: Sequence[str]) -> list[list[float]]:
        import httpx2  # noqa: PLC0415  only who asks a server needs it

        headers = {} if self._key is None else {"Authorization": f"Bearer {self._key}"}
        body = {"model": self._model, "input": list(texts)}
        try:
            answer = httpx2.post(self._url, json=body, headers=headers, timeout=60.0)
            answer.raise_for_status()
            data = sorted(answer.json()["data"], key=lambda entry: entry["index"])
            rows = [[float(value) for value in entry["embedding"]] for entry in data]
        except (httpx2.HTTPError, ValueError, KeyError, TypeError) as error:
            # the sentence names what went wrong, never the key or what was sent
            raise RefusedError(f"{self._url} gave no vectors: {type(error).__name__}") from None
        if len(rows) != len(texts):
            raise RefusedError(f"{self._url} gave {len(rows)} vectors for {len(texts)} texts")
        return rows
