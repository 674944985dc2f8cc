"""Link prediction: questions, filters and ranks, against a scalar version."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.strategies import graph_of
from tflex.errors import DataError
from tflex.evaluation.links import link_questions, score_links
from tflex.evaluation.literature import published_links
from tflex.graph.facts import Level

GRAPH = graph_of([
    (0, 0, 1, 0, 1, 0), (0, 0, 2, 1, 1, 2), (3, 0, 2, 1, 1, 2), (0, 0, 3, 1, 1, 1),
    (2, 1, 3, 0, 3, 2),
], 4, 2, 4)  # fmt: skip


class Guess:
    """Scores that depend on nothing but the question, with ties."""

    name = "guess"

    def scores(self, structure: str, anchors: Any) -> np.ndarray:
        width = 4
        seeds = (np.asarray(anchors) * [7, 5, 3]).sum(1)
        return ((seeds[:, None] + np.arange(width) * 2) % 3).astype(np.float32)


def expected(filtered: bool) -> dict[str, list[float]]:
    """Ranks of every test fact, one by one."""
    facts = [tuple(row) for row in zip(*(c.tolist() for c in GRAPH.facts.columns()), strict=True)]
    held = {(s, r, o, t) for s, r, o, a, b, _ in facts for t in range(a, b + 1)}
    held |= {(o, r + 2, s, t) for s, r, o, t in held}
    questions = link_questions(GRAPH, Level.test)
    found: dict[str, list[float]] = {"objects": [], "subjects": [], "times": []}

    def rank(scores: np.ndarray, target: int, others: set[int]) -> float:
        rivals = [i for i in range(4) if i != target and not (filtered and i in others)]
        above = sum(scores[i] > scores[target] for i in rivals)
        return 1 + above + sum(scores[i] == scores[target] for i in rivals) / 2

    for row, (s, r, t) in enumerate(questions.objects.tolist()):
        (scores,) = Guess().scores("Pe", [(s, r, t)])
        others = {o for o in range(4) if (s, r, o, t) in held}
        name = "objects" if row < questions.facts else "subjects"
        found[name].append(rank(scores, int(questions.answers[row]), others))
    for row, (s, r, o) in enumerate(questions.times.tolist()):
        (scores,) = Guess().scores("Pt", [(s, r, o)])
        others = {t for t in range(4) if (s, r, o, t) in held}
        found["times"].append(rank(scores, int(questions.moments[row]), others))
    return found


def test_questions_are_the_facts_of_the_split() -> None:
    questions = link_questions(GRAPH, Level.test)
    assert questions.objects[:2].tolist() == [[0, 0, 1], [2, 1, questions.moments[1]]]
    assert questions.objects[3:].tolist()[0] == [2, 2, 1] and questions.facts == 3
    assert questions.answers.tolist() == [2, 3, 2, 0, 2, 3]
    # The interval is asked at one of its timestamps, the same for the same seed.
    assert 0 <= questions.moments[1] <= 3
    assert (questions.moments == link_questions(GRAPH, Level.test).moments).all()
    assert link_questions(GRAPH, Level.test, limit=1).facts == 1
    with pytest.raises(DataError, match="no valid facts"):
        link_questions(graph_of([(0, 0, 0, 0, 0, 0)], 1, 1, 1), Level.valid)


def test_ranks_agree_with_a_scalar_version() -> None:
    found = score_links(Guess(), GRAPH, link_questions(GRAPH, Level.test), "train")
    for prefix, filtered in (("", True), ("raw ", False)):
        ranks = expected(filtered)
        ranks["both"] = ranks["objects"] + ranks["subjects"]
        for name, listed in ranks.items():
            values = np.array(listed)
            metrics = found.metrics[name]
            assert metrics[f"{prefix}mrr"] == pytest.approx((1 / values).mean())
            assert metrics[f"{prefix}hits@1"] == pytest.approx((values <= 1).mean())
            assert metrics[f"{prefix}hits@3"] == pytest.approx((values <= 3).mean())
    assert (found.reasoner, found.view, found.facts) == ("guess", "train", 3)


def test_published_results_are_there_for_their_datasets() -> None:
    for name in ("ICEWS14", "icews05-15", "GDELT-500", "yago11k", "wikidata12k"):
        rows = published_links(name)
        assert len(rows) > 5
        assert [row.mrr for row in rows] == sorted(row.mrr for row in rows)
        assert all(row.source and 0 < row.mrr < 1 for row in rows)
    tflex = next(row for row in published_links("ICEWS14") if row.method == "TFLEX")
    assert (tflex.mrr, tflex.hits10) == pytest.approx((0.482, 0.723))
    assert published_links("my own") == []
