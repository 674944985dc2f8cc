"""Structures by name: the forty, their aliases and their rewritten forms."""

from __future__ import annotations

from pathlib import Path

import pytest

from tflex.errors import QueryError
from tflex.query.published import GROUPS, STRUCTURES
from tflex.query.text import parse, parse_structures, print_query


def test_there_are_forty_in_seven_groups() -> None:
    assert len(STRUCTURES) == 40
    assert {one.group for one in STRUCTURES} == set(GROUPS)


def test_aliases_lead_to_one_structure() -> None:
    assert STRUCTURES["2in"] is STRUCTURES["e2i_N"]
    assert STRUCTURES["Pe_e2i_Pe_NPe"] is STRUCTURES["Pe_e2i_N"]
    assert "inp" in STRUCTURES and "e2u_CNF" not in STRUCTURES


def test_rewritten_forms_have_names() -> None:
    dm, dnf = STRUCTURES["e2u_DM"], STRUCTURES["Pe_e2u_DNF"]
    assert print_query(dm.body) == "Not(And(Not(Pe(s1, r1, t1)), Not(Pe(s2, r2, t2))))"
    assert print_query(dnf.body) == "Or(Pe(Pe(s1, r1, t1), r3, t3), Pe(Pe(s2, r2, t2), r3, t3))"
    assert [slot.name for slot in dnf.parameters] == [
        slot.name for slot in STRUCTURES["Pe_e2u"].parameters
    ]


def test_a_misspelt_structure_gets_suggestions() -> None:
    with pytest.raises(QueryError, match="did you mean"):
        STRUCTURES["Pe_e2uu"]


def test_both_spellings_of_the_operators_of_time() -> None:
    for lower, upper in (("after", "After"), ("before", "Before"), ("next", "Next")):
        assert print_query(parse(f"{upper}(Pt(0, 1, 2))")) == f"{lower}(Pt(0, 1, 2))"
    assert print_query(parse("Between(Pt(0, 1, 2), Pt(3, 1, 2))")).startswith("between(")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def And(s, r, t):\n    return Pe(s, r, t)\n", "And is the name of an operator"),
        ("def f(s, r, t):\n    if s:\n        return Pe(s, r, t)\n", "end with `return`"),
    ],
)
def test_functions_that_are_no_structures(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "mine.py").write_text(text)
    with pytest.raises(QueryError, match=message):
        parse_structures(tmp_path / "mine.py")


def test_the_number_of_arguments_tells_a_structure_from_an_operator(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def after(s, r, o):\n    return After(Pt(s, r, o))\n")
    assert [one.name for one in parse_structures(tmp_path / "mine.py")] == ["after"]
