"""Training of the ranker: on known facts without scores, then on held-out facts with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tflex.graph.facts import Facts
from tflex.models.predictors.context import (
    CANDIDATE_FEATURES,
    Asked,
    both_directions,
    holding,
    object_candidates,
    object_features,
)
from tflex.models.predictors.context_kernels import Context
from tflex.models.predictors.embeddings import Embedding, EmbeddingSettings, build_embedding
from tflex.models.predictors.existence import triple_features
from tflex.models.predictors.history import History, HistorySettings
from tflex.models.predictors.progress import Progress, silent
from tflex.models.predictors.ranker import Questions, Ranker, cross_entropy

EMBEDDING_SHARE = 0.5
"""Weight of the embedding beside the history where candidates are chosen."""
POPULAR = 60
"""Candidates by the relation's frequency in rounds without scores."""


@dataclass(frozen=True)
class Scorers:
    """The embedding models whose log-probabilities the ranker sees."""

    embedding: Embedding | None
    history: History | None

    @classmethod
    def fresh(cls, counts: tuple[int, int, int], embedding: EmbeddingSettings | None,
              history: HistorySettings | None,
              generator: torch.Generator | None = None) -> Scorers:  # fmt: skip
        """Untrained models with the given settings."""
        return cls(
            None if embedding is None else build_embedding(embedding, counts, generator),
            None if history is None else History(counts[0], counts[1], history, generator),
        )

    @property
    def count(self) -> int:
        return (self.embedding is not None) + (self.history is not None)

    def log_probabilities(self, context: Context, asked: Asked) -> list[Tensor]:
        """log P(o | s, r, t) of all entities by each model, [batch, |V|]."""
        found = []
        if self.embedding is not None:
            scores = self.embedding.object_scores(asked.subject, asked.relation, asked.time)
            found.append(scores.log_softmax(1))
        if self.history is not None:
            found.append(self.history.object_scores(context, asked))
        return found

    def best(self, scores: list[Tensor], count: int) -> NDArray[np.int32]:
        """The most probable entities by both models, [batch, count]."""
        total = scores[0] if len(scores) == 1 else EMBEDDING_SHARE * scores[0] + scores[1]
        return total.topk(min(count, total.shape[1]), 1, sorted=False).indices.int().numpy()


def ask(
    context: Context, scorers: Scorers, asked: Asked, best: int
) -> tuple[Questions, NDArray[np.int32]]:
    """The questions with their candidates, features and scores, and the candidates' ids."""
    scores = scorers.log_probabilities(context, asked)
    chosen = scorers.best(scores, best) if scores else context.popular[asked.relation, :best]
    offsets, ids = object_candidates(context, asked, chosen)
    features, query = object_features(context, asked, offsets, ids)
    known = features[:, CANDIDATE_FEATURES.index("pair r at")] > 0
    rows = torch.repeat_interleave(torch.arange(len(asked)), torch.from_numpy(np.diff(offsets)))
    of_candidates = rows, torch.from_numpy(ids.astype(np.int64))
    return Questions(
        torch.from_numpy(asked.relation.astype(np.int64)),
        torch.from_numpy(query),
        torch.from_numpy(offsets),
        torch.from_numpy(features),
        torch.stack([part[of_candidates] for part in scores], 1)
        if scores
        else torch.zeros(len(ids), 0),
        torch.from_numpy(known),
        torch.full((len(asked),), -1),
    ), ids


def held_out_questions(context: Context, everything: Context, scorers: Scorers, asked: Asked,
                       best: int, progress: Progress = silent) -> Questions:  # fmt: skip
    """Questions whose answers the context and the scorers never saw.

    Other answers, known or held out (`everything` holds both), are excluded.
    """
    parts = []
    for at in range(0, len(asked), 500):
        part = asked.take(slice(at, at + 500))
        questions, ids = ask(context, scorers, part.unanswered(), best)
        offsets = questions.offsets.numpy()
        own = ids == np.repeat(part.object, np.diff(offsets))
        excluded = holding(everything, part, offsets, ids) & ~own
        questions.excluded = torch.from_numpy(excluded)
        questions.answer[questions.rows[torch.from_numpy(own)]] = torch.from_numpy(
            np.flatnonzero(own)
        )
        questions.features = questions.features.clamp_max(6e4).half()
        parts.append(questions)
        progress("held-out features", at / len(asked))
    return joined(parts)


