"""The ranker: a small network over features and scores of candidates, softmax per question."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

FLOOR = 0.03
"""Counts enter as log(1 + count / FLOOR)."""


@dataclass(frozen=True)
class RankerSettings:
    hidden: int = 64
    relation: int = 16
    """Numbers that describe the asked relation."""
    rounds: int = 3
    """Rounds over the known facts, each left out of its own features, with no scores to see."""
    negatives: int = 48
    """Candidates beside the fact itself in those rounds."""
    epochs: int = 6
    """Rounds over the held-out facts with the scores of models that never saw them."""
    batch: int = 128
    rate: float = 2e-3
    decay: float = 0.1
    dropout: float = 0.1


@dataclass
class Questions:
    """Questions with their candidates as compressed rows; at most one candidate is the answer."""

    relation: Tensor
    query: Tensor
    """Features of the question, [batch, Q]."""
    offsets: Tensor
    features: Tensor
    """Features of the candidates, [rows, F]."""
    scores: Tensor | None
    """Log-probabilities of the candidates by the embedding models, [rows, S]."""
    excluded: Tensor
    """Candidates that are known answers."""
    answer: Tensor
    """The row of the answer, or −1."""
    correction: Tensor | None = None
    """What a sample of candidates adds to the logit of each, so that it stands for all."""

    def __len__(self) -> int:
        return len(self.relation)

    @cached_property
    def rows(self) -> Tensor:
        """The question of each candidate."""
        return torch.repeat_interleave(torch.arange(len(self)), self.offsets.diff())

    def take(self, chosen: NDArray) -> Questions:
        """Some of the questions."""
        first, count = self.offsets[chosen], self.offsets.diff()[chosen]
        offsets = functional.pad(count.cumsum(0), (1, 0))
        shift = first - offsets[:-1]
        rows = torch.arange(int(offsets[-1])) + torch.repeat_interleave(shift, count)
        answer = self.answer[chosen]
        return Questions(
            self.relation[chosen], self.query[chosen], offsets, self.features[rows],
            None if self.scores is None else self.scores[rows], self.excluded[rows],
            torch.where(answer >= 0, answer - shift, -1),
            None if self.correction is None else self.correction[rows],
        )  # fmt: skip


class Ranker(nn.Module):
    """z_o = a·x_o + MLP(W x_o + U [y, e_r]) of candidates, and a logit that none of them is meant.

    x_o are the candidate's features and scores, y the question's features, e_r is learned of r.
    """

    def __init__(self, features: int, scores: int, query: int, relation_count: int,
                 settings: RankerSettings) -> None:  # fmt: skip
        super().__init__()
        self.settings = settings
        hidden, inputs = settings.hidden, features + scores
        self.relation = nn.Embedding(2 * relation_count, settings.relation)
        nn.init.normal_(self.relation.weight, std=0.1)
        self.first = nn.Linear(inputs, hidden)
        self.context = nn.Linear(query + settings.relation, hidden)
        self.second = nn.Linear(hidden, hidden)
        self.last = nn.Linear(hidden, 1)
        self.direct = nn.Linear(inputs, 1, bias=False)
        self.none = nn.Linear(hidden, 1)
        self.register_buffer("centre", torch.zeros(inputs))
        self.register_buffer("spread", torch.ones(inputs))
        self.register_buffer("query_centre", torch.zeros(query))
        self.register_buffer("query_spread", torch.ones(query))

    @torch.no_grad()
    def normalise(self, questions: Questions) -> None:
        """Take centre and spread of the inputs from questions with scores."""
        assert questions.scores is not None
        inputs = torch.cat((log_counts(questions.features), questions.scores), 1)
        query = log_counts(questions.query)
        self.centre.copy_(inputs.mean(0))
        self.spread.copy_(inputs.std(0) + 0.05)
        self.query_centre.copy_(query.mean(0))
        self.query_spread.copy_(query.std(0) + 0.05)

    def sums(self, questions: Questions) -> Tensor:
        """a·x and W x of every candidate, [rows, 1 + hidden], x with centre 0 and spread 1.

        Centre and spread are taken into the weights; without scores, each has the mean.
        """
        scale = 1 / self.spread
        weight = torch.cat((self.direct.weight, self.first.weight)) * scale
        counts = log_counts(questions.features)
        width = counts.shape[1]
        if questions.scores is None:
            return functional.linear(counts - self.centre[:width], weight[:, :width])
        of_counts = functional.linear(counts, weight[:, :width], -(weight @ self.centre))
        return of_counts + functional.linear(questions.scores, weight[:, width:])

    def forward(self, questions: Questions) -> tuple[Tensor, Tensor]:
        """Logits of the candidates, [rows] (−∞ for known answers), and of none of them, [batch]."""
        sums = self.sums(questions)
        query = (log_counts(questions.query) - self.query_centre) / self.query_spread
        context = self.context(torch.cat((query, self.relation(questions.relation)), 1))
        shift = context + self.first.bias
        hidden = self.dropped((sums[:, 1:] + shift[questions.rows]).relu_())
        hidden = self.dropped(self.second(hidden).relu_())
        logits = self.last(hidden)[:, 0] + sums[:, 0]
        if questions.correction is not None:
            logits = logits + questions.correction
        return logits.masked_fill(questions.excluded, -torch.inf), self.none(context.relu())[:, 0]

    def dropped(self, hidden: Tensor) -> Tensor:
        return functional.dropout(hidden, self.settings.dropout, self.training)


def log_counts(counts: Tensor) -> Tensor:
    return (counts.float() / FLOOR).log1p_()


def log_probabilities(logits: Tensor, none: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
    """Softmax over each question's candidates and the logit `none`: their log-probabilities."""
    highest = none.scatter_reduce(0, rows, logits, "amax").detach()
    total = (none - highest).exp().index_add(0, rows, (logits - highest[rows]).exp())
    norm = highest + total.log()
    return logits - norm[rows], none - norm


def cross_entropy(model: Ranker, questions: Questions) -> Tensor:
    logits, nothing = model(questions)
    candidates, none = log_probabilities(logits, nothing, questions.rows)
    return -torch.where(
        questions.answer >= 0, candidates[questions.answer.clamp_min(0)], none
    ).mean()
