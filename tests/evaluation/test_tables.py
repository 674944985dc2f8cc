import csv
import io
import json

import pytest

from tests.evaluation.helpers import Lookup, published, strict, table
from tests.evaluation.scalar import Query
from tflex.errors import DataError
from tflex.evaluation import (
    PUBLISHED,
    STRICT,
    Report,
    average_answers,
    evaluate,
    groups,
    published_mrr,
    query_counts,
)
from tflex.evaluation.report import group_means
from tflex.evaluation.tables import (
    Table,
    boundaries,
    broken_down,
    in_detail,
    side_by_side,
    tables,
    to_csv,
    to_json,
    to_latex,
    to_markdown,
    to_rich,
    too_few,
)

FIRST = Query(0, set(), {0, 1}, [3.0, 2.0, 1.0, 0.0])
LAST = Query(0, set(), {0, 1}, [0.0, 0.0, 1.0, 2.0])
ONE = Query(0, {3}, {0, 3}, [1.0, 2.0, 0.0, 9.0])


def report(queries: dict[str, list[Query]], name: str = "ours", view: str = "train",
           under=PUBLISHED) -> Report:  # fmt: skip
    reasoner = Lookup(name, {structure: table(one) for structure, one in queries.items()})
    make = published if under is PUBLISHED else strict
    made = [make(structure, one) for structure, one in queries.items()]
    return evaluate(reasoner, made, under, view=view, dataset="icews14", split="valid")


def rows(table: Table) -> dict[str, tuple[str, ...]]:
    return {row.cells[0]: row.cells[1:] for row in table.rows}


def test_published_table_has_the_paper_and_the_ceiling_over_the_structures_present():
    made = side_by_side([report({"e2i": [FIRST], "e2u": [ONE], "e3i": [FIRST]})])
    assert made.title == "MRR, published protocol, icews14 valid queries, given the train view"
    assert made.columns == (
        "", "n", "paper TFLEX", "ceiling", "paper TFLEX/ceiling", "ours", "ours/ceiling"
    )  # fmt: skip
    found = rows(made)
    assert found["e2i"] == ("1", "69.24", "75.00", "92.32", "75.00", "100.00")
    assert found["e2u"] == ("1", "29.20", "100.00", "29.20", "50.00", "50.00")
    assert found["avg_e"][:3] == ("", "82.47", "75.00")  # (69.24 + 95.70) / 2
    assert found["AVG"][1:3] == ("55.84", "87.50")  # (82.47 + 29.20) / 2
    assert found["AVG"][4:] == ("62.50", "71.43")
    assert list(found) == ["avg_e", "e2i", "e3i", "avg_e_union", "e2u", "AVG", "AVG_e"]


def test_several_reasoners_stand_side_by_side_with_their_views():
    ours = report({"e2i": [FIRST]})
    made = side_by_side([ours, report({"e2i": [LAST]}, "exact", "valid")])
    assert made.columns[-4:] == (
        "ours (train)", "ours (train)/ceiling", "exact (valid)", "exact (valid)/ceiling"
    )  # fmt: skip
    assert made.title.endswith("given the train, valid view")
    # The tied pair shares positions 3 and 4.
    assert rows(made)["e2i"][-4:] == ("75.00", "100.00", "29.17", "38.89")


def test_a_mean_covers_every_structure_shown_or_is_not_shown():
    whole = report({"e2i": [FIRST], "e3i": [FIRST], "e2u": [ONE], "t2i": [ONE]})
    part = report({"e2i": [FIRST], "e2u": [ONE]}, "static")
    found = rows(side_by_side([part, whole]))
    static = {name: cells[4] for name, cells in found.items()}
    assert static["avg_e"] == static["AVG"] == static["AVG_e"] == static["t2i"] == "–"
    assert static["avg_e_union"] == "50.00"
    assert found["avg_e"][1:] == ("82.47", "75.00", "109.96", "–", "–", "75.00", "100.00")
    assert found["AVG"][6] == "58.33"  # (75 + 50 + 50) / 3
    assert found["AVG_e"][6] == "62.50"
    baseline = rows(side_by_side([whole], model="BetaE"))
    assert baseline["avg_e"][1] != "–"
    assert baseline["AVG"][1] == baseline["avg_t"][1] == "–"


def test_reports_on_other_queries_do_not_stand_side_by_side():
    with pytest.raises(DataError, match="ours and exact answered other queries of e2i"):
        side_by_side([report({"e2i": [FIRST]}), report({"e2i": [FIRST] * 2}, "exact")])
    with pytest.raises(DataError, match="protocol published and strict"):
        side_by_side([report({"e2i": [FIRST]}), report({"e2i": [FIRST]}, under=STRICT)])


def test_too_few_queries_show_their_number_and_a_dash():
    few = report({"e2i": [FIRST] * 19, "e3i": [LAST] * 20}, under=STRICT)
    found = rows(side_by_side([few]))
    assert found["e2i"] == ("19", "–")
    assert found["e3i"] == ("20", "33.33")
    assert found["avg_e"] == ("", "33.33")