def joined(parts: list[Questions]) -> Questions:
    """Many questions as one."""
    shifts = np.cumsum([0] + [int(part.offsets[-1]) for part in parts])
    offsets = [part.offsets[1:] + int(shift) for part, shift in zip(parts, shifts, strict=False)]
    answers = [torch.where(part.answer >= 0, part.answer + int(shift), -1)
               for part, shift in zip(parts, shifts, strict=False)]  # fmt: skip
    return Questions(
        torch.cat([part.relation for part in parts]), torch.cat([part.query for part in parts]),
        torch.cat([torch.zeros(1, dtype=torch.int64), *offsets]),
        torch.cat([part.features for part in parts]),
        torch.cat([part.scores for part in parts if part.scores is not None]),
        torch.cat([part.excluded for part in parts]), torch.cat(answers),
    )  # fmt: skip


def left_out_questions(context: Context, asked: Asked, negatives: int,
                       generator: np.random.Generator) -> Questions:  # fmt: skip
    """Known facts as questions, each left out of its own features, with a sample of candidates.

    A fact whose object would be no candidate without it is not asked: the ranker would learn that
    an object that nothing speaks for must be the answer.
    """
    popular = context.popular[:, :POPULAR]
    pair = triple_features(context, asked.subject, asked.relation, asked.object)[:, 0]
    offered = (pair > 1) | (popular[asked.relation] == asked.object[:, None]).any(1)
    asked = asked.take(offered)
    best = np.concatenate((asked.object[:, None], popular[asked.relation]), 1)
    offsets, ids = object_candidates(context, asked, best)
    rows = np.repeat(np.arange(len(asked)), np.diff(offsets))
    free = ~holding(context, asked, offsets, ids)
    draw = np.where(free, generator.random(len(ids)), 2.0)
    order = np.lexsort((draw, rows))
    place = np.arange(len(ids)) - offsets[rows]
    kept = order[(place < negatives) & free[order]]
    possible = np.bincount(rows[free], minlength=len(asked))
    chosen = np.concatenate((np.arange(len(asked)), rows[kept]))
    in_order = np.argsort(chosen, kind="stable")
    rows = chosen[in_order]
    ids = np.concatenate((asked.object, ids[kept]))[in_order].astype(np.int32)
    offsets = np.searchsorted(rows, np.arange(len(asked) + 1))
    features, query = object_features(context, asked, offsets, ids)
    share = np.maximum(possible, 1) / np.clip(possible, 1, negatives)
    correction = np.log(share)[rows]
    correction[offsets[:-1]] = 0
    return Questions(
        torch.from_numpy(asked.relation.astype(np.int64)), torch.from_numpy(query),
        torch.from_numpy(offsets), torch.from_numpy(features), None,
        torch.zeros(len(ids), dtype=torch.bool), torch.from_numpy(offsets[:-1].copy()),
        torch.from_numpy(correction.astype(np.float32)),
    )  # fmt: skip


def fit_ranker(model: Ranker, facts: Facts, context: Context, held_out: Questions, seed: int,
               progress: Progress = silent) -> None:  # fmt: skip
    """Rounds over the known facts without scores, then rounds over the held-out ones with them."""
    settings, generator = model.settings, np.random.default_rng(seed)
    model.normalise(held_out)
    batches = [
        -(-2 * len(facts) // (2 * settings.batch)) * settings.rounds,
        -(-len(held_out) // settings.batch) * settings.epochs,
    ]
    model.train()
    step = stepper(model, 1.5 * settings.rate, batches[0])
    for turn in range(settings.rounds):
        asked = both_directions(facts, context.weights.shape[1] // 2, generator)
        order = generator.permutation(len(asked))
        for at in range(0, len(order), 2 * settings.batch):
            rows = order[at : at + 2 * settings.batch]
            step(left_out_questions(context, asked.take(rows), settings.negatives, generator))
            progress("ranker: known facts", (turn + at / len(order)) / settings.rounds)
    step = stepper(model, settings.rate, batches[1])
    for turn in range(settings.epochs):
        order = generator.permutation(len(held_out))
        for at in range(0, len(order), settings.batch):
            step(held_out.take(np.sort(order[at : at + settings.batch])))
            progress("ranker: held-out facts", (turn + at / len(order)) / settings.epochs)
    model.eval()


def stepper(model: Ranker, rate: float, steps: int) -> Callable[[Questions], None]:
    """One update by a batch of questions, with a rate that rises and falls over `steps`."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=model.settings.decay)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, rate, total_steps=steps + 1, pct_start=0.1
    )

    def step(questions: Questions) -> None:
        loss = cross_entropy(model, questions)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()

    return step
