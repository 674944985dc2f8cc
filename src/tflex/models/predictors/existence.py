"""How many further facts to expect: of (s, r, ?, t), and of (s, r, o, ?).

A predictor that was trained to find one missing answer presumes that there is one. Here the facts
that were held out are a Poisson process over all questions x, with the rate λ(x) that a network
gives to the counts around x. Its negative log-likelihood Σ_x λ(x) − Σ_facts log λ(x) needs a sum
over all questions, which is estimated from a sample drawn with known probabilities.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from tflex.graph.facts import Facts
from tflex.models.predictors.context import Asked, both_directions, object_features
from tflex.models.predictors.context_kernels import Context
from tflex.models.predictors.progress import Progress, silent
from tflex.models.predictors.question_kernels import cover_density, known_relations, triple_counts
from tflex.models.predictors.ranker import log_counts

TRIPLE_FEATURES = ("pair", "pair r", "pair r⁻¹", "weighted all", "s r", "r o", "s", "o", "r")


@dataclass(frozen=True)
class ExistenceSettings:
    hidden: int = 64
    relation: int = 16
    sample: int = 1_500_000
    """Questions whose mean stands for the sum over all of them."""
    epochs: int = 10
    batch: int = 8_000
    rate: float = 5e-3
    decay: float = 0.1


class Existence(nn.Module):
    """log λ(x) = MLP(counts of x, e_r)."""

    def __init__(self, inputs: int, relation_count: int, settings: ExistenceSettings) -> None:
        super().__init__()
        self.settings = settings
        self.relation = nn.Embedding(2 * relation_count, settings.relation)
        nn.init.normal_(self.relation.weight, std=0.1)
        self.first = nn.Linear(inputs + settings.relation, settings.hidden)
        self.second = nn.Linear(settings.hidden, settings.hidden)
        self.last = nn.Linear(settings.hidden, 1)
        self.direct = nn.Linear(inputs, 1, bias=False)
        self.register_buffer("centre", torch.zeros(inputs))
        self.register_buffer("spread", torch.ones(inputs))
        self.register_buffer("highest", torch.tensor(5.0))

    def forward(self, relation: Tensor, counts: Tensor) -> Tensor:
        """log λ, [batch], at most the highest that was met in training."""
        inputs = (log_counts(counts) - self.centre) / self.spread
        hidden = self.first(torch.cat((inputs, self.relation(relation)), 1)).relu()
        rate = (self.last(self.second(hidden).relu()) + self.direct(inputs))[:, 0]
        return torch.minimum(rate, self.highest)

    @torch.no_grad()
    def expected(self, relation: NDArray, counts: NDArray[np.float32]) -> NDArray[np.float32]:
        """λ: the expected number of further facts of each question."""
        rows = torch.from_numpy(np.asarray(relation, np.int64))
        return self.eval()(rows, torch.from_numpy(counts)).exp().numpy()


def fit_existence(model: Existence, relation: NDArray, counts: NDArray[np.float32], volume: NDArray,
                  facts: NDArray, seed: int, progress: Progress = silent) -> None:  # fmt: skip
    """Minimise Σ volume·λ − Σ facts·log λ.

    `volume` says how many questions a row stands for, `facts` how many held-out facts it has.
    """
    settings = model.settings
    generator = torch.Generator().manual_seed(seed)
    asked = torch.from_numpy(np.asarray(relation, np.int64))
    seen = torch.from_numpy(counts)
    space, found = (torch.from_numpy(np.asarray(part, np.float32)) for part in (volume, facts))
    inputs = log_counts(seen)
    model.centre.copy_(inputs.mean(0))
    model.spread.copy_(inputs.std(0) + 0.05)
    with torch.no_grad():
        model.last.bias.fill_(float(torch.log(found.sum() / space.sum())))
    steps = settings.epochs * -(-len(asked) // settings.batch)
    optimizer = torch.optim.AdamW(model.parameters(), lr=settings.rate, weight_decay=settings.decay)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, settings.rate, total_steps=steps + 1, pct_start=0.1
    )
    scale = len(asked) / float(found.sum())
    model.train()
    for epoch in range(settings.epochs):
        for rows in torch.randperm(len(asked), generator=generator).split(settings.batch):
            rate = model(asked[rows], seen[rows])
            loss = scale * (space[rows] * rate.exp() - found[rows] * rate).mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            schedule.step()
        progress("existence", (epoch + 1) / settings.epochs)
    model.eval()
    with torch.no_grad():
        # No rate beyond those of the facts it was fitted on, however odd the counts.
        model.highest.fill_(float(model(asked[found > 0], seen[found > 0]).max()))


ANYWHERE, KNOWN_PAIR, ACTIVE = range(3)
"""Ways to draw a question: from all; a known (s, r) at any time; the subject and a time of a known
fact, with a relation by its frequency."""


def sampled_questions(context: Context, size: int, generator: np.random.Generator,
                      ways: tuple[int, ...] = (ANYWHERE, KNOWN_PAIR, ACTIVE)
                      ) -> tuple[Asked, NDArray[np.float64]]:  # fmt: skip
    """Questions (s, r, ?, t) of V×R×T, equally many in each way, and their expected draws."""
    entities, relations, times = dimensions(context)
    rows = len(context.entity_relation)
    kind = generator.choice(np.array(ways), size)
    subject = generator.integers(0, entities, size)
    relation = generator.integers(0, relations, size)
    time = generator.integers(0, times, size)
    group = generator.integers(0, len(context.relation), size)
    owner = np.searchsorted(context.relation_pointer, group, "right") - 1
    row = generator.integers(0, rows, size)
    actor = np.searchsorted(context.by_entity.pointer, row, "right") - 1
    at = generator.integers(context.by_entity.start[row], context.entity_end[row] + 1)
    common = generator.choice(relations, size, p=relation_frequency(context))
    asked = Asked.of(
        np.choose(kind, (subject, owner, actor)),
        np.choose(kind, (relation, context.relation[group], common)),
        np.choose(kind, (time, time, at)),
    )
    return asked, size * expected_draws(context, asked, ways)


def expected_draws(context: Context, asked: Asked,
                   ways: tuple[int, ...]) -> NDArray[np.float64]:  # fmt: skip
    """The probability that one draw of `sampled_questions` gives each question."""
    entities, relations, times = dimensions(context)
    known, density = np.zeros(len(asked), np.bool_), np.zeros(len(asked))
    known_relations(context, asked.subject, asked.relation, known)
    cover_density(context, asked.subject, asked.time, density)
    chances = {
        ANYWHERE: np.full(len(asked), 1 / (entities * relations * times)),
        KNOWN_PAIR: known / (len(context.relation) * times),
        ACTIVE: density / len(context.entity_relation)
        * relation_frequency(context)[asked.relation],
    }  # fmt: skip
    return sum((chances[way] for way in ways), np.zeros(len(asked))) / len(ways)


def sampled_triples(context: Context, size: int, generator: np.random.Generator
                    ) -> tuple[NDArray, NDArray, NDArray, NDArray[np.float64]]:  # fmt: skip
    """Triples (s, r, o) from all of V×R×V and how many of them each stands for.

    A quarter each are uniform; of a known fact; a known pair with a relation by its frequency; a
    subject and an object that r is known to have.
    """
    entities, relations, _ = dimensions(context)
    rows, frequency = len(context.entity_relation), relation_frequency(context)
    kind = generator.integers(0, 4, size)
    first, second = (generator.integers(0, rows, size) for _ in range(2))
    subject = np.searchsorted(context.by_entity.pointer, first, "right") - 1
    object, relation = context.entity_object[first], context.entity_relation[first]
    order = np.argsort(context.entity_relation, kind="stable")
    begin = np.searchsorted(context.entity_relation[order], np.arange(relations + 1))
    same = begin[relation] + (second % (begin[relation + 1] - begin[relation]))
    other = context.entity_object[order[same]]
    s, r, o = (np.choose(kind, ways).astype(np.int32) for ways in (
        (generator.integers(0, entities, size), subject, subject, subject),
        (generator.integers(0, relations, size), relation,
         generator.choice(relations, size, p=frequency), relation),
        (generator.integers(0, entities, size), object, object, other),
    ))  # fmt: skip
    counts = triple_features(context, s, r, o)
    total = np.maximum(np.bincount(context.entity_relation, minlength=relations)[r], 1)
    pair, triple, owned, had = (counts[:, TRIPLE_FEATURES.index(name)].astype(np.float64)
                                for name in ("pair", "pair r", "s r", "r o"))  # fmt: skip
    drawn = (1 / (entities**2 * relations) + triple / rows + pair / rows * frequency[r]
             + owned / rows * had / total) / 4  # fmt: skip
    return s, r, o, 1 / (size * drawn)


def triple_features(context: Context, subject: NDArray, relation: NDArray,
                    object: NDArray) -> NDArray[np.float32]:  # fmt: skip
    """Counts around each (s, r, o) over all times, [batch, F]."""
    out = np.zeros((len(subject), len(TRIPLE_FEATURES)), np.float32)
    columns = (np.ascontiguousarray(part, np.int32) for part in (subject, relation, object))
    triple_counts(context, *columns, out)
    return out


def question_features(context: Context, asked: Asked) -> NDArray[np.float32]:
    """Counts around each (s, r, t), [batch, Q]."""
    nothing = np.zeros(len(asked) + 1, np.int64), np.zeros(0, np.int32)
    return object_features(context, asked, *nothing)[1]


def fit_object_existence(model: Existence, context: Context, held_out: Facts, seed: int,
                         progress: Progress = silent) -> None:  # fmt: skip
    """Fit on held-out facts; one of an interval counts once for each of its timestamps."""
    generator = np.random.default_rng(seed)
    asked, draws = sampled_questions(context, model.settings.sample, generator)
    wanted = both_directions(held_out, context.weights.shape[1] // 2, generator)
    found = np.tile(held_out.end - held_out.start + 1.0, 2)
    counts = question_features(context, asked), question_features(context, wanted.unanswered())
    fit_existence(
        model, np.concatenate((asked.relation, wanted.relation)), np.concatenate(counts),
        np.concatenate((1 / draws, np.zeros(len(wanted)))),
        np.concatenate((np.zeros(len(asked)), found)), seed, progress,
    )  # fmt: skip


def fit_time_existence(model: Existence, context: Context, held_out: Facts, seed: int,
                       progress: Progress = silent) -> None:  # fmt: skip
    """Fit on held-out facts, in both directions; an interval has as many facts as timestamps."""
    generator = np.random.default_rng(seed)
    s, r, o, volume = sampled_triples(context, model.settings.sample, generator)
    wanted = both_directions(held_out, context.weights.shape[1] // 2, generator)
    found = np.tile(held_out.end - held_out.start + 1.0, 2)
    counts = (triple_features(context, s, r, o),
              triple_features(context, wanted.subject, wanted.relation, wanted.object))  # fmt: skip
    fit_existence(
        model, np.concatenate((r, wanted.relation)), np.concatenate(counts),
        np.concatenate((volume, np.zeros(len(wanted)))),
        np.concatenate((np.zeros(len(s)), found)), seed, progress,
    )  # fmt: skip


def dimensions(context: Context) -> tuple[int, int, int]:
    """|V|, twice |R| and |T|."""
    return len(context.neighbour_pointer) - 1, context.weights.shape[1], context.decay.shape[1]


def relation_frequency(context: Context) -> NDArray[np.float64]:
    counts = np.bincount(context.entity_relation, minlength=context.weights.shape[1])
    return counts / counts.sum()
