"""The files of queries: one Parquet file for each structure and split, written as a stream.

| column | type | what |
|---|---|---|
| anchors | list<int32> | ids in the order of the structure's arguments |
| targets | list<int32> | the answers to be found; for training queries all answers |
| known | list<int32> | the answers on the known view; empty for training queries |
| missing | list<int16> | held-out facts that each target needs, along `targets` |
| retraction | bool | held-out facts only took answers away, and the targets are what is left |
| absence | bool | an answer may rest on facts that are not there |
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType

import numpy as np
import pyarrow
import pyarrow.parquet
from numpy.typing import NDArray

from tflex.errors import DataError
from tflex.exact.values import Answers
from tflex.graph.temporal_graph import TemporalGraph
from tflex.query.algebra import Sort
from tflex.query.structures import Structure
from tflex.sampling.sampler import Queries

ROWS_PER_GROUP = 1 << 15
"""Few enough that a group of answers as long as a calendar fits into memory."""

IDS = pyarrow.list_(pyarrow.int32())
SCHEMA = pyarrow.schema([
    ("anchors", IDS),
    ("targets", IDS),
    ("known", IDS),
    ("missing", pyarrow.list_(pyarrow.int16())),
    ("retraction", pyarrow.bool_()),
    ("absence", pyarrow.bool_()),
])  # fmt: skip


class QueryWriter:
    """Writes batches of queries in row groups of one size, so that batches leave no trace."""

    def __init__(self, path: Path, absence: bool) -> None:
        self.path = path
        self.absence = absence
        self._waiting: list[Queries] = []
        self._count = 0
        # Plain numbers under zstd are smaller here, and faster, than dictionaries or deltas.
        self._writer = pyarrow.parquet.ParquetWriter(
            path, SCHEMA, compression="zstd", use_dictionary=False
        )

    def write(self, queries: Queries) -> None:
        self._waiting.append(queries)
        self._count += len(queries)
        if self._count >= ROWS_PER_GROUP:
            joined = Queries.joined(self._waiting)
            full = len(joined) - len(joined) % ROWS_PER_GROUP
            for start in range(0, full, ROWS_PER_GROUP):
                self._group(joined.take(np.arange(start, start + ROWS_PER_GROUP)))
            self._waiting = [joined.take(np.arange(full, len(joined)))]
            self._count = len(joined) - full

    def _group(self, queries: Queries) -> None:
        count, arity = queries.anchors.shape
        flags = {"retraction": queries.retraction, "absence": np.full(count, self.absence)}
        missing = len(queries.missing) > 0
        columns = [
            _lists(np.arange(count + 1) * arity, queries.anchors.ravel()),
            _lists(queries.targets.offsets, queries.targets.ids),
            _lists(queries.known.offsets, queries.known.ids),
            _lists(queries.targets.offsets if missing else np.zeros(count + 1), queries.missing),
            *(pyarrow.array(flag) for flag in flags.values()),
        ]
        self._writer.write_table(pyarrow.table(columns, schema=SCHEMA), ROWS_PER_GROUP)

    def close(self) -> None:
        if self._count:
            self._group(Queries.joined(self._waiting))
        self._writer.close()

    def __enter__(self) -> QueryWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:  # fmt: skip
        if kind is None:
            self.close()
        else:
            self._writer.close()


def _lists(offsets: NDArray, values: NDArray) -> pyarrow.Array:
    return pyarrow.ListArray.from_arrays(
        pyarrow.array(offsets.astype(np.int32)), pyarrow.array(values)
    )


def read_batches(path: Path, structure: Structure, columns: Sequence[str] | None = None,
                 graph: TemporalGraph | None = None) -> Iterator[Queries]:  # fmt: skip
    """The queries of a file, row group by row group; lists of columns left out are empty.

    With a graph, ids that it does not have are an error.
    """
    try:
        file = pyarrow.parquet.ParquetFile(path)
        for group in range(file.num_row_groups):
            table = file.read_row_group(group, columns=None if columns is None else list(columns))
            queries = _queries(table, structure.arity)
            if graph is not None:
                _check_ids(queries, structure, graph)
            yield queries
    except (OSError, ValueError, KeyError, pyarrow.ArrowException) as error:
        raise DataError(f"{path} is no file of queries: {error}") from error


def read_queries(path: Path, structure: Structure, columns: Sequence[str] | None = None,
                 graph: TemporalGraph | None = None) -> Queries:  # fmt: skip
    """All queries of a file."""
    batches = read_batches(path, structure, columns, graph)
    return Queries.joined([no_queries(structure.arity), *batches])


def no_queries(arity: int) -> Queries:
    nothing = Answers(np.zeros(1, np.int64), np.empty(0, np.int32))
    anchors, missing = np.empty((0, arity), np.int32), np.empty(0, np.int16)
    return Queries(anchors, nothing, nothing, missing, np.empty(0, bool))


def _queries(table: pyarrow.Table, arity: int) -> Queries:
    def answers(name: str) -> Answers:
        if name not in table.column_names:
            return Answers(np.zeros(len(table) + 1, np.int64), np.empty(0, np.int32))
        lists = table[name].combine_chunks()
        if not isinstance(lists, pyarrow.ListArray):
            raise ValueError(f"the column {name} holds {lists.type}, not lists")
        offsets = lists.offsets.to_numpy().astype(np.int64)
        return Answers(offsets - offsets[0], lists.flatten().to_numpy())

    retraction = np.zeros(len(table), bool)
    if "retraction" in table.column_names:
        retraction = table["retraction"].to_numpy()
    found = answers("anchors")
    if (found.sizes() != arity).any():
        row = int(np.argmax(found.sizes() != arity))
        raise ValueError(f"{found.sizes()[row]} anchors where {arity} are expected")
    anchors = found.ids.reshape(len(table), arity)
    missing = answers("missing").ids.astype(np.int16, copy=False)
    return Queries(anchors, answers("targets"), answers("known"), missing, retraction)


def _check_ids(queries: Queries, structure: Structure, graph: TemporalGraph) -> None:
    """Refuse ids that the graph does not have; the engine would take them for a defect of ours."""
    sizes = {
        Sort.ENTITY: graph.entity_count,
        Sort.TIME: graph.time_count,
        Sort.RELATION: 2 * graph.relation_count,
    }
    columns = [
        (f"anchor {slot.name}", slot.sort, ids)
        for slot, ids in zip(structure.parameters, queries.anchors.T, strict=True)
    ]
    columns += [(name, structure.sort, getattr(queries, name).ids) for name in ("targets", "known")]
    for name, sort, ids in columns:
        wrong = (ids < 0) | (ids >= sizes[sort])
        if wrong.any():
            raise ValueError(
                f"{name} holds {ids[np.argmax(wrong)]}, which is no {sort.name.lower()} id of "
                f"{graph.name}; they are 0 to {sizes[sort] - 1}"
            )
