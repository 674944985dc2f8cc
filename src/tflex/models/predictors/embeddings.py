"""Link prediction from embeddings alone: TNTComplEx, and the translations TTransE and HyTE."""

from __future__ import annotations

import time as clock
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from tflex.graph.facts import Facts
from tflex.models.predictors.progress import Progress, silent

Score = Literal["tntcomplex", "ttranse", "hyte"]


@dataclass(frozen=True)
class EmbeddingSettings:
    score: Score = "tntcomplex"
    rank: int = 300
    """Length of the vectors: complex numbers for tntcomplex, real ones for the translations."""
    epochs: int = 10
    batch: int = 2000
    rate: float = 0.1
    norm: float = 1e-2
    """Weight of the nuclear 3-norm of the embeddings of a batch (tntcomplex)."""
    smoothness: float = 1e-1
    """Weight of the 4-norm of the differences of neighbouring timestamps (tntcomplex)."""
    time_weight: float = 0.2
    """Weight of the softmax over timestamps beside the one over objects."""


class Embedding(nn.Module, ABC):
    """φ(s,r,o,t) for all objects, and for all timestamps, at once.

    Every relation has an inverse with a vector of its own, so objects are the only entities asked.
    """

    def __init__(self, counts: tuple[int, int, int]) -> None:
        super().__init__()
        self.relation_count = counts[1]

    @abstractmethod
    def objects(self, subject: Tensor, relation: Tensor, time: Tensor) -> Tensor:
        """φ(s,r,·,t), [batch, |V|]."""

    @abstractmethod
    def moments(self, subject: Tensor, relation: Tensor, object: Tensor) -> Tensor:
        """φ(s,r,o,·) up to a constant of each row, [batch, |T|]."""

    def penalty(self, rows: Tensor, settings: EmbeddingSettings) -> Tensor | float:
        """What the training adds to the loss for the rows (s, r, o, t) of a batch."""
        return 0.0

    @torch.no_grad()
    def object_scores(self, subject: NDArray, relation: NDArray, time: NDArray) -> Tensor:
        return self.objects(*tensors(subject, relation, time)).float()

    @torch.no_grad()
    def time_scores(self, subject: NDArray, relation: NDArray, object: NDArray) -> Tensor:
        return self.moments(*tensors(subject, relation, object)).float()


class TNTComplEx(Embedding):
    """φ(s,r,o,t) = Re⟨e_s, r ∘ τ_t + r′, ē_o⟩ (Lacroix, Obozinski, Usunier 2020).

    Complex vectors of length `rank` stand as their real halves followed by their imaginary halves.
    """

    def __init__(self, counts: tuple[int, int, int], rank: int,
                 generator: torch.Generator | None = None) -> None:  # fmt: skip
        super().__init__(counts)
        entities, relations, times = counts

        def table(rows: int) -> nn.Parameter:
            return nn.Parameter(1e-2 * torch.randn(rows, 2 * rank, generator=generator))

        self.entities = table(entities)
        self.halved = Halved()
        self.temporal = table(2 * relations)
        self.static = table(2 * relations)
        self.times = table(times)

    def relation_at(self, relation: Tensor, time: Tensor) -> Tensor:
        """r ∘ τ_t + r′, [batch, 2·rank]."""
        return complex_product(self.temporal[relation], self.times[time]) + self.static[relation]

    def objects(self, subject: Tensor, relation: Tensor, time: Tensor) -> Tensor:
        """Re⟨(e_s ∘ (r ∘ τ_t + r′)), ē_o⟩: an inner product with each entity."""
        query = complex_product(self.entities[subject], self.relation_at(relation, time))
        return product(query, self.entities, self.halved)

    def moments(self, subject: Tensor, relation: Tensor, object: Tensor) -> Tensor:
        """Re⟨τ_t, conj(e_s ∘ r) ∘ e_o⟩; the static r′ adds the same to every timestamp."""
        half = complex_product(self.entities[subject], self.temporal[relation])
        return complex_product(conjugate(half), self.entities[object]) @ self.times.T

    def penalty(self, rows: Tensor, settings: EmbeddingSettings) -> Tensor:
        """Ω³ of the batch's embeddings and Λ⁴ of the timestamps' steps (the paper's section 3).

        The paper takes the norms of r ∘ τ_t and of r′ apart, and of the entities twice; here it is
        that of their sum, which is what a score is made of.
        """
        subject, relation, object, time = rows
        norms = (cubes(self.entities[subject]) + cubes(self.relation_at(relation, time))
                 + cubes(self.entities[object]))  # fmt: skip
        real, imaginary = (self.times[1:] - self.times[:-1]).chunk(2, -1)
        steps = (real.square() + imaginary.square()).square().sum() / max(len(self.times) - 1, 1)
        return settings.norm * norms / len(subject) + settings.smoothness * steps


