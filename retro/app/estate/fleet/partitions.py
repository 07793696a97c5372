"""Rows on their way into Parquet: those of one bucket, by table and quarter, in the order in which they come.

The same rows give the same bytes: a row group is full at a fixed number of rows, and nothing names a clock or a machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from retro.app.estate.fleet.manifest import PartitionFile
from retro.app.estate.manifest import digest_of_file
from retro.errors import RetroError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["ArrowTypes", "BucketPartitions", "WrittenPartition", "arrow_types", "require_parquet"]

ArrowTypes = dict[str, Any]
"""The name of a table -> its columns, as pyarrow describes them."""

_ROWS: Final = {"facts": 20_000, "marks": 100_000, "outcomes": 20_000, "reviews": 500}
"""Rows of a group, which is what is held in memory of a file: some megabytes."""
_TEXTS: Final = ("document", "body")
"""Columns of which hardly two values are alike: no dictionary is tried."""


class WrittenPartition(NamedTuple):
    """A file of the spool, and what the manifest will say of it."""

    path: Path
    file: PartitionFile


def require_parquet() -> None:
    """Refuse in one sentence where what writes Parquet is not installed."""
    try:
        import pyarrow.parquet  # noqa: F401, PLC0415  heavy, and an extra
    except ModuleNotFoundError as error:
        raise RetroError('`retro export --to` needs pyarrow: pip install "slow-mirror[fleet]"') from error


def arrow_types() -> ArrowTypes:
    """The columns of each table and their types: instants are UTC microseconds, exact quantities text."""
    import pyarrow as pa  # noqa: PLC0415  as above

    text, instant, number = pa.string(), pa.timestamp("us", "UTC"), pa.float64()
    return {
        "facts": pa.schema(
            [
                *(("agent", text), ("instant", instant), ("type", text), ("id", text), ("position", text)),
                *(("instrument", text), ("asset", text), ("side", text), ("kind", text)),
                *((name, text) for name in ("quantity", "price", "fee", "amount", "value")),
                *(("tier", text), ("model", text), ("body", text)),
            ]
        ),
        "marks": pa.schema(
            [
                *(("agent", text), ("instrument", text), ("instant", instant)),
                *((name, number) for name in ("price", "low", "high")),
            ]
        ),
        "outcomes": pa.schema(
            [
                *(("agent", text), ("position", text), ("role", text), ("rule", text), ("value", number)),
                *(("currency", text), ("resolved_at", instant), ("cited_at", instant), ("late", pa.bool_())),
                *(("kind", text), ("instrument", text), ("strategy", text), ("side", text)),
                *(("opened_at", instant), ("closed_at", instant), ("exit_reason", text)),
                *(
                    (name, number)
                    for name in ("notional", "risk", "pnl", "vs_inaction", "regret", "mfe", "mae")
                ),
            ]
        ),
        "reviews": pa.schema(
            [
                *(("agent", text), ("id", text), ("kind", text), ("subject", text)),
                *(("period_start", instant), ("period_end", instant), ("revision", pa.int64())),
                *(("currency", text), ("result", number), ("against_nothing", number)),
                *(("digest", text), ("document", text)),
            ]
        ),
    }


class BucketPartitions:
    """The files of one bucket while they are written: columns go in, files come out."""

    def __init__(self, bucket: int, spool: Path, types: ArrowTypes) -> None:
        self._bucket = bucket
        self._spool = spool
        self._types = types
        self._waiting: dict[tuple[str, str], list[Any]] = {}
        self._writers: dict[tuple[str, str], Any] = {}
        self._rows: dict[tuple[str, str], int] = {}

    def add(self, table: str, quarter: str, columns: dict[str, Any]) -> None:
        """Append rows, given as columns of one length; a column that is not given is null."""
        import pyarrow as pa  # noqa: PLC0415  heavy, and an extra

        schema = self._types[table]
        length = len(next(iter(columns.values())))
        arrays = [
            pa.array(columns[field.name], field.type)
            if field.name in columns
            else pa.nulls(length, field.type)
            for field in schema
        ]
        key = (table, quarter)
        waiting = self._waiting.setdefault(key, [])
        waiting.append(pa.RecordBatch.from_arrays(arrays, schema=schema))
        self._rows[key] = self._rows.get(key, 0) + length
        if sum(batch.num_rows for batch in waiting) >= _ROWS[table]:
            self._flush(key)

    def finish(self) -> list[WrittenPartition]:
        """Close every file; in order of their names."""
        written = []
        for key in sorted(self._waiting):
            if self._waiting[key]:
                self._flush(key)
            self._writers.pop(key).close()
            path = self._path(key)
            digest, size = digest_of_file(path)
            file = PartitionFile(key[0], self._bucket, key[1], self._rows[key], size, digest)
            written.append(WrittenPartition(path, file))
        return written

    def _path(self, key: tuple[str, str]) -> Path:
        return self._spool / f"{key[0]}-{self._bucket}-{key[1]}"

    def _flush(self, key: tuple[str, str]) -> None:
        """Write what waits of a file as row groups; files are opened as late as that, so that few are open at a time."""
        import pyarrow as pa  # noqa: PLC0415  heavy, and an extra
        import pyarrow.parquet as pq  # noqa: PLC0415  as above

        writer = self._writers.get(key)
        if writer is None:
            schema = self._types[key[0]]
            repeated = [field.name for field in schema if field.name not in _TEXTS]
            writer = self._writers[key] = pq.ParquetWriter(
                self._path(key), schema, compression="zstd", use_dictionary=repeated
            )
        rows = pa.Table.from_batches(self._waiting[key]).combine_chunks()
        writer.write_table(rows, row_group_size=_ROWS[key[0]])
        self._waiting[key].clear()
