"""Files of facts as rows of text in a DuckDB table.

Each file is read twice at most. DuckDB reads it fast and without line numbers; where anything looks
wrong, it is read again carefully, record by record, to find the lines and what is wrong with them.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import IO, Any, NamedTuple

import duckdb
import pyarrow

from tflex.errors import DataError
from tflex.graph.columns import Layout, find_layout, is_header
from tflex.graph.sources import WHITESPACE, Source

SAMPLE = 200
BATCH = 1 << 16
DELIMITERS = ",;\t|"


class Suspect(Exception):
    """The fast reading met something that only the careful one can judge."""


class Record(NamedTuple):
    """One line's fields, or what is wrong with it."""

    line: int
    fields: list[str]
    reason: str = ""
    message: str = ""


@dataclass
class Problems:
    """Malformed lines: how many of each kind, and the first of them."""

    counts: Counter[str] = field(default_factory=Counter)
    first: tuple[int, int, str] | None = None
    """Number of the source, line, and the whole message."""

    def add(self, source: Source, record: Record) -> None:
        self.counts[record.reason] += 1
        found = (source.number, record.line, f"{source.where(record.line)}: {record.message}")
        self.first = min(self.first or found, found)


@dataclass(frozen=True)
class Shape:
    """What a look at the first records of a file tells."""

    layout: Layout
    width: int
    header: bool = False
    delimiter: str = ""
    names: tuple[str, ...] = ()
    types: tuple[str, ...] = ()

    @property
    def points(self) -> bool:
        return "time" in self.layout

    def positions(self) -> list[int]:
        """Columns of subject, relation, object, start and end; a point's time is both."""
        layout = self.layout
        return [layout.get(role, layout.get("time", 0))
                for role in ("subject", "relation", "object", "start", "end")]  # fmt: skip


def look(source: Source, mapping: Mapping[str, str], header: bool | None) -> Shape | None:
    """The shape of a file, or None where it is empty."""
    try:
        if source.form == "parquet":
            return _parquet_shape(source, mapping)
        if source.form == "jsonl":
            return _jsonl_shape(source, mapping)
        return _delimited_shape(source, mapping, header)
    except (duckdb.Error, EOFError, gzip.BadGzipFile) as error:
        raise DataError(f"{source.path}: {first_line(error)}") from None


def first_line(error: BaseException) -> str:
    return str(error).split("\n")[0]


def _delimited_shape(
    source: Source, mapping: Mapping[str, str], header: bool | None
) -> Shape | None:
    delimiter = "\t" if source.suffix != ".csv" else _delimiter(source)
    records = delimited_records(source, delimiter)
    first = list(islice(records, SAMPLE))
    sample = [record.fields for record in first if not record.reason]
    if not sample and first:
        raise DataError(f"{source.where(first[0].line)}: {first[0].message}")
    if not sample:
        return None
    named = is_header(sample, mapping) if header is None else header
    # Trailing empty cells are no columns, except the open end of an interval.
    width = len(sample[0]) if named else Counter(map(len, sample)).most_common(1)[0][0]
    layout = find_layout(str(source.path), sample[0] if named else None, width, mapping)
    return Shape(layout, width, named, delimiter)


def _delimiter(source: Source) -> str:
    """The delimiter of a CSV: the first of the usual ones that makes enough columns."""
    for delimiter in DELIMITERS:
        first = next(delimited_records(source, delimiter), None)
        if first is not None and len(first.fields) >= 4:
            return delimiter
    return ","


def _jsonl_shape(source: Source, mapping: Mapping[str, str]) -> Shape | None:
    keys: dict[str, None] = {}
    broken = None
    for record in islice(_json_lines(source), SAMPLE):
        if isinstance(record, Record):
            broken = broken or record
        else:
            keys.update(dict.fromkeys(record[1]))
    if not keys and broken is not None:
        raise DataError(f"{source.where(broken.line)}: {broken.message}")
    if not keys:
        return None
    names = list(keys)
    layout = find_layout(str(source.path), names, len(names), mapping)
    return Shape(layout, len(names), names=tuple(names))


def _parquet_shape(source: Source, mapping: Mapping[str, str]) -> Shape:
    with duckdb.connect() as db:
        columns = db.execute(
            "DESCRIBE SELECT * FROM read_parquet($path)", {"path": source.pattern}
        ).fetchall()
    names, types = [row[0] for row in columns], [str(row[1]) for row in columns]
    layout = find_layout(str(source.path), names, len(names), mapping)
    for role, at in layout.items():
        if any(nested in types[at] for nested in ("[", "STRUCT", "MAP", "BLOB", "UNION")):
            raise DataError(
                f'{source.path}: the column "{names[at]}" for the {role} holds {types[at]}, '
                "not text or numbers"
            )
    return Shape(layout, len(names), names=tuple(names), types=tuple(types))


# The fast reading


