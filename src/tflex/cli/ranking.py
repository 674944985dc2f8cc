"""`tflex ask --reasoner embedding|fuzzy`: every candidate ranked, and what each really is."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tflex.cli.output import print_table
from tflex.errors import DataError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tflex.experiment.run import Run
    from tflex.graph.temporal_graph import TemporalGraph
    from tflex.query.algebra import Node, Sort
    from tflex.query.structures import Structures
    from tflex.reasoning.fuzzy.explain import Explainer, Reason
    from tflex.reasoning.fuzzy.sets import Quality

EASY, HARD, WRONG, UNKNOWN = "easy", "hard", "wrong", "–"


@dataclass(frozen=True)
class Chosen:
    """A predicted set: the candidates from a degree on."""

    how: str
    threshold: float
    size: int
    quality: Quality

    def as_json(self) -> dict[str, Any]:
        return {"how": self.how, "threshold": self.threshold, "size": self.size,
                "expected": self.quality._asdict()}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Ranked:
    """A query with all candidates, best first.

    An answer on the view is easy where the reasoner's facts give it too, else hard. What is no
    answer is wrong; only a view that knows no more than the reasoner cannot tell.
    """

    graph: TemporalGraph
    query: Node
    reasoner: str
    view: str
    known: str
    """The view whose facts the reasoner has, or was trained on."""
    ids: NDArray[np.intp]
    scores: NDArray[np.float32]
    marks: list[str]
    seconds: float
    chosen: Chosen | None = None
    explainer: Explainer | None = None

    def rows(self, limit: int | None) -> list[tuple[int, str, float, str]]:
        """Rank, name, score and mark."""
        listed = zip(self.ids.tolist(), self.scores.tolist(), self.marks, strict=True)
        return [
            (rank, self.name(id), score, mark)
            for rank, (id, score, mark) in enumerate(list(listed)[:limit], 1)
        ]

    def name(self, id: int) -> str:
        return name_of(self.graph, self.query.sort, id)

    def as_json(self, limit: int | None = None, explained: int = 0) -> dict[str, Any]:
        from tflex.query.describe import sentence
        from tflex.query.text import print_query

        keys = ("rank", "name", "score", "mark")
        answers = [dict(zip(keys, row, strict=True)) for row in self.rows(limit)]
        listed = [{"id": id, **one} for id, one in zip(self.ids.tolist(), answers, strict=False)]
        if self.explainer is not None:
            for one in listed[:explained]:
                one["why"] = reason_as_json(self.graph, self.explainer.explain(one["id"]))
        return {
            "query": print_query(self.query, self.graph),
            "sentence": sentence(self.query, self.graph),
            "reasoner": self.reasoner,
            "view": self.view,
            "known": self.known,
            "sort": self.query.sort.name.lower(),
            "candidates": len(self.ids),
            "easy": self.marks.count(EASY),
            "hard": self.marks.count(HARD),
            "set": None if self.chosen is None else self.chosen.as_json(),
            "left_out": None if self.explainer is None else self.explainer.cut,
            "answers": listed,
            "seconds": self.seconds,
        }


def rank(
    folder: str, text: str, view: str, structures: Structures, reasoner: str = "embedding",
    known: str = "train", threshold: str | None = None, coverage: float | None = None,
) -> Ranked:  # fmt: skip
    """Rank all candidates with the reasoner of a run, and mark them by exact answers."""
    import numpy as np

    from tflex.exact.engine import Engine
    from tflex.experiment.run import Run
    from tflex.query.text import parse

    _check(reasoner, view, known, threshold, coverage)
    if folder.startswith("exact:"):
        raise DataError(f"{folder} has no {reasoner} reasoner; give the run folder itself")
    run = Run.open(folder)
    graph = run.graph()
    query = parse(text, graph, structures)
    answers = Engine(graph.view(view)).answer(query)
    chosen: Chosen | None = None
    explainer: Explainer | None = None
    if reasoner == "fuzzy":
        name = reasoner
        explainer, scores, seconds, chosen = _degrees(run, graph, query, known, threshold, coverage)
    else:
        name, scores, seconds = _embedded(run, query)
    easy = Engine(graph.view(known)).answer(query)
    tells = graph.view(view).level > graph.view(known).level
    marks = np.full(len(scores), WRONG if tells else UNKNOWN, dtype=object)
    marks[answers] = HARD
    marks[np.intersect1d(answers, easy)] = EASY
    ids = np.argsort(-scores, kind="stable")
    return Ranked(
        graph, query, name, view, known, ids, scores[ids], marks[ids].tolist(), seconds, chosen,
        explainer,
    )  # fmt: skip


def _check(
    reasoner: str, view: str, known: str, threshold: str | None, coverage: float | None
) -> None:
    """Refuse options that mean nothing, before anything is loaded."""
    from tflex.graph.facts import Level

    given = (threshold, coverage) != (None, None)
    if reasoner != "fuzzy" and (given or known != "train"):
        raise DataError("--known, --threshold and --coverage are for --reasoner fuzzy")
    if threshold is not None and coverage is not None:
        raise DataError("give --threshold or --coverage, not both")
    if coverage is not None and not 0 < coverage < 1:
        raise DataError(f"--coverage {coverage} must lie between 0 and 1")
    if threshold is not None and threshold != "auto":
        _degree(threshold)
    levels = Level.__members__
    if view in levels and known in levels and levels[known] > levels[view]:
        enough = " or ".join(one.name for one in Level if one >= levels[known])
        raise DataError(
            f"--known {known} holds facts that --view {view} lacks, by which candidates are "
            f"marked; give --view {enough}"
        )


def _embedded(run: Run, query: Node) -> tuple[str, NDArray[np.float32], float]:
    from tflex.experiment.embedding import trained_model, trained_structures
    from tflex.experiment.run import choose_device
    from tflex.reasoning.embedding import EmbeddingReasoner

    model = trained_model(run, str(choose_device("auto")))
    reasoner = EmbeddingReasoner(model, trained_structures(run))
    scores, seconds = _timed(lambda: reasoner.scores_of(query))
    return reasoner.name, scores, seconds


def _degrees(
    run: Run, graph: TemporalGraph, query: Node, known: str, threshold: str | None,
    coverage: float | None,
) -> tuple[Explainer, NDArray[np.float32], float, Chosen | None]:  # fmt: skip
    from tflex.experiment.fuzzy import fuzzy_reasoner
    from tflex.reasoning.fuzzy.explain import Explainer
    from tflex.reasoning.fuzzy.sets import members, quality

    reasoner = fuzzy_reasoner(run)(graph.view(known))
    reasoner.scores_of(query)  # Loads the kernels and sorts the facts once.
    explainer, seconds = _timed(lambda: Explainer(reasoner.world, reasoner.settings, query))
    scores = explainer.degrees
    if threshold is None and coverage is None:
        return explainer, scores, seconds, None
    assert reasoner.cuts is not None
    if coverage is not None:
        how, cut = f"coverage {coverage:g}", reasoner.cuts.conformal(query, coverage)
    elif threshold == "auto":
        how, cut = "auto", reasoner.cuts.threshold(query, usual=True)
    else:
        how, cut = "given", _degree(str(threshold))
    found = members(scores, cut)
    return explainer, scores, seconds, Chosen(how, cut, len(found), quality(scores, found))


def _degree(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise DataError(f'--threshold "{text}" is neither auto nor a degree between 0 and 1')
    return value


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    started = time.perf_counter()
    found = work()
    return found, time.perf_counter() - started


def print_ranked(ranked: Ranked, limit: int, explained: int = 0) -> None:
    """The sentence, how many answers there are to find, and the best candidates."""
    from tflex.query.describe import sentence

    easy, hard = (ranked.marks.count(mark) for mark in (EASY, HARD))
    print(sentence(ranked.query, ranked.graph))
    print(
        f"{len(ranked.ids):,} candidates ranked by {ranked.reasoner}, given the facts of the "
        f"{ranked.known} view, in {ranked.seconds * 1000:,.0f} ms; answers on the {ranked.view} "
        f"view: {easy:,} easy (from those facts), {hard:,} hard (held out)"
    )
    if ranked.explainer is not None:
        print(left_out(ranked.explainer))
    if ranked.chosen is not None:
        print(set_line(ranked.chosen))
    print()
    columns = ("", "answer", "score", "mark")
    rows = [(rank, name, f"{score:.4g}", mark) for rank, name, score, mark in ranked.rows(limit)]
    print_table("", columns, rows, left=2)
    if ranked.explainer is not None:
        for id in ranked.ids[: min(explained, limit)].tolist():
            print(f"\nWhy {ranked.name(id)}:")
            for line in reason_lines(ranked.graph, ranked.explainer.explain(id)):
                print(f"  {line}")


def set_line(chosen: Chosen) -> str:
    """A predicted set: its size, and what the degrees say of it."""
    size, precision, recall = chosen.quality
    where = f"The set from degree {chosen.threshold:.3g} on ({chosen.how})"
    expected = f"expected: {size:,.1f} answers in all"
    if not chosen.size:
        return f"{where} is empty; {expected}"
    members = "1 member" if chosen.size == 1 else f"{chosen.size:,} members"
    return (
        f"{where} has {members}; {expected}, precision {100 * precision:.0f} %, "
        f"recall {100 * recall:.0f} %"
    )


def left_out(explainer: Explainer) -> str:
    """What is not among the degrees, because only some pairs of a projection were predicted for."""
    if explainer.cut < 1:
        return f"Left out of a projection: nothing of a degree above {explainer.cut:.2g}"
    return (
        f"Missing facts were predicted for the {explainer.batch.settings.beam} likeliest pairs of "
        "each projection alone"
    )


def reason_lines(graph: TemporalGraph, reason: Reason) -> list[str]:
    """One line for each part of a query, indented: degree, operator, and the best fact."""
    lines = []
    for depth, one in reason.walk():
        text = f"{'  ' * depth}{one.degree:.4g} {one.operator}"
        if one.fact is not None:
            s, r, o, t = one.fact
            said = f"{graph.entities[s]} – {graph.relation_name(r)} – {graph.entities[o]}"
            text += f": {said}, {graph.timeline[t]}, {one.source}"
            if one.source == "predicted":
                text += f" with probability {one.probability:.4g}"
        else:
            text += f": {name_of(graph, one.sort, one.member)}"
            if one.source == "none":
                text += ", no fact supports it, known or predicted"
            elif one.operator == "Not" and not one.parts:
                text += ", nothing known or predicted against it"
        if one.others:
            text += f" (and {one.others:,} less likely)"
        lines.append(text)
    return lines


def reason_as_json(graph: TemporalGraph, reason: Reason) -> dict[str, Any]:
    """The same with all digits, part by part."""
    found: dict[str, Any] = {
        "operator": reason.operator, "member": name_of(graph, reason.sort, reason.member),
        "degree": reason.degree,
    }  # fmt: skip
    if reason.fact is not None:
        s, r, o, t = reason.fact
        found["fact"] = {
            "subject": graph.entities[s], "relation": graph.relation_name(r),
            "object": graph.entities[o], "time": graph.timeline[t],
        }  # fmt: skip
        found["probability"] = reason.probability
    if reason.source is not None:
        found["source"] = reason.source
    if reason.others:
        found["less_likely"] = reason.others
    if reason.parts:
        found["parts"] = [reason_as_json(graph, part) for part in reason.parts]
    return found


def name_of(graph: TemporalGraph, sort: Sort, id: int) -> str:
    """An entity or a timestamp by name."""
    return (graph.timeline if sort.name == "TIME" else graph.entities)[id]
