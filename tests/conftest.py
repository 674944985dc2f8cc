"""What several tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.properties.test_engine import random_graph
from tflex.graph.temporal_graph import TemporalGraph


@pytest.fixture(scope="session")
def small_graph() -> TemporalGraph:
    """12 entities e0 …, 3 relations r0 …, the years 1000 to 1069."""
    return random_graph(2, False, entities=12, times=70)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The shared datasets; tests that need them are skipped where they are absent."""
    place = Path(os.environ.get("TFLEX_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not place.is_dir():
        pytest.skip(f"no datasets at {place}; set TFLEX_DATA to the folder that holds icews14")
    return place
