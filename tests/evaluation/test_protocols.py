import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.evaluation import scalar
from tests.evaluation.helpers import Lookup, SetLookup, published, random_queries, strict, table
from tests.evaluation.scalar import Query
from tflex.errors import DataError
from tflex.evaluation import (
    PUBLISHED,
    STRICT,
    EvaluationQueries,
    PredictsSets,
    Sets,
    evaluate,
    fit_thresholds,
    protocols,
)

SORTS = {"e2i": "entity", "Pe": "entity", "e2i_N": "entity", "t2i": "time"}
seeds = st.integers(0, 2**32 - 1)


def random_world(seed: int, count: int = 8, candidates: int = 7) -> dict[str, list[Query]]:
    generator = np.random.default_rng(seed)
    return {
        name: random_queries(generator, int(generator.integers(0, count + 1)), candidates)
        for name in SORTS
    }


def lookup(world: dict[str, list[Query]], candidates: int = 7) -> Lookup:
    tables = {name: table(queries).reshape(-1, candidates) for name, queries in world.items()}
    return Lookup("table", tables)


@settings(deadline=None)
@given(seeds, st.integers(1, 4))
def test_strict_equals_plain_loops(seed, minimum):
    world = random_world(seed)
    report = evaluate(
        lookup(world),
        [strict(name, queries, SORTS[name]) for name, queries in world.items()],
        replace(STRICT, minimum_queries=minimum),
        view="valid",
    )
    expected = {
        name: found
        for name, queries in world.items()
        if (found := scalar.strict_metrics(queries, minimum))
    }
    for metric in ("mrr", "hits@1", "hits@3", "hits@10", "amri"):
        wanted = {name: one[metric] for name, one in expected.items() if metric in one}
        assert report.values(metric) == pytest.approx(wanted), metric
        assert report.means(metric) == pytest.approx(scalar.group_means(wanted)), metric


@settings(deadline=None)
@given(seeds)
def test_published_equals_plain_loops(seed):
    world = random_world(seed)
    report = evaluate(
        lookup(world),
        [published(name, queries, 5, SORTS[name]) for name, queries in world.items()],
        PUBLISHED,
        view="train",
    )
    for metric, reference in (
        ("mrr", scalar.published_mrr),
        ("ceiling", scalar.published_ceiling),
    ):
        found = {name: reference(name, queries, 5) for name, queries in world.items()}
        wanted = {name: value for name, value in found.items() if value is not None}
        assert report.values(metric) == pytest.approx(wanted)
        assert report.means(metric) == pytest.approx(scalar.group_means(wanted))


def test_hand_computed_strict():
    # Candidates 0…5; each target meets the non-answers alone.
    world = [
        Query(0, {0}, {0, 1, 2}, [9, 5, 3, 4, 5, 0]),  # 1 ties with 4: 1.5; 2 below 3, 4: 3
        Query(0, {0, 1}, {0}, [1, 5, 0, 0, 0, 0]),  # retraction: 0 is below 1: 2
        Query(0, {0}, {0}, [9, 0, 0, 0, 0, 0]),  # not evaluated
    ]
    protocol = replace(STRICT, minimum_queries=1)
    report = evaluate(
        Lookup("one", {"Pe_aPt": table(world)}), [strict("Pe_aPt", world)], protocol, view="valid"
    )
    result = report.structures["Pe_aPt"]
    assert (result.overall.queries, result.overall.targets) == (2, 3)
    assert (result.skipped, result.retractions) == (1, 1)
    assert result.overall.metrics["mrr"] == pytest.approx(((1 / 1.5 + 1 / 3) / 2 + 1 / 2) / 2)
    assert result.overall.metrics["hits@1"] == 0
    assert result.overall.metrics["hits@3"] == 1
    # Query 1: Σ(r − 1) = 2.5 of 2 × 1.5 by chance; query 2: 1 of 2.5.
    assert result.overall.metrics["amri"] == pytest.approx(((1 - 2.5 / 3) + (1 - 1 / 2.5)) / 2)
    assert report.means("mrr").keys() == {"avg_x", "AVG"}


