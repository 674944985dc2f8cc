"""Progress where nobody watches: lines in a file, and none for what is soon over."""

from __future__ import annotations

import io
import json
import sys

import pytest

from tflex import cli
from tflex.cli import output

Capture = pytest.CaptureFixture[str]


def test_progress_in_a_file_is_a_line_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    times = iter([0.0, 1.0, 31.0, 40.0, 62.0])
    monkeypatch.setattr(output.time, "monotonic", lambda: next(times))
    with output.progress_bar() as bar:
        for part, fraction in (("one", 0.1), ("two", 0.5), ("two", 0.6), ("three", 1.0)):
            bar(part, fraction)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split() for line in lines] == [
        ["31", "s", "50%", "two"],
        ["62", "s", "100%", "three"],
    ]


def test_what_the_terminal_cannot_show_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    def command(arguments: object) -> int:
        print("Łódź")
        output.print_json("Łódź")
        return 0

    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(cli, "run", command)
    with pytest.raises(SystemExit):
        cli.main()
    out.seek(0)
    table, data = out.read().splitlines()
    assert (table, json.loads(data)) == ("??d?", "Łódź")
