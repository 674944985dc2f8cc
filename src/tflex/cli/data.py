"""`tflex data`: make datasets from files or from nothing, and say what they hold."""

from __future__ import annotations

import typer

app = typer.Typer(help="Import, make and describe datasets.", no_args_is_help=True)


def register(root: typer.Typer) -> None:
    root.add_typer(app, name="data")


@app.callback()
def data() -> None:
    """Import, make and describe datasets."""
