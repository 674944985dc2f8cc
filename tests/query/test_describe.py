"""Sentences of queries."""

from __future__ import annotations

import pytest

from tests.strategies import graph_of
from tflex.query.algebra import And, Node, Not, Parameter, Pe, Pt, Sort
from tflex.query.describe import SENTENCE, Phrase, sentence
from tflex.query.labels import Labels
from tflex.query.published import STRUCTURES
from tflex.query.text import parse


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ('Pe("China", "Make a visit", "2014-07-03")',
         "the entities to which “Make a visit” links China on 2014-07-03"),
        ('Pe("<Angela_Merkel>", ~"<isMarriedTo>", "1998")',
         "the entities that “isMarriedTo” links to Angela Merkel in 1998"),
        ('Pe({"a", "b"}, "P39", {"2014-07", "2015/2016"})',
         "the entities to which “P39” links any of a or b"
         " at some time among 2014-07 and 2015 to 2016"),
        ('Pe(Pe("a", "r", "1990"), "s", "1991")',
         "the entities to which “s” in 1991 links"
         " any of the entities to which “r” links a in 1990"),
        ('Pe("a", "r", Pt("b", "s", "c"))',
         "the entities to which “r” links a at some time when “s” links b to c"),
        ('Pt(Pe("a", "r", "1990"), ~"s", "b")',
         "the times when “s” links b to any of the entities to which “r” links a in 1990"),
        ('Pt(Pe("a", "r", "1990"), "s", "b")',
         "the times when “s” links to b any of the entities to which “r” links a in 1990"),
        ('after(Pt("a", "r", "b"))', "the times later than all times when “r” links a to b"),
        ('before("1990/1995")', "the times earlier than all times from 1990 to 1995"),
        ('next(Pt("a", "r", "b"))', "the times right after a time when “r” links a to b"),
        ('Not(Pe("a", "r", "1990"))',
         "the entities other than those to which “r” links a in 1990"),
        ('Or(Pt("a", "r", "b"), Pt("c", "r", "d"))',
         "the times either when “r” links a to b or when “r” links c to d"),
        ('Pe({}, "r", "dawn")', "the entities to which “r” links no entity at dawn"),
    ],
)  # fmt: skip
def test_one_operator(query: str, expected: str) -> None:
    assert sentence(parse(query)) == f"Find {expected}."


def test_the_example_of_the_paper_names_what_is_shared() -> None:
    query = parse(
        'T = Pt("François Hollande", "hold office in", "France");'
        'And(Pe("Xi Jinping", "visit", T), Not(Pe("Barack Obama", "visit", T)))'
    )
    assert sentence(query) == (
        "Let X1 be the times when “hold office in” links François Hollande to France. "
        "Find the entities to which “visit” links Xi Jinping at some time in X1, "
        "but not those to which “visit” links Barack Obama at some time in X1."
    )


def test_every_structure_has_a_sentence_of_its_own() -> None:
    sentences = [sentence(structure.body) for structure in STRUCTURES]
    assert len(set(sentences)) == len(sentences) == 40
    for structure, text in zip(STRUCTURES, sentences, strict=True):
        words = set(text.replace(".", "").replace(",", "").split())
        assert all(slot.name in words for slot in structure.parameters), text


def test_ids_become_names() -> None:
    graph = graph_of([(0, 0, 1, 0, 0, 0)], 2, 1, 3)
    assert sentence(Pe(0, 1, 2), graph) == (
        "Find the entities that “Make a visit” links to China on 2014-01-05."
    )
    assert (
        sentence(Pe(0, 1, 2)) == "Find the entities to which “relation 1” links entity 0 at time 2."
    )


class Since(Node):
    """Times from the first of a set; an operator of somebody else, not registered for queries."""

    names = ("since",)
    parameters = (Parameter("times", Sort.TIME),)
    result = Sort.TIME


def test_an_operator_without_words_goes_by_its_name() -> None:
    query = Pe("a", "r", Since(Pt("b", "s", "c")))
    assert sentence(query) == (
        "Let X1 be the times when “s” links b to c. "
        "Find the entities to which “r” links a at some time in since(X1)."
    )


class Until(Since):
    names = ("until",)


def test_an_operator_registers_its_words() -> None:
    @SENTENCE.rule(Until)
    def until(labels: Labels, node: Until, times: Phrase) -> Phrase:
        return Phrase(f"up to the last time {times.clause}", node.sort)

    query = And(Until(Pt("b", "s", "c")), Not(Pt("a", "r", "b")))
    assert sentence(query) == (
        "Let X1 be the times when “s” links b to c. "
        "Find the times up to the last time in X1, but not those when “r” links a to b."
    )
