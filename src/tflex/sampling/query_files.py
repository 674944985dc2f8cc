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


def read_batches(path: Path, arity: int, columns: Sequence[str] | None = None) -> Iterator[Queries]:
    """The queries of a file, row group by row group; lists of columns left out are empty."""
    try:
        file = pyarrow.parquet.ParquetFile(path)
        for group in range(file.num_row_groups):
            table = file.read_row_group(group, columns=None if columns is None else list(columns))
            yield _queries(table, arity)
    except (OSError, ValueError, KeyError, pyarrow.ArrowException) as error:
        raise DataError(f"{path} is no file of queries: {error}") from error


def read_queries(path: Path, arity: int, columns: Sequence[str] | None = None) -> Queries:
    """All queries of a file."""
    return Queries.joined([no_queries(arity), *read_batches(path, arity, columns)])


def no_queries(arity: int) -> Queries:
    nothing = Answers(np.zeros(1, np.int64), np.empty(0, np.int32))
    anchors, missing = np.empty((0, arity), np.int32), np.empty(0, np.int16)
    return Queries(anchors, nothing, nothing, missing, np.empty(0, bool))


def _queries(table: pyarrow.Table, arity: int) -> Queries:
    def answers(name: str) -> Answers:
        if name not in table.column_names:
            return Answers(np.zeros(len(table) + 1, np.int64), np.empty(0, np.int32))
        lists = table[name].combine_chunks()
        offsets = lists.offsets.to_numpy().astype(np.int64)
        return Answers(offsets - offsets[0], lists.flatten().to_numpy())

    retraction = np.zeros(len(table), bool)
    if "retraction" in table.column_names:
        retraction = table["retraction"].to_numpy()
    anchors = answers("anchors").ids.reshape(len(table), arity)
    missing = answers("missing").ids.astype(np.int16, copy=False)
    return Queries(anchors, answers("targets"), answers("known"), missing, retraction)
