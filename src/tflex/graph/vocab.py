"""Names and their ids: the position of a name in its vocabulary is its id."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

import pyarrow
import pyarrow.parquet

from tflex.errors import UnknownName


class Vocabulary:
    """An immutable list of names. Loaded on first use, so that opening a dataset reads no names."""

    def __init__(
        self, kind: str, names: Iterable[str] | Callable[[], list[str]], size: int | None = None
    ):
        self.kind = kind
        self._load = names if callable(names) else None
        self._names = None if callable(names) else list(names)
        self._ids: dict[str, int] | None = None
        self._size = size if size is not None else len(self.names)

    @property
    def names(self) -> list[str]:
        if self._names is None:
            assert self._load is not None
            self._names = self._load()
        return self._names

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __getitem__(self, id: int) -> str:
        return self.names[id]

    def __contains__(self, name: str) -> bool:
        return name in self.ids

    @property
    def ids(self) -> dict[str, int]:
        if self._ids is None:
            self._ids = {name: id for id, name in enumerate(self.names)}
        return self._ids

    def id(self, name: str) -> int:
        """The id of a name; an unknown name raises with the nearest ones."""
        found = self.ids.get(name)
        if found is None:
            raise UnknownName(self.kind, name, self.nearest(name))
        return found

    def nearest(self, name: str, limit: int = 3) -> list[str]:
        """The names most like the given one (case and word order matter little)."""
        from rapidfuzz import fuzz, process, utils

        # Slips of the pen first; then names of which the given one is a part.
        found: dict[str, None] = {}
        for scorer, cutoff in ((fuzz.ratio, 75), (fuzz.WRatio, 60)):
            likely = process.extract(
                name, self.names, scorer=scorer, processor=utils.default_process, limit=limit,
                score_cutoff=cutoff,
            )  # fmt: skip
            found.update((match, None) for match, _, _ in likely)
        return list(found)[:limit]

    def save(self, path: Path) -> None:
        table = pyarrow.table({"name": pyarrow.array(self.names, pyarrow.string())})
        pyarrow.parquet.write_table(table, path, compression="zstd")

    @classmethod
    def open(cls, kind: str, path: Path) -> Vocabulary:
        size = pyarrow.parquet.read_metadata(path).num_rows
        return cls(kind, partial(_read_names, path), size)

    @classmethod
    def numbered(cls, kind: str, size: int) -> Vocabulary:
        """Names "0", "1", … for data that comes as ids."""
        return cls(kind, partial(_numbers, size), size)


# Functions with names, so that a graph can be sent to another process.
def _read_names(path: Path) -> list[str]:
    names: list[str] = pyarrow.parquet.read_table(path)["name"].to_pylist()
    return names


def _numbers(size: int) -> list[str]:
    return [str(id) for id in range(size)]
