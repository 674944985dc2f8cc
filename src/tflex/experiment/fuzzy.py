"""Runs of the fuzzy reasoner: a link predictor, and choices made on validation queries."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tflex.errors import DataError
from tflex.evaluation import EvaluationQueries
from tflex.evaluation.metrics import best_threshold
from tflex.evaluation.protocols import THRESHOLD_QUERIES
from tflex.evaluation.sets import Sets
from tflex.experiment.config import FuzzyConfig
from tflex.experiment.links import FOLDER, STAGES, link_predictor
from tflex.experiment.preparing import Preparer
from tflex.experiment.run import Run
from tflex.experiment.validation import ValidationSample, strict_mrr
from tflex.graph.facts import Level
from tflex.graph.temporal_graph import TemporalGraph, View
from tflex.models.predictors.fitting import fit_links
from tflex.models.predictors.links import LinkPredictor
from tflex.query.published import STRUCTURES
from tflex.query.structures import Structures
from tflex.reasoning.fuzzy import Cuts, FuzzyReasoner, FuzzySettings, LinkPredictions, World
from tflex.reasoning.fuzzy.sets import kinds_of
from tflex.sampling.dataset import QueryDataset

CHOICES = "fuzzy.json"

Progress = Callable[[str, float], None]


def train_fuzzy(run: Run, queries: QueryDataset, report: Progress) -> None:
    """Train or take over a link predictor, then choose settings and thresholds on validation.

    What was tried already is in the run folder, so that an interrupted run goes on from there.
    """
    config = run.configured(FuzzyConfig)
    if config.threads is not None:
        torch.set_num_threads(config.threads)
    predictor = _predictor(run, config, report)
    graph = run.graph()
    sample = ValidationSample.of(graph, queries, config.validation_queries, config.seed)
    world = World(graph.view(Level.train), LinkPredictions(predictor, graph.view(Level.train)))
    choices = Choices(run.folder / CHOICES)
    settings = choices.settings(world, sample, config, report)
    reasoner = FuzzyReasoner(world, settings, sample.structures)
    cuts = fit_cuts(
        reasoner, graph, queries, config.calibration_queries, config.seed, progress=report
    )
    choices.record(settings=asdict(settings), cuts=cuts.to_json())


def _predictor(run: Run, config: FuzzyConfig, report: Progress) -> LinkPredictor:
    if (run.folder / FOLDER / "links.json").is_file():
        return link_predictor(run)
    graph = run.graph()
    if config.predictor is None:
        stages = run.folder / STAGES
        predictor = fit_links(graph, config.links, config.seed, report, config.minutes, stages)
    else:
        other = Run.open(config.predictor)
        if other.record["dataset_hash"] != graph.content_hash:
            raise DataError(f"{other.folder} was trained on another dataset than {run.dataset}")
        predictor = link_predictor(other)
    predictor.save(run.folder / FOLDER)
    return predictor


class Choices:
    """What was tried on validation queries, and what was chosen, in a file of the run folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.document: dict[str, Any] = {"tried": []}
        if path.is_file():
            self.document = json.loads(path.read_text(encoding="utf-8"))

    def record(self, **values: Any) -> None:
        self.document.update(values)
        draft = self.path.with_name(f".{self.path.name}")
        draft.write_text(json.dumps(self.document, indent=1) + "\n", encoding="utf-8")
        draft.replace(self.path)

    def settings(self, world: World, sample: ValidationSample, config: FuzzyConfig,
                 report: Progress) -> FuzzySettings:  # fmt: skip
        """The best settings by strict MRR, one option after the other."""
        chosen, trials = config.fuzzy, 1 + sum(len(values) for values in config.options.values())

        def score(settings: FuzzySettings) -> float:
            wanted = asdict(settings)
            for trial in self.document["tried"]:
                if trial["settings"] == wanted:
                    return float(trial["mrr"])
            done = len(self.document["tried"]) / trials
            report("choosing on validation: " + describe(settings), min(done, 1.0))
            found = strict_mrr(FuzzyReasoner(world, settings, sample.structures), sample)
            self.record(tried=[*self.document["tried"], {"settings": wanted, "mrr": found}])
            return found

        best = score(chosen)
        for option, values in config.options.items():
            for value in values:
                candidate = replace(chosen, **{option: value})
                if (found := score(candidate)) > best + config.gain:
                    best, chosen = found, candidate
        return chosen