def create_table(db: duckdb.DuckDBPyConnection) -> None:
    db.execute(
        "CREATE OR REPLACE TABLE facts (file INTEGER, line BIGINT, subject VARCHAR, "
        'relation VARCHAR, object VARCHAR, "start" VARCHAR, "end" VARCHAR)'
    )


def read_fast(db: duckdb.DuckDBPyConnection, source: Source, shape: Shape) -> None:
    """Add a file's rows to the table; raises Suspect where that may go wrong."""
    if source.form == "parquet":
        return _read_parquet(db, source, shape)
    try:
        if source.form == "jsonl":
            _read_json_fast(db, source, shape)
        else:
            _read_delimited_fast(db, source, shape)
    except duckdb.Error:
        raise Suspect from None
    return None


def _read_delimited_fast(db: duckdb.DuckDBPyConnection, source: Source, shape: Shape) -> None:
    quote = '"' if source.suffix == ".csv" else ""
    every = ", ".join(f"c{at}" for at in range(shape.width))
    chosen = [f"c{at}" for at in shape.positions()]
    if quote and shape.width:
        # A quote that is left belongs to a field that DuckDB did not take as quoted.
        odd = " OR ".join(f"ltrim(c{at}) LIKE '\"%'" for at in range(shape.width))
        chosen[0] = f"CASE WHEN {odd} THEN error('quote') ELSE {chosen[0]} END"
    trimmed = ", ".join(f"trim({column}, $blank)" for column in chosen)
    columns = {f"c{at}": "VARCHAR" for at in range(shape.width)}
    db.execute(
        f"INSERT INTO facts SELECT $file, NULL, {trimmed} FROM read_csv($path, delim=$delimiter, "
        f"quote=$quote, escape=$quote, header=false, auto_detect=false, columns={columns}, "
        f"strict_mode=true, null_padding=false) "
        f"WHERE coalesce(trim(concat({every}), $blank), '') <> '' OFFSET {int(shape.header)}",
        {"file": source.number, "path": source.pattern, "delimiter": shape.delimiter,
         "quote": quote, "blank": WHITESPACE},
    )  # fmt: skip


def _read_json_fast(db: duckdb.DuckDBPyConnection, source: Source, shape: Shape) -> None:
    keys = [quoted(shape.names[at]) for at in shape.positions()]
    chosen = ", ".join(
        f"CASE WHEN {key} IS NULL OR json_type({key}) IN ('VARCHAR', 'BIGINT', 'UBIGINT', 'NULL') "
        f"THEN trim({key}->>'$', $blank) ELSE error('type') END"
        for key in keys
    )
    columns = ", ".join(f"{_text(shape.names[at])}: 'JSON'" for at in set(shape.positions()))
    db.execute(
        f"INSERT INTO facts SELECT $file, NULL, {chosen} FROM read_json($path, "
        f"format='newline_delimited', columns={{{columns}}}) "
        f"WHERE NOT ({' AND '.join(f'{key} IS NULL' for key in keys)})",
        {"file": source.number, "path": source.pattern, "blank": WHITESPACE},
    )


def _read_parquet(db: duckdb.DuckDBPyConnection, source: Source, shape: Shape) -> None:
    chosen = ", ".join(_parquet_text(shape, at) for at in shape.positions())
    try:
        db.execute(
            f"INSERT INTO facts SELECT $file, file_row_number + 1, {chosen} "
            "FROM read_parquet($path, file_row_number=true)",
            {"file": source.number, "path": source.pattern, "blank": WHITESPACE},
        )
    except duckdb.Error as error:
        raise DataError(f"{source.path}: {first_line(error)}") from None


def _parquet_text(shape: Shape, at: int) -> str:
    column = quoted(shape.names[at])
    if shape.types[at] in ("DOUBLE", "FLOAT"):
        # pandas turns whole numbers with gaps into floats.
        column = f"CASE WHEN isnan({column}) THEN NULL ELSE {column} END"
    return f"trim(CAST({column} AS VARCHAR), $blank)"


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(name: str) -> str:
    return "'" + name.replace("'", "''") + "'"


# The careful reading


def read_carefully(
    db: duckdb.DuckDBPyConnection, source: Source, shape: Shape, problems: Problems
) -> None:
    """Add a file's rows with their line numbers; what is malformed goes to the problems."""
    if source.form == "parquet":
        return _read_parquet(db, source, shape)
    positions = shape.positions()
    good: list[tuple[int, list[str]]] = []
    for record in _records(source, shape):
        if record.reason:
            problems.add(source, record)
            continue
        good.append((record.line, [record.fields[at] for at in positions]))
        if len(good) == BATCH:
            _insert(db, source, good)
            good = []
    _insert(db, source, good)
    return None


def _records(source: Source, shape: Shape) -> Iterator[Record]:
    if source.form == "jsonl":
        for found in _json_lines(source):
            yield found if isinstance(found, Record) else _json_record(shape, *found)
        return
    header = shape.header
    for record in delimited_records(source, shape.delimiter):
        if record.reason:
            yield record
        elif header:
            header = False
        elif len(record.fields) < shape.width or any(record.fields[shape.width :]):
            yield _miscounted(record, shape)
        else:
            yield record


