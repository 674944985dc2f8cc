"""`tflex train`: train a model on a dataset into a run folder."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tflex.cli.output import AsJson, print_json, progress_bar
from tflex.cli.targets import Target, open_target

if TYPE_CHECKING:
    from collections.abc import Callable

    from tflex.experiment.run import Run
    from tflex.graph.temporal_graph import TemporalGraph
    from tflex.query.structures import Structure
    from tflex.sampling.dataset import QueryDataset


def register(root: typer.Typer) -> None:
    root.command("train")(train)


def train(
    target: Target,
    out: Annotated[Path, typer.Option("--out", help="The run folder.", show_default=False)],
    preset: Annotated[
        str,
        typer.Option(
            "--preset",
            help="tflex, tflex-published, tflex-cpu, tflex-demo; links, links-demo, tntcomplex, "
            "ttranse, hyte; fuzzy, fuzzy-demo.",
        ),
    ] = "tflex",
    assignments: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Change one option, such as model.dim=400 or links.history=null. Repeatable.",
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
    """Train an embedding model, a link predictor or a fuzzy reasoner, with checkpoints.

    Embedding models are trained on queries; a dataset without query files gets them first. Several
    processes share a batch when started by `torchrun --nproc-per-node=2 -m tflex.cli train …`.
    Training again with --resume continues where the run was interrupted, with the options it was
    started with; a link predictor goes on from its last finished stage.

    Example: tflex train scratch/icews14 --preset tflex-cpu --out scratch/run --minutes 10
    """
    from tflex.errors import DataError
    from tflex.experiment import run as runs
    from tflex.experiment.config import EmbeddingConfig, FuzzyConfig, changed
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
        config = find_preset(preset, graph)
        embeds = isinstance(config, EmbeddingConfig)
        if not embeds and (steps is not None or device not in ("auto", "cpu")):
            raise DataError(f"--preset {preset} trains on the CPU, for --minutes or to its end")
        options = [*(assignments or []), f"seed={seed}"]
        if embeds:
            options.append(f'device="{device}"')
            options += budget(minutes, steps)
        elif minutes is not None:
            options.append(f"minutes={minutes}")
        config = changed(config, options)
        if isinstance(config, EmbeddingConfig):
            select(config.training.structures)
        if leads:
            run = runs.Run.create(out, target.removeprefix("exact:"), graph, config)
        else:
            run = wait_for(out)
    if isinstance(run.config, EmbeddingConfig):
        train_embedding(run, graph, resume, leads, json)
    elif leads and isinstance(run.config, FuzzyConfig):
        train_fuzzy(run, graph, json)
    elif leads:
        train_links(run, json)


def budget(minutes: float | None, steps: int | None) -> list[str]:
    """The options that put minutes, steps or both in the place of the preset's budget."""
    if minutes is None and steps is None:
        return []
    given = {"minutes": minutes, "steps": steps}
    return [f"training.{name}={'null' if one is None else one}" for name, one in given.items()]


def train_embedding(run: Run, graph: TemporalGraph, resume: bool, leads: bool, json: bool) -> None:
    """Train an embedding model, in as many processes as were launched."""
    from dataclasses import asdict

    from tflex.experiment import embedding
    from tflex.experiment.config import EmbeddingConfig
    from tflex.query.selection import select

    def say(line: str) -> None:
        if leads:
            print(line, file=sys.stderr)

    with progress_bar() as bar:
        structures = select(run.configured(EmbeddingConfig).training.structures)
        queries = queries_of(run, graph, structures, say, bar if leads else None)

        def report(line: str, fraction: float) -> None:
            if leads:
                bar(line, fraction)

        progress = embedding.train(run, queries, resume, report)
    if not leads:
        return
    if json:
        print_json({"run": str(run.folder), **asdict(progress)})
        return
    print(
        f"{run.folder}: {progress.step:,} steps in {progress.seconds / 60:.1f} minutes; best "
        f"strict MRR on validation {100 * progress.best_score:.2f} at step {progress.best_step:,}"
    )
    print(f"next: tflex evaluate {run.folder} --protocol strict,published")


def queries_of(run: Run, graph: TemporalGraph, structures: list[Structure],
               say: Callable[[str], None], bar: Callable[[str, float], None] | None,
               ) -> QueryDataset:  # fmt: skip
    """The queries of the run's dataset, sampled where there are none."""
    from tflex.experiment import embedding

    folder = run.folder / "queries" if run.dataset == "demo" else Path(run.dataset) / "queries"
    return embedding.query_dataset(graph, folder, structures, say, bar)


def train_fuzzy(run: Run, graph: TemporalGraph, json: bool) -> None:
    """Train a fuzzy reasoner: a link predictor, and what is chosen on validation queries."""
    import time
    from dataclasses import asdict

    from tflex.experiment import fuzzy

    started = time.monotonic()
    with progress_bar() as bar:
        queries = queries_of(run, graph, [], lambda line: print(line, file=sys.stderr), bar)
        fuzzy.train_fuzzy(run, queries, bar)
    seconds = time.monotonic() - started
    settings, _ = fuzzy.chosen(run)
    if json:
        print_json({"run": str(run.folder), "seconds": seconds, "settings": asdict(settings)})
        return
    print(f"{run.folder}: a fuzzy reasoner, trained in {seconds / 60:.1f} minutes")
    print(f"chosen on validation queries: {fuzzy.describe(settings)}")
    print(f"next: tflex evaluate {run.folder} --protocol strict,published")


def train_links(run: Run, json: bool) -> None:
    """Train a link predictor."""
    import time

    from tflex.experiment import links

    started = time.monotonic()
    with progress_bar() as bar:
        links.train_links(run, bar)
    seconds = time.monotonic() - started
    if json:
        print_json({"run": str(run.folder), "seconds": seconds})
        return
    print(f"{run.folder}: a link predictor, trained in {seconds / 60:.1f} minutes")
    print(f"next: tflex evaluate {run.folder} --task links")


def wait_for(folder: Path) -> Run:
    """The run that the leading process creates."""
    import time

    from tflex.experiment.run import FILE, Run

    deadline = time.monotonic() + 60
    while not (folder / FILE).is_file() and time.monotonic() < deadline:
        time.sleep(0.1)
    return Run.open(folder)
