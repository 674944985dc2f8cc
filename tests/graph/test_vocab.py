"""Names that are nearest to a misspelt one."""

from __future__ import annotations

from tflex.graph.vocab import Vocabulary


def test_slips_of_the_pen_come_before_names_that_hold_the_text() -> None:
    names = ["Admiral (China)", "Armed Separatist (China)", "Anupong Paochinda", "China", "Peru"]
    found = Vocabulary("entity", names).nearest("Chin")
    assert found[0] == "China" and len(found) == 3
    assert Vocabulary("entity", names).nearest("china")[0] == "China"


def test_a_part_of_a_name_finds_it() -> None:
    names = ["Barack Obama", "Police (Peru)", "China"]
    assert Vocabulary("entity", names).nearest("Obama") == ["Barack Obama"]
    assert Vocabulary("entity", names).nearest("zzzz") == []