def test_hand_computed_published():
    world = [
        # 0 is easy and leaves; 1 and 4 tie at positions 1–2, 2 is fourth: 1 competes with 2.
        Query(0, {0}, {0, 1, 2}, [9, 5, 3, 4, 5, 0]),
        # Known answers are as many as answers: 0 and 1 are ranked, tied at 1–2.
        Query(0, {0, 1}, {0, 1}, [1, 1, 0, 0, 0, 0]),
    ]
    report = evaluate(
        Lookup("one", {"e2i": table(world)}), [published("e2i", world)], PUBLISHED, view="train"
    )
    found = report.structures["e2i"].overall
    assert (found.queries, found.targets) == (2, 4)
    # Means are per answer, so the four targets weigh alike.
    assert found.metrics["mrr"] == pytest.approx((0.75 + 0.25 + 0.75 + 0.75) / 4)
    assert found.metrics["hits@1"] == pytest.approx((0.5 + 0 + 0.5 + 0.5) / 4)
    assert found.metrics["ceiling"] == pytest.approx(0.75)


def test_published_train_answers_of_projections_stay_in_the_ranking():
    world = [Query(0, {0}, {0, 1}, [9, 5, 0, 0])]
    report = evaluate(
        Lookup("one", {"Pe": table(world)}), [published("Pe", world)], PUBLISHED, view="train"
    )
    assert report.value("Pe", "mrr") == 0.5


@given(seeds)
@settings(deadline=None, max_examples=20)
def test_a_perfect_reasoner_reaches_the_ceiling_and_one(seed):
    world = random_world(seed, count=30)
    world.pop("Pe")  # its train answers tie with the targets: see semantics.md
    crisp = {
        name: [
            query._replace(scores=[float(c in query.answers) for c in range(7)])
            for query in queries
        ]
        for name, queries in world.items()
    }
    reasoner = lookup(crisp)
    queries = [published(name, one, 5, SORTS[name]) for name, one in crisp.items()]
    report = evaluate(reasoner, queries, PUBLISHED, view="test")
    assert report.values("mrr") == pytest.approx(report.values("ceiling"))
    assert report.means("mrr") == pytest.approx(report.means("ceiling"))

    queries = [strict(name, one, SORTS[name]) for name, one in crisp.items()]
    report = evaluate(reasoner, queries, replace(STRICT, minimum_queries=1), view="test")
    for metric in ("mrr", "hits@1", "amri", "average_precision", "ndcg", "r_precision"):
        for value in report.values(metric).values():
            assert value == pytest.approx(1), metric


def test_chunks_do_not_change_the_result(monkeypatch):
    world = random_world(3, count=40)
    queries = [strict(name, one, SORTS[name]) for name, one in world.items()]
    whole = evaluate(lookup(world), queries, STRICT, view="valid")
    monkeypatch.setattr(protocols, "FIRST_CHUNK", 3)
    monkeypatch.setattr(protocols, "VALUES_PER_CHUNK", 30)
    assert evaluate(lookup(world), queries, STRICT, view="valid") == whole


def test_a_structure_with_fewer_than_twenty_queries_stays_out_of_the_means():
    query = Query(0, set(), {0}, [1.0, 0.0])
    worse = Query(0, set(), {0}, [0.0, 1.0])
    world = {"Pe": [query] * 19, "e2i": [worse] * 20}
    reasoner = Lookup("table", {name: table(one) for name, one in world.items()})
    report = evaluate(
        reasoner, [strict(name, one) for name, one in world.items()], STRICT, view="valid"
    )
    assert report.value("Pe", "mrr") is None
    assert report.score("Pe").queries == 19
    assert report.means("mrr") == {"avg_e": 0.5, "AVG": 0.5, "AVG_e": 0.5}


def ends(candidates: int = 10) -> list[Query]:
    """Answers of `after` that shrink: t > known becomes t > known + 1."""
    return [
        Query(0, set(range(start, candidates)), set(range(start + 1, candidates)),
              [float(time - start) for time in range(candidates)])
        for start in range(2, 7)
    ] * 4  # fmt: skip


