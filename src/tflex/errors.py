"""Every error a user can cause. The command line prints its message alone and exits with 2."""

from __future__ import annotations

from collections.abc import Sequence

WINDOW = 160
"""How much of a query's line an error shows."""


class TflexError(Exception):
    """Bad input, said in one message that names the place and the value."""


class DataError(TflexError):
    """A data file or dataset folder that cannot be used; names file, line and value."""


class QueryError(TflexError):
    """A query that cannot be read or has a wrong sort; points at the column where it is known."""

    def __init__(self, message: str, text: str | None = None, column: int | None = None) -> None:
        self.reason = message
        self.argument: int | None = None
        """Which argument of the operator is wrong, where that is known."""
        self.text = text
        self.column = column
        super().__init__(message if text is None else self._pointed())

    def _pointed(self) -> str:
        text, column = self.text or "", self.column or 0
        start = text.rfind("\n", 0, column) + 1
        end = text.find("\n", column)
        line, place = text[start : end if end >= 0 else len(text)], column - start
        where = f"column {place + 1}"
        if "\n" in text:
            where = f"line {text.count(chr(10), 0, start) + 1}, {where}"
        if len(line) > WINDOW:
            # Of a long line, what stands around the place.
            first = max(0, place - WINDOW // 2)
            line, place = line[first : first + WINDOW], place - first
        return f"{self.reason}\n  {line}\n  {' ' * place}^ {where}"


class UnknownName(QueryError):
    """A name that the vocabulary lacks, with the nearest names that it has."""

    def __init__(
        self,
        kind: str,
        name: str,
        suggestions: Sequence[str] = (),
        text: str | None = None,
        column: int | None = None,
    ) -> None:
        self.kind, self.name, self.suggestions = kind, name, tuple(suggestions)
        hint = ""
        if suggestions:
            hint = "; did you mean " + ", ".join(f'"{name}"' for name in suggestions) + "?"
        super().__init__(f'unknown {kind} "{name}"{hint}', text, column)


class UnsupportedOperator(TflexError):
    """An interpreter met an operator for which it has no rule."""
