"""Scores of embeddings agree with their papers' equations, one fact at a time."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tflex.graph.facts import Facts
from tflex.models.predictors.embeddings import (
    SCORES,
    Embedding,
    EmbeddingSettings,
    build_embedding,
    embedding_loss,
    fit_embedding,
)

COUNTS = (5, 2, 4)
RANK = 3


def built(name: str) -> Embedding:
    settings = EmbeddingSettings(name, rank=RANK)  # type: ignore[arg-type]
    model = build_embedding(settings, COUNTS, torch.Generator().manual_seed(1))
    with torch.no_grad():
        for table in model.parameters():
            table.mul_(10)
    return model


def tables(model: Embedding) -> dict[str, np.ndarray]:
    return {name: one.detach().double().numpy() for name, one in model.named_parameters()}


def tntcomplex(model: Embedding, s: int, r: int, o: int, t: int) -> float:
    """Re Σ_k e_s[k] (r[k] τ_t[k] + r'[k]) conj(e_o[k])."""
    of = {name: one[:, :RANK] + 1j * one[:, RANK:] for name, one in tables(model).items()}
    relation = of["temporal"][r] * of["times"][t] + of["static"][r]
    return float((of["entities"][s] * relation * of["entities"][o].conj()).sum().real)


def ttranse(model: Embedding, s: int, r: int, o: int, t: int) -> float:
    of = tables(model)
    return -float(np.linalg.norm(
        of["entities"][s] + of["relations"][r] + of["times"][t] - of["entities"][o]
    ))  # fmt: skip


def hyte(model: Embedding, s: int, r: int, o: int, t: int) -> float:
    of = tables(model)
    normal = of["times"][t] / np.linalg.norm(of["times"][t])
    s_, r_, o_ = (x - (normal @ x) * normal
                  for x in (of["entities"][s], of["relations"][r], of["entities"][o]))  # fmt: skip
    return -float(np.linalg.norm(s_ + r_ - o_))


SCALAR = {"tntcomplex": tntcomplex, "ttranse": ttranse, "hyte": hyte}


def test_every_score_has_a_scalar_version() -> None:
    assert set(SCALAR) == set(SCORES)


@pytest.mark.parametrize("name", SCALAR)
def test_scores_are_the_equations(name: str) -> None:
    model, scalar = built(name), SCALAR[name]
    s, r, o, t = 1, 3, 2, 0
    columns = [np.array([one]) for one in (s, r, t)]
    expected = [scalar(model, s, r, object, t) for object in range(COUNTS[0])]
    assert model.object_scores(*columns)[0].tolist() == pytest.approx(expected, rel=1e-2, abs=5e-2)
    columns = [np.array([one]) for one in (s, r, o)]
    found = model.time_scores(*columns)[0].tolist()
    expected = [scalar(model, s, r, o, time) for time in range(COUNTS[2])]
    # What does not depend on the time may be left out.
    shift = found[0] - expected[0]
    assert name == "tntcomplex" or abs(shift) < 1e-4
    assert found == pytest.approx([one + shift for one in expected], rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("name", SCALAR)
def test_training_finds_the_facts(name: str) -> None:
    """Each entity but the last is related to the next one, which a translation can say, too."""
    rows = np.array([(s, 0, s + 1, t) for s in range(4) for t in range(4)])
    facts = Facts.of(*rows.T)
    settings = EmbeddingSettings(name, rank=16, epochs=40, batch=8, norm=1e-4)  # type: ignore[arg-type]
    model = build_embedding(settings, COUNTS, torch.Generator().manual_seed(0))
    with torch.no_grad():
        before = float(embedding_loss(model, torch.from_numpy(rows.T.copy()), settings))
    fit_embedding(model, facts, settings, 0)
    with torch.no_grad():
        assert float(embedding_loss(model, torch.from_numpy(rows.T.copy()), settings)) < before
    for subject, relation, object in ((facts.subject, 0, facts.object),
                                      (facts.object, 2, facts.subject)):  # fmt: skip
        scores = model.object_scores(subject, np.full(len(facts), relation), facts.start)
        assert (scores.argmax(1).numpy() == object).all()
