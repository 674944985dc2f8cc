"""Published query files: JSON lines of structure name, anchor ids, answers, and easy answers.

    {"query_name": "e2i", "query": [733, 283, 90, 733, 53, 90], "answer": [920, 3341],
     "easy_answer": [3341]}

Anchors stand in the order of the structure's arguments; a relation id ≥ |R| is an inverse.
`easy_answer` may be missing, from all queries of a structure or from none.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from tflex.errors import DataError, QueryError
from tflex.query.algebra import Sort
from tflex.query.published import STRUCTURES
from tflex.query.structures import Structure, Structures

if TYPE_CHECKING:
    from tflex.graph.temporal_graph import TemporalGraph

SUFFIXES = (".jsonl", ".json", ".jsonl.gz", ".json.gz")
PLURALS = {"entity": "entities", "relation": "relations, inverses included", "time": "timestamps"}


class Lists(NamedTuple):
    """A sorted list of ids for each query: list i is `ids[offsets[i]:offsets[i + 1]]`."""

    offsets: NDArray[np.int64]
    ids: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class FiledQueries:
    """The queries of one structure as files give them; row i of every field is query i."""

    structure: Structure
    anchors: NDArray[np.int32]
    answers: Lists
    easy: Lists | None
    """None where the files list no easy answers."""
    files: tuple[Path, ...]
    file: NDArray[np.int32]
    """Which of `files` each query is from."""
    line: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.anchors)

    def place(self, row: int) -> str:
        """The file and line of a query."""
        return f"{self.files[self.file[row]]}, line {self.line[row]}"


def read_query_files(
    paths: Iterable[str | Path], graph: TemporalGraph, structures: Structures = STRUCTURES
) -> list[FiledQueries]:
    """The queries of files, or of all such files in folders, by structure in its list's order."""
    files = tuple(query_files(paths))
    columns: dict[str, _Columns] = {}
    for number, path in enumerate(files):
        _read_file(path, number, columns, structures)
    if not columns:
        raise DataError(f"{', '.join(map(str, files))}: no query in it")
    order = {name: place for place, name in enumerate(structures.names())}
    listed = sorted(columns.values(), key=lambda one: order[one.structure.name])
    return [one.checked(files, graph) for one in listed]


def query_files(paths: Iterable[str | Path]) -> Iterator[Path]:
    """Each file as it is, each folder as the query files right in it."""
    for path in map(Path, paths):
        if path.is_dir():
            inside = _files_in(path)
            if not inside:
                held = [
                    str(one) for one in sorted(path.iterdir()) if one.is_dir() and _files_in(one)
                ]
                hint = f"; give {', '.join(held)}" if held else ""
                raise DataError(
                    f"{path}: no query files ({', '.join(SUFFIXES)}) in this folder{hint}"
                )
            yield from inside
        elif path.is_file():
            yield path
        else:
            raise DataError(f"{path}: no such file or folder")


def _files_in(folder: Path) -> list[Path]:
    return sorted(one for one in folder.iterdir() if one.name.endswith(SUFFIXES))


@dataclass(eq=False)
class _Flat:
    """Lists of numbers one after the other, as they are read."""

    values: list[Any] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)

    def add(self, values: list[Any]) -> None:
        self.values.extend(values)
        self.sizes.append(len(values))


