"""Formulas written down, as text and as LaTeX."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tflex.errors import QueryError
from tflex.graph.temporal_graph import TemporalGraph
from tflex.query.algebra import (
    EntityLiteral,
    Leaf,
    Node,
    RelationLiteral,
    Slot,
    Sort,
    TimeLiteral,
    topological,
)
from tflex.query.formula import (
    Atom,
    Definition,
    Formula,
    Junction,
    Member,
    Negation,
    Term,
    Variable,
    logical_form,
)
from tflex.query.labels import Labels

STRENGTH = {"∃": 0, "∀": 0, "→": 1, "↔": 1, "⊕": 1, "∨": 2, "∧": 3, "¬": 4}
"""How tightly a sign binds; what binds less stands in brackets."""

TEXT_SIGNS = {sign: sign for sign in (*STRENGTH, "∈", "∅", "∪", "⁻¹")} | {"where": " where "}
LATEX_SIGNS = {
    "∃": r"\exists", "∀": r"\forall", "→": r"\to", "↔": r"\leftrightarrow", "⊕": r"\oplus",
    "∨": r"\vee", "∧": r"\wedge", "¬": r"\lnot ", "∈": r"\in", "∅": r"\emptyset", "∪": r"\cup",
    "⁻¹": "^{-1}", "where": r" \quad \text{where } ",
}  # fmt: skip

_LATEX_ESCAPES = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    **{letter: "\\" + letter for letter in "{}$%&#_"},
}  # fmt: skip


def formula(query: Node, graph: TemporalGraph | None = None, latex: bool = False) -> str:
    """The formula of a query; with a graph, ids become names.

    >>> from tflex.query.text import parse
    >>> formula(parse('Pe(Pe("A", "visit", "2014"), "help", "2015")'))
    'q[V?] = V?, ∃ Va, visit(A, Va, 2014) ∧ help(Va, V?, 2015)'
    """
    writer = _Writer(Labels(graph), _numbered(query), latex)
    try:
        form = logical_form(query)
        first = writer.definition("q", form.query)
        rest = [writer.definition(name, one) for name, one in form.sets.items()]
    except RecursionError:
        raise QueryError("the query nests too deeply to be written as a formula") from None
    return first + (writer.signs["where"] + "; ".join(rest) if rest else "")


def _numbered(query: Node) -> dict[Slot, str]:
    """The paper's names of placeholders: e1, e2 …, r1 …, t1 …, from left to right."""
    letters = {Sort.ENTITY: "e", Sort.RELATION: "r", Sort.TIME: "t"}
    counts = dict.fromkeys(Sort, 0)
    names: dict[Slot, str] = {}
    for node in topological(query):
        if isinstance(node, Slot):
            counts[node.sort] += 1
            names[node] = f"{letters[node.sort]}{counts[node.sort]}"
    return names