class TTransE(Embedding):
    """φ(s,r,o,t) = −‖e_s + r + τ_t − e_o‖₂ (Leblay, Chekol 2018, the vector-based variant)."""

    def __init__(self, counts: tuple[int, int, int], rank: int,
                 generator: torch.Generator | None = None) -> None:  # fmt: skip
        super().__init__(counts)
        self.entities, self.relations, self.times = translations(counts, rank, generator)

    def objects(self, subject: Tensor, relation: Tensor, time: Tensor) -> Tensor:
        """−‖q − e_o‖₂ of q = e_s + r + τ_t."""
        query = self.entities[subject] + self.relations[relation] + self.times[time]
        return -root(squares(query)[:, None] + squares(self.entities) - 2 * query @ self.entities.T)

    def moments(self, subject: Tensor, relation: Tensor, object: Tensor) -> Tensor:
        """−‖q + τ_t‖₂ of q = e_s + r − e_o."""
        query = self.entities[subject] + self.relations[relation] - self.entities[object]
        return -root(squares(query)[:, None] + squares(self.times) + 2 * query @ self.times.T)


class HyTE(Embedding):
    """φ(s,r,o,t) = −‖P_t(e_s) + P_t(r) − P_t(e_o)‖₂, P_t(x) = x − (w_tᵀx) w_t with ‖w_t‖ = 1
    (Dasgupta, Ray, Talukdar 2018)."""

    def __init__(self, counts: tuple[int, int, int], rank: int,
                 generator: torch.Generator | None = None) -> None:  # fmt: skip
        super().__init__(counts)
        self.entities, self.relations, self.times = translations(counts, rank, generator)

    def objects(self, subject: Tensor, relation: Tensor, time: Tensor) -> Tensor:
        """−‖P(q) − P(e_o)‖₂ of q = e_s + r, where ‖P(x)‖² = ‖x‖² − (wᵀx)²."""
        normal = functional.normalize(self.times[time], dim=1)
        query = self.entities[subject] + self.relations[relation]
        query = query - (query * normal).sum(1, keepdim=True) * normal
        projected = squares(self.entities) - (normal @ self.entities.T).square()
        return -root(squares(query)[:, None] + projected - 2 * query @ self.entities.T)

    def moments(self, subject: Tensor, relation: Tensor, object: Tensor) -> Tensor:
        """−√(‖q‖² − (w_tᵀq)²) of q = e_s + r − e_o."""
        query = self.entities[subject] + self.relations[relation] - self.entities[object]
        along = query @ functional.normalize(self.times, dim=1).T
        return -root(squares(query)[:, None] - along.square())


SCORES: dict[str, type[TNTComplEx] | type[TTransE] | type[HyTE]] = {
    "tntcomplex": TNTComplEx, "ttranse": TTransE, "hyte": HyTE,
}  # fmt: skip


def build_embedding(settings: EmbeddingSettings, counts: tuple[int, int, int],
                    generator: torch.Generator | None = None) -> Embedding:  # fmt: skip
    """A fresh embedding of so many entities, relations and timestamps."""
    return SCORES[settings.score](counts, settings.rank, generator)