@dataclass(eq=False)
class _Columns:
    """What has been read of one structure."""

    structure: Structure
    anchors: _Flat = field(default_factory=_Flat)
    answers: _Flat = field(default_factory=_Flat)
    easy: _Flat = field(default_factory=_Flat)
    file: list[int] = field(default_factory=list)
    line: list[int] = field(default_factory=list)

    def checked(self, files: tuple[Path, ...], graph: TemporalGraph) -> FiledQueries:
        """The same as arrays, every id within its vocabulary."""
        sizes = {
            Sort.ENTITY: ("entity", graph.entity_count),
            Sort.RELATION: ("relation", 2 * graph.relation_count),
            Sort.TIME: ("time", graph.time_count),
        }
        # An array of one bound for each value makes the checks of all fields alike.
        slots = [sizes[slot.sort] for slot in self.structure.parameters]
        count, (kind, universe) = len(self.line), sizes[self.structure.sort]
        self._check(files, "query", self.anchors, slots)
        self._check(files, "answer", self.answers, [(kind, universe)])
        self._check(files, "easy_answer", self.easy, [(kind, universe)])
        return FiledQueries(
            self.structure,
            np.array(self.anchors.values, np.int32).reshape(count, self.structure.arity),
            _lists(self.answers, universe),
            _lists(self.easy, universe) if self.easy.sizes else None,
            files,
            np.array(self.file, np.int32),
            np.array(self.line, np.int32),
        )

    def _check(self, files: tuple[Path, ...], key: str, flat: _Flat,
               kinds: list[tuple[str, int]]) -> None:  # fmt: skip
        """Every value is a whole number below its bound; `kinds` repeat along the values."""
        if set(map(type, flat.values)) <= {int}:
            try:
                values = np.array(flat.values, np.int64)
                bounds = np.tile([bound for _, bound in kinds], len(values) // len(kinds))
                if ((values >= 0) & (values < bounds)).all():
                    return
            except OverflowError:
                pass
        for at, value in enumerate(flat.values):
            kind, bound = kinds[at % len(kinds)]
            if type(value) is not int or not 0 <= value < bound:
                row = int(np.searchsorted(np.cumsum(flat.sizes), at, side="right"))
                slot = f" (its {kind} argument {at % len(kinds) + 1})" if len(kinds) > 1 else ""
                _fail(
                    files[self.file[row]],
                    self.line[row],
                    f"`{key}`{slot} holds {_shown(value)}, which is no {kind} id; "
                    f"there are {bound} {PLURALS[kind]}",
                )


def _lists(flat: _Flat, universe: int) -> Lists:
    """Sorted, each id once a row: what a file repeats is one answer all the same."""
    values = np.array(flat.values, np.int64)
    rows = np.repeat(np.arange(len(flat.sizes)), flat.sizes)
    unique = np.unique(rows * universe + values)
    offsets = np.searchsorted(unique, np.arange(len(flat.sizes) + 1) * universe)
    return Lists(offsets.astype(np.int64), (unique % universe).astype(np.int32))


def _read_file(path: Path, number: int, columns: dict[str, _Columns],
               structures: Structures) -> None:  # fmt: skip
    """Add the queries of a file to what was read before."""
    for line, row in _json_lines(path):
        name, anchors, answers, easy = _fields(path, line, row)
        try:
            structure = structures[name]
        except QueryError as error:
            _fail(path, line, str(error))
        if len(anchors) != structure.arity:
            slots = ", ".join(slot.name for slot in structure.parameters)
            _fail(
                path,
                line,
                f"{name} takes {structure.arity} anchors ({slots}), not {len(anchors)}: "
                f"{_shown(anchors)}",
            )
        # An alias and the name itself lead to one structure.
        known = columns.get(structure.name)
        if known is None:
            known = columns[structure.name] = _Columns(structure)
        if known.line and (easy is None) == bool(known.easy.sizes):
            has, others = ("no", "have one") if easy is None else ("an", "have none")
            _fail(path, line, f"{has} `easy_answer`, but the {name} queries before it {others}")
        known.anchors.add(anchors)
        known.answers.add(answers)
        if easy is not None:
            known.easy.add(easy)
        known.file.append(number)
        known.line.append(line)


def _fields(path: Path, line: int, row: Any) -> tuple[str, list[Any], list[Any], list[Any] | None]:
    """A line's name and lists, each of the right kind."""
    if not isinstance(row, dict):
        _fail(path, line, f"expected an object with `query_name`, not {_shown(row)}")
    name, easy = row.get("query_name"), row.get("easy_answer")
    if not isinstance(name, str):
        _fail(path, line, f"`query_name` is {_shown(name)}, not the name of a structure")
    for key in ("query", "answer"):
        if not isinstance(row.get(key), list):
            _fail(path, line, f"`{key}` is {_shown(row.get(key))}, not a list of ids")
    if easy is not None and not isinstance(easy, list):
        _fail(path, line, f"`easy_answer` is {_shown(easy)}, not a list of ids")
    return name, row["query"], row["answer"], easy


def _json_lines(path: Path) -> Iterator[tuple[int, Any]]:
    """The number and content of every line that is not blank."""
    line = 0
    try:
        with gzip.open(path) if path.name.endswith(".gz") else path.open("rb") as stream:
            for line, text in enumerate(stream, 1):
                if not text.isspace():
                    yield line, json.loads(text)
    except (ValueError, RecursionError) as error:
        reason = getattr(error, "msg", error)
        _fail(path, line, f"no JSON ({reason}): {_shown(text.decode(errors='replace').rstrip())}")
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path}: cannot be read after line {line}: {error}") from error


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}…"


def _fail(path: Path, line: int, message: str) -> NoReturn:
    raise DataError(f"{path}, line {line}: {message}")
