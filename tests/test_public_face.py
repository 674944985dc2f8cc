"""What `import tflex` offers, and what it does not load."""

from __future__ import annotations

import subprocess
import sys

import pytest

import tflex

HEAVY = ("numba", "torch", "duckdb", "pyarrow", "numpy")

NAMES = {
    "STRUCTURES", "After", "And", "Before", "Between", "DataError", "Engine", "Entity",
    "EntitySet", "Equivalent", "Implies", "Next", "Not", "Or", "Pe", "Pt", "QueryError",
    "Relation", "TemporalGraph", "TflexError", "Time", "TimeSet", "UnknownName",
    "UnsupportedOperator", "Xor", "bind", "parse", "print_query", "structure",
}  # fmt: skip


def test_exported_names() -> None:
    assert set(tflex.__all__) == NAMES
    assert set(dir(tflex)) >= NAMES
    for name in NAMES:
        assert getattr(tflex, name) is not None
    with pytest.raises(AttributeError, match="no attribute nothing"):
        tflex.nothing


@pytest.mark.parametrize(
    "statement",
    [
        "import tflex",
        "from tflex.cli import run; assert run(['--help']) == 0",
        "from tflex.cli import run; assert run(['queries', '--help']) == 0",
        "from tflex.cli import run; assert run(['ask', '--help']) == 0",
    ],
)
def test_nothing_heavy_is_loaded(statement: str) -> None:
    """A time limit would be flaky; what is not loaded costs no time."""
    check = f"import sys; {statement}; print(*sorted({set(HEAVY)!r} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", check], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.splitlines()[-1] == "", done.stdout
