"""How fast the library is and what it finds: python benchmarks/library.py [--items N] [--peer PYTHON].

PYTHON is an interpreter in whose environment the registry's `chromadb` is installed. It is then measured on the same
vectors, at its own recall.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.library.embedder import Vectors

# This file bears a package's name: its own folder must not come first on the path.
sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != Path(__file__).resolve().parent]
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

WIDTH = 384
GROUPS = 500
QUERIES = 50
WORDS = (
    "rates",
    "gold",
    "breakout",
    "volume",
    "short",
    "funding",
    "yield",
    "fees",
    "trend",
    "spread",
    "risk",
    "oil",
)


def vectors_of(count: int) -> Any:
    """Unit vectors in 500 groups: a library is about topics."""
    import numpy as np

    rng = np.random.default_rng(7)
    centres = rng.standard_normal((GROUPS, WIDTH), dtype=np.float32)
    rows = centres[rng.integers(GROUPS, size=count)] + 0.6 * rng.standard_normal(
        (count, WIDTH), dtype=np.float32
    )
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


class Drawn:
    """A model that looks its vectors up: what is measured is the library, not the model."""

    name, dimensions = "drawn", WIDTH

    def __init__(self, rows: Any) -> None:
        self.rows = rows

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        rows: Vectors = self.rows[[int(text.split()[0]) for text in texts]]
        return rows

    def embed_query(self, text: str) -> Vectors:
        row: Vectors = self.embed_documents([text])[0]
        return row


def text_of(number: int) -> str:
    return f"{number} " + " ".join(WORDS[(number * step + number // 7) % len(WORDS)] for step in range(1, 13))


def item_of(number: int, **fields: Any) -> dict[str, Any]:
    item = {"id": f"i{number:06}", "agent": "bench", "at": number, "collection": "research_findings"}
    return {**item, "text": text_of(number), **fields}


def ours(count: int, folder: Path) -> dict[str, Any]:
    import numpy as np

    from memory import MIGRATIONS
    from memory.library import columns, intake
    from memory.library.embedder import embed
    from memory.library.search import search
    from retro.store.database import open_store

    model = Drawn(vectors_of(count))
    items = map(item_of, range(count))
    with_tables = {"memory": tuple(step for _, step in MIGRATIONS)}
    store = open_store(str(folder / "ours.db"), components=with_tables)
    begun = time.perf_counter()
    while batch := list(islice(items, 512)):
        parsed, _ = intake.validated(batch)
        with store.write() as conn:
            intake.add(conn, parsed, embedded=embed(model, parsed))
    added = count / (time.perf_counter() - begun)
    cold, warm, right = [], [], 0
    for _ in range(5):
        with store.read() as conn:
            columns.drop_columns(conn)
            begun = time.perf_counter()
            search(conn, text_of(3), model, agent="bench", k=10)
            cold.append(time.perf_counter() - begun)
    for number in range(QUERIES):
        asked = number * (count // QUERIES)
        with store.read() as conn:
            begun = time.perf_counter()
            hits = search(conn, text_of(asked), model, agent="bench", k=10).hits
            warm.append(time.perf_counter() - begun)
        if number < 10:  # by similarity alone, against every vector in float64
            exact = model.rows.astype(np.float64) @ model.rows[asked].astype(np.float64)
            parts = {hit.item.id: hit.components.similarity for hit in hits}
            right += all(abs(exact[int(name[1:])] - (value or 0)) < 2e-6 for name, value in parts.items())
    store.close()
    return {"add_per_s": added, "cold_ms": 1e3 * statistics.median(cold), "warm_ms": 1e3 * statistics.median(warm),
            "exact": right / 10}  # fmt: skip


def adding(folder: Path, count: int = 1_500) -> float:
    """Items a second told to an empty library: read, embedded by the default model, stored, as `retro library add` does."""
    from memory.library.models.finance import bundled_model
    from retro.app.questions.experience import Experience
    from retro.app.questions.library.items import add_items
    from retro.config import Config
    from retro.store.database import open_store

    store = open_store(str(folder / "add.db"))
    bundled_model().embed_documents(["once, so that its weights are there"])
    begun = time.perf_counter()
    done = add_items(Experience(store, Config()), map(item_of, range(count)))
    took = time.perf_counter() - begun
    assert done.stored == count
    store.close()
    return count / took


def stepping(folder: Path, count: int = 10_000) -> tuple[float, float]:
    """Milliseconds of a symbol's first step over items of three layers, and the median of five later ones."""
    from memory import MIGRATIONS
    from memory.library import intake
    from memory.library.layers.preset import OWN
    from memory.library.steps import step_layers
    from retro.store.database import open_store

    layers = ("short", "mid", "long")
    items = [item_of(number, symbol="ETH", layer=layers[number % 3]) for number in range(count)]
    store = open_store(str(folder / "step.db"), components={"memory": tuple(step for _, step in MIGRATIONS)})
    with store.write() as conn:
        intake.add(conn, items)
    took = []
    for day in range(1, 8):
        begun = time.perf_counter()
        with store.write() as conn:
            step_layers(conn, "bench", "ETH", at=day * 86_400_000_000, preset=OWN)
        took.append(1e3 * (time.perf_counter() - begun))
    store.close()
    return took[0], statistics.median(took[2:])


