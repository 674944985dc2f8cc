"""`tflex ask --reasoner embedding`: every candidate ranked, and what each really is."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tflex.cli.output import print_table
from tflex.errors import DataError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tflex.graph.temporal_graph import TemporalGraph
    from tflex.query.algebra import Node
    from tflex.query.structures import Structures

EASY, HARD, WRONG, UNKNOWN = "easy", "hard", "wrong", "–"


@dataclass(frozen=True, eq=False)
class Ranked:
    """A query with all candidates, best first.

    An answer on the view is easy where the train view gives it too, else hard. What is no answer is
    wrong; only the train view cannot tell.
    """

    graph: TemporalGraph
    query: Node
    reasoner: str
    view: str
    ids: NDArray[np.intp]
    scores: NDArray[np.float32]
    marks: list[str]
    seconds: float

    def rows(self, limit: int | None) -> list[tuple[int, str, float, str]]:
        """Rank, name, score and mark."""
        timed = self.query.sort.name == "TIME"
        names = self.graph.timeline if timed else self.graph.entities
        listed = zip(self.ids.tolist(), self.scores.tolist(), self.marks, strict=True)
        return [
            (rank, names[id], score, mark)
            for rank, (id, score, mark) in enumerate(list(listed)[:limit], 1)
        ]

    def as_json(self, limit: int | None = None) -> dict[str, Any]:
        from tflex.query.describe import sentence
        from tflex.query.text import print_query

        keys = ("rank", "name", "score", "mark")
        answers = [dict(zip(keys, row, strict=True)) for row in self.rows(limit)]
        return {
            "query": print_query(self.query, self.graph),
            "sentence": sentence(self.query, self.graph),
            "reasoner": self.reasoner,
            "view": self.view,
            "sort": self.query.sort.name.lower(),
            "candidates": len(self.ids),
            "easy": self.marks.count(EASY),
            "hard": self.marks.count(HARD),
            "answers": [
                {"id": id, **one} for id, one in zip(self.ids.tolist(), answers, strict=False)
            ],
            "seconds": self.seconds,
        }


def rank(folder: str, text: str, view: str, structures: Structures) -> Ranked:
    """Rank all candidates with the model of a run, and mark them by exact answers."""
    import numpy as np

    from tflex.exact.engine import Engine
    from tflex.experiment.embedding import trained_model, trained_structures
    from tflex.experiment.run import Run, choose_device
    from tflex.query.text import parse
    from tflex.reasoning.embedding import EmbeddingReasoner

    if folder.startswith("exact:"):
        raise DataError(f"{folder} has no embeddings; give the run folder itself")
    run = Run.open(folder)
    graph = run.graph()
    query = parse(text, graph, structures)
    train = Engine(graph.view("train")).answer(query)
    answers = Engine(graph.view(view)).answer(query)
    model = trained_model(run, str(choose_device("auto")))
    reasoner = EmbeddingReasoner(model, trained_structures(run))
    started = time.perf_counter()
    scores = reasoner.scores_of(query)
    seconds = time.perf_counter() - started
    other = UNKNOWN if view == "train" else WRONG
    marks = np.full(len(scores), other, dtype=object)
    marks[answers] = HARD
    marks[np.intersect1d(answers, train)] = EASY
    ids = np.argsort(-scores, kind="stable")
    return Ranked(graph, query, reasoner.name, view, ids, scores[ids], marks[ids].tolist(), seconds)


def print_ranked(ranked: Ranked, limit: int) -> None:
    """The sentence, how many answers there are to find, and the best candidates."""
    from tflex.query.describe import sentence

    easy, hard = (ranked.marks.count(mark) for mark in (EASY, HARD))
    print(sentence(ranked.query, ranked.graph))
    print(
        f"{len(ranked.ids):,} candidates ranked by {ranked.reasoner} in "
        f"{ranked.seconds * 1000:,.0f} ms; on the {ranked.view} view {easy:,} answers "
        f"are easy (known from train), {hard:,} hard (held out)"
    )
    print()
    columns = ("", "answer", "score", "mark")
    print_table("", columns, ranked.rows(limit), left=2)