def test_too_few_queries_are_the_reason_and_make_no_tables_without_values():
    boundary = Query(0, {1, 2, 3}, {2, 3}, [0.0, 1.0, 2.0, 3.0])
    few = report({"e2i": [FIRST] * 19}, under=STRICT)
    assert too_few([few]) == "fewer than 20 evaluable queries"
    (only,) = tables([few])
    assert only.title.startswith("MRR") and rows(only)["e2i"] == ("19", "–")
    # A ranking of nothing says nothing at all.
    (only,) = tables([report({"aPt": [boundary]}, under=STRICT)])
    assert only.title.startswith("predicted sets")
    enough = report({"e2i": [FIRST] * 20}, under=STRICT)
    assert too_few([enough]) is None and len(tables([enough])) == 3
    assert too_few([report({"e2i": [FIRST]})]) is None


def test_detail_and_breakdown_and_boundaries():
    boundary = Query(0, {1, 2, 3}, {2, 3}, [0.0, 1.0, 2.0, 3.0])
    strict_report = report({"e2i": [FIRST] * 20, "aPt": [boundary] * 20}, under=STRICT)
    detail = in_detail(strict_report)
    assert detail.columns[:7] == ("", "n", "MRR", "Hits@1", "Hits@3", "Hits@10", "AMRI")
    assert rows(detail)["e2i"] == ("20", *["100.00"] * 8)
    assert "aPt" not in rows(detail)
    sizes = broken_down(strict_report, "answers")
    assert sizes.columns == ("", "n", "2–5")
    assert rows(boundaries([strict_report])) == {"aPt": ("20", "–", "–")}
    assert len(tables([strict_report])) == 4
    assert all("given the train view" in one.title for one in tables([strict_report]))


def test_a_structure_of_the_user_is_shown_outside_the_means():
    found = rows(side_by_side([report({"mine": [FIRST]})]))
    assert found["mine"][-2:] == ("75.00", "100.00")
    assert found["AVG"][-2:] == ("–", "–")


def test_markdown():
    text = to_markdown(side_by_side([report({"e2i": [FIRST] * 20}, under=STRICT)]))
    assert text == (
        "**MRR, strict protocol, icews14 valid queries, given the train view**\n"
        "\n"
        "|  | n | ours |\n"
        "| :--- | ---: | ---: |\n"
        "| **avg_e** |  | **100.00** |\n"
        "| e2i | 20 | 100.00 |\n"
        "| **AVG** |  | **100.00** |\n"
        "| **AVG_e** |  | **100.00** |\n"
    )


def test_latex_escapes_what_latex_reads():
    text = to_latex(side_by_side([report({"e2i_N": [FIRST]}, "a&b")]))
    assert r"e2i\_N & 1 & 45.55" in text
    assert r"a\&b/ceiling" in text
    assert r"\textbf{avg\_e\_not}" in text


def test_rich_shows_every_cell():
    import rich.console

    console = rich.console.Console(width=160, file=io.StringIO(), record=True)
    console.print(to_rich(side_by_side([report({"e2i": [FIRST]}, "[red]")])))
    shown = console.export_text()
    assert "[red]" in shown
    assert "92.32" in shown


def test_csv_holds_one_fraction_a_line():
    text = to_csv([report({"e2i": [FIRST]})])
    lines = list(csv.DictReader(io.StringIO(text)))
    ours = {
        (one["row"], one["metric"]): float(one["value"])
        for one in lines
        if one["reasoner"] == "ours" and not one["breakdown"]
    }
    assert ours["e2i", "mrr"] == ours["AVG", "ceiling"] == 0.75
    paper = {one["row"]: float(one["value"]) for one in lines if one["reasoner"] == "paper TFLEX"}
    assert paper["e2i"] == pytest.approx(0.6924)
    assert {one["view"] for one in lines} == {"train"}
    assert {one["part"] for one in lines} == {"", "2–5"}


def test_json_holds_fractions_and_comes_back():
    ours = report({"e2i": [FIRST]})
    (data,) = json.loads(to_json([ours]))
    assert data["structures"]["e2i"]["overall"]["metrics"]["mrr"] == 0.75
    assert data["means"]["ceiling"] == {"avg_e": 0.75, "AVG": 0.75, "AVG_e": 0.75}
    assert data["paper"]["mrr"]["AVG"] == pytest.approx(0.6924)
    assert data["view"] == "train"
    assert Report.from_dict(data) == ours


def test_the_paper_s_numbers_give_the_paper_s_means():
    printed = published_mrr("ICEWS14")
    assert len(printed) == sum(len(members) for members in groups().values()) == 40
    means = group_means(printed)
    assert means["AVG"] == pytest.approx(0.3593, abs=1e-4)
    assert means["avg_e"] == pytest.approx(0.5679, abs=1e-4)
    assert published_mrr("icews05_15") == published_mrr("ICEWS05-15")
    assert published_mrr("icews14", "BetaE").keys() < printed.keys()
    assert published_mrr("demo") == {}


def test_the_paper_s_counts():
    assert query_counts("icews14", "test")["Pe"] == 8848
    assert "e2u" not in query_counts("icews14", "train")
    assert average_answers("icews14", "test")["aPt"] == 175.89
