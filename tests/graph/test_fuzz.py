"""Spoilt files end in a graph or in an error that a person can read, and both readings agree."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from numpy.random import Generator

from tests.graph.mutations import NAMES, draw_rows, mutate, write
from tflex.errors import DataError
from tflex.graph import ingest_names
from tflex.graph.ingest import import_facts
from tflex.graph.readers import Shape, Suspect, read_fast
from tflex.graph.sources import Source

FORMS = ("tsv", "csv", "jsonl", "parquet")
BLOCKS, FILES = 4, 250


def spoilt_folder(folder: Path, generator: Generator) -> None:
    folder.mkdir()
    form = FORMS[generator.integers(len(FORMS))]
    header = bool(generator.integers(2))
    data = mutate(write(draw_rows(generator), form, header), generator)
    (folder / f"facts.{form}").write_bytes(data)
    lists = {"entities.txt": "\n".join(NAMES[:6]).encode(),
             "timestamps.txt": b"2014-01-01\n2014-01-02\n2014-01-03\n"}  # fmt: skip
    for name, content in lists.items():
        if generator.random() < 0.15:
            (folder / name).write_bytes(mutate(content, generator))


def draw_options(generator: Generator) -> dict[str, Any]:
    def pick(*values: object) -> Any:
        return values[generator.integers(len(values))]

    return {
        "skip_bad": pick(True, False),
        "header": pick(None, None, True, False),
        "unit": pick(None, None, "day", "year", "raw"),
        "columns": pick(
            None, None, None, "subject=1,relation=2,object=3,time=4", "start=time,end=4"
        ),
        "ids": pick(*[False] * 9, True),
    }


def outcome(folder: Path, options: dict[str, Any]) -> tuple[Any, ...]:
    """The graph's hash and counts, or the message; anything else that is raised fails the test."""
    try:
        graph = import_facts(folder, **options)
    except DataError as error:
        assert str(folder) in str(error) or "timestamps.txt" in str(error)
        return ("error", str(error))
    return (graph.content_hash, graph.counts, graph.dropped, graph.notes)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(BLOCKS))
def test_spoilt_files_end_in_a_graph_or_a_clear_error(block: int, tmp_path: Path) -> None:
    graphs = 0
    for seed in range(block * FILES, (block + 1) * FILES):
        generator = np.random.default_rng(seed)
        spoilt_folder(tmp_path / str(seed), generator)
        graphs += outcome(tmp_path / str(seed), draw_options(generator))[0] != "error"
    assert FILES / 10 < graphs < FILES * 9 / 10


@pytest.mark.slow
def test_fast_and_careful_readings_agree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def only_parquet(db: duckdb.DuckDBPyConnection, source: Source, shape: Shape) -> None:
        if source.form != "parquet":
            raise Suspect
        read_fast(db, source, shape)

    for seed in range(150):
        generator = np.random.default_rng((seed, 1))
        folder = tmp_path / str(seed)
        spoilt_folder(folder, generator)
        options = draw_options(generator)
        found = outcome(folder, options)
        with monkeypatch.context() as patched:
            patched.setattr(ingest_names, "read_fast", only_parquet)
            assert outcome(folder, options) == found
