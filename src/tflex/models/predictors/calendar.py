"""When: the distribution of further timestamps of (s, r, o, ?), from counts around each of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from tflex.graph.facts import Facts
from tflex.models.predictors import calendar_kernels as kernels
from tflex.models.predictors.context import (
    REACH,
    WIDTH_OF_WEIGHTS,
    WIDTHS,
    mirrored,
    trace_names,
)
from tflex.models.predictors.context_kernels import Context
from tflex.models.predictors.progress import Progress, silent
from tflex.models.predictors.ranker import log_counts

CALENDAR_FEATURES = (
    trace_names("pair") + trace_names("pair r") + trace_names("pair r⁻¹")
    + ["weighted at", "weighted before", "weighted after", "paths at", "paths near"]
    + trace_names("s r") + trace_names("r o") + trace_names("s") + trace_names("o")
    + [f"{end} alike {what}" for end in ("o", "s") for what in ("at", "at r", "near")]
    + trace_names("r")
)  # fmt: skip
BLOCK = 256
"""Facts whose features of every timestamp are held at once while training."""
KNOWN = CALENDAR_FEATURES.index("pair r at")


@dataclass(frozen=True)
class CalendarSettings:
    hidden: int = 64
    relation: int = 16
    facts: int = 40_000
    """Train facts that are asked for their time, each left out of its own features."""
    negatives: int = 64
    epochs: int = 6
    batch: int = 128
    rate: float = 3e-3
    decay: float = 0.1
    dropout: float = 0.1


@dataclass(frozen=True)
class Pairs:
    """Questions (s, r, o, ?) as columns; `left`: start and end of a known fact to leave out."""

    subject: NDArray[np.int32]
    relation: NDArray[np.int32]
    object: NDArray[np.int32]
    left: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.subject)

    def take(self, rows: NDArray | slice) -> Pairs:
        return Pairs(self.subject[rows], self.relation[rows], self.object[rows], self.left[rows])

    @classmethod
    def of(cls, subject: NDArray, relation: NDArray, object: NDArray) -> Pairs:
        s, r, o = (np.ascontiguousarray(one, np.int32) for one in (subject, relation, object))
        return cls(s, r, o, np.full((len(s), 2), -1, np.int32))


def calendar_features(context: Context, alike: NDArray[np.float32],
                      asked: Pairs) -> NDArray[np.float32]:  # fmt: skip
    """Features of each timestamp, [batch, |T|, F]; `alike` are unit vectors of the entities."""
    times = context.decay.shape[1]
    out = np.empty((len(asked), times, len(CALENDAR_FEATURES)), np.float32)
    likeness = np.stack((alike[asked.subject] @ alike.T, alike[asked.object] @ alike.T), 1)
    keep = np.exp(-1 / np.array(WIDTHS)).astype(np.float32)
    kernels.all_calendar_features(
        context, asked.subject, asked.relation, asked.object, asked.left,
        likeness, keep, WIDTH_OF_WEIGHTS, REACH, out,
    )  # fmt: skip
    return out


class Calendar(nn.Module):
    """z_t = a·x_t + MLP(W x_t + U e_r), softmax over the timestamps where the fact is unknown."""

    def __init__(self, relation_count: int, settings: CalendarSettings) -> None:
        super().__init__()
        inputs, hidden = len(CALENDAR_FEATURES), settings.hidden
        self.settings = settings
        self.relation = nn.Embedding(2 * relation_count, settings.relation)
        self.first = nn.Linear(inputs, hidden)
        self.context = nn.Linear(settings.relation, hidden, bias=False)
        self.second = nn.Linear(hidden, hidden)
        self.last = nn.Linear(hidden, 1)
        self.direct = nn.Linear(inputs, 1, bias=False)
        self.register_buffer("centre", torch.zeros(inputs))
        self.register_buffer("spread", torch.ones(inputs))

    def forward(self, relation: Tensor, features: Tensor) -> Tensor:
        """Logits [batch, times] of features [batch, times, F]."""
        inputs = (log_counts(features) - self.centre) / self.spread
        hidden = (self.first(inputs) + self.context(self.relation(relation))[:, None]).relu()
        hidden = self.dropped(self.second(self.dropped(hidden)).relu())
        return (self.last(hidden) + self.direct(inputs))[..., 0]

    def dropped(self, hidden: Tensor) -> Tensor:
        return functional.dropout(hidden, self.settings.dropout, self.training)

    @torch.no_grad()
    def probabilities(self, relation: NDArray,
                      features: NDArray[np.float32]) -> NDArray[np.float32]:  # fmt: skip
        """P(t | s, r, o) of each further timestamp; known ones have 0."""
        self.eval()
        logits = self(torch.from_numpy(relation.astype(np.int64)), torch.from_numpy(features))
        known = torch.from_numpy(features[..., KNOWN] > 0)
        logits = logits.masked_fill(known, -torch.inf)
        # A fact known at every timestamp has no further one.
        return logits.softmax(1).nan_to_num(0.0).numpy()


def fit_calendar(model: Calendar, facts: Facts, context: Context, alike: NDArray[np.float32],
                 seed: int, progress: Progress = silent) -> None:  # fmt: skip
    """Fit on a sample of the known facts in both directions, each left out of its own features."""
    settings, generator = model.settings, np.random.default_rng(seed)
    both = mirrored(facts, context.weights.shape[1] // 2)
    chosen = both.take(generator.permutation(len(both))[: settings.facts])
    asked = Pairs(chosen.subject, chosen.relation, chosen.object,
                  np.stack((chosen.start, chosen.end), 1).astype(np.int32))  # fmt: skip
    features, excluded, times = [], [], context.decay.shape[1]
    negatives = min(settings.negatives, times)
    for at in range(0, len(chosen), BLOCK):
        part = asked.take(slice(at, at + BLOCK))
        every = calendar_features(context, alike, part)
        target = generator.integers(part.left[:, 0], part.left[:, 1] + 1)
        others = generator.integers(0, times, (len(part), negatives))
        drawn = np.concatenate((target[:, None], others), 1)
        kept = np.take_along_axis(every, drawn[..., None], 1)
        right = (drawn >= part.left[:, :1]) & (drawn <= part.left[:, 1:])
        excluded.append((kept[..., KNOWN] > 0) | right)
        excluded[-1][:, 0] = False
        features.append(kept.astype(np.float16))
        progress("times: features", at / len(chosen))
    _fit(model, torch.from_numpy(chosen.relation.astype(np.int64)),
         torch.from_numpy(np.concatenate(features)), torch.from_numpy(np.concatenate(excluded)),
         times / negatives, seed, progress)  # fmt: skip


def _fit(model: Calendar, relation: Tensor, features: Tensor, excluded: Tensor, share: float,
         seed: int, progress: Progress) -> None:  # fmt: skip
    """Cross entropy of the first column; each other one stands for `share` timestamps."""
    settings = model.settings
    counts = log_counts(features[:2000].flatten(0, 1))
    model.centre.copy_(counts.mean(0))
    model.spread.copy_(counts.std(0) + 0.05)
    steps = settings.epochs * -(-len(relation) // settings.batch)
    optimizer = torch.optim.AdamW(model.parameters(), lr=settings.rate, weight_decay=settings.decay)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, settings.rate, total_steps=steps + 1, pct_start=0.1
    )
    generator = torch.Generator().manual_seed(seed)
    model.train()
    for epoch in range(settings.epochs):
        for rows in torch.randperm(len(relation), generator=generator).split(settings.batch):
            logits = model(relation[rows], features[rows]).masked_fill(excluded[rows], -torch.inf)
            logits = torch.cat((logits[:, :1], logits[:, 1:] + float(np.log(share))), 1)
            loss = functional.cross_entropy(logits, torch.zeros(len(rows), dtype=torch.int64))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
        progress("times", (epoch + 1) / settings.epochs)
    model.eval()
