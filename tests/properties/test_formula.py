"""The formula of a query, read as first-order logic, denotes the query's exact answers."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import graphs, queries
from tflex.exact.reference import Quadruples, answer
from tflex.query.algebra import EntityLiteral, Leaf, Node, RelationLiteral, Sort, TimeLiteral
from tflex.query.formula import (
    Atom,
    Definition,
    Formula,
    Junction,
    LogicalForm,
    Member,
    Negation,
    Term,
    Variable,
    logical_form,
)
from tflex.query.notation import formula

Values = dict[Variable, int]


class Model:
    """Truth of formulas in a graph, by trying every value of every variable."""

    def __init__(self, facts: Quadruples, form: LogicalForm) -> None:
        self.facts = facts
        self.sets: dict[str, set[int]] = {}
        for name, definition in form.sets.items():
            self.sets[name] = self.members(definition)

    def members(self, definition: Definition) -> set[int]:
        variable, holds = definition
        return {one for one in self.facts.all(variable.sort) if self.true(holds, {variable: one})}

    def value(self, term: Term, values: Values) -> int:
        return values[term] if isinstance(term, Variable) else min(self.literal(term))

    def literal(self, node: Leaf | str) -> set[int]:
        assert isinstance(node, EntityLiteral | TimeLiteral)
        return answer(self.facts, node)

    def true(self, formula: Formula, values: Values) -> bool:
        if isinstance(formula, Atom):
            return self.atom(formula.predicate, [self.value(one, values) for one in formula.terms])
        if isinstance(formula, Member):
            return self.value(formula.variable, values) in self.literal(formula.literal)
        if isinstance(formula, Negation):
            return not self.true(formula.part, values)
        if isinstance(formula, Junction):
            truths = [self.true(part, values) for part in formula.parts]
            if formula.sign in "∧∨":
                return all(truths) if formula.sign == "∧" else any(truths)
            first, second = truths
            joined = {"→": not first or second, "↔": first == second, "⊕": first != second}
            return joined[formula.sign]
        domains = [self.facts.all(variable.sort) for variable in formula.variables]
        truths_of_all = (
            self.true(formula.part, values | dict(zip(formula.variables, chosen, strict=True)))
            for chosen in product(*domains)
        )
        return any(truths_of_all) if formula.sign == "∃" else all(truths_of_all)

    def atom(self, predicate: Node | str, terms: list[int]) -> bool:
        if isinstance(predicate, RelationLiteral):
            assert isinstance(predicate.value, int)
            s, o, t = terms
            return (s, predicate.value, o, t) in self.facts.holding
        assert isinstance(predicate, str)
        if predicate in self.sets:
            return terms[0] in self.sets[predicate]
        gap = terms[1] - terms[0]
        return {"After": gap > 0, "Before": gap < 0, "Next": gap == 1}[predicate]


@given(st.data())
def test_a_formula_denotes_the_answers(data: st.DataObject) -> None:
    graph = data.draw(graphs(max_facts=12))
    query = data.draw(queries(graph, max_operators=4))
    facts = Quadruples(graph.view("test"))
    form = logical_form(query)
    model = Model(facts, form)
    assert model.members(form.query) == answer(facts, query)


@given(st.data())
def test_a_formula_is_written_for_every_query(data: st.DataObject) -> None:
    graph = data.draw(graphs())
    query = data.draw(queries(graph))
    text, latex = formula(query, graph), formula(query, graph, latex=True)
    answered = "V?" if query.sort is Sort.ENTITY else "T?"
    assert text.startswith(f"q[{answered}] = {answered}, ")
    plain = latex.replace(r"\{", "").replace(r"\}", "")
    assert plain.count("{") == plain.count("}")
