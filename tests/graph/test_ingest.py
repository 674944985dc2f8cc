"""Files of facts become graphs, whatever they are written in, and bad lines are named."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path

import duckdb
import pyarrow
import pyarrow.parquet
import pytest

from tests.graph.mutations import write
from tflex.errors import DataError
from tflex.graph.facts import Level
from tflex.graph.ingest import import_facts
from tflex.graph.temporal_graph import TemporalGraph

Fact = tuple[str, str, str, str, str]

ROWS = [
    ["Ann", "visit", "China", "2014-01-05"],
    ["Bob", "hold office in", "Ann, the 2nd", "2014-01-02"],
    ['The "Club"', "visit", "Zoë", "2014-01-31"],
    ["Ann", "visit", "China", "2014-01-06"],
]
INTERVALS = [
    ["Ann", "hold office in", "China", "1952-##-##", "1954-06-01"],
    ["Bob", "hold office in", "China", "####-##-##", "1953-##-##"],
    ["Bob", "visit", "Ann", "1951-##-##", ""],
    ["Zoë", "visit", "Ann", "", "####-##-##"],
]


def put(folder: Path, name: str, data: bytes | str | Sequence[Sequence[str]]) -> Path:
    path = folder / name
    if not isinstance(data, bytes | str):
        data = "".join("\t".join(row) + "\n" for row in data)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def held(graph: TemporalGraph) -> set[Fact]:
    """The facts by name."""
    entity, relation, time = graph.entities, graph.relations, graph.timeline
    return {
        (entity[s], relation[r], entity[o], time[start], time[end])
        for s, r, o, start, end, _ in zip(
            *(column.tolist() for column in graph.facts.columns()), strict=True
        )
    }


def points(rows: Sequence[Sequence[str]]) -> set[Fact]:
    return {(s, r, o, t, t) for s, r, o, t in rows}


@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("form", ["tsv", "csv", "jsonl", "parquet"])
def test_every_format_gives_the_same_graph(tmp_path: Path, form: str, header: bool) -> None:
    graph = import_facts(put(tmp_path, f"facts.{form}", write(ROWS, form, header)))
    assert held(graph) == points(ROWS)
    assert graph.timeline.unit == "day"
    assert list(graph.timeline.labels) == sorted(row[3] for row in ROWS)
    assert list(graph.entities) == sorted({name for row in ROWS for name in (row[0], row[2])})
    assert (graph.dropped, graph.notes, graph.index.is_points) == ({}, {}, True)
    same = import_facts(put(tmp_path, "other.tsv", ROWS[::-1]))
    assert same.content_hash == graph.content_hash


@pytest.mark.parametrize("form", ["tsv", "csv", "jsonl", "parquet"])
def test_intervals_are_open_where_a_bound_is_unknown(tmp_path: Path, form: str) -> None:
    graph = import_facts(put(tmp_path, f"facts.{form}", write(INTERVALS, form, True)))
    assert graph.timeline.unit == "year"
    assert list(graph.timeline.labels) == ["1951", "1952", "1953", "1954"]
    assert held(graph) == {
        ("Ann", "hold office in", "China", "1952", "1954"),
        ("Bob", "hold office in", "China", "1951", "1953"),
        ("Bob", "visit", "Ann", "1951", "1954"),
        ("Zoë", "visit", "Ann", "1951", "1954"),
    }
    assert graph.notes == {"open start": 2, "open end": 2}


def test_a_unit_that_is_given_widens_what_is_coarser_and_cuts_what_is_finer(tmp_path: Path) -> None:
    path = put(
        tmp_path, "facts.tsv", [["a", "r", "b", "2014-02-##"], ["a", "r", "c", "2014-02-05T10:00"]]
    )
    graph = import_facts(path, unit="day")
    assert held(graph) == {("a", "r", "b", "2014-02-01", "2014-02-28"),
                           ("a", "r", "c", "2014-02-05", "2014-02-05")}  # fmt: skip
    assert graph.time_count == 28
    assert held(import_facts(path, unit="month")) == points(
        [["a", "r", "b", "2014-02"], ["a", "r", "c", "2014-02"]]
    )


def test_rows_that_end_before_they_start_are_dropped_as_widened(tmp_path: Path) -> None:
    rows = [
        ["a", "r", "b", "1953-##-##", "1952-##-##"],
        ["a", "r", "c", "1953-05-01", "1953-04-01"],
        ["a", "r", "d", "195#-##-##", "1950-##-##"],
        ["a", "r", "e", "1953-##-##", "195#-##-##"],
        ["a", "r", "f", "1951-##-##", "1951-##-##"],
        ["a", "r", "f", "1951-##-##", "1951-01-01"],
    ]
    path = put(tmp_path, "facts.tsv", rows)
    graph = import_facts(path)
    assert graph.dropped == {"start after end": 1, "duplicate": 1}
    assert sorted(graph.entities) == ["a", "c", "d", "e", "f"]
    assert import_facts(path, unit="day").dropped == {"start after end": 2}


def test_a_year_with_an_unreadable_day_counts_in_years_alone(tmp_path: Path) -> None:
    rows = [["a", "r", "b", "307-13047-09", "978-##-##"], ["a", "r", "b", "-5-##-##", "####-##-##"]]
    path = put(tmp_path, "facts.tsv", rows)
    graph = import_facts(path)
    assert ("a", "r", "b", "307", "978") in held(graph)
    assert graph.notes == {"open end": 1, "unreadable month or day": 1}
    with pytest.raises(DataError, match=r'line 1: cannot read the time "307-13047-09" as a day'):
        import_facts(path, unit="day")


def test_raw_times_are_in_numeric_order(tmp_path: Path) -> None:
    path = put(
        tmp_path, "facts.tsv", [["a", "r", "b", "10"], ["a", "r", "b", "9"], ["b", "r", "a", "100"]]
    )
    graph = import_facts(path)
    assert (graph.timeline.unit, list(graph.timeline.labels)) == ("raw", ["9", "10", "100"])
    interval = put(tmp_path, "spans.tsv", [["a", "r", "b", "9", "11"]])
    assert list(import_facts(interval).timeline.labels) == ["9", "10", "11"]


def test_decimals_stay_apart(tmp_path: Path) -> None:
    rows = [["a", "r", name, name] for name in ("1.05", "15", "2.5", "3.0")]
    graph = import_facts(put(tmp_path, "facts.tsv", rows))
    assert list(graph.timeline.labels) == ["1.05", "2.5", "3", "15"]


@pytest.mark.parametrize("times", [["05.01.2020", "03.02.2020"], ["12/5/20", "1/12/21"],
                                   ["2020-01-01", "2020-01-02", "25/12/2020"]])  # fmt: skip
def test_dates_that_nothing_tells_the_order_of_are_an_error(
    tmp_path: Path, times: list[str]
) -> None:
    path = put(tmp_path, "facts.tsv", [["a", "r", "b", time] for time in times])
    with pytest.raises(DataError, match=r'line \d: the time "\d+[./]\S+" is ambiguous.*2020-12-25'):
        import_facts(path)
    assert import_facts(path, unit="raw").time_count == len(times)


def test_times_ordered_as_text_are_noted(tmp_path: Path) -> None:
    rows = [["a", "r", "b", "5 Jan 2020"], ["a", "r", "b", "1 Dec 2019"]]
    path = put(tmp_path, "facts.tsv", rows)
    assert import_facts(path).notes == {"times ordered as text": 2}
    assert import_facts(path, unit="raw").notes == {}


# Headers and columns


def test_columns_are_mapped_by_name_by_number_or_known(tmp_path: Path) -> None:
    text = "id,when,src,note,dst,rel\n1,2014-01-01,a,x,b,r\n2,2014-01-02,b,,a,r\n"
    path = put(tmp_path, "facts.csv", text)
    expected = points([["a", "r", "b", "2014-01-01"], ["b", "r", "a", "2014-01-02"]])
    assert held(import_facts(path)) == expected
    named = "subject=src,relation=rel,object=dst,time=when"
    assert held(import_facts(path, columns=named)) == expected
    numbers = {"subject": "3", "relation": "6", "object": "5", "time": "2"}
    assert held(import_facts(path, columns=numbers)) == expected
    turned = import_facts(path, columns={"subject": "dst", "object": "src"})
    assert held(turned) == {(o, r, s, *time) for s, r, o, *time in expected}


def test_start_and_end_can_be_mapped_where_there_is_a_time(tmp_path: Path) -> None:
    path = put(tmp_path, "facts.csv", "s,r,o,t,born,died\na,r,b,2000,1990,1991\n")
    graph = import_facts(path, columns="start=born,end=died")
    assert held(graph) == {("a", "r", "b", "1990", "1991")}
    assert held(import_facts(path)) == {("a", "r", "b", "2000", "2000")}


@pytest.mark.parametrize("first", ["actor,does,target of,day", "date,head,rel,tail"])
def test_a_header_is_detected(tmp_path: Path, first: str) -> None:
    row = "2014-01-01,a,r,b" if first.startswith("date") else "a,r,b,2014-01-01"
    graph = import_facts(put(tmp_path, "facts.csv", f"{first}\n{row}\n"))
    assert held(graph) == points([["a", "r", "b", "2014-01-01"]])


def test_a_bad_first_line_is_no_header(tmp_path: Path) -> None:
    path = put(tmp_path, "facts.tsv", [["a", "r", "b", "soon"], ["a", "r", "b", "2014-01-01"]])
    with pytest.raises(DataError, match='line 1: cannot read the time "soon"'):
        import_facts(path)
    assert held(import_facts(path, header=True)) == points([["a", "r", "b", "2014-01-01"]])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("subject=nobody", 'no column "nobody" for the subject; it has s, r, o, t'),
        ("subject=9", 'no column "9"'),
        ("who=s", "maps no column"),
        ("subject", "maps no column"),
        ("subject=s,subject=o", "two columns are mapped to subject"),
        ("start=t", "which of the columns"),
    ],
)
def test_a_mapping_that_does_not_fit_is_an_error(
    tmp_path: Path, columns: str, message: str
) -> None:
    path = put(tmp_path, "facts.csv", "s,r,o,t\na,r,b,2014\n")
    with pytest.raises(DataError, match=message):
        import_facts(path, columns=columns)


def test_columns_that_nothing_tells_apart_are_an_error(tmp_path: Path) -> None:
    path = put(tmp_path, "facts.csv", "a,r,b,2014,x,y\n")
    with pytest.raises(DataError, match="6 columns where 4 or 5 are expected"):
        import_facts(path)
    named = put(tmp_path, "named.csv", "day,actor,act,target,x,y\n2014,a,r,b,1,2\n")
    with pytest.raises(DataError, match="which of the columns"):
        import_facts(named, header=True)


# Messy files


def test_a_messy_csv(tmp_path: Path) -> None:
    text = (
        "\ufeffsubject;relation;object;time;note\r\n"
        ' Ann ;visit; "China; ""PRC"" " ;2014-01-01; "two\r\nlines"\r\n'
        "\r\n"
        ";;;;\r\n"
        '"Bob\nJr";visit;China\xa0;2014-01-02\xa0;\r\n'
    )
    graph = import_facts(put(tmp_path, "facts.csv", text))
    assert held(graph) == points(
        [
            ["Ann", "visit", 'China; "PRC"', "2014-01-01"],
            ["Bob\nJr", "visit", "China\xa0", "2014-01-02"],
        ]
    )


def test_floats_from_tables_with_gaps_are_whole_numbers(tmp_path: Path) -> None:
    path = put(tmp_path, "facts.csv", "s,r,o,start,end\na,r,b,2001.0,2003.0\na,r,c,2002.0,\n")
    table = pyarrow.table({"s": ["a", "a"], "r": ["r", "r"], "o": ["b", "c"],
                           "start": [2001.0, 2002.0], "end": [2003.0, float("nan")]})  # fmt: skip
    pyarrow.parquet.write_table(table, tmp_path / "facts.parquet")
    graph = import_facts(path)
    assert held(graph) == {("a", "r", "b", "2001", "2003"), ("a", "r", "c", "2002", "2003")}
    assert import_facts(tmp_path / "facts.parquet").content_hash == graph.content_hash


def test_parquet_dates_and_timestamps(tmp_path: Path) -> None:
    query = ("SELECT 'a' AS s, 'r' AS r, 7 AS o, DATE '2014-01-02' AS t UNION ALL "
             "SELECT 'a', 'r', 8, DATE '2014-01-03'")  # fmt: skip
    path = tmp_path / "facts.parquet"
    duckdb.sql(f"COPY ({query}) TO '{path}'")
    expected = points([["a", "r", "7", "2014-01-02"], ["a", "r", "8", "2014-01-03"]])
    assert held(import_facts(path)) == expected
    duckdb.sql(f"COPY (SELECT * REPLACE (t + INTERVAL 5 HOUR AS t) FROM ({query})) TO '{path}'")
    assert held(import_facts(path)) == expected


def test_times_with_a_zone_are_read_in_utc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time = pyarrow.array([1577836800], pyarrow.timestamp("s", "UTC"))
    table = pyarrow.table({"s": ["a"], "r": ["r"], "o": ["b"], "t": time})
    pyarrow.parquet.write_table(table, tmp_path / "facts.parquet")
    assert (
        import_facts(tmp_path / "facts.parquet", unit="raw").timeline[0].startswith("2020-01-01 00")
    )


def test_compressed_files_and_awkward_names(tmp_path: Path) -> None:
    folder = tmp_path / "a[1]*?"
    folder.mkdir()
    for name, data in (("x.tsv.gz", gzip.compress(write(ROWS, "tsv", False))),
                       ("y'[2].parquet", write(ROWS[:1], "parquet", True))):  # fmt: skip
        put(folder, name, data)
    put(tmp_path, "a1.tsv", "nonsense")
    assert held(import_facts(folder)) == points(ROWS)
    put(folder, "x.tsv.gz", gzip.compress(b"a\tr\tb\tsoon\na\tr\tb\t2014-01-01\n"))
    with pytest.raises(DataError, match=r"x\.tsv\.gz, line 1"):
        import_facts(folder)


BAD = [
    ("facts.tsv", "a\tr\tb\t2014-01-01\na\tr\tb\t2014-13-45\n", 2, "2014-13-45"),
    ("facts.tsv", "a\tr\tb\t2014-01-01\n\n\na\tr\tb\n", 4, "a\tr\tb"),
    ("facts.tsv", "a\tr\tb\t2014-01-01\na\tr\tb\t2014-01-02\tx\n", 2, "5 fields where 4"),
    ("facts.tsv", "s\tr\to\tt\r\na\tr\tb\t2014-01-01\r\na\tr\t\t2014-01-02\r\n", 3,
     "object is missing"),
    ("facts.tsv", "\ufeffa\tr\tb\t2014-01-01\na\tr\tb\tsoon\na\tr\tb\t2014-01-02\n", 2, "soon"),
    ("facts.tsv", "a\tr\tb\t2014-01-01\na\tr\tb\t####-##-##\n", 2, "time is missing"),
    ("facts.tsv", "a\tr\tb\t2014-01-01\na\tr\tb\t\n", 2, "time is missing"),
    ("facts.tsv", b"a\tr\tb\t2014-01-01\n\na\tr\t\xff\t2014-01-02\n", 3, "not UTF-8"),
    ("facts.csv", 's,r,o,t\n"a\n\nx",r,b,2014-01-01\na,r,b,soon\n', 5, "soon"),
    ("facts.csv", 's,r,o,t\na,r,b,2014-01-01\n"a\nx",r,b,soon\n', 3, "soon"),
    ("facts.csv", 's,r,o,t\na,r,b,2014-01-01\na,"r,b,2014-01-02\n', 3, "quotes"),
    ("facts.csv", 's,r,o,t\na,r,b,2014-01-01\n\na,"r"x,b,2014-01-02\n', 4, "quotes"),
    ("facts.csv", b's,r,o,t\na,r,b,2014-01-01\n"\nc\xff",r,b,2014-01-02\n', 4, "not UTF-8"),
    ("facts.csv", "s,r,o,t\ra,r,b,2014-01-01\ra,r,b,2014-01-02,x\r", 3, "5 fields where 4"),
    ("facts.jsonl", '{"s":"a","r":"r","o":"b","t":2014}\n\n{"s":"a","r":"r","t":2014}\n', 3,
     "object is missing"),
    ("facts.jsonl", '{"s":"a","r":"r","o":"b","t":2014}\n{"s":"a",\n', 2, "no JSON object"),
    ("facts.jsonl", '{"s":"a","r":"r","o":"b","t":2014}\n["a"]\n', 2, "no JSON object"),
    ("facts.jsonl", '{"s":"a","r":"r","o":"b","t":2014}\n{"s":["a"],"r":"r","o":"b","t":1}\n', 2,
     "no text or number"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "data", "line", "message"), BAD)
def test_a_bad_line_is_named_or_skipped(
    tmp_path: Path, name: str, data: str | bytes, line: int, message: str
) -> None:
    path = put(tmp_path, name, data)
    with pytest.raises(DataError) as caught:
        import_facts(path)
    assert f"{path}, line {line}: " in str(caught.value)
    assert message in str(caught.value)
    assert "more malformed" not in str(caught.value)
    graph = import_facts(path, skip_bad=True)
    assert sum(graph.counts.values()) >= 1
    assert sum(graph.dropped.values()) - graph.dropped.get("duplicate", 0) == 1


def test_a_bad_row_of_parquet_is_named(tmp_path: Path) -> None:
    path = put(tmp_path, "f.parquet", write([*ROWS, ["a", "", "b", "2014-01-01"]], "parquet", True))
    with pytest.raises(DataError, match=r"f\.parquet, row 5: the relation is missing"):
        import_facts(path)


def test_the_first_of_several_bad_lines_is_named(tmp_path: Path) -> None:
    put(tmp_path, "b.tsv", "a\tr\tb\t2014-01-01\na\tr\nx\tr\t\t2014-01-01\n")
    put(tmp_path, "a.tsv", "a\tr\tb\t2014-01-01\na\tr\tb\tsoon\n")
    with pytest.raises(DataError, match=r"a\.tsv, line 2: .*\(and 2 more malformed lines"):
        import_facts(tmp_path)
    graph = import_facts(tmp_path, skip_bad=True)
    assert graph.dropped == {"wrong number of fields": 1, "missing object": 1,
                             "unreadable time": 1, "duplicate": 1}  # fmt: skip
    assert list(graph.entities) == ["a", "b"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("", ": no facts$"),
        ("\n\n", ": no facts$"),
        ("s,r,o,t\n", ": no facts$"),
        ("s,r,o,start,end\na,r,b,,####-##-##\n", ": no fact with a known time"),
        ("a,r,b,2020,2019\n", r": no facts \(dropped: 1 start after end\)"),
        ('"a,r,b,2019\n', ", line 1: the quotes do not match"),
        (b"\xff,r,b,2019\n", ", line 1: .* is not UTF-8"),
    ],
)
def test_a_file_without_facts_is_an_error(tmp_path: Path, data: str | bytes, message: str) -> None:
    with pytest.raises(DataError, match=rf"facts\.csv{message}"):
        import_facts(put(tmp_path, "facts.csv", data))


def test_rows_that_are_all_left_out_are_counted(tmp_path: Path) -> None:
    path = put(tmp_path, "facts.tsv", [["a", "r", "b", "1/2/20"], ["a", "", "b", "2020"]])
    with pytest.raises(DataError, match=r"1 missing relation, 1 unreadable time\)"):
        import_facts(path, unit="day", skip_bad=True)


def test_more_dropped_than_kept_is_noted(tmp_path: Path) -> None:
    rows = [["a", "r", "b", "2020", year] for year in ("2019", "2018", "2021")]
    graph = import_facts(put(tmp_path, "facts.tsv", rows))
    assert graph.notes == {"kept, fewer than dropped (are the columns the right ones?)": 1}


def test_a_relation_that_looks_inverted_is_an_error(tmp_path: Path) -> None:
    path = put(tmp_path, "facts.tsv", [["a", "r", "b", "2020"], ["a", "~r", "b", "2020"]])
    with pytest.raises(DataError, match=r'facts.tsv, line 2: the relation "~r" begins with "~"'):
        import_facts(path)
    put(tmp_path, "relations.txt", "r\n~r\n")
    with pytest.raises(DataError, match=r'relations.txt, line 2: "~r" begins with "~"'):
        import_facts(tmp_path)


def test_a_timeline_beyond_reason_is_an_error(tmp_path: Path) -> None:
    path = put(tmp_path, "facts.tsv", [["a", "r", "b", "0001-01-01", "99999-01-01"]])
    with pytest.raises(DataError, match="from 0001-01-01 to 99999-01-01 are too many"):
        import_facts(path, unit="day")


# Splits and lists


def test_files_of_a_split_keep_it(tmp_path: Path) -> None:
    for name, rows in (("train.tsv", ROWS[:2]), ("valid.csv", ROWS[2:3]), ("test.jsonl", ROWS[2:])):
        put(tmp_path, name, write(rows, name.split(".")[1], False))
    put(tmp_path, "notes.txt", "not facts")
    put(tmp_path, "all.tsv", ROWS)
    graph = import_facts(tmp_path)
    assert graph.counts == {"train": 2, "valid": 1, "test": 1}
    assert graph.dropped == {"duplicate": 1}
    assert graph.name == tmp_path.name
    club = graph.entities.id('The "Club"')
    levels = graph.facts.level[graph.facts.subject == club]
    assert levels.tolist() == [Level.valid]


def test_other_files_are_split_at_random_by_the_seed(tmp_path: Path) -> None:
    rows = [[f"e{n}", "r", f"e{n % 7}", "2014-01-01"] for n in range(50)]
    path = put(tmp_path, "train.tsv", rows)
    graph = import_facts(path, split=(0.5, 0.3, 0.2), seed=4)
    assert graph.counts == {"train": 25, "valid": 15, "test": 10}
    put(tmp_path, "shuffled.tsv", rows[::-1])
    same = import_facts(tmp_path / "shuffled.tsv", split=(0.5, 0.3, 0.2), seed=4)
    assert same.content_hash == graph.content_hash
    other = import_facts(path, split=(0.5, 0.3, 0.2), seed=5)
    assert other.content_hash != graph.content_hash
    for bad in ((0.5, 0.5), (1.5, -0.5, 0.0), (0.5, 0.1, 0.1)):
        with pytest.raises(DataError, match="split"):
            import_facts(path, split=bad)  # type: ignore[arg-type]


def test_lists_fix_the_ids(tmp_path: Path) -> None:
    put(tmp_path, "facts.tsv", ROWS)
    put(
        tmp_path,
        "entities.txt",
        'Zoë\r\nNobody\r\nThe "Club"\r\nChina\r\nBob\r\nAnn\r\nAnn, the 2nd\r\n',
    )
    put(tmp_path, "relations.txt", "visit\nhold office in")
    put(tmp_path, "timestamps.txt", "".join(f"2014-01-{day:02}\n" for day in range(1, 32)))
    graph = import_facts(tmp_path)
    assert held(graph) == points(ROWS)
    assert list(graph.entities)[:2] == ["Zoë", "Nobody"]
    assert list(graph.relations) == ["visit", "hold office in"]
    assert graph.time_count == 31
    separately = import_facts([tmp_path / name for name in (
        "facts.tsv", "entities.txt", "relations.txt", "timestamps.txt")])  # fmt: skip
    assert separately.content_hash == graph.content_hash


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        (
            "entities.txt",
            "Ann\nBob\n",
            r'facts\.tsv, line 1: the object "China" is not in entities',
        ),
        ("relations.txt", "visit\n", r'line 2: the relation "hold office in" is not in relations'),
        ("timestamps.txt", "2014-01-05\n2014-01-06\n", r'line 2: the time "2014-01-02" covers no'),
        ("timestamps.txt", "2014-01-06\n2014-01-05\n", r"timestamps\.txt, line 2: .* is not after"),
        ("timestamps.txt", "2014-01-05\n2014-02\n2014-03-01\n", r"timestamps\.txt, line 2"),
        ("timestamps.txt", "early\nlate\n", r'line 1: the time "2014-01-05" is not one of the 2'),
        ("entities.txt", "Ann\nBob\nAnn\n", r'entities\.txt, line 3: "Ann" is on line 1'),
        ("entities.txt", "Ann\n\nBob\n", r"entities\.txt, line 2: the name is empty"),
        ("entities.txt", b"Ann\n\xff\n", r"entities\.txt, line 2: .* is not UTF-8"),
    ],
)
def test_a_name_outside_of_its_list_is_an_error(
    tmp_path: Path, name: str, data: str | bytes, message: str
) -> None:
    put(tmp_path, "facts.tsv", ROWS)
    put(tmp_path, name, data)
    with pytest.raises(DataError, match=message):
        import_facts(tmp_path)


def test_raw_stamps_keep_the_order_of_their_list(tmp_path: Path) -> None:
    put(tmp_path, "facts.tsv", [["a", "r", "b", "late", ""], ["a", "r", "b", "", "early"]])
    put(tmp_path, "timestamps.txt", "early\nmiddle\nlate\n")
    graph = import_facts(tmp_path)
    assert held(graph) == {("a", "r", "b", "late", "late"), ("a", "r", "b", "early", "early")}


@pytest.mark.parametrize(
    ("name", "message"),
    [("nothing.tsv", "does not exist"), ("facts.xlsx", "cannot tell its format"),
     ("facts.parquet", "facts.parquet: "), ("empty", "holds no facts"), ("data", "is a dataset")],
)  # fmt: skip
def test_paths_that_hold_no_facts(tmp_path: Path, name: str, message: str) -> None:
    put(tmp_path, "facts.xlsx", "x")
    put(tmp_path, "facts.parquet", "PAR1 not really")
    (tmp_path / "empty").mkdir()
    (tmp_path / "data").mkdir()
    put(tmp_path / "data", "dataset.json", "{}")
    with pytest.raises(DataError, match=message):
        import_facts(tmp_path / name)


def test_json_keys_may_be_missing_where_a_bound_is_open(tmp_path: Path) -> None:
    rows = [{"s": "a", "r": "r", "o": "b", "start": 1990, "end": 1995},
            {"s": "a", "r": "r", "o": "c", "start": "1993"}]  # fmt: skip
    path = put(tmp_path, "facts.jsonl", "\n".join(map(json.dumps, rows)))
    assert held(import_facts(path)) == {
        ("a", "r", "b", "1990", "1995"),
        ("a", "r", "c", "1993", "1995"),
    }


# Ids


def id_file(path: Path, **columns: list[int | None]) -> Path:
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    return path


def test_ids_are_names_that_are_numbers(tmp_path: Path) -> None:
    path = id_file(tmp_path / "f.parquet", subject=[0, 4, 4], relation=[1, 0, 0], object=[2, 0, 0],
                   time=[7, 3, 3])  # fmt: skip
    graph = import_facts(path, ids=True, split=(1.0, 0.0, 0.0))
    assert (graph.entity_count, graph.relation_count, graph.time_count) == (5, 2, 8)
    assert held(graph) == {("0", "1", "2", "7", "7"), ("4", "0", "0", "3", "3")}
    assert graph.dropped == {"duplicate": 1}
    reopened = saved(graph, tmp_path / "out")
    assert held(reopened) == held(graph)


def test_ids_with_intervals_splits_and_lists(tmp_path: Path) -> None:
    id_file(tmp_path / "train.parquet", s=[0, 1], r=[0, 0], o=[1, 0], start=[0, 1], end=[1, 0])
    id_file(tmp_path / "test.parquet", s=[1], r=[0], o=[1], start=[1], end=[1])
    put(tmp_path, "entities.txt", "Ann\nBob\n")
    put(tmp_path, "relations.txt", "visit\n")
    put(tmp_path, "timestamps.txt", "2014-01-01\n2014-01-02\n")
    graph = import_facts(tmp_path, ids=True)
    assert held(graph) == {("Ann", "visit", "Bob", "2014-01-01", "2014-01-02"),
                           ("Bob", "visit", "Bob", "2014-01-02", "2014-01-02")}  # fmt: skip
    assert graph.counts == {"train": 1, "valid": 0, "test": 1}
    assert (graph.dropped, graph.timeline.unit) == ({"start after end": 1}, "day")
    id_file(tmp_path / "test.parquet", s=[1], r=[1], o=[1], start=[1], end=[1])
    with pytest.raises(DataError, match=r"test\.parquet, row 1: the relation is 1; ids are 0 to 0"):
        import_facts(tmp_path, ids=True)


@pytest.mark.parametrize(("value", "shown"), [(None, "missing"), (-1, "-1"), (2**40, str(2**40))])
def test_a_value_that_is_no_id_is_named(tmp_path: Path, value: int | None, shown: str) -> None:
    path = id_file(tmp_path / "f.parquet", s=[0, 1], r=[0, 0], o=[1, value], t=[0, 1])
    with pytest.raises(DataError, match=rf"f\.parquet, row 2: the object is {shown}"):
        import_facts(path, ids=True)
    assert import_facts(path, ids=True, skip_bad=True).dropped == {"no id": 1}


def test_ids_need_parquet_of_whole_numbers(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="Parquet alone"):
        import_facts(put(tmp_path, "facts.tsv", "0\t0\t0\t0\n"), ids=True)
    path = put(tmp_path, "facts.parquet", write(ROWS, "parquet", True))
    with pytest.raises(DataError, match='"subject" for the subject holds VARCHAR'):
        import_facts(path, ids=True)


# On disk


def saved(graph: TemporalGraph, folder: Path) -> TemporalGraph:
    graph.save(folder)
    return TemporalGraph.open(folder)


@pytest.mark.parametrize("rows", [ROWS, INTERVALS])
def test_a_dataset_opens_as_it_was_saved(tmp_path: Path, rows: list[list[str]]) -> None:
    graph = import_facts(put(tmp_path, "facts.tsv", rows))
    opened = saved(graph, tmp_path / "out")
    assert opened.manifest() == graph.manifest()
    assert held(opened) == held(graph)
    for cached in ("counts", "content_hash"):
        known = getattr(opened, cached)
        del opened.__dict__[cached]
        assert getattr(opened, cached) == known
    written = pyarrow.parquet.read_table(tmp_path / "out" / "facts.parquet")
    assert written.to_pydict() == {
        name: getattr(graph.facts, name).tolist() for name in written.column_names
    }
    assert written.column_names == ["subject", "relation", "object", "start", "end", "level"]


def test_a_dataset_appears_complete_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = import_facts(put(tmp_path, "facts.tsv", ROWS))
    with monkeypatch.context() as broken, pytest.raises(KeyboardInterrupt):
        broken.setattr(TemporalGraph, "manifest", interrupted)
        graph.save(tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["facts.tsv"]
    (tmp_path / "out").mkdir()
    graph.save(tmp_path / "out")
    with pytest.raises(DataError, match="exists already"):
        graph.save(tmp_path / "out")
    graph.save(tmp_path / "out", overwrite=True)
    (tmp_path / "other").mkdir()
    put(tmp_path / "other", "precious.txt", "x")
    with pytest.raises(DataError, match="exists already"):
        graph.save(tmp_path / "other", overwrite=True)


def interrupted(graph: TemporalGraph) -> dict[str, str]:
    raise KeyboardInterrupt


def test_an_empty_file_of_an_index_is_an_error(tmp_path: Path) -> None:
    import_facts(put(tmp_path, "facts.tsv", ROWS)).save(tmp_path / "out")
    for path in (tmp_path / "out" / "index").iterdir():
        path.write_bytes(b"")
    with pytest.raises(DataError, match="out is damaged"):
        TemporalGraph.open(tmp_path / "out")


@pytest.mark.parametrize(
    "content", ["", "{}", "[]", '{"format_version": 99}', '{"format_version": 1}']
)
def test_a_damaged_dataset_is_an_error(tmp_path: Path, content: str) -> None:
    put(tmp_path, "dataset.json", content)
    with pytest.raises(DataError, match=str(tmp_path)):
        TemporalGraph.open(tmp_path)


# Known datasets


@pytest.mark.parametrize(
    ("name", "counts", "dropped"),
    [
        ("icews14", (7128, 230, 365, 72826, 8941, 8963), {}),
        ("yago11k", (10552, 10, 3276, 16345, 2044, 2050), {"start after end": 70}),
        (
            "wikidata12k",
            (12554, 24, 2002, 32489, 4062, 4059),
            {"start after end": 10, "duplicate": 1},
        ),
    ],
)
def test_known_datasets(
    data_folder: Path, name: str, counts: tuple[int, ...], dropped: dict[str, int]
) -> None:
    graph = import_facts(data_folder / name)
    sizes = (graph.entity_count, graph.relation_count, graph.time_count, *graph.counts.values())
    assert (sizes, graph.dropped) == (counts, dropped)
    assert graph.notes.get("unreadable month or day", 0) == (2 if name == "yago11k" else 0)
    texts = [(data_folder / name / f"{level.name}.tsv").read_text() for level in Level]
    rows = [line.split("\t") for line in "".join(texts).removesuffix("\n").split("\n")]
    named = {(s, r, o) for s, r, o, *_ in rows}
    found = held(graph)
    assert {fact[:3] for fact in found} <= named
    if name == "icews14":
        assert found == points(rows)