def tensors(*columns: NDArray) -> list[Tensor]:
    """Columns of ids for torch."""
    return [torch.from_numpy(np.asarray(column, np.int64)) for column in columns]


def translations(counts: tuple[int, int, int], rank: int,
                 generator: torch.Generator | None) -> list[nn.Parameter]:  # fmt: skip
    """Tables of entities, relations with inverses, and times."""
    rows = (counts[0], 2 * counts[1], counts[2])
    return [nn.Parameter(rank**-0.5 * torch.randn(n, rank, generator=generator)) for n in rows]


def squares(vectors: Tensor) -> Tensor:
    """‖x‖₂² of each row."""
    return vectors.square().sum(1)


def root(values: Tensor) -> Tensor:
    """√x, kept away from 0, where its slope is infinite."""
    return values.clamp_min(1e-6).sqrt()


def complex_product(left: Tensor, right: Tensor) -> Tensor:
    """(a + bi)(c + di) on halves."""
    (a, b), (c, d) = left.chunk(2, -1), right.chunk(2, -1)
    return torch.cat((a * c - b * d, a * d + b * c), -1)


def conjugate(vector: Tensor) -> Tensor:
    real, imaginary = vector.chunk(2, -1)
    return torch.cat((real, -imaginary), -1)


def cubes(vector: Tensor) -> Tensor:
    """Σ |z|³ over the complex entries."""
    real, imaginary = vector.chunk(2, -1)
    return ((real.square() + imaginary.square() + 1e-12) ** 1.5).sum()


class Halved:
    """A table in bfloat16: the copy is kept until the table changes, if no gradients are wanted."""

    def __init__(self) -> None:
        self._made: tuple[tuple[int, int], Tensor] | None = None

    def of(self, table: Tensor) -> Tensor:
        if torch.is_grad_enabled():
            return table.bfloat16()
        state, made = (table.data_ptr(), table._version), self._made
        if made is None or made[0] != state:
            made = self._made = state, table.bfloat16()
        return made[1]


def product(query: Tensor, table: Tensor, halved: Halved) -> Tensor:
    """query · tableᵀ, in bfloat16 where the processor has instructions for it."""
    if bfloat16_is_fast():
        return query.bfloat16() @ halved.of(table).T
    return query @ table.T


def bfloat16_is_fast() -> bool:
    return bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


def embedding_loss(model: Embedding, rows: Tensor, settings: EmbeddingSettings) -> Tensor:
    """Cross entropy of objects and of timestamps with the penalty, for rows (s, r, o, t)."""
    subject, relation, object, time = rows
    scores = model.objects(subject, relation, time).float()
    total = functional.cross_entropy(scores, object)
    if settings.time_weight:
        asked = model.moments(subject, relation, object)
        total = total + settings.time_weight * functional.cross_entropy(asked, time)
    return total + model.penalty(rows, settings)


def fit_embedding(model: Embedding, facts: Facts, settings: EmbeddingSettings, seed: int,
                  progress: Progress = silent, deadline: float = np.inf) -> None:  # fmt: skip
    """Train on facts, each in both directions; of an interval, another timestamp each epoch."""
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adagrad(model.parameters(), lr=settings.rate)
    subject, relation, object, start, end = tensors(*facts.columns()[:5])
    inverse = relation + model.relation_count
    for epoch in range(settings.epochs):
        drawn = start + (torch.rand(len(start), generator=generator) * (end - start + 1)).long()
        rows = torch.stack((
            torch.cat((subject, object)), torch.cat((relation, inverse)),
            torch.cat((object, subject)), torch.cat((drawn, drawn)),
        ))  # fmt: skip
        rows = rows[:, torch.randperm(rows.shape[1], generator=generator)]
        for at in range(0, rows.shape[1], settings.batch):
            optimizer.zero_grad()
            embedding_loss(model, rows[:, at : at + settings.batch], settings).backward()
            optimizer.step()
            progress("embedding", (epoch + at / rows.shape[1]) / settings.epochs)
            if clock.monotonic() > deadline:
                return
