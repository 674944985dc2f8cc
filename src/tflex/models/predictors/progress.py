"""How training says what it does."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, float], None]
"""Called with the name of a stage and the fraction of it that is done."""


def silent(stage: str, fraction: float) -> None:
    """Progress that nobody watches."""
