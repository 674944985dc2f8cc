"""The history model: each fact of the subject near the asked time may answer again, or vote."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from tflex.graph.facts import Facts
from tflex.models.predictors.context import Asked, both_directions
from tflex.models.predictors.context_kernels import Context
from tflex.models.predictors.embeddings import Halved, product, tensors
from tflex.models.predictors.progress import Progress, silent
from tflex.models.predictors.question_kernels import near_rows

GAPS = (-180, -90, -45, -25, -14, -9, -6, -4, -3, -2, -1, 0, 1, 2, 3, 4, 6, 9, 14, 25, 45, 90, 180)
"""Bounds of the classes of signed gaps (in timestamps) between an event and the asked time."""
SILENT = -1e4
"""The logit of an event that is none."""


@dataclass(frozen=True)
class HistorySettings:
    dimension: int = 128
    hidden: int = 64
    heads: int = 4
    window: int = 64
    """Events of the subject that are looked at, nearest to the asked time first."""
    epochs: int = 7
    batch: int = 1000
    rate: float = 3e-3
    decay: float = 0.1
    dropout: float = 0.3


@dataclass(frozen=True)
class Window:
    """Events of each asked subject near the asked time, [batch, window]."""

    relation: Tensor
    object: Tensor
    gap: Tensor
    """Class of the signed gap to the asked time."""
    present: Tensor


class History(nn.Module):
    """λ(o | s, r, t) = exp(q·e_o + b_o) + Σ_{i : o_i = o} exp g_i: a guess and repetitions.

    The events i = (r_i, o_i, t_i) of s near t speak through h_i = relu(a_r + b_{r_i} + c_{gap}):
    g_i is linear in h_i, and so are the attentions by which q = r′ + s ∘ r + W Σ_i α_i e_{o_i} ∘
    (1 + d_{r_i}) collects votes. The probability of o is λ(o) / Σ λ.
    """

    def __init__(self, entity_count: int, relation_count: int, settings: HistorySettings,
                 generator: torch.Generator | None = None) -> None:  # fmt: skip
        super().__init__()
        self.settings = settings
        size, hidden = settings.dimension, settings.hidden

        def table(rows: int, columns: int, deviation: float) -> nn.Parameter:
            return nn.Parameter(deviation * torch.randn(rows, columns, generator=generator))

        self.entities = table(entity_count, size, 0.05)
        self.halved = Halved()
        self.bias = nn.Parameter(torch.zeros(entity_count))
        self.subjects = table(entity_count, size, 0.05)
        self.relation_scale = table(2 * relation_count, size, 0.5)
        self.relation_shift = table(2 * relation_count, size, 0.05)
        self.asked = table(2 * relation_count, hidden, 0.3)
        self.event = table(2 * relation_count, hidden, 0.3)
        self.gap = table(len(GAPS) + 1, hidden, 0.3)
        self.event_scale = table(2 * relation_count, size, 0.3)
        self.speak = table(1 + settings.heads, hidden, hidden**-0.5)
        self.speak_bias = nn.Parameter(torch.full((1 + settings.heads,), -1.0))
        self.collect = table(size, settings.heads * size, (settings.heads * size) ** -0.5)

    def forward(self, subject: Tensor, relation: Tensor, events: Window) -> tuple[Tensor, Tensor]:
        """Logits of the guess [batch, |V|] and of each event's repetition [batch, window]."""
        settings = self.settings

        def dropped(vector: Tensor) -> Tensor:
            return functional.dropout(vector, settings.dropout, self.training)

        hidden = functional.embedding(events.relation, self.event)
        hidden = hidden + functional.embedding(events.gap, self.gap)
        hidden = (hidden + functional.embedding(relation, self.asked)[:, None]).relu()
        said = functional.linear(hidden, self.speak, self.speak_bias)
        said = said.masked_fill(~events.present[..., None], SILENT)
        # A zero logit beside the events lets a head listen to none of them.
        attention = functional.pad(said[..., 1:], (0, 0, 0, 1)).softmax(1)[:, :-1]
        voters = functional.embedding(events.object, self.entities)
        voters = voters * (1 + functional.embedding(events.relation, self.event_scale))
        votes = torch.bmm(attention.transpose(1, 2), voters).flatten(1)
        query = functional.embedding(relation, self.relation_shift)
        query = query + dropped(
            functional.embedding(subject, self.subjects)
        ) * functional.embedding(relation, self.relation_scale)
        query = query + functional.linear(dropped(votes), self.collect)
        return product(query, self.entities, self.halved).float() + self.bias, said[..., 0]

    def loss(self, subject: Tensor, relation: Tensor, object: Tensor, events: Window) -> Tensor:
        """Mean of log Σ λ − log λ(o), without the rates of all entities."""
        guess, repeat = self(subject, relation, events)
        right = repeat.masked_fill(events.object != object[:, None], SILENT)
        everything = torch.logaddexp(guess.logsumexp(1), repeat.logsumexp(1))
        wanted = torch.logaddexp(guess.gather(1, object[:, None])[:, 0], torch.logsumexp(right, 1))
        return (everything - wanted).mean()

    @torch.no_grad()
    def object_scores(self, context: Context, asked: Asked) -> Tensor:
        """log P(o | s, r, t) of all entities, [batch, |V|]."""
        self.eval()
        events = window(context, asked, self.settings.window)
        guess, repeat = self(*tensors(asked.subject, asked.relation), events)
        top = torch.maximum(guess.max(1).values, repeat.max(1).values)[:, None]
        rates = (guess - top).exp_().scatter_add_(1, events.object, (repeat - top).exp())
        return rates.div_(rates.sum(1, keepdim=True)).clamp_min_(1e-12).log_()


def window(context: Context, asked: Asked, size: int) -> Window:
    """The events of each subject nearest in rank to the asked time, without the answer itself."""
    rows = np.empty((len(asked), size), np.int64)
    gaps = np.empty((len(asked), size), np.int64)
    near_rows(context, asked.subject, asked.time, asked.relation, asked.object, np.array(GAPS),
              rows, gaps)  # fmt: skip
    present = rows >= 0
    rows[~present] = 0
    if not len(context.entity_relation):
        nothing = torch.zeros(rows.shape, dtype=torch.int64)
        return Window(nothing, nothing, nothing, torch.from_numpy(present))
    relation, object, gap = tensors(
        context.entity_relation[rows], context.entity_object[rows], gaps
    )
    return Window(relation, object, gap, torch.from_numpy(present))


def fit_history(model: History, facts: Facts, context: Context, seed: int,
                progress: Progress = silent, deadline: float = np.inf) -> None:  # fmt: skip
    """Train to tell each known fact, in both directions, from the other facts of its subject."""
    settings, draw = model.settings, np.random.default_rng(seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=settings.rate, weight_decay=settings.decay)
    steps = settings.epochs * -(-2 * len(facts) // settings.batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, settings.rate, total_steps=steps + 1, pct_start=0.1
    )
    model.train()
    for epoch in range(settings.epochs):
        asked = both_directions(facts, len(model.event) // 2, draw)
        order = draw.permutation(len(asked))
        for at in range(0, len(order), settings.batch):
            rows = asked.take(order[at : at + settings.batch])
            events = window(context, rows, settings.window)
            subject, relation, object = tensors(rows.subject, rows.relation, rows.object)
            loss = model.loss(subject, relation, object, events)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            progress("history", (epoch + at / len(order)) / settings.epochs)
            if time.monotonic() > deadline:
                model.eval()
                return
    model.eval()