def _miscounted(record: Record, shape: Shape) -> Record:
    count = len(record.fields)
    return Record(
        record.line,
        [],
        "wrong number of fields",
        f"{count} field{'s' * (count != 1)} where {shape.width} are expected: "
        f"{_shown(shape.delimiter.join(record.fields))}",
    )


def _insert(
    db: duckdb.DuckDBPyConnection, source: Source, rows: list[tuple[int, list[str]]]
) -> None:
    if not rows:
        return
    columns = {f"c{at}": [fields[at] for _, fields in rows] for at in range(5)}
    batch = pyarrow.table(
        columns, schema=pyarrow.schema([(name, pyarrow.string()) for name in columns])
    )
    batch = batch.append_column("line", pyarrow.array([line for line, _ in rows], pyarrow.int64()))
    db.register("batch", batch)
    db.execute("INSERT INTO facts SELECT $file, line, c0, c1, c2, c3, c4 FROM batch",
               {"file": source.number})  # fmt: skip
    db.unregister("batch")


def delimited_records(source: Source, delimiter: str) -> Iterator[Record]:
    """The records of a TSV (a line each) or CSV (quoted fields may span lines) but blank ones."""
    with _open(source) as file:
        invalid: list[tuple[int, bytes]] = []
        lines = _decoded(file, invalid)
        quoted = source.suffix == ".csv"
        reader = _CsvRecords(lines, delimiter) if quoted else _tab_records(lines, delimiter)
        for record in reader:
            if invalid:
                line, raw = invalid[0]
                yield Record(line, [], "not UTF-8", f"{_shown(raw)} is not UTF-8")
                invalid.clear()
            elif record.reason or any(record.fields):
                yield record


def _tab_records(lines: Iterable[str], delimiter: str) -> Iterator[Record]:
    for number, line in enumerate(lines, 1):
        yield Record(number, [cell.strip(WHITESPACE) for cell in line.split(delimiter)])


class _CsvRecords:
    """Records of a CSV with the line each begins on."""

    def __init__(self, lines: Iterable[str], delimiter: str) -> None:
        self.reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True, strict=True)

    def __iter__(self) -> Iterator[Record]:
        return self

    def __next__(self) -> Record:
        line = self.reader.line_num + 1
        try:
            return Record(line, [cell.strip(WHITESPACE) for cell in next(self.reader)])
        except csv.Error as error:
            return Record(line, [], "broken quotes", f"the quotes do not match up ({error})")


def _decoded(file: IO[bytes], invalid: list[tuple[int, bytes]]) -> Iterator[str]:
    """Physical lines; one that is not UTF-8 is noted and passed on with substitutes."""
    for number, raw in enumerate(_physical_lines(file), 1):
        try:
            yield raw.decode()
        except UnicodeDecodeError:
            invalid.append((number, raw))
            yield raw.decode(errors="replace")


def _physical_lines(file: IO[bytes]) -> Iterator[bytes]:
    first = True
    for chunk in file:
        if first:
            chunk, first = chunk.removeprefix(b"\xef\xbb\xbf"), False
        yield from chunk.splitlines(keepends=True)


def _json_lines(source: Source) -> Iterator[Record | tuple[int, dict[str, Any]]]:
    """Each line's object with its number, or what is wrong with the line."""
    with _open(source) as file:
        for number, raw in enumerate(_physical_lines(file), 1):
            if not raw.strip():
                continue
            try:
                found = json.loads(
                    raw.decode(), parse_int=str, parse_float=str, parse_constant=_refuse
                )
                if isinstance(found, dict):
                    json.dumps(found, ensure_ascii=False).encode()
                    yield number, found
                    continue
            except UnicodeDecodeError:
                yield Record(number, [], "not UTF-8", f"{_shown(raw)} is not UTF-8")
                continue
            except (ValueError, RecursionError):
                pass
            yield Record(number, [], "no JSON object",
                         f"{_shown(raw.decode().strip())} is no JSON object")  # fmt: skip


def _refuse(constant: str) -> Any:
    raise ValueError(constant)


def _json_record(shape: Shape, line: int, found: dict[str, Any]) -> Record:
    fields = []
    for at, name in enumerate(shape.names):
        value = found.get(name)
        if at in shape.layout.values() and not isinstance(value, str | None):
            shown = _shown(json.dumps(value))
            return Record(line, [], "no text or number", f'"{name}" is {shown}, no text or number')
        fields.append(value.strip(WHITESPACE) if isinstance(value, str) else "")
    return Record(line, fields)


def _open(source: Source) -> IO[bytes]:
    if source.path.name.lower().endswith(".gz"):
        return io.BufferedReader(gzip.open(source.path))
    return source.path.open("rb")


def _shown(value: str | bytes) -> str:
    """A value in a message, shortened."""
    text = repr(value) if isinstance(value, bytes) else f'"{value}"'
    return text if len(text) <= 120 else text[:117] + "…"
