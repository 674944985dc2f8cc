"""Facts as text become facts as ids: each distinct name and time is looked at once."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import duckdb
import numpy as np
import pyarrow
from numpy.typing import NDArray

from tflex.errors import DataError
from tflex.graph.dates import Clock, Stamps, choose_clock, is_ambiguous, is_unknown
from tflex.graph.facts import Facts
from tflex.graph.ingest import Imported, Progress
from tflex.graph.readers import (
    Problems,
    Shape,
    Suspect,
    create_table,
    look,
    read_carefully,
    read_fast,
)
from tflex.graph.sources import Source
from tflex.graph.timeline import Timeline, TimeUnit
from tflex.graph.vocab import Vocabulary

MAX_TIMESTAMPS = 4_000_000
KNOWN, UNKNOWN, UNREADABLE = range(3)
EMPTY, UNLISTED = -2, -1
_WHOLE_FLOAT = re.compile(r"\A(-?\d+)\.0+\Z", re.ASCII)

Mask = NDArray[np.bool_]
Codes = NDArray[np.int32]


def import_names(
    sources: Sequence[Source],
    lists: Mapping[str, list[str]],
    mapping: Mapping[str, str],
    header: bool | None,
    unit: TimeUnit | None,
    skip_bad: bool,
    progress: Progress,
) -> Imported:
    """Read the files fast, and carefully where something is wrong with them."""
    shapes = {source: look(source, mapping, header) for source in sources}
    with tempfile.TemporaryDirectory() as scratch, duckdb.connect() as db:
        db.execute("SET temp_directory = $folder", {"folder": scratch})
        db.execute("SET memory_limit = '4GB'")
        db.execute("SET TimeZone = 'UTC'")  # Of times with a zone; not that of this machine.
        for careful in (False, True):
            create_table(db)
            problems = Problems()
            try:
                for source, shape in shapes.items():
                    progress(f"reading {source.path.name}", 0.4 * source.number / len(shapes))
                    if shape is not None and careful:
                        read_carefully(db, source, shape, problems)
                    elif shape is not None:
                        read_fast(db, source, shape)
                rows = TextRows(db, shapes, lists, unit, problems, skip_bad)
                return rows.imported(progress)
            except Suspect:
                continue
    raise AssertionError("the careful reading suspects nothing")


@dataclass
class Times:
    """Each distinct text of a time, read once."""

    texts: list[str]
    clock: Clock
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    state: NDArray[np.uint8]
    irregular: Mask


@dataclass
class Columns:
    """The rows as codes of texts."""

    file: Codes
    subject: Codes
    relation: Codes
    object: Codes
    start: Codes
    end: Codes


class TextRows:
    """Rows of text in DuckDB on their way to facts."""

    def __init__(
        self,
        db: duckdb.DuckDBPyConnection,
        shapes: Mapping[Source, Shape | None],
        lists: Mapping[str, list[str]],
        unit: TimeUnit | None,
        problems: Problems,
        skip_bad: bool,
    ) -> None:
        self.db, self.lists, self.unit, self.skip_bad = db, lists, unit, skip_bad
        self.problems = problems
        self.sources = list(shapes)
        self.files = ", ".join(str(source.path) for source in shapes)
        self.is_point_file = np.array([shape is None or shape.points for shape in shapes.values()])

    def imported(self, progress: Progress) -> Imported:
        progress("reading times", 0.4)
        times = self.times()
        progress("reading names", 0.5)
        names = {kind: self.names(kind) for kind in ("entity", "relation")}
        columns = self.columns()
        point = self.is_point_file[columns.file]
        bad = self.refuse_malformed(columns, names["relation"], times, point)
        low, high = times.low[columns.start], times.high[columns.end]
        open_start = times.state[columns.start] == UNKNOWN
        open_end = times.state[columns.end] == UNKNOWN
        backward = ~bad & ~open_start & ~open_end & (low > high)
        dropped = Counter({"start after end": int(backward.sum())})
        kept = ~bad & ~backward
        if not kept.any():
            raise self.nothing(dropped)
        timeline, stamps = self.timeline(
            times.clock, low[kept & ~open_start], high[kept & ~open_end], bool(point.all())
        )
        first = np.where(open_start, 0, np.searchsorted(stamps, low))
        last = np.where(open_end, len(stamps) - 1, np.searchsorted(stamps, high, "right") - 1)
        uncovered = kept & (first > last)
        self.refuse(uncovered, "unlisted time", _uncovered)
        kept &= ~uncovered
        if not kept.any():
            raise self.nothing(dropped)
        self.raise_problems()
        dropped = self.problems.counts + dropped
        notes = self.notes(columns, times, kept, open_start, open_end)
        entities, (subject, object) = self.used(
            "entity", names["entity"], columns.subject[kept], columns.object[kept]
        )
        relations, (relation,) = self.used("relation", names["relation"], columns.relation[kept])
        first, last = first[kept], last[kept]
        levels = np.array([int(source.level or 0) for source in self.sources], np.uint8)
        facts = Facts.of(subject, relation, object, first,
                         None if np.array_equal(first, last) else last,
                         levels[columns.file[kept]])  # fmt: skip
        return Imported([facts], entities, relations, timeline, dropped, +notes)

    # Texts

    def times(self) -> Times:
        """Read every distinct time; the graph's unit is known after this."""
        rows = self.db.execute(
            "SELECT coalesce(text, ''), count(*) FROM (SELECT \"start\" AS text FROM facts "
            'UNION ALL SELECT "end" FROM facts) GROUP BY 1 ORDER BY 1'
        ).fetchall()
        self._make_enum("time", [text for text, _ in rows])
        texts = [_WHOLE_FLOAT.sub(r"\1", text.strip()) for text, _ in rows]
        given = self.lists.get("timestamp")
        if given is None:
            uses: Counter[str] = Counter()
            for text, (_, count) in zip(texts, rows, strict=True):
                uses[text] += count
            clock = choose_clock(uses, self.unit)
        else:
            clock = choose_clock(dict.fromkeys(given, 1), self.unit)
            clock = Stamps(given) if isinstance(clock, Stamps) else clock
        ranges = [clock.read(text) for text in texts]
        state = [
            UNKNOWN if is_unknown(text) else UNREADABLE if range is None else KNOWN
            for text, range in zip(texts, ranges, strict=True)
        ]
        bounds = np.array([range or (0, 0) for range in ranges], np.int64).reshape(-1, 2)
        irregular = np.array([clock.irregular(text) for text in texts], bool)
        return Times(texts, clock, bounds[:, 0], bounds[:, 1], np.array(state, np.uint8), irregular)

    def names(self, kind: str) -> list[str]:
        """The names that codes of this kind stand for: those of the list, or all, sorted."""
        names = self.lists.get(kind)
        if names is None:
            columns = {"entity": ("subject", "object"), "relation": ("relation",)}[kind]
            every = " UNION ALL ".join(f"SELECT {column} AS name FROM facts" for column in columns)
            query = f"SELECT DISTINCT name FROM ({every}) WHERE name <> '' ORDER BY name"
            names = [name for (name,) in self.db.execute(query).fetchall()]
        self._make_enum(kind, names)
        return names

    def _make_enum(self, kind: str, values: list[str]) -> None:
        # An enum turns texts into codes in the order of the rows, unlike a join.
        table = pyarrow.table({"value": pyarrow.array(values, pyarrow.string())})
        self.db.register("enum_values", table)
        self.db.execute(f"DROP TYPE IF EXISTS {kind}_text")
        self.db.execute(f"CREATE TYPE {kind}_text AS ENUM (SELECT value FROM enum_values)")
        self.db.unregister("enum_values")

    def columns(self) -> Columns:
        def code(column: str, kind: str) -> str:
            return (
                f"CASE WHEN coalesce({column}, '') = '' THEN {EMPTY} ELSE coalesce("
                f"enum_code(TRY_CAST({column} AS {kind}_text))::INTEGER, {UNLISTED}) END::INTEGER"
            )

        found = self.db.execute(
            f"SELECT file, {code('subject', 'entity')} AS subject, "
            f"{code('relation', 'relation')} AS relation, {code('object', 'entity')} AS object, "
            "enum_code(coalesce(\"start\", '')::time_text)::INTEGER AS start, "
            "enum_code(coalesce(\"end\", '')::time_text)::INTEGER AS end FROM facts"
        ).fetchnumpy()
        return Columns(**{name: np.asarray(column) for name, column in found.items()})

    # Malformed rows

    def refuse_malformed(
        self, columns: Columns, relations: list[str], times: Times, point: Mask
    ) -> Mask:
        """Rows that are no facts, each for its first reason."""
        bad = np.zeros(len(point), bool)

        def refuse(mask: Mask, reason: str, message: Callable[[dict[str, str]], str]) -> None:
            self.refuse(mask & ~bad, reason, message)
            bad[mask] = True

        for role, kind in (("subject", "entity"), ("relation", "relation"), ("object", "entity")):
            codes = getattr(columns, role)
            refuse(codes == EMPTY, f"missing {role}", _missing(role))
            refuse(codes == UNLISTED, f"unlisted {role}", _unlisted(role, kind))
        inverse = [code for code, name in enumerate(relations) if name.startswith("~")]
        refuse(np.isin(columns.relation, inverse), "relation with ~", _inverse)
        refuse(point & (times.state[columns.start] == UNKNOWN), "missing time", _missing("time"))
        for bound in ("start", "end"):
            unreadable = times.state[getattr(columns, bound)] == UNREADABLE
            refuse(unreadable, "unreadable time", _unreadable(bound, times.clock))
        return bad

    def refuse(self, mask: Mask, reason: str, message: Callable[[dict[str, str]], str]) -> None:
        """Note rows as malformed; raises Suspect where the lines they stand on are not known."""
        if not mask.any():
            return
        self.problems.counts[reason] += int(mask.sum())
        if self.skip_bad:
            return
        names = ("file", "line", "subject", "relation", "object", "start", "end")
        (row,) = self.db.execute(
            f"SELECT * FROM facts LIMIT 1 OFFSET {int(np.argmax(mask))}"
        ).fetchall()
        file, line, *texts = row
        if line is None:
            raise Suspect
        fields = dict(zip(names[2:], (text or "" for text in texts), strict=True))
        found = (file, line, f"{self.sources[file].where(line)}: {message(fields)}")
        self.problems.first = min(self.problems.first or found, found)

    def raise_problems(self) -> None:
        if self.problems.first is None or self.skip_bad:
            return
        others = self.problems.counts.total() - 1
        lines = f"line{'s' * (others > 1)}"
        more = f" (and {others:,} more malformed {lines}; --skip-bad leaves them out)"
        raise DataError(self.problems.first[2] + more * (others > 0))

    def nothing(self, dropped: Counter[str]) -> DataError:
        """No fact is left: why."""
        self.raise_problems()
        counts = (self.problems.counts + dropped).items()
        listed = ", ".join(f"{count:,} {reason}" for reason, count in counts)
        return DataError(f"{self.files}: no facts" + f" (dropped: {listed})" * bool(listed))

    # Codes to ids

    def timeline(
        self, clock: Clock, lows: NDArray[np.int64], highs: NDArray[np.int64], points: bool
    ) -> tuple[Timeline, NDArray[np.int64]]:
        """The timestamps, and the ordinal of each."""
        given = self.lists.get("timestamp")
        if given is not None:
            return Timeline.of(given, clock.unit), list_ordinals(given, clock)
        bounds = np.unique(np.concatenate((lows, highs)))
        if not len(bounds):
            self.raise_problems()
            raise DataError(f"{self.files}: no fact with a known time")
        points = points and np.array_equal(lows, highs)
        if not points and not isinstance(clock, Stamps):
            count = int(bounds[-1]) - int(bounds[0]) + 1
            if count > MAX_TIMESTAMPS:
                self.raise_problems()
                first, last = clock.labels(bounds[[0, -1]])
                raise DataError(
                    f"{self.files}: {count:,} timestamps from {first} to {last} are too many; "
                    "give a coarser unit (--unit) or correct these"
                )
            bounds = np.arange(bounds[0], bounds[-1] + 1)
        return Timeline.of(clock.labels(bounds), clock.unit), bounds

    def used(self, kind: str, names: list[str], *codes: Codes) -> tuple[Vocabulary, list[Codes]]:
        """The vocabulary, without names that only dropped rows use, and the codes in it."""
        if kind in self.lists:
            return Vocabulary(kind, names), list(codes)
        occurs = np.zeros(len(names), bool)
        for column in codes:
            occurs[column] = True
        ids = (np.cumsum(occurs) - 1).astype(np.int32)
        kept = [name for name, used in zip(names, occurs.tolist(), strict=True) if used]
        return Vocabulary(kind, kept), [ids[column] for column in codes]

    def notes(
        self, columns: Columns, times: Times, kept: Mask, open_start: Mask, open_end: Mask
    ) -> Counter[str]:
        """What is odd about the facts that are kept."""
        irregular = times.irregular[columns.start] | times.irregular[columns.end]
        odd = {"open start": open_start, "open end": open_end, "unreadable month or day": irregular}
        if isinstance(times.clock, Stamps) and times.clock.guessed:
            odd["times ordered as text"] = kept
        return Counter({reason: int((mask & kept).sum()) for reason, mask in odd.items()})