def test_boundary_roots_are_not_ranked_but_report_sets():
    world = ends()
    queries = [strict("aPt", world, "time")]
    reasoner = Lookup("late", {"aPt": table(world)})
    thresholds = fit_thresholds(reasoner, queries)
    assert thresholds == {"aPt": 0.5}
    report = evaluate(reasoner, queries, STRICT, view="valid", thresholds=thresholds)
    result = report.structures["aPt"]
    assert not result.ranked
    assert result.retractions == 20
    assert result.overall.metrics == {"f1": 1.0, "boundary_error": 0.0}
    assert report.means("f1") == {}
    wide = evaluate(reasoner, queries, STRICT, view="valid", thresholds={"aPt": -1.0})
    assert wide.value("aPt", "boundary_error") == 2
    without = evaluate(reasoner, queries, STRICT, view="valid")
    assert without.value("aPt", "f1") is None


def test_boundary_roots_are_ranked_under_published():
    world = ends()
    report = evaluate(
        Lookup("late", {"aPt": table(world)}), [published("aPt", world, 5, "time")], PUBLISHED,
        view="train",
    )  # fmt: skip
    assert report.value("aPt", "mrr") == pytest.approx(report.value("aPt", "ceiling"))


def test_predicted_sets_give_f1_and_the_correlation_of_sizes():
    world = [
        Query(0, set(), set(range(size)), [float(c < size + 1) for c in range(8)])
        for size in range(1, 6)
    ] * 4
    reasoner = SetLookup("sets", {"e2i": table(world)})
    assert isinstance(reasoner, PredictsSets)
    report = evaluate(reasoner, [strict("e2i", world)], STRICT, view="valid")
    f1 = [2 * size / (2 * size + 1) for size in range(1, 6)]
    assert report.value("e2i", "f1") == pytest.approx(sum(f1) / 5)
    assert report.value("e2i", "size_spearman") == pytest.approx(1)


class Unasked:
    """A reasoner that must not be asked."""

    name = "unasked"

    def scores(self, structure, anchors):
        raise AssertionError("asked for the scores of no queries")

    def predicted_sets(self, structure, anchors):
        raise AssertionError("asked for the sets of no queries")

    sizes = predicted_sets


@pytest.mark.parametrize("structure", ["e2i", "aPt"])
def test_a_structure_without_evaluable_queries_asks_nothing(structure):
    unchanged = [Query(0, {0}, {0}, [1.0, 0.0])] * 3
    queries = [strict(structure, unchanged, "time")]
    report = evaluate(Unasked(), queries, STRICT, view="valid", thresholds={structure: 0.5})
    assert report.score(structure).queries == 0
    assert report.structures[structure].skipped == 3
    assert report.value(structure, "mrr") is None


def test_breakdowns_by_missing_facts_and_by_answer_size():
    # Target 0 is first, target 1 second (behind candidate 2).
    world = [Query(0, set(), {0, 1}, [3.0, 1.0, 2.0])] * 20
    queries = strict("e2i", world).with_missing(np.array([1, 4] * 20), np.array([0, 1] * 20))
    report = evaluate(Lookup("one", {"e2i": table(world)}), [queries], STRICT, view="valid")
    assert report.value("e2i", "mrr") == 0.75
    parts = report.structures["e2i"].breakdowns
    assert list(parts["missing facts"]) == ["1", "3+", "every atom"]
    assert report.value("e2i", "mrr", "missing facts", "1") == 1
    assert report.value("e2i", "mrr", "missing facts", "3+") == 0.5
    assert report.means("mrr", "missing facts", "every atom")["AVG"] == 0.5
    assert list(parts["answers"]) == ["2–5"]
    assert report.value("e2i", "ndcg", "answers", "2–5") == report.value("e2i", "ndcg")


