"""The command line: thin commands, one module per noun."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper

import typer

from tflex.errors import TflexError

MODULES = ("ask", "data", "demo", "evaluate", "links", "queries", "query_sets", "train")
"""Modules of this room; each has `register(root)`. They import heavy things inside functions only,
because all of them are read for `tflex --help`."""


def build() -> typer.Typer:
    """The root command with every module's commands."""
    root = typer.Typer(
        help="Multi-hop logical questions over temporal knowledge graphs.\n\n"
        "A TARGET is `demo` (the embedded world), a dataset folder, a run folder, or exact:FOLDER.",
        no_args_is_help=True,
        rich_markup_mode="markdown",
        pretty_exceptions_enable=False,
        add_completion=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    root.callback()(root_options)
    for module in MODULES:
        import_module(f"tflex.cli.{module}").register(root)
    return root


def print_version(asked: bool) -> None:
    if asked:
        from importlib import metadata

        print(metadata.version("tflex"))
        raise typer.Exit()


def root_options(
    version: bool = typer.Option(
        False, "--version", help="Print the version.", is_eager=True, callback=print_version
    ),
) -> None:
    """Options of `tflex` itself."""


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code: 0, 2 for bad input, 130 after Ctrl-C."""
    try:
        build()(args=list(arguments), prog_name="tflex")
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        if code == 130:
            print("interrupted", file=sys.stderr)
        return code
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except (TflexError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except MemoryError:
        print("error: not enough memory", file=sys.stderr)
        return 2
    return 0


def main() -> None:
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # As stderr, whose encoding never fails.
    sys.exit(run(sys.argv[1:]))
