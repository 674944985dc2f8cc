"""Query datasets on disk: the same bytes however they are made, and errors that say what to do."""

from __future__ import annotations

import hashlib
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from tflex.errors import DataError, QueryError
from tflex.exact.engine import Engine
from tflex.graph.facts import Level
from tflex.graph.temporal_graph import TemporalGraph
from tflex.graph.world import demo_world
from tflex.query.published import STRUCTURES
from tflex.query.structures import Structure
from tflex.query.text import parse_structure, print_structure
from tflex.sampling import sampler, workers
from tflex.sampling.counts import equal_counts, paper_counts
from tflex.sampling.dataset import QueryDataset, join_shards, sample_dataset
from tflex.sampling.keys import Keyed
from tflex.sampling.sampler import Queries, SamplingSettings
from tflex.sampling.workers import DRAWN

NAMES = ("Pe", "e2i_N", "aPt", "Pe_t2i", "Pt_sPe")
CHOSEN = [STRUCTURES[name] for name in NAMES]
MINE = parse_structure(
    "def mine(s1, r1, s2, r2, o1, s3, r3, t1, r4, t2):\n"
    "    return Pe(And(Pe(s1, r1, after(Pt(s2, r2, o1))), Not(Pe(s3, r3, t1))), r4, t2)\n"
)


def make(folder: Path, structures: list[Structure] = CHOSEN, count: int = 30, seed: int = 1,
         graph: TemporalGraph | None = None, **options: object) -> QueryDataset:  # fmt: skip
    counts = equal_counts(count, structures)
    return sample_dataset(graph or demo_world(), folder, structures, counts,
                          SamplingSettings(seed), **options)  # type: ignore[arg-type] # fmt: skip


def hashes(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def same(a: Queries, b: Queries) -> bool:
    pairs = [(a.anchors, b.anchors), (a.missing, b.missing), (a.retraction, b.retraction)]
    for one in ("targets", "known"):
        pairs += [(getattr(a, one).offsets, getattr(b, one).offsets)]
        pairs += [(getattr(a, one).ids, getattr(b, one).ids)]
    return all(np.array_equal(first, second) for first, second in pairs)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    graph = demo_world()
    make(tmp_path / "q", [*CHOSEN, MINE])
    opened = QueryDataset.open(tmp_path / "q", graph)
    assert [one.name for one in opened.structures()] == [*sorted(
        NAMES, key=STRUCTURES.names().index), "mine"]  # fmt: skip
    mine = opened.structures()[-1]
    assert print_structure(mine) == print_structure(MINE)
    for structure in opened.structures():
        for level, split in opened.splits(structure.name).items():
            queries = opened.load(structure.name, level.name)
            assert len(queries) == split.found == split.wanted == 30
            answers = Engine(graph.view(level)).answer_batch(structure, queries.anchors)
            if level is Level.train:
                assert np.array_equal(answers.ids, queries.targets.ids)
            else:
                assert len(queries.missing) == len(queries.targets.ids)
                assert (queries.targets.without(answers).sizes() == 0).all()
    with pytest.raises(DataError, match="no queries of Pe2"):
        opened.load("Pe2", "train")


def test_row_groups_join_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = make(tmp_path / "whole", count=70)
    monkeypatch.setattr("tflex.sampling.query_files.ROWS_PER_GROUP", 16)
    cut = make(tmp_path / "cut", count=70)
    for level in Level:
        batches = list(cut.batches("Pt_sPe", level))
        assert [len(batch) for batch in batches] == [16, 16, 16, 16, 6]
        assert same(Queries.joined(batches), whole.load("Pt_sPe", level))


def test_some_columns(tmp_path: Path) -> None:
    anchors = make(tmp_path / "q").load("Pe", "test", ("anchors",))
    assert len(anchors) == 30
    assert len(anchors.targets.ids) == len(anchors.missing) == 0


def test_duckdb_reads_the_files_as_they_are(tmp_path: Path) -> None:
    found = make(tmp_path / "q").load("Pe_t2i", "valid")
    rows = duckdb.sql(f"SELECT * FROM '{tmp_path}/q/valid/Pe_t2i.parquet'")
    assert rows.columns == ["anchors", "targets", "known", "missing", "retraction", "absence"]
    anchors, targets = rows.fetchall()[7][:2]
    assert anchors == found.anchors[7].tolist()
    assert targets == found.targets[7].tolist()


def test_splits_are_disjoint_and_unique(tmp_path: Path) -> None:
    made = make(tmp_path / "q", count=300)
    for structure in CHOSEN:
        keyed = Keyed(structure, demo_world().relation_count)
        keys = [keyed.keys(made.load(structure.name, level).anchors)[0] for level in Level]
        joined = np.concatenate(keys)
        assert len(np.unique(joined)) == len(joined)


def test_split_by_split_is_as_good_as_at_once(tmp_path: Path) -> None:
    make(tmp_path / "once")
    for level in DRAWN:
        counts = equal_counts(30, CHOSEN, [level])
        sample_dataset(demo_world(), tmp_path / "parts", CHOSEN, counts, SamplingSettings(1))
    assert hashes(tmp_path / "once") == hashes(tmp_path / "parts")


def test_a_split_drawn_late_avoids_those_in_place(tmp_path: Path) -> None:
    chosen = [STRUCTURES["Pe"]]
    keyed = Keyed(chosen[0], demo_world().relation_count)
    for level in (Level.train, Level.test):
        counts = equal_counts(400, chosen, [level])
        made = sample_dataset(demo_world(), tmp_path / "q", chosen, counts)
    train, test = (keyed.keys(made.load("Pe", level).anchors)[0] for level in made.splits("Pe"))
    assert not np.isin(test, train).any()


def test_shards_join_to_the_same_bytes(tmp_path: Path) -> None:
    make(tmp_path / "whole")
    shards = [tmp_path / f"shard{number}" for number in (1, 2, 3)]
    for number, folder in enumerate(shards, 1):
        make(folder, shard=(number, 3))
    with pytest.raises(DataError, match="missing: 2/3"):
        join_shards(tmp_path / "joined", [shards[0], shards[2]])
    with pytest.raises(DataError, match="another shard holds too"):
        join_shards(tmp_path / "joined", [shards[0], shards[0]])
    with pytest.raises(DataError, match="no shard"):
        join_shards(tmp_path / "joined", [*shards, tmp_path / "whole"])
    make(tmp_path / "other", shard=(1, 3), seed=2)
    with pytest.raises(DataError, match="seed 2, not 1"):
        join_shards(tmp_path / "joined", [*shards[1:], tmp_path / "other"])
    assert not (tmp_path / "joined").exists()
    join_shards(tmp_path / "joined", reversed(shards))  # type: ignore[arg-type]
    assert hashes(tmp_path / "joined") == hashes(tmp_path / "whole")
    with pytest.raises(DataError, match="exists already"):
        join_shards(tmp_path / "joined", shards)
    join_shards(tmp_path / "joined", shards, overwrite=True)


class Interrupted(Exception):
    pass


def test_an_interrupted_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path / "whole")
    drawn: list[str] = []

    def progress(what: str, fraction: float) -> None:
        drawn.append(what)
        if fraction > 0.5:
            raise Interrupted

    with pytest.raises(Interrupted):
        make(tmp_path / "q", progress=progress)
    finished = {path.stem for path in (tmp_path / "q").glob("train/*.parquet")}
    assert 0 < len(finished) < len(CHOSEN)
    assert list((tmp_path / "q").rglob("*.part"))
    with pytest.raises(DataError, match="unfinished"):
        QueryDataset.open(tmp_path / "q")
    drawn.clear()
    make(tmp_path / "q", progress=lambda what, fraction: drawn.append(what.split(",")[0]))
    assert set(drawn) == set(NAMES) - finished
    assert hashes(tmp_path / "q") == hashes(tmp_path / "whole")


