"""Small data files and ways to spoil them."""

from __future__ import annotations

import io
import json

import numpy as np
import pyarrow
import pyarrow.parquet
from numpy.random import Generator

NAMES = ("Ann", "Bob", 'The "Club"', "Zoë", "x, y", "China", "")
RELATIONS = ("visit", "meet", "hold office in")
TIMES = ("2014-01-01", "2014-02-30", "2014", "201#-##-##", "####-##-##", "", "2014-01-03T10:00:00",
         "-431-##-##", "7", "12.0", "soon")  # fmt: skip
SPLINTERS = (
    *(
        b"\t",
        b",",
        b";",
        b"|",
        b'"',
        b'""',
        b"\n",
        b"\r\n",
        b"\r",
        b"\n\n",
        b" ",
        b"#",
        b"-",
        b"--",
    ),
    *(b"\0", b"\xff", b"\xef\xbb\xbf", b"\xc3", b"\xc2\xa0", b"\xe2\x80\xa8", b"9" * 30),
    *(b"{", b"}", b"[", b"\\ud800", b"null", b"true", b"1e9"),
)


def draw_rows(generator: Generator) -> list[list[str]]:
    interval = bool(generator.integers(2))
    clean = generator.random() < 0.6
    names, times = (NAMES[:6], TIMES[:1] + TIMES[2:4]) if clean else (NAMES, TIMES)

    def pick(values: tuple[str, ...]) -> str:
        return values[generator.integers(len(values))]

    return [
        [pick(names), pick(RELATIONS), pick(names), *(pick(times) for _ in range(1 + interval))]
        for _ in range(generator.integers(0, 9))
    ]


def write(rows: list[list[str]], form: str, header: bool) -> bytes:
    """Rows as a file of a form: tsv, csv, jsonl or parquet."""
    names = ["subject", "relation", "object", "time"]
    if rows and len(rows[0]) == 5:
        names = ["head", "rel", "tail", "start", "end"]
    if form == "jsonl":
        objects = [json.dumps(dict(zip(names, row, strict=True))) for row in rows]
        return "\n".join(objects).encode()
    if form == "parquet":
        columns = {name: [row[at] for row in rows] for at, name in enumerate(names)}
        sink = io.BytesIO()
        pyarrow.parquet.write_table(pyarrow.table(columns), sink)
        return sink.getvalue()
    lines = [names, *rows] if header else rows
    if form == "csv":
        lines = [[f'"{cell.replace(chr(34), chr(34) * 2)}"' if set(cell) & set(',"') else cell
                  for cell in line] for line in lines]  # fmt: skip
    return "".join({"tsv": "\t", "csv": ","}[form].join(line) + "\n" for line in lines).encode()


def mutate(data: bytes, generator: Generator) -> bytes:
    """A few random edits: bytes changed, cut, repeated, moved, or strange ones put in."""
    for _ in range(generator.integers(0, 4)):
        at, to = np.sort(generator.integers(0, len(data) + 1, 2)).tolist()
        kind = generator.integers(6)
        if kind == 0:
            data = data[:at] + data[min(at + 1, len(data)) :]
        elif kind == 1:
            data = data[:at] + SPLINTERS[generator.integers(len(SPLINTERS))] + data[at:]
        elif kind == 2:
            data = data[:to] + data[at:to] + data[to:]
        elif kind == 3:
            data = data[:at]
        elif kind == 4:
            data = data[:at] + bytes([generator.integers(256)]) + data[at + 1 :]
        else:
            lines = data.split(b"\n")
            generator.shuffle(lines)
            data = b"\n".join(lines)
    return data