PEER = """
import json, sys, time, statistics
import numpy as np, chromadb
rows = np.load(sys.argv[1]); folder = sys.argv[2]; queries = int(sys.argv[3])
client = chromadb.PersistentClient(path=folder)
c = client.create_collection("bench", metadata={"hnsw:space": "cosine"})
begun = time.perf_counter()
for i in range(0, len(rows), 2000):
    part = rows[i:i+2000]
    c.add(ids=[f"i{j:06}" for j in range(i, i+len(part))], embeddings=part.tolist(), documents=[f"text {j}" for j in range(i, i+len(part))])
added = len(rows) / (time.perf_counter() - begun)
took, right = [], 0
for n in range(queries):
    q = rows[n * (len(rows)//queries)]
    begun = time.perf_counter()
    got = c.query(query_embeddings=[q.tolist()], n_results=10)["ids"][0]
    took.append(time.perf_counter() - begun)
    best = np.argsort(-(rows @ q))[:10]
    right += len({f"i{j:06}" for j in best} & set(got))
print(json.dumps({"add_per_s": added, "warm_ms": 1e3 * statistics.median(took), "recall": right / (10 * queries), "version": chromadb.__version__}))
"""


def peer(python: str, count: int, folder: Path) -> dict[str, Any]:
    import numpy as np

    np.save(folder / "rows.npy", vectors_of(count))
    words = [python, "-c", PEER, str(folder / "rows.npy"), str(folder / "peer"), str(QUERIES)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--items", type=int, default=100_000)
    options.add_argument("--peer", help="an interpreter that has chromadb")
    arguments = options.parse_args()
    print(f"Python {platform.python_version()}, {arguments.items:,} items of {WIDTH} dimensions, top 10")
    with tempfile.TemporaryDirectory() as name:
        print(f"add with embedding by the default model: {adding(Path(name)):.0f} items/s")
        begun, later = stepping(Path(name))
        print(f"stored step over 10,000 items: {later:.0f} ms, the first {begun:.0f} ms")
        own = ours(arguments.items, Path(name))
        print(
            f"library: add {own['add_per_s']:,.0f}/s, search {own['warm_ms']:.1f} ms warm, {own['cold_ms']:.0f} ms cold,"
            f" scores right in {own['exact']:.0%} of searches (exact: recall@10 is 1)"
        )
        if arguments.peer is None:
            print("chromadb: skipped; --peer PYTHON names an interpreter that has it")
            return
        other = peer(arguments.peer, arguments.items, Path(name))
        print(
            f"chromadb {other['version']}: add {other['add_per_s']:,.0f}/s, search {other['warm_ms']:.1f} ms warm,"
            f" recall@10 {other['recall']:.3f}"
        )
        print(
            f"library / chromadb: add {own['add_per_s'] / other['add_per_s']:.2f} x,"
            f" time of a search {own['warm_ms'] / other['warm_ms']:.2f} x"
        )


if __name__ == "__main__":
    main()