def test_what_is_there_is_kept_or_refused(tmp_path: Path) -> None:
    folder = tmp_path / "q"
    make(folder)
    before = hashes(folder)
    make(folder, CHOSEN[:2])
    assert hashes(folder) == before
    with pytest.raises(DataError, match="seed 1, not 2"):
        make(folder, seed=2)
    with pytest.raises(DataError, match=r"30 (test|train) queries of Pe .* now 31"):
        make(folder, count=31)
    impostor = parse_structure("def aPt(s, r, o):\n    return before(Pt(s, r, o))\n")
    with pytest.raises(DataError, match="another structure named aPt"):
        make(folder, [impostor])
    assert hashes(folder) == before
    make(folder, [*CHOSEN, MINE])
    assert {path: hashes(folder)[path] for path in before if path != "manifest.json"} == {
        path: digest for path, digest in before.items() if path != "manifest.json"
    }
    make(folder, CHOSEN[:1], seed=2, overwrite=True)
    assert len(hashes(folder)) == 4


def test_folders_of_other_things(tmp_path: Path, small_graph: TemporalGraph) -> None:
    (tmp_path / "letter.txt").write_text("dear all")
    with pytest.raises(DataError, match="other things than queries"):
        make(tmp_path)
    with pytest.raises(DataError, match="other things than queries"):
        make(tmp_path, overwrite=True)
    assert (tmp_path / "letter.txt").exists()
    make(tmp_path / "q")
    with pytest.raises(DataError, match="the graph"):
        make(tmp_path / "q", graph=small_graph)
    with pytest.raises(DataError, match="another graph"):
        QueryDataset.open(tmp_path / "q", small_graph)
    (tmp_path / "q" / "manifest.json").write_text("{")
    with pytest.raises(DataError, match=r"manifest\.json is damaged"):
        QueryDataset.open(tmp_path / "q")
    with pytest.raises(DataError, match="holds no queries"):
        QueryDataset.open(tmp_path / "nowhere")


