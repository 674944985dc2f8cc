"""Parquet of ids: the path for graphs that are too large to carry their names about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from tflex.errors import DataError
from tflex.graph.dates import Stamps, choose_clock
from tflex.graph.facts import Facts
from tflex.graph.ingest import Imported, Progress
from tflex.graph.ingest_names import list_ordinals
from tflex.graph.readers import Shape, first_line, look, quoted
from tflex.graph.sources import Source
from tflex.graph.timeline import Timeline
from tflex.graph.vocab import Vocabulary

LARGEST = 2**31 - 2
BATCH = 1 << 20
WHOLE = {sign + size for sign in ("", "U") for size in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")}
KINDS = {"subject": "entity", "relation": "relation", "object": "entity",
         "start": "timestamp", "end": "timestamp"}  # fmt: skip


def import_ids(
    sources: Sequence[Source],
    lists: Mapping[str, list[str]],
    mapping: Mapping[str, str],
    skip_bad: bool,
    progress: Progress,
) -> Imported:
    """Facts whose columns are ids; names are those of the lists, or the ids as numbers.

    Every id from 0 to the largest one is an entity, a relation or a timestamp.
    """
    shapes = {source: id_shape(source, mapping) for source in sources}
    sizes = {kind: len(names) for kind, names in lists.items()}
    dropped: Counter[str] = Counter()
    largest: dict[str, int] = dict.fromkeys(KINDS.values(), -1)
    rows = 0
    with duckdb.connect() as db:
        db.execute("SET memory_limit = '2GB'")
        db.execute("SET preserve_insertion_order = false")
        for source, shape in shapes.items():
            progress(f"checking {source.path.name}", 0.1 * source.number / len(shapes))
            rows += _check(db, source, shape, sizes, skip_bad, dropped, largest)
        if not rows:
            raise DataError(f"{', '.join(str(source.path) for source in sources)}: no facts")
        points = all(shape.points for shape in shapes.values())
        columns = _Columns(rows, points)
        for source, shape in shapes.items():
            for batch in _batches(db, source, shape, sizes):
                columns.add(batch, int(source.level or 0))
                progress(f"reading {source.path.name}", 0.1 + 0.4 * columns.read / rows)
    dropped["start after end"] = columns.read - columns.size
    if not columns.size:
        raise DataError(f"{', '.join(str(source.path) for source in sources)}: no fact is left")
    vocabularies = {
        kind: Vocabulary(kind, lists[kind]) if kind in lists
        else Vocabulary.numbered(kind, last + 1)
        for kind, last in largest.items()
    }  # fmt: skip
    timeline = Timeline(vocabularies["timestamp"], "raw")
    if "timestamp" in lists:
        clock = choose_clock(dict.fromkeys(lists["timestamp"], 1))
        if not isinstance(clock, Stamps):
            list_ordinals(lists["timestamp"], clock)
        timeline = Timeline(vocabularies["timestamp"], clock.unit)
    return Imported(
        [columns.facts()], vocabularies["entity"], vocabularies["relation"], timeline, +dropped
    )


def id_shape(source: Source, mapping: Mapping[str, str]) -> Shape:
    if source.form != "parquet":
        raise DataError(f"{source.path}: ids are read from Parquet alone")
    shape = look(source, mapping, None)
    assert shape is not None
    for role, at in shape.layout.items():
        if shape.types[at] not in WHOLE:
            raise DataError(
                f'{source.path}: the column "{shape.names[at]}" for the {role} holds '
                f"{shape.types[at]}, not whole numbers"
            )
    return shape


def _chosen(shape: Shape) -> dict[str, str]:
    """The column of each role, quoted; a point has no end."""
    roles = [role for role in KINDS if not (shape.points and role == "end")]
    positions = dict(zip(KINDS, shape.positions(), strict=True))
    return {role: quoted(shape.names[positions[role]]) for role in roles}


def _valid(column: str, role: str, sizes: Mapping[str, int]) -> str:
    last = sizes.get(KINDS[role], LARGEST + 1) - 1
    return f"coalesce({column} BETWEEN 0 AND {last}, false)"


def _check(
    db: duckdb.DuckDBPyConnection,
    source: Source,
    shape: Shape,
    sizes: Mapping[str, int],
    skip_bad: bool,
    dropped: Counter[str],
    largest: dict[str, int],
) -> int:
    """Count the rows that are facts, and raise for others or count them."""
    chosen = _chosen(shape)
    valid = " AND ".join(_valid(column, role, sizes) for role, column in chosen.items())
    maxima = ", ".join(f"max({column}) FILTER ({valid})" for column in chosen.values())
    total, good, *last = _one_row(
        db, source, f"SELECT count(*), count(*) FILTER ({valid}), {maxima}"
    )
    if good < total and not skip_bad:
        _raise_first(db, source, chosen, sizes)
    dropped["no id"] += total - good
    for role, value in zip(chosen, last, strict=True):
        if value is not None:
            largest[KINDS[role]] = max(largest[KINDS[role]], int(value))
    return int(good)


def _raise_first(
    db: duckdb.DuckDBPyConnection,
    source: Source,
    chosen: Mapping[str, str],
    sizes: Mapping[str, int],
) -> None:
    tests = {role: _valid(column, role, sizes) for role, column in chosen.items()}
    row = _one_row(
        db,
        source,
        f"SELECT file_row_number, {', '.join(chosen.values())}, {', '.join(tests.values())}",
        f"WHERE NOT ({' AND '.join(tests.values())}) ORDER BY file_row_number LIMIT 1",
    )
    number, values, passed = row[0], row[1 : len(chosen) + 1], row[len(chosen) + 1 :]
    for role, value, fine in zip(chosen, values, passed, strict=True):
        if not fine:
            shown = "missing" if value is None else value
            last = sizes.get(KINDS[role], LARGEST + 1) - 1
            raise DataError(
                f"{source.where(number + 1)}: the {role} is {shown}; ids are 0 to {last}"
            )


def _batches(
    db: duckdb.DuckDBPyConnection, source: Source, shape: Shape, sizes: Mapping[str, int]
) -> Iterator[Any]:
    chosen = _chosen(shape)
    valid = " AND ".join(_valid(column, role, sizes) for role, column in chosen.items())
    # Not a plain cast: DuckDB may cast before it filters.
    columns = ", ".join(
        f"TRY_CAST({column} AS INTEGER) AS {quoted(role)}" for role, column in chosen.items()
    )
    query = f"SELECT {columns} FROM read_parquet($path) WHERE {valid}"
    with _data_errors(source):
        yield from db.sql(query, params={"path": source.pattern}).to_arrow_reader(BATCH)


def _one_row(
    db: duckdb.DuckDBPyConnection, source: Source, select: str, rest: str = ""
) -> tuple[Any, ...]:
    query = f"{select} FROM read_parquet($path, file_row_number=true) {rest}"
    with _data_errors(source):
        (row,) = db.execute(query, {"path": source.pattern}).fetchall()
    return tuple(row)


@contextmanager
def _data_errors(source: Source) -> Iterator[None]:
    try:
        yield
    except duckdb.Error as error:
        raise DataError(f"{source.path}: {first_line(error)}") from None


class _Columns:
    """Columns of a known length that are filled batch by batch."""

    def __init__(self, rows: int, points: bool) -> None:
        names = [role for role in KINDS if not (points and role == "end")]
        self.columns: dict[str, NDArray] = {name: np.empty(rows, np.int32) for name in names}
        self.columns["level"] = np.empty(rows, np.uint8)
        self.size = self.read = 0

    def add(self, batch: Any, level: int) -> None:
        found = {name: batch[name].to_numpy() for name in batch.schema.names}
        self.read += batch.num_rows
        if "end" in self.columns:
            found.setdefault("end", found["start"])
            kept = found["start"] <= found["end"]
            found = {name: column[kept] for name, column in found.items()}
        end = self.size + len(found["subject"])
        for name, column in found.items():
            self.columns[name][self.size : end] = column
        self.columns["level"][self.size : end] = level
        self.size = end

    def facts(self) -> Facts:
        """The facts; the columns are given away."""
        columns = {name: self.columns.pop(name)[: self.size] for name in list(self.columns)}
        return Facts.of(**columns)