@given(seeds)
@settings(deadline=None, max_examples=20)
def test_breakdowns_by_answer_size_add_up(seed):
    queries = random_queries(np.random.default_rng(seed), 30, 12)
    report = evaluate(
        Lookup("one", {"e2i": table(queries)}), [strict("e2i", queries)], STRICT, view="valid"
    )
    result = report.structures["e2i"]
    parts = result.breakdowns.get("answers", {}).values()
    assert sum(part.queries for part in parts) == result.overall.queries
    assert sum(part.targets for part in parts) == result.overall.targets
    total = sum(part.queries * part.metrics["mrr"] for part in parts)
    assert total == pytest.approx(result.overall.queries * (result.overall.metrics["mrr"] or 0))


def test_names_of_the_published_files_are_those_of_the_tables():
    world = [Query(0, set(), {0}, [1.0, 0.0])] * 20
    report = evaluate(
        Lookup("one", {"Pe_e2i_Pe_NPe": table(world)}), [strict("Pe_e2i_Pe_NPe", world)], STRICT,
        view="valid",
    )  # fmt: skip
    assert report.means("mrr") == {"avg_e_not": 1.0, "AVG": 1.0, "AVG_e": 1.0}


def test_scores_that_cannot_be_used_are_refused():
    world = [Query(0, set(), {0}, [float("nan"), 0.0])]
    queries = strict("e2i", world)
    with pytest.raises(DataError, match="broken on e2i: the score of query 0, candidate 0"):
        evaluate(Lookup("broken", {"e2i": table(world)}), [queries], STRICT, view="valid")
    short = Lookup("short", {"e2i": np.zeros((1, 2, 3))})
    with pytest.raises(DataError, match="short gave scores of shape"):
        evaluate(short, [queries], STRICT, view="valid")
    fewer = SetLookup("fewer", {"e2i": np.zeros((1, 2))})
    fewer.predicted_sets = lambda structure, anchors: (np.array([0]), np.array([]))
    with pytest.raises(DataError, match="fewer predicted 0 sets for 1 queries of e2i"):
        evaluate(fewer, [queries], STRICT, view="valid")
    ends_in_nan = [Query(0, {0}, {1}, [float("nan"), 0.0])]
    boundary = [strict("aPt", ends_in_nan, "time")]
    reasoner = Lookup("broken", {"aPt": table(ends_in_nan)})
    with pytest.raises(DataError, match="not a number"):
        evaluate(reasoner, boundary, STRICT, view="valid", thresholds={"aPt": 0.0})
    with pytest.raises(DataError, match="not a number"):
        fit_thresholds(reasoner, boundary)


def test_queries_of_another_protocol_or_given_twice_are_refused():
    world = [Query(0, set(), {0}, [1.0, 0.0])]
    reasoner = Lookup("one", {"e2i": table(world)})
    with pytest.raises(DataError, match="follow protocol published, not strict"):
        evaluate(reasoner, [published("e2i", world)], STRICT, view="valid")
    with pytest.raises(DataError, match="e2i was given twice"):
        evaluate(reasoner, [strict("e2i", world)] * 2, STRICT, view="valid")


def test_the_published_files_have_the_printed_ceiling(data_folder):
    """semantics.md: ceiling 90.5 and the paper's 36.63 over the 38 structures with public files."""
    files = []
    for path in sorted((data_folder / "icews14" / "queries" / "valid").glob("*.jsonl")):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        queries = EvaluationQueries.published(
            path.stem, "entity", np.array([one["query"] for one in lines]),
            Sets.from_lists(one.get("easy_answer", []) for one in lines),
            Sets.from_lists(one["answer"] for one in lines), relation_count=230,
        )  # fmt: skip
        files.append(queries)
    assert len(files) == 38
    report = evaluate(Constant(), files, PUBLISHED, view="train", dataset="icews14")
    assert report.means("ceiling")["AVG"] == pytest.approx(0.905, abs=5e-4)
    assert report.paper()["AVG"] == pytest.approx(0.3663, abs=5e-5)


class Constant:
    name = "constant"

    def scores(self, structure, anchors):
        return np.zeros((len(anchors), 7128), np.float32)
