"""Progress where nobody watches: lines in a file, and none for what is soon over."""

from __future__ import annotations

import pytest

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
