"""Which files an import reads: facts with their split, and lists of names that fix the ids."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tflex.errors import DataError
from tflex.graph.facts import Level

Form = Literal["delimited", "parquet", "jsonl"]
FORMS: dict[str, Form] = {
    ".tsv": "delimited", ".txt": "delimited", ".csv": "delimited",
    ".parquet": "parquet", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl",
}  # fmt: skip
LISTS = {"entities.txt": "entity", "relations.txt": "relation", "timestamps.txt": "timestamp"}
WHITESPACE = " \t\r\n\x0b\x0c"
"""What is cut off around names. Not the no-break space: published names end in one."""
_SPLIT = re.compile(r"(train|valid|test)([._-].*)?")


@dataclass(frozen=True)
class Source:
    """One file of facts."""

    path: Path
    form: Form
    number: int
    level: Level | None

    def where(self, line: int) -> str:
        """How a message names a place in this file."""
        return f"{self.path}, {'row' if self.form == 'parquet' else 'line'} {line}"

    @property
    def suffix(self) -> str:
        return _suffix(self.path)

    @property
    def pattern(self) -> str:
        """The path for DuckDB, which would take some characters for wildcards."""
        return "".join(f"[{c}]" if c in "*?[" else c for c in str(self.path))


def collect(paths: Iterable[str | Path]) -> tuple[list[Source], dict[str, list[str]]]:
    """The files of facts and the given names by kind (entity, relation, timestamp).

    Split files (train and valid or test) keep their level; otherwise no source has one.
    """
    files: list[Path] = []
    lists: dict[str, list[str]] = {}
    for path in map(Path, paths):
        for file in _contents(path) if path.is_dir() else [path]:
            if file.name in LISTS:
                kind = LISTS[file.name]
                if kind in lists:
                    raise DataError(f"{file} is the second {file.name}")
                lists[kind] = read_names(file)
                if kind == "relation":
                    _refuse_inverses(file, lists[kind])
            else:
                files.append(file)
    if not files:
        raise DataError("no files of facts are given")
    levels = [_level(file) for file in files]
    kept = None not in levels and Level.train in levels and len(set(levels)) > 1
    return [
        Source(file, _form(file), number, level if kept else None)
        for number, (file, level) in enumerate(zip(files, levels, strict=True))
    ], lists


def _refuse_inverses(file: Path, names: list[str]) -> None:
    for line, name in enumerate(names, 1):
        if name.startswith("~"):
            raise DataError(
                f'{file}, line {line}: "{name}" begins with "~", which in queries means the inverse'
            )


def _contents(folder: Path) -> list[Path]:
    if (folder / "dataset.json").exists():
        raise DataError(f"{folder} is a dataset already")
    files = sorted(
        file for file in folder.iterdir() if file.is_file() and not file.name.startswith((".", "_"))
    )
    lists = [file for file in files if file.name in LISTS]
    readable = [file for file in files if _suffix(file) in FORMS and file not in lists]
    facts = sorted((file for file in readable if _level(file) is not None), key=_level_and_name)
    if len({_level(file) for file in facts}) < 2:
        # A text file in a folder may be anything; one that is given by its name holds facts.
        facts = [file for file in readable if _suffix(file) != ".txt"] or facts
    if not facts:
        raise DataError(f"{folder} holds no facts ({', '.join(FORMS)})")
    return lists + facts


def _level(file: Path) -> Level | None:
    match = _SPLIT.fullmatch(file.name.lower())
    return Level[match[1]] if match else None


def _level_and_name(file: Path) -> tuple[int, str]:
    return int(_level(file) or 0), file.name


def _suffix(file: Path) -> str:
    name = file.name.lower()
    return Path(name.removesuffix(".gz")).suffix


def _form(file: Path) -> Form:
    if not file.exists():
        raise DataError(f"{file} does not exist")
    form = FORMS.get(_suffix(file))
    if form is None:
        raise DataError(f"{file}: cannot tell its format; known endings are {', '.join(FORMS)}")
    return form


def read_names(path: Path) -> list[str]:
    """The names of a list: its line number, from 0, is the id."""
    names: list[str] = []
    seen: dict[str, int] = {}
    if not path.exists():
        raise DataError(f"{path} does not exist")
    content = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    for line, raw in enumerate(content.removesuffix(b"\n").split(b"\n"), 1):
        try:
            name = raw.decode().strip(WHITESPACE)
        except UnicodeDecodeError:
            raise DataError(f"{path}, line {line}: {raw!r} is not UTF-8") from None
        if not name:
            raise DataError(f"{path}, line {line}: the name is empty")
        if name in seen:
            raise DataError(f'{path}, line {line}: "{name}" is on line {seen[name]} already')
        seen[name] = line
        names.append(name)
    return names
