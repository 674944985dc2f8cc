"""The immutable, indexed temporal knowledge graph, its split views, and its folder on disk."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
from numpy.typing import NDArray

from tflex.errors import DataError, UnknownName
from tflex.graph.facts import Facts, Level, sort_order
from tflex.graph.index import Index, build_index
from tflex.graph.timeline import Timeline
from tflex.graph.vocab import Vocabulary

FORMAT_VERSION = 1
ROWS_PER_GROUP = 1 << 20


@dataclass(frozen=True)
class View:
    """The facts of a graph up to a level: `train ⊂ valid ⊂ test`."""

    graph: TemporalGraph
    level: Level

    @property
    def name(self) -> str:
        return self.level.name


class TemporalGraph:
    """F ⊆ V×R×V×T with vocabularies, split levels and indexes over one store."""

    def __init__(self, name: str, entities: Vocabulary, relations: Vocabulary, timeline: Timeline,
                 index: Index, dropped: dict[str, int] | None = None,
                 content_hash: str | None = None) -> None:  # fmt: skip
        self.name = name
        self.entities = entities
        self.relations = relations
        self.timeline = timeline
        self.index = index
        self.dropped = dropped or {}
        """Rows that the import left out, by reason."""
        if content_hash is not None:
            self.__dict__["content_hash"] = content_hash

    @classmethod
    def from_facts(cls, facts: Facts, entities: Vocabulary, relations: Vocabulary, timeline: Timeline,
                   name: str = "graph", dropped: dict[str, int] | None = None) -> TemporalGraph:  # fmt: skip
        """Build the indexes. A fact given twice is kept once, at its lowest level."""
        unique, repeated = without_duplicates(facts, len(entities), len(relations), len(timeline))
        counts = dict(dropped or {})
        if repeated:
            counts["duplicate"] = counts.get("duplicate", 0) + repeated
        index = build_index(unique, len(entities), len(relations), len(timeline))
        return cls(name, entities, relations, timeline, index, counts)

    @property
    def entity_count(self) -> int:
        return len(self.entities)

    @property
    def relation_count(self) -> int:
        """Relations without their inverses."""
        return len(self.relations)

    @property
    def time_count(self) -> int:
        return len(self.timeline)

    @cached_property
    def facts(self) -> Facts:
        """All facts in canonical order (subject, relation, object, start)."""
        return self.index.facts(self.relation_count)

    @cached_property
    def counts(self) -> dict[str, int]:
        """Facts of each split alone."""
        forward = np.bincount(self.index.object_level, minlength=3) // 2
        return {level.name: int(forward[level]) for level in Level}

    def view(self, name: str | Level) -> View:
        try:
            return View(self, Level[name] if isinstance(name, str) else name)
        except KeyError:
            raise DataError(f'no view "{name}"; views are train, valid and test') from None

    def inverse(self, relation: int) -> int:
        count = self.relation_count
        return relation - count if relation >= count else relation + count

    def relation_id(self, name: str) -> int:
        """The id of a relation; a leading `~` names its inverse."""
        inverse = name.startswith("~") and name not in self.relations
        id = self.relations.id(name[1:] if inverse else name)
        return id + self.relation_count if inverse else id

    def relation_name(self, id: int) -> str:
        count = self.relation_count
        return self.relations[id] if id < count else "~" + self.relations[id - count]

    @cached_property
    def content_hash(self) -> str:
        """Hash of vocabularies and facts; independent of how they were read."""
        digest = hashlib.sha256()
        for names in (self.entities, self.relations, self.timeline.labels):
            for name in names:
                digest.update(name.encode() + b"\0")
            digest.update(b"\1")
        digest.update(self.timeline.unit.encode())
        for field in ("segment_subject", "segment_relation", "segment_pointer", "object_object",
                      "object_start", "object_end", "object_level"):  # fmt: skip
            digest.update(memoryview(getattr(self.index, field)).cast("B"))
        return digest.hexdigest()[:32]

    def save(self, folder: str | Path, overwrite: bool = False) -> None:
        """Write the dataset folder; it appears only when it is complete."""
        with complete_folder(Path(folder), overwrite) as draft:
            self.entities.save(draft / "entities.parquet")
            self.relations.save(draft / "relations.parquet")
            self.timeline.labels.save(draft / "timestamps.parquet")
            self.index.save(draft / "index")
            _write_facts(self.facts, draft / "facts.parquet")
            (draft / "dataset.json").write_text(
                json.dumps(self.manifest(), indent=2, ensure_ascii=False) + "\n"
            )

    def manifest(self) -> dict[str, Any]:
        return {
            "format_version": FORMAT_VERSION,
            "name": self.name,
            "entities": self.entity_count,
            "relations": self.relation_count,
            "timestamps": self.time_count,
            "facts": self.counts,
            "time_unit": self.timeline.unit,
            "intervals": not self.index.is_points,
            "dropped": self.dropped,
            "content_hash": self.content_hash,
        }

    @classmethod
    def open(cls, folder: str | Path) -> TemporalGraph:
        """Open a dataset folder; indexes are mapped, names are read on first use."""
        folder = Path(folder)
        path = folder / "dataset.json"
        if not path.is_file():
            raise DataError(f"{folder} is no dataset folder: it holds no dataset.json")
        try:
            manifest = json.loads(path.read_text())
            version = manifest["format_version"]
            if version != FORMAT_VERSION:
                raise DataError(
                    f"{path}: format version {version}; this tflex reads {FORMAT_VERSION}"
                )
            labels = Vocabulary.open("timestamp", folder / "timestamps.parquet")
            return cls(
                manifest["name"],
                Vocabulary.open("entity", folder / "entities.parquet"),
                Vocabulary.open("relation", folder / "relations.parquet"),
                Timeline(labels, manifest["time_unit"]),
                Index.open(folder / "index"),
                manifest["dropped"],
                manifest["content_hash"],
            )
        except (KeyError, ValueError, OSError) as error:
            raise DataError(f"{folder} is damaged: {error}") from error


def without_duplicates(facts: Facts, entity_count: int, relation_count: int,
                       time_count: int) -> tuple[Facts, int]:  # fmt: skip
    """The facts with each (subject, relation, object, start, end) once, at its lowest level."""
    columns: list[tuple[NDArray, int]] = [(facts.subject, entity_count), (facts.relation, relation_count),
               (facts.object, entity_count), (facts.start, time_count)]  # fmt: skip
    if not facts.is_points():
        columns.append((facts.end, time_count))
    columns.append((facts.level, 4))
    order = sort_order(columns)
    repeated = np.ones(max(len(facts) - 1, 0), bool)
    for column, _ in columns[:-1]:
        ranked = column[order]
        repeated &= ranked[1:] == ranked[:-1]
    if not repeated.any():
        return facts, 0
    kept = np.sort(order[np.concatenate(([True], ~repeated))])
    return facts.take(kept), int(repeated.sum())


def _write_facts(facts: Facts, path: Path) -> None:
    names = ("subject", "relation", "object", "start", "end", "level")
    table = pyarrow.table(dict(zip(names, facts.columns(), strict=True)))
    pyarrow.parquet.write_table(table, path, compression="zstd", row_group_size=ROWS_PER_GROUP)


@contextmanager
def complete_folder(folder: Path, overwrite: bool = False) -> Iterator[Path]:
    """A draft folder beside `folder` that takes its place when the block ends without an error."""
    if folder.exists() and not overwrite:
        raise DataError(f"{folder} exists already; choose another folder or remove it")
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        yield draft
        draft.chmod(0o755)
        if folder.exists():
            shutil.rmtree(folder)
        os.replace(draft, folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


__all__ = ["TemporalGraph", "UnknownName", "View", "complete_folder", "without_duplicates"]