def test_damaged_files(tmp_path: Path) -> None:
    made = make(tmp_path / "q")
    (tmp_path / "q" / "test" / "Pe.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(DataError, match=r"Pe\.parquet is no file of queries"):
        made.load("Pe", "test")


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("anchors", [[0, 0, 10**6]], "anchor t holds 1000000, which is no time id"),
        ("anchors", [[0, -1, 0]], "anchor r holds -1, which is no relation id"),
        ("anchors", [[0, 0]], "2 anchors where 3 are expected"),
        ("anchors", [7], "holds int32, not lists"),
        ("targets", [[99999]], "targets holds 99999, which is no entity id"),
    ],
)
def test_files_of_another_shape(
    tmp_path: Path, column: str, value: list[object], message: str
) -> None:
    graph = demo_world()
    make(tmp_path / "q", [STRUCTURES["Pe"]])
    path = tmp_path / "q" / "test" / "Pe.parquet"
    row = pyarrow.parquet.read_table(path).slice(0, 1)
    type = pyarrow.list_(pyarrow.int32()) if isinstance(value[0], list) else pyarrow.int32()
    row = row.set_column(row.column_names.index(column), column, pyarrow.array(value, type))
    pyarrow.parquet.write_table(row, path)
    with pytest.raises(DataError, match=rf"Pe\.parquet is no file of queries: .*{message}"):
        QueryDataset.open(tmp_path / "q", graph).load("Pe", "test")


def test_names_and_repeats(tmp_path: Path) -> None:
    odd = Structure("../up", MINE.parameters, MINE.body)
    with pytest.raises(QueryError, match="cannot name a file"):
        make(tmp_path / "q", [odd])
    with pytest.raises(QueryError, match="two structures are named mine"):
        make(tmp_path / "q", [MINE, MINE])


def test_two_processes_in_one_folder(tmp_path: Path) -> None:
    def progress(what: str, fraction: float) -> None:
        with pytest.raises(DataError, match="another process"):
            make(tmp_path / "q")
        raise Interrupted

    with pytest.raises(Interrupted):
        make(tmp_path / "q", progress=progress)


@pytest.mark.parametrize("broken", ["repeated", "empty", "twice"])
def test_the_writer_refuses_broken_promises(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    """A defect of the sampler never reaches a file."""
    honest = sampler.StructureSampler.batches

    def dishonest(self: sampler.StructureSampler, *arguments: object) -> object:
        for queries in honest(self, *arguments):  # type: ignore[arg-type]
            anchors, targets = queries.anchors.copy(), queries.targets
            if broken == "repeated":
                anchors[3, 3:] = anchors[3, :3]
            elif broken == "twice":
                anchors[3] = anchors[4]
            else:
                targets = targets.without(targets)
            yield Queries(anchors, targets, queries.known, queries.missing, queries.retraction)

    monkeypatch.setattr(workers.StructureSampler, "batches", dishonest)
    words = {"repeated": "repeated branch", "empty": "without targets", "twice": "already"}
    with pytest.raises(RuntimeError, match=words[broken]):
        make(tmp_path / "q", [STRUCTURES["e2i_N"]])
    assert not list((tmp_path / "q").rglob("*.parquet"))


def test_counts_of_the_paper() -> None:
    graph = demo_world()
    counts = paper_counts(graph, [*STRUCTURES, MINE])
    share = graph.counts["train"] / 72_826
    assert counts["Pe"][Level.train] == round(66_783 * share)
    assert counts["e2u"] == {Level.train: 0, Level.valid: 244, Level.test: 244}
    assert counts["mine"] == counts["Pe2"]


@pytest.mark.slow
def test_processes_write_the_same_bytes(tmp_path: Path) -> None:
    make(tmp_path / "one")
    make(tmp_path / "two", workers=2)
    assert hashes(tmp_path / "one") == hashes(tmp_path / "two")


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_killed_half_way(tmp_path: Path, workers: int) -> None:
    """`kill -9`, and the same command again."""
    demo_world().save(tmp_path / "world")
    command = [sys.executable, "-m", "tflex.cli", "queries", "sample", str(tmp_path / "world"),
               "--structures", "avg_e,avg_t,avg_x", "--count", "2000"]  # fmt: skip
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    subprocess.run([*command, "--out", str(whole)], check=True, capture_output=True)
    process = subprocess.Popen([*command, "--out", str(killed), "--workers", str(workers)])
    while not list(killed.glob("train/*.parquet")) and process.poll() is None:
        time.sleep(0.02)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    with pytest.raises(DataError, match="unfinished"):
        QueryDataset.open(killed)
    time.sleep(0.5)  # Its workers notice that they are alone.
    subprocess.run([*command, "--out", str(killed)], check=True, capture_output=True)
    assert hashes(whole) == hashes(killed)
    assert not list(killed.glob(".*"))


@pytest.mark.slow
def test_interrupt_keeps_what_is_finished(tmp_path: Path) -> None:
    """SIGINT to the asked process alone: its workers end too, and exit code 130 says so."""
    demo_world().save(tmp_path / "world")
    command = [sys.executable, "-m", "tflex.cli", "queries", "sample", str(tmp_path / "world"),
               "--structures", "all", "--count", "5000", "--workers", "2"]  # fmt: skip
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    folder = tmp_path / "world" / "queries"
    while not list(folder.glob("train/*.parquet")) and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.strip() == "interrupted"
    assert list(folder.glob("train/*.parquet"))
