"""The immutable, indexed temporal knowledge graph, its split views, and its folder on disk."""

from __future__ import annotations

import hashlib
import json
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

from tflex.errors import DataError, UnknownName
from tflex.graph.build import Rows, build_index
from tflex.graph.facts import Facts, Level
from tflex.graph.index import Index
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

    def __init__(
        self,
        name: str,
        entities: Vocabulary,
        relations: Vocabulary,
        timeline: Timeline,
        index: Index,
        dropped: dict[str, int] | None = None,
        notes: dict[str, int] | None = None,
    ) -> None:
        self.name = name
        self.entities = entities
        self.relations = relations
        self.timeline = timeline
        self.index = index
        self.dropped = dropped or {}
        """Rows that the import left out, by reason."""
        self.notes = notes or {}
        """Facts that the import kept and that are odd, by what is odd about them."""

    @classmethod
    def from_facts(
        cls,
        facts: Facts,
        entities: Vocabulary,
        relations: Vocabulary,
        timeline: Timeline,
        name: str = "graph",
        dropped: dict[str, int] | None = None,
        notes: dict[str, int] | None = None,
        split: tuple[float, float, float] | None = None,
        generator: np.random.Generator | None = None,
    ) -> TemporalGraph:
        """Build the indexes. A fact given twice is kept once, at its lowest level.

        With `split` (shares of train, valid and test), levels are drawn anew by the generator.
        """
        rows = Rows.of(facts, len(entities), len(relations), len(timeline))
        del facts  # Frees the columns of a large import before the index needs their memory.
        counts = dict(dropped or {})
        repeated = rows.drop_duplicates()
        if repeated:
            counts["duplicate"] = counts.get("duplicate", 0) + repeated
        if split is not None:
            rows.split(split, generator or np.random.default_rng(0))
        index = build_index(rows, len(entities), len(relations))
        return cls(name, entities, relations, timeline, index, counts, notes)

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
        levels = self.index.object_level
        return {level.name: int(np.count_nonzero(levels == level)) // 2 for level in Level}

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
        if overwrite and Path(folder).exists() and not (Path(folder) / "dataset.json").exists():
            check_free(Path(folder))
        with complete_folder(Path(folder), overwrite) as draft:
            self.entities.save(draft / "entities.parquet")
            self.relations.save(draft / "relations.parquet")
            self.timeline.labels.save(draft / "timestamps.parquet")
            self.index.save(draft / "index")
            _write_facts(self, draft / "facts.parquet")
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
            "notes": self.notes,
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
            graph = cls(
                manifest["name"],
                Vocabulary.open("entity", folder / "entities.parquet"),
                Vocabulary.open("relation", folder / "relations.parquet"),
                Timeline(labels, manifest["time_unit"]),
                Index.open(folder / "index"),
                manifest["dropped"],
                manifest["notes"],
            )
            # Known already, and long to compute for a large graph.
            graph.__dict__["counts"] = manifest["facts"]
            graph.__dict__["content_hash"] = manifest["content_hash"]
            return graph
        except (KeyError, ValueError, TypeError, OSError, EOFError) as error:
            raise DataError(f"{folder} is damaged: {error}") from error


def _write_facts(graph: TemporalGraph, path: Path) -> None:
    """The facts in canonical order, in parts, because a large graph has no memory for a copy."""
    names = ("subject", "relation", "object", "start", "end", "level")
    types = [pyarrow.int32()] * 5 + [pyarrow.uint8()]
    schema = pyarrow.schema(list(zip(names, types, strict=True)))
    with pyarrow.parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        for part in graph.index.parts(2 * ROWS_PER_GROUP):
            columns = graph.index.facts(graph.relation_count, part).columns()
            writer.write_table(pyarrow.table(list(columns), schema=schema), ROWS_PER_GROUP)


def check_free(folder: Path, overwrite: bool = False) -> None:
    """Refuse a folder that holds something, unless it may be overwritten."""
    taken = folder.exists() and not (folder.is_dir() and not any(folder.iterdir()))
    if taken and not overwrite:
        raise DataError(f"{folder} exists already; choose another folder or remove it")


@contextmanager
def complete_folder(folder: Path, overwrite: bool = False) -> Iterator[Path]:
    """A draft folder beside `folder` that takes its place when the block ends without an error."""
    check_free(folder, overwrite)
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        yield draft
        draft.chmod(0o755)
        if folder.exists():
            shutil.rmtree(folder)
        draft.replace(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


__all__ = ["TemporalGraph", "UnknownName", "View", "check_free", "complete_folder"]
