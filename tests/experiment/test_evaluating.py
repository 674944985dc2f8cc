"""Preparing queries for a protocol, from sampled and published files, and evaluating on them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.properties.test_engine import random_anchors
from tflex.errors import DataError
from tflex.evaluation import PUBLISHED, STRICT
from tflex.exact.reference import Quadruples, answer
from tflex.experiment.evaluating import (
    Asked,
    Contestant,
    Evaluation,
    exact,
    frequency,
    from_dataset,
    from_files,
    limited,
    with_the_papers,
)
from tflex.experiment.preparing import Preparer, boundary_root
from tflex.graph.facts import Level
from tflex.graph.temporal_graph import TemporalGraph
from tflex.query.algebra import Node, Or, Pe, Slot, Sort, expand
from tflex.query.published import STRUCTURES
from tflex.query.structures import Structure, Structures
from tflex.query.text import parse_structures
from tflex.sampling.costs import every_atom_missing
from tflex.sampling.counts import equal_counts
from tflex.sampling.dataset import QueryDataset, sample_dataset

SAMPLED = ("Pe", "e2i", "Pe_t2i_N", "Pt", "aPt", "between")


@pytest.fixture(scope="module")
def dataset(small_graph: TemporalGraph, tmp_path_factory: pytest.TempPathFactory) -> QueryDataset:
    structures = [STRUCTURES[name] for name in SAMPLED]
    counts = equal_counts(25, structures, [Level.valid, Level.test])
    return sample_dataset(small_graph, tmp_path_factory.mktemp("queries"), structures, counts)


def by_brute_force(
    graph: TemporalGraph, structure: Structure, anchors: np.ndarray
) -> list[list[set[int]]]:
    """The answers of each query on the three views."""
    known = [Quadruples(graph.view(level)) for level in Level]
    queries: list[Node] = [structure(*(int(one) for one in row)) for row in anchors]
    return [[set(answer(one, query)) for one in known] for query in queries]


@pytest.mark.parametrize("name", ["Pe", "Pt", "Pe2", "e2i_N", "Pt_sPe", "aPt", "between"])
@pytest.mark.parametrize("split", [Level.valid, Level.test])
def test_targets_by_the_definitions(small_graph: TemporalGraph, name: str, split: Level) -> None:
    graph, structure = small_graph, STRUCTURES[name]
    anchors = random_anchors(structure, graph, 80, 4)
    views = by_brute_force(graph, structure, anchors)
    preparer = Preparer(graph)
    strict = preparer.strict(structure, anchors, split)
    expected = {}
    for row, one in enumerate(views):
        known, answers = one[split - 1], one[split]
        if answers and answers != known:
            expected[row] = sorted(answers - known or answers)
    found = {int(row): strict.targets[at].tolist() for at, row in enumerate(strict.rows)}
    assert found == expected
    assert strict.root == {"aPt": "after", "between": "between"}.get(name)

    published = preparer.published(structure, anchors, split)
    expected = {}
    for row, one in enumerate(views):
        easy = one[0] if len(one[0]) < len(one[split]) else set()
        if name in ("Pe", "Pt"):
            easy = one[split - 1]
            if anchors[row][1] >= graph.relation_count:
                continue
        if one[split] - easy:
            expected[row] = sorted(one[split] - easy)
    found = {int(row): published.targets[at].tolist() for at, row in enumerate(published.rows)}
    assert found == expected


def test_costs_stand_beside_the_targets(small_graph: TemporalGraph, dataset: QueryDataset) -> None:
    for name in ("e2i", "Pe_t2i_N", "Pt"):
        sampled = dataset.load(name, "test")
        queries = Preparer(small_graph).strict(STRUCTURES[name], sampled.anchors, Level.test)
        assert queries.targets.ids.tolist() == sampled.targets.ids.tolist()
        assert queries.missing is not None
        assert queries.missing.tolist() == sampled.missing.tolist()


def test_every_atom_missing() -> None:
    assert every_atom_missing(STRUCTURES["e2i"], np.array([0, 1, 2], np.int16)).tolist() == [
        False, False, True,
    ]  # fmt: skip
    # No atom of `after` can be missing.
    assert not every_atom_missing(STRUCTURES["aPt"], np.zeros(2, np.int16)).any()
    # Of two atoms on one branch and one on the other, one missing may be either.
    slots = [Slot(f"s{at}", Sort.ENTITY) for at in range(2)]
    r, t = Slot("r", Sort.RELATION), Slot("t", Sort.TIME)
    one, two = Pe(slots[1], r, t), Pe(Pe(slots[0], r, t), r, t)
    lopsided = Structure("lopsided", (*slots, r, t), Or(one, two))
    assert not every_atom_missing(lopsided, np.array([1, 2], np.int16)).any()


def test_the_root_of_between_is_known_by_its_definition_too() -> None:
    between = STRUCTURES["between"].body
    assert [boundary_root(one) for one in (between, expand(between))] == ["between", "between"]
    assert boundary_root(STRUCTURES["aPt"].body) == "after"
    assert boundary_root(STRUCTURES["t2i"].body) is None


def test_from_a_dataset(dataset: QueryDataset) -> None:
    every = from_dataset(dataset, Level.test)
    assert [one.structure.name for one in every] == [one.name for one in dataset.structures()]
    some = from_dataset(dataset, Level.valid, [STRUCTURES["Pt"], STRUCTURES["Pe3"]])
    assert [one.structure.name for one in some] == ["Pt"]
    assert some[0].anchors.tolist() == dataset.load("Pt", "valid").anchors.tolist()
    assert not from_dataset(dataset, Level.train)


def test_from_published_files(small_graph: TemporalGraph, tmp_path: Path) -> None:
    lines = [
        {"query_name": "Pe_e2i_Pe_NPe", "query": [0, 0, 1, 2, 0, 3, 1, 4], "answer": [1]},
        {"query_name": "Pe", "query": [0, 0, 1], "answer": [2]},
    ]
    (tmp_path / "some.jsonl").write_text("\n".join(map(json.dumps, lines)))
    found = {
        one.structure.name: one.anchors.tolist() for one in from_files([tmp_path], small_graph)
    }
    assert found == {"Pe": [[0, 0, 1]], "Pe_e2i_N": [[0, 0, 1, 2, 0, 3, 1, 4]]}
    (alone,) = from_files([tmp_path], small_graph, [STRUCTURES["Pe"]])
    assert alone.structure.name == "Pe"


def test_structures_of_a_users_own_join_the_papers(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("def mine(s1, r1, t1): return Not(Pe(s1, r1, t1))\n")
    mine = parse_structures(path)
    known = with_the_papers([*mine, STRUCTURES["Pe"]])
    assert known["mine"] is mine[0]
    assert known["2p"] is STRUCTURES["Pe2"]
    assert len(known) == len(STRUCTURES) + 1


def test_limits_choose_the_same_queries() -> None:
    asked = [Asked(STRUCTURES["Pe"], np.arange(300, dtype=np.int32).reshape(-1, 3))]
    (some,) = limited(asked, 10)
    assert len(some.anchors) == 10
    assert some.anchors.tolist() == limited(asked, 10)[0].anchors.tolist()
    assert some.anchors.tolist() != asked[0].anchors[:10].tolist()
    assert set(map(tuple, some.anchors)) <= set(map(tuple, asked[0].anchors))
    assert limited(asked, 100)[0].anchors is asked[0].anchors
    assert limited(asked, None) == asked


@pytest.mark.parametrize(
    ("protocol", "split", "view"),
    [(STRICT, Level.test, "valid"), (STRICT, Level.valid, "train"),
     (PUBLISHED, Level.test, "train"), (PUBLISHED, Level.valid, "train")],
)  # fmt: skip
def test_which_view_a_reasoner_is_given(
    small_graph: TemporalGraph, dataset: QueryDataset, protocol: object, split: Level, view: str
) -> None:
    evaluation = Evaluation(small_graph, from_dataset(dataset, split), protocol, split)  # type: ignore[arg-type]
    (contestant,) = exact(STRUCTURES)
    assert evaluation.report(contestant).view == view
    assert evaluation.report(contestant, Level.test).view == "test"
    settled = Contestant(contestant.make, Level.train)
    assert evaluation.report(settled, Level.test).view == "train"


def test_held_out_facts_are_not_known(small_graph: TemporalGraph, dataset: QueryDataset) -> None:
    asked = from_dataset(dataset, Level.test, [STRUCTURES["e2i"]])
    evaluation = Evaluation(small_graph, asked, STRICT, Level.test)
    (contestant,) = exact(STRUCTURES)
    blind = evaluation.report(contestant).value("e2i", "mrr")
    seeing = evaluation.report(contestant, Level.test).value("e2i", "mrr")
    assert blind is not None and blind < 0.5
    assert seeing == pytest.approx(1)


def test_thresholds_are_fitted_without_the_facts_they_are_fitted_to(
    small_graph: TemporalGraph, dataset: QueryDataset
) -> None:
    views: list[str] = []
    (_, by_subject) = frequency(STRUCTURES)

    def make(view: object) -> object:
        views.append(view.name)  # type: ignore[attr-defined]
        return by_subject.make(view)  # type: ignore[arg-type]

    asked = from_dataset(dataset, Level.test, [STRUCTURES["aPt"], STRUCTURES["between"]])
    evaluation = Evaluation(small_graph, asked, STRICT, Level.test)
    contestant = Contestant(make)  # type: ignore[arg-type]
    without = evaluation.report(contestant)
    assert without.value("aPt", "f1") is None
    fitted = evaluation.report(contestant, validation=from_dataset(dataset, Level.valid))
    assert views == ["valid", "valid", "train"]
    for name in ("aPt", "between"):
        f1 = fitted.value(name, "f1")
        assert f1 is not None and 0 < f1 <= 1


def test_progress_ends_with_the_last_structure(
    small_graph: TemporalGraph, dataset: QueryDataset
) -> None:
    told: list[tuple[str, float]] = []
    evaluation = Evaluation(small_graph, from_dataset(dataset, Level.test), STRICT, Level.test,
                            lambda what, fraction: told.append((what, fraction)))  # fmt: skip
    evaluation.report(exact(Structures(STRUCTURES))[0])
    assert [what for what, _ in told][-1] == "strict: exact on between"
    assert all(0 <= fraction < 1 for _, fraction in told)


def test_nothing_to_evaluate(small_graph: TemporalGraph, dataset: QueryDataset) -> None:
    with pytest.raises(DataError, match="no test queries"):
        Evaluation(small_graph, [], STRICT, Level.test)
    with pytest.raises(DataError, match="train queries"):
        Evaluation(small_graph, from_dataset(dataset, Level.test), STRICT, Level.train)
