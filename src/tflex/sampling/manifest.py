"""The manifest of a folder of queries: from what, by which settings, and how many of each."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from tflex.errors import DataError, QueryError
from tflex.graph.facts import Level
from tflex.query.published import STRUCTURES
from tflex.query.structures import Structure
from tflex.query.text import parse_structure, print_structure
from tflex.sampling.costs import has_absence
from tflex.sampling.sampler import SamplingSettings, Supply

FORMAT_VERSION = 1
FILE = "manifest.json"


@dataclass(frozen=True)
class SplitRecord:
    """How many queries of a structure and split were asked for, and how many there are."""

    wanted: int
    found: int
    exhausted: bool = False
    exact: bool = False
    """Exhausted, and every query that there could be was tried: `found` is all there are."""

    @classmethod
    def of(cls, supply: Supply) -> SplitRecord:
        return cls(supply.wanted, supply.found, supply.exhausted, supply.exact)


@dataclass
class StructureRecord:
    """A structure with its splits."""

    structure: Structure
    splits: dict[Level, SplitRecord] = field(default_factory=dict)

    @property
    def definition(self) -> str:
        return print_structure(self.structure)

    def as_json(self) -> dict[str, Any]:
        structure = self.structure
        return {
            "definition": self.definition,
            "sort": structure.sort.name.lower(),
            "group": structure.group,
            "aliases": list(structure.aliases),
            "absence": has_absence(structure),
            "splits": {level.name: asdict(self.splits[level]) for level in sorted(self.splits)},
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> StructureRecord:
        bare = parse_structure(data["definition"])
        structure = Structure(bare.name, bare.parameters, bare.body, data["group"],
                              tuple(data["aliases"]))  # fmt: skip
        splits = {Level[name]: SplitRecord(**split) for name, split in data["splits"].items()}
        return cls(structure, splits)


@dataclass
class Manifest:
    """What `manifest.json` says; `unfinished` names structures that are still to be drawn."""

    graph_hash: str
    origin: Literal["sampled", "imported"]
    settings: SamplingSettings | None
    shard: tuple[int, int] | None = None
    records: dict[str, StructureRecord] = field(default_factory=dict)
    unfinished: list[str] = field(default_factory=list)

    def save(self, folder: Path) -> None:
        """Replace the file in one step, so that it is always whole."""
        folder.mkdir(parents=True, exist_ok=True)
        draft = folder / f".{FILE}"
        text = json.dumps(self.as_json(), indent=1, ensure_ascii=False)
        draft.write_text(text + "\n", encoding="utf-8")
        draft.replace(folder / FILE)

    def as_json(self) -> dict[str, Any]:
        structures = in_order(record.structure for record in self.records.values())
        return {
            "format_version": FORMAT_VERSION,
            "protocol": "strict",
            "origin": self.origin,
            "graph_hash": self.graph_hash,
            "settings": None if self.settings is None else _settings_as_json(self.settings),
            "shard": None if self.shard is None else "{}/{}".format(*self.shard),
            "unfinished": sorted(self.unfinished),
            "structures": {one.name: self.records[one.name].as_json() for one in structures},
        }

    @classmethod
    def open(cls, folder: Path) -> Manifest:
        path = folder / FILE
        if not path.is_file():
            raise DataError(f"{folder} holds no queries (no {FILE})")
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            if data["format_version"] != FORMAT_VERSION:
                raise DataError(
                    f"{path}: format version {data['format_version']}; "
                    f"this tflex reads {FORMAT_VERSION}"
                )
            shard = None if data["shard"] is None else parse_shard(data["shard"])
            settings = None if data["settings"] is None else _settings_from_json(data["settings"])
            records = {
                name: StructureRecord.from_json(one) for name, one in data["structures"].items()
            }
            return cls(data["graph_hash"], data["origin"], settings, shard, records,
                       data["unfinished"])  # fmt: skip
        except (KeyError, ValueError, TypeError, AttributeError, OSError, QueryError) as error:
            raise DataError(f"{path} is damaged: {error}") from error

    def differences(self, other: Manifest) -> list[str]:
        """In what another manifest is of another make, apart from its structures."""
        found = []
        if self.graph_hash != other.graph_hash:
            found.append("the graph")
        if self.origin != other.origin:
            found.append(f"{self.origin}, not {other.origin}")
        if self.shard != other.shard:
            found.append(f"shard {self.shard}, not {other.shard}")
        mine, theirs = self.settings, other.settings
        if mine is not None and theirs is not None:
            names = (one.name for one in fields(mine))
            pairs = ((name, getattr(mine, name), getattr(theirs, name)) for name in names)
            found += [f"{name} {a}, not {b}" for name, a, b in pairs if a != b]
        return found


def in_order(structures: Iterable[Structure]) -> list[Structure]:
    """The paper's structures in its order, then others by name."""
    places = {name: place for place, name in enumerate(STRUCTURES.names())}
    return sorted(structures, key=lambda one: (places.get(one.name, len(places)), one.name))


def parse_shard(text: str) -> tuple[int, int]:
    """`2/4`: the second of four."""
    number, _, count = text.partition("/")
    if not (number.isdigit() and count.isdigit() and 1 <= int(number) <= int(count)):
        raise DataError(f'"{text}" is no shard; shards are 1/4, 2/4, 3/4 and 4/4, for example')
    return int(number), int(count)


def _settings_as_json(settings: SamplingSettings) -> dict[str, Any]:
    data = asdict(settings)
    if settings.missing is not None:
        data["missing"] = {str(number): share for number, share in sorted(settings.missing.items())}
    return data


def _settings_from_json(data: dict[str, Any]) -> SamplingSettings:
    missing = data["missing"]
    if missing is not None:
        missing = {int(number): float(share) for number, share in missing.items()}
    return SamplingSettings(**{**data, "missing": missing})
