"""The link predictor: who and when, as probabilities that a fact holds."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional

from tflex.errors import DataError
from tflex.graph.facts import Level
from tflex.graph.temporal_graph import TemporalGraph, View
from tflex.models.predictors.calendar import (
    KNOWN,
    Calendar,
    CalendarSettings,
    Pairs,
    calendar_features,
)
from tflex.models.predictors.calibration import Temperatures
from tflex.models.predictors.context import (
    CANDIDATE_FEATURES,
    QUERY_FEATURES,
    Asked,
    build_context,
)
from tflex.models.predictors.context_kernels import Context
from tflex.models.predictors.embeddings import EmbeddingSettings
from tflex.models.predictors.existence import (
    TRIPLE_FEATURES,
    Existence,
    ExistenceSettings,
    question_features,
    triple_features,
)
from tflex.models.predictors.history import HistorySettings
from tflex.models.predictors.ranker import Questions, Ranker, RankerSettings
from tflex.models.predictors.ranking import Scorers, ask

WEIGHTS, SETTINGS = "links.safetensors", "links.json"
OBJECT_ROWS, TIME_ROWS = 256, 64
"""Questions answered at once by one thread."""


@dataclass(frozen=True)
class LinkSettings:
    """The parts of a link predictor; a part that is None is left out."""

    embedding: EmbeddingSettings | None = field(default_factory=EmbeddingSettings)
    history: HistorySettings | None = field(default_factory=HistorySettings)
    ranker: RankerSettings | None = field(default_factory=RankerSettings)
    """Without it, objects are ranked by the embedding and the history alone."""
    calendar: CalendarSettings | None = field(default_factory=CalendarSettings)
    """Without it, timestamps are ranked by the embedding alone."""
    existence: ExistenceSettings | None = field(default_factory=ExistenceSettings)
    """Without it, every question is presumed to have one further answer."""
    held_out: float = 0.1
    """The share of the train facts on which the stack is fitted."""
    calibration: float = 0.15
    """The share of those that is kept back to fit the temperatures."""
    best: int = 100
    """Candidates by the embedding models, beside those that the context offers."""

    def __post_init__(self) -> None:
        if self.embedding is None and self.history is None and self.ranker is None:
            raise DataError("a link predictor needs an embedding, a history or a ranker")
        if self.embedding is None and (self.calendar is None or self.history is None):
            raise DataError("a link predictor without embedding needs a history and a calendar")

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> LinkSettings:
        parts = {
            "embedding": EmbeddingSettings, "history": HistorySettings, "ranker": RankerSettings,
            "calendar": CalendarSettings, "existence": ExistenceSettings,
        }  # fmt: skip
        return cls(**{
            name: parts[name](**value) if name in parts and value is not None else value
            for name, value in values.items()
        })  # fmt: skip


@dataclass(frozen=True)
class Degrees:
    """Of each question, entities and the probability that the fact holds; others have about 0."""

    offsets: NDArray[np.int64]
    ids: NDArray[np.int32]
    """In falling order of their degrees."""
    degrees: NDArray[np.float32]
    known: NDArray[np.bool_]
    """Facts of the view; their degree is 1."""
    expected: NDArray[np.float32]
    """The expected number of further facts of each question."""
    unlisted: NDArray[np.float32]
    """A bound on the sum of the degrees of all entities that are not listed."""

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def row(self, index: int) -> tuple[NDArray, NDArray, NDArray]:
        """Ids, degrees and known marks of one question."""
        part = slice(self.offsets[index], self.offsets[index + 1])
        return self.ids[part], self.degrees[part], self.known[part]

    def dense(self, entity_count: int) -> NDArray[np.float32]:
        """[questions, |V|]; what is not listed has 0."""
        out = np.zeros((len(self), entity_count), np.float32)
        out[np.repeat(np.arange(len(self)), np.diff(self.offsets)), self.ids] = self.degrees
        return out

    @staticmethod
    def joined(parts: Sequence[Degrees]) -> Degrees:
        shifts = np.cumsum([0] + [int(part.offsets[-1]) for part in parts])
        offsets = [part.offsets[1:] + shift for part, shift in zip(parts, shifts, strict=False)]

        def column(name: str, kind: Any) -> NDArray:
            return np.concatenate([np.empty(0, kind), *(getattr(part, name) for part in parts)])

        return Degrees(
            np.concatenate([np.zeros(1, np.int64), *offsets]), column("ids", np.int32),
            column("degrees", np.float32), column("known", np.bool_),
            column("expected", np.float32), column("unlisted", np.float32),
        )  # fmt: skip


class LinkPredictor(nn.Module):
    """P(o | s, r, t) and P(t | s, r, o) as ranking × existence, from known facts and embeddings.

    Nothing but train facts is ever fitted on (see `fitting`); features see exactly the view that a
    question names.
    """

    def __init__(self, counts: tuple[int, int, int], settings: LinkSettings,
                 generator: torch.Generator | None = None) -> None:  # fmt: skip
        super().__init__()
        self.counts = counts
        """Entities, relations without inverses, timestamps."""
        self.settings = settings
        relations = counts[1]
        scorers = Scorers.fresh(counts, settings.embedding, settings.history, generator)
        self.embedding, self.history = scorers.embedding, scorers.history
        self.ranker: Ranker | None = None
        if settings.ranker is not None:
            widths = len(CANDIDATE_FEATURES), scorers.count, len(QUERY_FEATURES)
            self.ranker = Ranker(*widths, relations, settings.ranker)
        self.temperatures = Temperatures(relations)
        self.calendar = (
            None if settings.calendar is None else Calendar(relations, settings.calendar)
        )
        self.further_objects: Existence | None = None
        self.further_times: Existence | None = None
        if settings.existence is not None:
            existence = settings.existence
            self.further_objects = Existence(len(QUERY_FEATURES), relations, existence)
            self.further_times = Existence(len(TRIPLE_FEATURES), relations, existence)
        self._contexts: dict[tuple[int, Level], tuple[TemporalGraph, Context]] = {}
        self.eval()

    @property
    def scorers(self) -> Scorers:
        return Scorers(self.embedding, self.history)

    def context(self, view: View) -> Context:
        """The facts of a view in the order of the features; the last two views are kept."""
        key = id(view.graph), view.level
        if key not in self._contexts:
            facts = view.graph.facts
            while len(self._contexts) >= 2:
                self._contexts.pop(next(iter(self._contexts)))
            built = build_context(facts.take(facts.level <= view.level), *self.counts)
            self._contexts[key] = view.graph, built
        return self._contexts[key][1]

    def objects(self, view: View, subject: NDArray, relation: NDArray, time: NDArray,
                known: bool = True) -> Degrees:  # fmt: skip
        """Degrees of (s, r, ?, t), row by row; without `known`, of further facts alone."""
        context = self.context(view)
        asked = Asked.of(subject, relation, time)
        return Degrees.joined(
            in_threads(
                lambda part: self._objects(context, asked.take(part), known),
                blocks(len(asked), OBJECT_ROWS),
            )
        )

    # Gradients are switched off in each thread of its own.
    @torch.no_grad()
    def _objects(self, context: Context, asked: Asked, known: bool) -> Degrees:
        questions, ids = ask(context, self.scorers, asked, self.settings.best)
        logits, none = self.logits(questions)
        candidates, nothing = self.temperatures(questions.relation, questions.rows, logits, none)
        expected = np.ones(len(asked), np.float32)
        if self.further_objects is not None:
            expected = self.further_objects.expected(asked.relation, questions.query.numpy())
        rate = torch.from_numpy(expected)[questions.rows] * candidates.exp()
        excluded = questions.excluded
        degrees = torch.where(excluded, float(known), -torch.expm1(-rate)).numpy()
        order = np.lexsort((ids, -degrees, questions.rows.numpy()))
        return Degrees(
            questions.offsets.numpy(), ids[order], degrees[order].astype(np.float32),
            excluded.numpy()[order], expected, expected * nothing.exp().numpy(),
        )  # fmt: skip

    def logits(self, questions: Questions) -> tuple[Tensor, Tensor]:
        """Logits of the candidates (−∞ for known answers) and of none of them.

        Without a ranker, log of the mean probability that the embedding models give a candidate.
        """
        if self.ranker is not None:
            found: tuple[Tensor, Tensor] = self.ranker(questions)
            return found
        assert questions.scores is not None
        shares = questions.scores.exp().mean(1)
        listed = torch.zeros(len(questions)).index_add_(0, questions.rows, shares)
        logits = shares.clamp_min(1e-12).log().masked_fill(questions.excluded, -torch.inf)
        return logits, (1 - listed).clamp_min(1e-6).log()

    def times(self, view: View, subject: NDArray, relation: NDArray, object: NDArray,
              known: bool = True) -> NDArray[np.float32]:  # fmt: skip
        """Degrees of (s, r, o, ?), [batch, |T|]; without `known`, of further timestamps alone."""
        self.context(view)  # Built once, before threads want it.
        asked = Pairs.of(subject, relation, object)
        alike = self.alike()
        found = in_threads(
            lambda part: self._times(view, alike, asked.take(part), known),
            blocks(len(asked), TIME_ROWS),
        )
        return np.concatenate([np.empty((0, self.counts[2]), np.float32), *found])

    @torch.no_grad()
    def _times(self, view: View, alike: NDArray, asked: Pairs,
               known: bool) -> NDArray[np.float32]:  # fmt: skip
        context = self.context(view)
        features = calendar_features(context, alike, asked)
        holds = features[..., KNOWN] > 0
        if self.calendar is not None:
            shares = self.calendar.probabilities(asked.relation, features)
        else:
            assert self.embedding is not None
            scores = self.embedding.time_scores(asked.subject, asked.relation, asked.object)
            free = scores.masked_fill(torch.from_numpy(holds), -torch.inf)
            shares = free.softmax(1).nan_to_num(0.0).numpy()
        expected = self.expected_times(view, asked.subject, asked.relation, asked.object)
        degrees = -np.expm1(-expected[:, None] * shares)
        return np.where(holds, np.float32(known), degrees).astype(np.float32)

    def expected_objects(self, view: View, subject: NDArray, relation: NDArray,
                         time: NDArray) -> NDArray[np.float32]:  # fmt: skip
        """The expected number of further facts (s, r, ?, t), row by row."""
        asked = Asked.of(subject, relation, time)
        if self.further_objects is None:
            return np.ones(len(asked), np.float32)
        counts = question_features(self.context(view), asked)
        return self.further_objects.expected(asked.relation, counts)

    def expected_times(self, view: View, subject: NDArray, relation: NDArray,
                       object: NDArray) -> NDArray[np.float32]:  # fmt: skip
        """The expected number of further facts (s, r, o, ?), row by row."""
        if self.further_times is None:
            return np.ones(len(subject), np.float32)
        counts = triple_features(self.context(view), subject, relation, object)
        return self.further_times.expected(relation, counts)

    def alike(self) -> NDArray[np.float32]:
        """Unit vectors of the entities; their products say how alike two entities are."""
        table = self.embedding if self.history is None else self.history
        entities: Tensor = table.entities.detach()  # type: ignore[union-attr]
        return functional.normalize(entities, dim=1).numpy()

    def save(self, folder: Path) -> None:
        """Weights as safetensors, the rest as JSON."""
        folder.mkdir(parents=True, exist_ok=True)
        save_file({name: one.contiguous() for name, one in self.state_dict().items()},
                  folder / f".{WEIGHTS}")  # fmt: skip
        document = {"counts": list(self.counts), "settings": asdict(self.settings)}
        (folder / SETTINGS).write_text(json.dumps(document, indent=1) + "\n")
        (folder / f".{WEIGHTS}").replace(folder / WEIGHTS)

    @classmethod
    def load(cls, folder: Path) -> LinkPredictor:
        try:
            document = json.loads((folder / SETTINGS).read_text())
            model = cls(tuple(document["counts"]), LinkSettings.from_json(document["settings"]))
            model.load_state_dict(load_file(folder / WEIGHTS))
        except (OSError, KeyError, TypeError, ValueError, RuntimeError, SafetensorError) as error:
            raise DataError(f"{folder} holds no link predictor: {error}") from error
        return model


def blocks(count: int, size: int) -> list[slice]:
    """Runs of so many rows."""
    return [slice(at, min(at + size, count)) for at in range(0, count, size)]


Found = TypeVar("Found")


def in_threads(work: Callable[[slice], Found], parts: list[slice]) -> list[Found]:
    """Results of `work` in order; the compiled kernels run beside each other."""
    if len(parts) < 2 or torch.get_num_threads() < 2:
        return [work(part) for part in parts]
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(work, parts))
