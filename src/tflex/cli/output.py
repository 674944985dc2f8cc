"""What every command prints alike: JSON, tables, and a progress bar on stderr."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]

Progress = Callable[[str, float], None]
"""Called with what is being done and the fraction of it that is done."""


def print_json(data: Any) -> None:
    # What another encoding lacks is escaped: JSON is for programs.
    escape = not (sys.stdout.encoding or "").lower().startswith("utf")
    print(json.dumps(data, ensure_ascii=escape, indent=2))


def print_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[object]], left: int = 1
) -> None:
    """A table whose first `left` columns are text and the others numbers."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, pad_edge=False, show_header=any(columns))
    for position, column in enumerate(columns):
        table.add_column(column, justify="left" if position < left else "right")
    for row in rows:
        table.add_row(*(cell_text(cell) for cell in row))
    # A pipe has no width: cells broken over lines would be lost to grep.
    console = Console(width=None if sys.stdout.isatty() else 10_000)
    if title:
        console.print(escape(title), style="bold", highlight=False)
    console.print(table)


def cell_text(value: object) -> str:
    from rich.markup import escape

    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "–"}[value]
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.2f}"
    return escape(str(value))


class _Log:
    """Progress for a file: one line every `PAUSE` seconds, none for what is over before."""

    PAUSE = 30.0

    def __init__(self) -> None:
        self.started = self.last = time.monotonic()

    def __call__(self, what: str, fraction: float) -> None:
        now = time.monotonic()
        if now - self.last >= self.PAUSE:
            self.last = now
            line = f"{now - self.started:6.0f} s  {fraction:4.0%}  {what}"
            print(line, file=sys.stderr, flush=True)


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """A bar on stderr while the block runs; where stderr is no terminal, a line now and then."""
    if not sys.stderr.isatty():
        yield _Log()
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=1.0)
        yield lambda what, fraction: bar.update(task, description=what, completed=fraction)