def describe(settings: FuzzySettings) -> str:
    return ", ".join(f"{name} {value}" for name, value in asdict(settings).items())


def fit_cuts(reasoner: FuzzyReasoner, graph: TemporalGraph, queries: QueryDataset, count: int,
             seed: int, progress: Progress) -> Cuts:  # fmt: skip
    """Thresholds of the best F1 by kinds of queries, and degrees of held-out answers by sort.

    Answers are those on the valid view, with what may be known when validating: the train view.
    """
    preparer, draw = Preparer(graph), np.random.default_rng(seed)
    best: dict[str, list[tuple[np.ndarray, Sets]]] = {}
    usual: dict[str, list[tuple[np.ndarray, Sets]]] = {}
    missing: dict[str, list[float]] = {}
    listed = queries.structures()
    for number, structure in enumerate(listed):
        progress(f"thresholds: {structure.name}", number / len(listed))
        kinds, splits = kinds_of(structure.body), queries.splits(structure.name)
        if Level.train in splits:
            anchors = _some(queries, structure.name, Level.train, count, draw)
            scores = reasoner.scores(structure.name, anchors)
            answers = preparer.answers(structure, anchors, Level.valid)
            for kind in kinds:
                usual.setdefault(kind, []).append((scores, answers))
        if Level.valid not in splits:
            continue
        anchors = _some(queries, structure.name, Level.valid, count, draw)
        prepared = preparer.strict(structure, anchors, Level.valid, costs=False)
        if not len(prepared):
            continue
        scores = reasoner.scores(structure.name, prepared.anchors)
        for kind in kinds:
            best.setdefault(kind, []).append((scores, prepared.answers))
        sort = structure.sort.name.lower()
        missing.setdefault(sort, []).extend(missing_degrees(scores, prepared, draw))
    return Cuts(
        {kind: _threshold(parts, draw) for kind, parts in best.items()},
        {kind: _threshold(parts, draw) for kind, parts in usual.items()},
        {sort: sorted(degrees) for sort, degrees in missing.items()},
    )


def _some(queries: QueryDataset, structure: str, split: Level, count: int,
          draw: np.random.Generator) -> np.ndarray:  # fmt: skip
    """The anchors of so many queries of a split, drawn at random."""
    anchors: np.ndarray = queries.load(structure, split, ("anchors",)).anchors
    return anchors[np.sort(draw.permutation(len(anchors))[:count])]


def missing_degrees(scores: np.ndarray, queries: EvaluationQueries,
                    draw: np.random.Generator) -> list[float]:  # fmt: skip
    """The degree of one random target of each query that has new answers, not fewer."""
    sizes = queries.targets.sizes
    place = queries.targets.offsets[:-1] + (draw.random(len(sizes)) * sizes).astype(np.int64)
    found = scores[np.arange(len(sizes)), queries.targets.ids[place]]
    missing: list[float] = found[~queries.retraction].tolist()
    return missing


def _threshold(parts: Sequence[tuple[np.ndarray, Sets]], draw: np.random.Generator) -> float:
    scores = np.concatenate([one for one, _ in parts])
    answers = Sets.join([one for _, one in parts])
    rows = np.sort(draw.permutation(len(scores))[:THRESHOLD_QUERIES])
    return best_threshold(scores[rows], answers.take(rows))


def chosen(run: Run) -> tuple[FuzzySettings, Cuts]:
    """The settings and thresholds that a finished run has chosen."""
    run.configured(FuzzyConfig)
    document = Choices(run.folder / CHOICES).document
    if "settings" not in document:
        raise DataError(f"{run.folder} has not chosen its settings yet; go on with --resume")
    return FuzzySettings(**document["settings"]), Cuts.from_json(document["cuts"])


def fuzzy_reasoner(
    run: Run, structures: Structures = STRUCTURES
) -> Callable[[View], FuzzyReasoner]:
    """Makes the reasoner of a run for a view; the predictor is read once."""
    settings, cuts = chosen(run)
    predictor = link_predictor(run)

    def make(view: View) -> FuzzyReasoner:
        world = World(view, LinkPredictions(predictor, view))
        return FuzzyReasoner(world, settings, structures, cuts)

    return make
