"""`tflex train`: train a model on a dataset into a run folder."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tflex.cli.output import AsJson, print_json, progress_bar
from tflex.cli.targets import Target, open_target

if TYPE_CHECKING:
    from tflex.experiment.run import Run


def register(root: typer.Typer) -> None:
    root.command("train")(train)


def train(
    target: Target,
    out: Annotated[Path, typer.Option("--out", help="The run folder.", show_default=False)],
    preset: Annotated[
        str, typer.Option("--preset", help="tflex, tflex-published, tflex-cpu or tflex-demo.")
    ] = "tflex",
    assignments: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Change one option, such as model.dim=400. Repeatable.",
        ),
    ] = None,
    minutes: Annotated[
        float | None, typer.Option("--minutes", help="Train for so long instead.", min=0.01)
    ] = None,
    steps: Annotated[
        int | None, typer.Option("--steps", help="Train so many steps instead.", min=1)
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of weights and batches.")] = 0,
    device: Annotated[str, typer.Option("--device", help="auto, cpu, cuda or cuda:N.")] = "auto",
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue the run in --out from its last checkpoint.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Train a model, with checkpoints, validation and metrics as JSON lines.

    A dataset without query files gets them first. Training again with --resume continues where the
    run was interrupted, with the options it was started with. Several processes share a batch when
    started by `torchrun --nproc-per-node=2 -m tflex.cli train …`.

    Example: tflex train scratch/icews14 --preset tflex-cpu --out scratch/run --minutes 10
    """
    from tflex.errors import DataError
    from tflex.experiment import run as runs
    from tflex.experiment.config import changed
    from tflex.experiment.presets import preset as find_preset
    from tflex.query.selection import select

    graph = open_target(target)
    leads = runs.process_rank()[0] == 0
    if resume and (out / runs.FILE).is_file():
        run = runs.Run.open(out)
        if assignments or minutes or steps:
            raise DataError("--resume continues with the options the run was started with")
        graph = run.graph()
    else:
        options = [*(assignments or []), f"seed={seed}", f'device="{device}"']
        if minutes is not None:
            options += [f"training.minutes={minutes}", "training.steps=null"]
        if steps is not None:
            options += [f"training.steps={steps}"] + ([] if minutes else ["training.minutes=null"])
        config = changed(find_preset(preset, graph), options)
        select(config.training.structures)
        if leads:
            run = runs.Run.create(out, target.removeprefix("exact:"), graph, config)
        else:
            run = wait_for(out)

    def say(line: str) -> None:
        if leads:
            print(line, file=sys.stderr)

    with progress_bar() as bar:
        folder = out / "queries" if run.dataset == "demo" else Path(run.dataset) / "queries"
        structures = select(run.config.training.structures)
        queries = runs.query_dataset(graph, folder, structures, say, bar if leads else None)

        def report(line: str, fraction: float) -> None:
            if leads:
                bar(line, fraction)

        progress = runs.train(run, queries, resume, report)
    if not leads:
        return
    if json:
        print_json({"run": str(out), **runs.summary(progress)})
        return
    print(
        f"{out}: {progress.step:,} steps in {progress.seconds / 60:.1f} minutes; best strict MRR "
        f"on validation {100 * progress.best_score:.2f} at step {progress.best_step:,}"
    )
    print(f"next: tflex evaluate {out} --protocol strict,published")


def wait_for(folder: Path) -> Run:
    """The run that the leading process creates."""
    import time

    from tflex.experiment.run import FILE, Run

    deadline = time.monotonic() + 60
    while not (folder / FILE).is_file() and time.monotonic() < deadline:
        time.sleep(0.1)
    return Run.open(folder)