@dataclass
class _Writer:
    labels: Labels
    slots: dict[Slot, str]
    latex: bool

    @property
    def signs(self) -> dict[str, str]:
        return LATEX_SIGNS if self.latex else TEXT_SIGNS

    def definition(self, name: str, definition: Definition) -> str:
        """name[V?] = V?, formula."""
        letters = {definition.variable: "?"}
        _letter(definition.holds, letters)
        answer = self.term(definition.variable, letters)
        body = self.write(definition.holds, letters, -1)
        return f"{self.subscripted(name)}[{answer}] = {answer}, {body}"

    def write(self, formula: Formula, letters: dict[Variable, str], outer: int) -> str:
        """The formula, in brackets where it binds less tightly than what is around it."""
        if isinstance(formula, Atom):
            terms = ", ".join(self.term(term, letters) for term in formula.terms)
            return f"{self.predicate(formula.predicate)}({terms})"
        if isinstance(formula, Member):
            return f"{self.term(formula.variable, letters)} {self.membership(formula.literal)}"
        if isinstance(formula, Negation):
            return self.signs["¬"] + self.write(formula.part, letters, STRENGTH["¬"])
        strength = STRENGTH[formula.sign]
        if isinstance(formula, Junction):
            sign = f" {self.signs[formula.sign]} "
            text = sign.join(self.write(part, letters, strength) for part in formula.parts)
        else:
            inner = self.write(formula.part, letters, strength - 1)
            bound = sorted(formula.variables, key=lambda one: _rank(one, letters))
            names = ", ".join(self.term(variable, letters) for variable in bound)
            text = f"{self.signs[formula.sign]} {names}, {inner}"
        return f"({text})" if strength <= outer else text

    def predicate(self, predicate: Node | str) -> str:
        if isinstance(predicate, str):
            defined = re.fullmatch(r"S\d+", predicate)
            return self.subscripted(predicate) if defined else self.named(predicate)
        if isinstance(predicate, Slot):
            return self.subscripted(self.slots[predicate])
        name, inverse = self.labels.relation(predicate)
        return self.named(name) + (self.signs["⁻¹"] if inverse else "")

    def term(self, term: Term, letters: dict[Variable, str]) -> str:
        if isinstance(term, Variable):
            letter = "V" if term.sort is Sort.ENTITY else "T"
            return f"{letter}_{_braced(letters[term])}" if self.latex else letter + letters[term]
        if isinstance(term, str):
            return self.subscripted(term)
        if isinstance(term, RelationLiteral):
            return self.predicate(term)
        return self.anchor(term)

    def anchor(self, node: Leaf) -> str:
        """An anchor of one member."""
        if isinstance(node, Slot):
            return self.subscripted(self.slots[node])
        if isinstance(node, EntityLiteral):
            return self.named(self.labels.entities(node)[0])
        if isinstance(node, TimeLiteral):
            return self.named(self.labels.times(node)[0][0])
        return self.named(repr(node))

    def membership(self, node: Leaf) -> str:
        """= a, ∈ {a, b}, ∈ [first, last] ∪ {b}, ∈ ∅."""
        if isinstance(node, EntityLiteral):
            single, spans = self.labels.entities(node), []
        elif isinstance(node, TimeLiteral):
            every = self.labels.times(node)
            single = [first for first, last in every if first == last]
            spans = [f"[{self.named(a)}, {self.named(b)}]" for a, b in every if a != b]
        else:
            return f"= {self.anchor(node)}"
        if len(single) == 1 and not spans:
            return f"= {self.named(single[0])}"
        listed = ", ".join(map(self.named, single))
        braces = (r"\{", r"\}") if self.latex else ("{", "}")
        sets = [*spans, *([f"{braces[0]}{listed}{braces[1]}"] if single else [])]
        return f"{self.signs['∈']} " + (f" {self.signs['∪']} ".join(sets) or self.signs["∅"])

    def named(self, name: str) -> str:
        """A name of the graph; quoted where its letters would read as part of the formula."""
        if self.latex:
            return rf"\text{{{''.join(_LATEX_ESCAPES.get(letter, letter) for letter in name)}}}"
        return f"“{name}”" if re.search(r"[,()\[\]{}∧∨¬→↔⊕∃∀∈]", name) else name

    def subscripted(self, name: str) -> str:
        """e1 → e_1 in LaTeX."""
        match = re.fullmatch(r"([a-zA-Z]+)(\d+)", name)
        return f"{match[1]}_{_braced(match[2])}" if self.latex and match else name


def _braced(index: str) -> str:
    return index if len(index) == 1 else f"{{{index}}}"


def _letter(formula: Formula, letters: dict[Variable, str]) -> None:
    """Give every variable its letter, in the order in which the formula mentions them."""
    if isinstance(formula, Atom | Member):
        terms = formula.terms if isinstance(formula, Atom) else (formula.variable,)
        for term in terms:
            if isinstance(term, Variable) and term not in letters:
                count = sum(
                    1 for known in letters if known.sort is term.sort and letters[known] != "?"
                )
                letters[term] = _alphabetic(count)
    elif isinstance(formula, Junction):
        for part in formula.parts:
            _letter(part, letters)
    else:
        _letter(formula.part, letters)


def _alphabetic(count: int) -> str:
    """a … z, aa, ab …"""
    text = ""
    while count >= 0:
        text = chr(ord("a") + count % 26) + text
        count = count // 26 - 1
    return text


def _rank(variable: Variable, letters: dict[Variable, str]) -> int:
    return list(letters).index(variable)
