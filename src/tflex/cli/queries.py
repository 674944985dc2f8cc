"""`tflex queries`: the structures, and files of queries."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tflex.cli.ask import StructureFile, draw, known_structures
from tflex.cli.output import AsJson, print_json, print_table
from tflex.cli.targets import DataDir, Target, find, open_target

if TYPE_CHECKING:
    from tflex.query.structures import Structure

app = typer.Typer(help="Structures, and files of queries.", no_args_is_help=True)


def register(root: typer.Typer) -> None:
    root.add_typer(app, name="queries")


@app.command("list")
def list_structures(structures: StructureFile = None, as_json: AsJson = False) -> None:
    """List the structures: the forty of the paper, and those of a file."""
    rows = [summary(one) for one in known_structures(structures)]
    if as_json:
        print_json({"structures": rows})
        return
    print_table(
        f"{len(rows)} structures",
        ("name", "also", "group", "gives", "definition"),
        [
            (row["name"], ", ".join(row["aliases"]), row["group"], row["sort"], row["definition"])
            for row in rows
        ],
        left=5,
    )


def summary(structure: Structure) -> dict[str, Any]:
    """What the list says of a structure."""
    from tflex.query.text import print_query

    return {
        "name": structure.name,
        "aliases": list(structure.aliases),
        "group": structure.group,
        "sort": structure.sort.name.lower(),
        "parameters": [
            {"name": slot.name, "sort": slot.sort.name.lower()} for slot in structure.parameters
        ],
        "definition": print_query(structure.body),
    }


@app.command("show")
def show_structure(
    name: Annotated[
        str, typer.Argument(help="The name of a structure, or another name of it.", metavar="NAME")
    ],
    svg: Annotated[
        Path | None,
        typer.Option("--svg", metavar="FILE", help="Draw it into a file.", show_default=False),
    ] = None,
    structures: StructureFile = None,
    as_json: AsJson = False,
) -> None:
    """Show what a structure means: definition, sentence, formula and computation graph."""
    from tflex.query.describe import sentence
    from tflex.query.drawing import computation_graph, mermaid
    from tflex.query.notation import formula

    structure = known_structures(structures)[name]
    drawing = computation_graph(structure.body)
    shown = {
        **summary(structure),
        "sentence": sentence(structure.body),
        "formula": formula(structure.body),
        "graph": drawing.as_dict(),
        "mermaid": mermaid(drawing),
    }
    if svg is not None:
        draw(structure.body, svg)
    if as_json:
        print_json(shown)
        return
    slots = ", ".join(slot.name for slot in structure.parameters)
    also = [f"also {', '.join(structure.aliases)}"] if structure.aliases else []
    group = [f"group {structure.group}"] if structure.group else []
    print(f"{structure.name}({slots}) = {shown['definition']}")
    print(", ".join([f"gives {structure.sort.value}s", *group, *also]))
    print(f"\n{shown['sentence']}\n\n{shown['formula']}\n\n{shown['mermaid']}")
    if svg is not None:
        print(f"Drawn in {svg}")


@app.command("verify")
def verify_files(
    target: Target,
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILES…", help="Query files (JSON lines) or folders.", show_default=False
        ),
    ],
    answer_view: Annotated[
        str,
        typer.Option(metavar="train|valid|test", help="The view that `answer` is on."),
    ] = "valid",
    easy_view: Annotated[
        str, typer.Option(metavar="train|valid|test", help="The view that `easy_answer` is on.")
    ] = "train",
    structures: StructureFile = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Replay published query files against the engine; exit code 1 where they disagree.

    Files of validation queries go with the default views. `Pe` and `Pt` without easy answers list
    only the answers that the answer view adds, and are compared with those.
    """
    from tflex.exact.verify import verify
    from tflex.query.files import read_query_files

    graph = open_target(target)
    known = known_structures(structures)
    filed = read_query_files([find(path, data_dir) for path in files], graph, known)
    found = list(verify(graph, filed, answer_view, easy_view))
    if as_json:
        keys = ("name", "queries", "answer_matches", "easy_matches")
        rows = [{key: getattr(one, key) for key in keys} for one in found]
        print_json({"structures": rows})
    else:
        print_table(
            f"Replayed on the {answer_view} view, easy answers on the {easy_view} view",
            ("structure", "queries", "answer matches", "easy matches", "first mismatch"),
            [tuple(one) for one in found],
        )
    if not all(one.complete for one in found):
        raise typer.Exit(1)
