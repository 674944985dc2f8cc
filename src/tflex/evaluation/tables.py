"""Reports as tables for people (values ×100) and as data (fractions)."""

from __future__ import annotations

import csv as csv_module
import io
import json as json_module
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tflex.errors import DataError
from tflex.evaluation.protocols import MISSING, SIZE_PARTS, SIZES
from tflex.evaluation.report import MEANS, Report, group_means
from tflex.query.paper import ENTITY_GROUPS, groups, published_mrr

if TYPE_CHECKING:
    import rich.table

NOTHING = "–"
HEADINGS = {
    "mrr": "MRR",
    "hits@1": "Hits@1",
    "hits@3": "Hits@3",
    "hits@10": "Hits@10",
    "amri": "AMRI",
    "average_precision": "AP",
    "ndcg": "NDCG",
    "r_precision": "R-precision",
    "f1": "F1",
    "size_spearman": "size ρ",
    "boundary_error": "boundary error",
    "ceiling": "ceiling",
}
PARTS = {MISSING: ("0", "1", "2", "3+", "every atom"), SIZES: tuple(SIZE_PARTS)}


@dataclass(frozen=True)
class Row:
    cells: tuple[str, ...]
    mean: bool = False
    """A mean over other rows, set in bold."""


@dataclass(frozen=True)
class Table:
    """Cells ready to be shown; the first column names the row, the others align right."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]

    def has_values(self) -> bool:
        """Whether a cell behind the name and the number of queries holds something."""
        return any(cell != NOTHING for row in self.rows for cell in row.cells[2:])


def tables(reports: Sequence[Report], model: str = "TFLEX") -> list[Table]:
    """Every table of reports of one protocol: side by side, then each reasoner in detail."""
    results = [result for report in reports for result in report.structures.values()]
    made, details = [], []
    if any(result.ranked for result in results):
        made.append(side_by_side(reports, model=model))
    if not all(result.ranked for result in results):
        made.append(boundaries(reports))
    for report in reports:
        if report.protocol != "published":
            details.append(in_detail(report))
        present = {name for one in report.structures.values() for name in one.breakdowns}
        details += [broken_down(report, name) for name in PARTS if name in present]
    return made + [one for one in details if one.has_values()]


def too_few(reports: Sequence[Report]) -> str | None:
    """Why values are missing from reports of one protocol, where queries were too few to count."""
    for report in reports:
        least = report.minimum_queries
        for result in report.structures.values():
            parts = [one for scores in result.breakdowns.values() for one in scores.values()]
            if any(one.queries < least for one in (result.overall, *parts)):
                return (
                    f"fewer than {least} evaluable queries" if least > 1 else "no evaluable query"
                )
    return None


def side_by_side(reports: Sequence[Report], metric: str = "mrr", model: str = "TFLEX") -> Table:
    """One metric of several reasoners on the same queries, by structure, group and in the mean.

    Under `published` the paper's value and the ceiling stand beside, and the share of the ceiling
    that was reached. All means of a row run over the same structures, those that any reasoner
    counts; a reasoner or paper model that lacks one of them has no such mean.
    """
    first = _comparable(reports)
    reached = "ceiling" in first.metrics() and metric == "mrr"
    alone = [report.values(metric) for report in reports]
    counted = {name for one in alone for name in one}
    values = [_with_means(one, counted) for one in alone]
    paper, ceiling = {}, {}
    if reached:
        ceiling = _with_means(
            {k: v for r in reports for k, v in r.values("ceiling").items()}, counted
        )
        printed = published_mrr(first.dataset, model)
        paper = _with_means({k: v for k, v in printed.items() if k in counted}, counted)
    names = _names(reports)
    columns = ["", "n"]
    columns += [f"paper {model}"] if paper else []
    columns += ["ceiling"] if reached else []
    columns += [f"paper {model}/ceiling"] if paper else []
    for name in names:
        columns += [name, f"{name}/ceiling"] if reached else [name]

    def cells(row: str) -> list[str]:
        found = [percent(paper.get(row))] if paper else []
        found += [percent(ceiling.get(row))] if reached else []
        found += [percent(_ratio(paper.get(row), ceiling.get(row)))] if paper else []
        for one in values:
            found.append(percent(one.get(row)))
            found += [percent(_ratio(one.get(row), ceiling.get(row)))] if reached else []
        return found

    return Table(
        _title(f"{HEADINGS.get(metric, metric)}, {first.protocol} protocol", reports),
        tuple(columns),
        _rows(reports, cells, ranked=True),
    )


def _with_means(values: Mapping[str, float], counted: set[str]) -> dict[str, float]:
    """The values with those of their means that cover every structure counted."""
    whole = {group for group, names in groups().items() if counted & set(names) <= values.keys()}
    if len(whole) == len(groups()):
        whole.add("AVG")
    if whole.issuperset(ENTITY_GROUPS):
        whole.add("AVG_e")
    means = group_means(values)
    return {**values, **{name: mean for name, mean in means.items() if name in whole}}


def in_detail(report: Report) -> Table:
    """Every metric of one reasoner."""
    shown = [name for name in report.metrics() if report.values(name)]
    found = {name: {**report.values(name), **report.means(name)} for name in shown}
    return Table(
        _title(f"{report.reasoner}, {report.protocol} protocol", [report]),
        ("", "n", *(HEADINGS.get(name, name) for name in shown)),
        _rows([report], lambda row: [percent(found[name].get(row)) for name in shown], ranked=True),
    )


def broken_down(report: Report, breakdown: str, metric: str = "mrr") -> Table:
    """One metric of one reasoner over the parts of a breakdown; "–" where a part is too small."""
    parts = [
        part
        for part in PARTS[breakdown]
        if any(part in one.breakdowns.get(breakdown, {}) for one in report.structures.values())
    ]
    found = {
        part: {**report.values(metric, breakdown, part), **report.means(metric, breakdown, part)}
        for part in parts
    }
    heading = f"{report.reasoner}, {HEADINGS.get(metric, metric)} by {breakdown}"
    return Table(
        _title(f"{heading}, {report.protocol} protocol", [report]),
        ("", "n", *parts),
        _rows([report], lambda row: [percent(found[part].get(row)) for part in parts], ranked=True),
    )


def boundaries(reports: Sequence[Report]) -> Table:
    """The structures that are not ranked: F1 of the predicted set, boundary error in timestamps."""
    first = _comparable(reports)
    columns = [f"{name} {what}" for name in _names(reports) for what in ("F1", "error")]

    def cells(row: str) -> list[str]:
        found = []
        for report in reports:
            found.append(percent(report.value(row, "f1")))
            error = report.value(row, "boundary_error")
            found.append(NOTHING if error is None else f"{error:.1f}")
        return found

    heading = f"predicted sets and boundary error in timestamps, {first.protocol} protocol"
    return Table(_title(heading, reports), ("", "n", *columns), _rows(reports, cells, ranked=False))


def percent(fraction: float | None) -> str:
    return NOTHING if fraction is None else f"{100 * fraction:.2f}"


def _rows(reports: Sequence[Report], cells: Callable[[str], list[str]], *,
          ranked: bool) -> tuple[Row, ...]:  # fmt: skip
    """A row per structure under its group; with means, a row per group and over the groups."""
    counts = {
        name: result.overall.queries
        for report in reports
        for name, result in report.structures.items()
        if result.ranked is ranked
    }
    rows, left = [], dict(counts)
    for group, members in groups().items():
        present = [name for name in members if name in counts]
        if present and ranked:
            rows.append(Row((group, "", *cells(group)), mean=True))
        rows += [Row((name, str(left.pop(name)), *cells(name))) for name in present]
    rows += [Row((name, str(count), *cells(name))) for name, count in left.items()]
    if ranked:
        rows += [Row((mean, "", *cells(mean)), mean=True) for mean in MEANS]
    return tuple(rows)


def _comparable(reports: Sequence[Report]) -> Report:
    """The first of reports that may stand side by side: same protocol and same queries."""
    first = reports[0]
    for report in reports[1:]:
        for name in ("protocol", "dataset", "split"):
            if getattr(report, name) != getattr(first, name):
                raise DataError(
                    f"reports with {name} {getattr(first, name)} and {getattr(report, name)}"
                    " do not stand side by side"
                )
        for name in first.structures.keys() & report.structures.keys():
            one, other = first.structures[name].overall, report.structures[name].overall
            if (one.queries, one.targets) != (other.queries, other.targets):
                raise DataError(
                    f"{first.reasoner} and {report.reasoner} answered other queries of {name}"
                )
    return first


def _names(reports: Sequence[Report]) -> list[str]:
    """Column names: with the view of each reasoner where they differ."""
    if len({report.view for report in reports}) == 1:
        return [report.reasoner for report in reports]
    return [f"{report.reasoner} ({report.view})" for report in reports]


def _title(heading: str, reports: Sequence[Report]) -> str:
    views = ", ".join(dict.fromkeys(report.view for report in reports))
    where = f"{reports[0].dataset} {reports[0].split}".strip()
    return f"{heading}, {where} queries, given the {views} view"


def _ratio(value: float | None, best: float | None) -> float | None:
    return value / best if value is not None and best else None


def to_markdown(table: Table) -> str:
    """A pipe table under its title."""

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    rule = line([":---"] + ["---:"] * (len(table.columns) - 1))
    rows = [
        line([f"**{cell}**" if row.mean and cell else cell for cell in row.cells])
        for row in table.rows
    ]
    return "\n".join([f"**{table.title}**", "", line(table.columns), rule, *rows]) + "\n"


def to_latex(table: Table) -> str:
    """A table environment for the packages booktabs and fontenc."""

    def line(cells: Sequence[str], bold: bool = False) -> str:
        plain = [_latex(cell) for cell in cells]
        return " & ".join(f"\\textbf{{{one}}}" if bold and one else one for one in plain) + r" \\"

    return "\n".join(
        [
            r"\begin{table}",
            rf"\caption{{{_latex(table.title)}}}",
            rf"\begin{{tabular}}{{l{'r' * (len(table.columns) - 1)}}}",
            r"\toprule",
            line(table.columns),
            r"\midrule",
            *(line(row.cells, row.mean) for row in table.rows),
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def _latex(text: str) -> str:
    special = {"\\": r"\textbackslash{}", "–": "--", "ρ": r"$\rho$", "~": r"\textasciitilde{}"}
    special |= {one: f"\\{one}" for one in "&%$#_{}"} | {"^": r"\textasciicircum{}"}
    return "".join(special.get(one, one) for one in text)


def to_rich(table: Table) -> rich.table.Table:
    """A table for the terminal."""
    import rich.table
    import rich.text

    shown = rich.table.Table(title=rich.text.Text(table.title), title_justify="left")
    for number, column in enumerate(table.columns):
        shown.add_column(rich.text.Text(column), justify="right" if number else "left")
    for row in table.rows:
        style = "bold" if row.mean else None
        shown.add_row(*(rich.text.Text(cell) for cell in row.cells), style=style)
    return shown


def to_csv(reports: Sequence[Report], model: str = "TFLEX") -> str:
    """One value a line, as a fraction: what a spreadsheet or a data frame reads.

    `row` is a structure, a group, AVG or AVG_e; the reasoner of the paper's values is `paper …`.
    """
    out = io.StringIO()
    writer = csv_module.writer(out, lineterminator="\n")
    header = ("dataset", "split", "protocol", "view", "reasoner")
    writer.writerow([*header, "breakdown", "part", "row", "queries", "metric", "value"])
    for report in reports:
        place = [report.dataset, report.split, report.protocol, report.view]
        for breakdown, part in [(None, ""), *_parts(report)]:
            for metric in report.metrics():
                alone = {name: report.value(name, metric, breakdown, part)
                         for name in report.structures}  # fmt: skip
                for row, value in {**alone, **report.means(metric, breakdown, part)}.items():
                    score = report.score(row, breakdown, part)
                    count = "" if score is None else score.queries
                    if value is not None:
                        writer.writerow([*place, report.reasoner, breakdown or "", part, row,
                                         count, metric, repr(value)])  # fmt: skip
        if report.protocol == "published":
            for row, value in report.paper(model).items():
                writer.writerow([*place, f"paper {model}", "", "", row, "", "mrr", repr(value)])
    return out.getvalue()


def _parts(report: Report) -> list[tuple[str, str]]:
    """Every part of every breakdown that the report has."""
    present = {
        (breakdown, part)
        for result in report.structures.values()
        for breakdown, scores in result.breakdowns.items()
        for part in scores
    }
    return [(one, part) for one, parts in PARTS.items() for part in parts if (one, part) in present]


def to_json(reports: Sequence[Report], model: str = "TFLEX") -> str:
    """The reports as a JSON list; metrics are fractions in [0, 1]."""
    data = []
    for report in reports:
        one = report.to_dict()
        if report.protocol == "published" and (paper := report.paper(model)):
            one["paper"] = {"model": model, "mrr": paper}
        data.append(one)
    return json_module.dumps(data, indent=2, ensure_ascii=False) + "\n"