def list_ordinals(given: list[str], clock: Clock) -> NDArray[np.int64]:
    """The ordinals of a list of timestamps, which must stand in time order."""
    ordinals: list[int] = []
    for line, text in enumerate(given, 1):
        range = clock.read(text)
        if range is None or range[0] != range[1]:
            raise DataError(f'timestamps.txt, line {line}: "{text}" is no {_unit_name(clock)}')
        if ordinals and range[0] <= ordinals[-1]:
            raise DataError(
                f'timestamps.txt, line {line}: "{text}" is not after "{given[line - 2]}"'
            )
        ordinals.append(range[0])
    return np.array(ordinals, np.int64)


def _unit_name(clock: Clock) -> str:
    return "whole number" if clock.unit == "raw" else clock.unit


def _uncovered(row: dict[str, str]) -> str:
    start, end = row["start"], row["end"]
    time = f'"{start}"' if start == end else f'"{start}" to "{end}"'
    return f"the time {time} covers no line of timestamps.txt"


def _missing(role: str) -> Callable[[dict[str, str]], str]:
    def message(row: dict[str, str]) -> str:
        held = ", ".join(f'"{value}"' for value in row.values())
        return f"the {role} is missing in {held}"

    return message


def _unlisted(role: str, kind: str) -> Callable[[dict[str, str]], str]:
    file = {"entity": "entities.txt", "relation": "relations.txt"}[kind]
    return lambda row: f'the {role} "{row[role]}" is not in {file}'


def _inverse(row: dict[str, str]) -> str:
    return f'the relation "{row["relation"]}" begins with "~", which in queries means its inverse'


def _unreadable(bound: str, clock: Clock) -> Callable[[dict[str, str]], str]:
    def message(row: dict[str, str]) -> str:
        time = row[bound]
        if is_ambiguous(time):
            return (
                f'the time "{time}" is ambiguous: the day, the month or a short year may come '
                "first; write dates like 2020-12-25"
            )
        if isinstance(clock, Stamps):
            return f'the time "{time}" is not one of the {len(clock.order):,} known'
        return f'cannot read the time "{time}" as a {_unit_name(clock)}'

    return message
