"""Which column of a file says what: by a given mapping, by the header's names, or by position."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tflex.errors import DataError
from tflex.graph.dates import is_unknown

ROLES = ("subject", "relation", "object", "time", "start", "end")
POINT = ROLES[:4]
INTERVAL = (*ROLES[:3], "start", "end")

NAMES: dict[str, tuple[str, ...]] = {
    "subject": ("subject", "s", "sub", "subj", "head", "h", "source", "src", "entity1", "e1",
                "subjectid", "subjectname", "sourcename"),
    "relation": ("relation", "r", "rel", "predicate", "pred", "p", "property", "relationship",
                 "verb", "edge", "relationid", "relationname"),
    "object": ("object", "o", "obj", "tail", "target", "dst", "dest", "destination", "entity2",
               "e2", "objectid", "objectname", "targetname"),
    "time": ("time", "t", "timestamp", "date", "datetime", "when", "day", "month", "year",
             "timeid", "eventdate"),
    "start": ("start", "from", "since", "begin", "starttime", "startdate", "starttimestamp",
              "validfrom", "timestart", "timefrom", "timebegin"),
    "end": ("end", "to", "until", "till", "endtime", "enddate", "endtimestamp", "validto",
            "validuntil", "timeend", "timeto"),
}  # fmt: skip
"""Names that headers give to the roles, in lower case without punctuation."""

_ROLE_OF = {name: role for role, names in NAMES.items() for name in names}

Layout = dict[str, int]
"""Position of each role's column: those of POINT or of INTERVAL."""


def parse_columns(text: str) -> dict[str, str]:
    """The mapping that `subject=src,relation=rel,object=dst,time=when` writes."""
    mapping = {}
    for part in text.split(","):
        role, equals, name = part.partition("=")
        role, name = role.strip(), name.strip()
        if not equals or not name or role not in ROLES:
            raise DataError(
                f'"{part}" maps no column; write ROLE=NAME with a role of {", ".join(ROLES)}, '
                "as in subject=src,relation=rel,object=dst,time=when"
            )
        if role in mapping:
            raise DataError(f"two columns are mapped to {role}")
        mapping[role] = name
    return mapping


def by_name(names: Sequence[str]) -> Layout:
    """The roles that a header's names tell; a role told twice is not told."""
    roles = [_ROLE_OF.get("".join(c for c in name.lower() if c.isalnum())) for name in names]
    return {role: roles.index(role) for role in ROLES if roles.count(role) == 1}


def complete(layout: Layout) -> Layout | None:
    """The layout without what it does not need, or None where a role is missing."""
    for roles in (INTERVAL, POINT):
        if all(role in layout for role in roles):
            return {role: layout[role] for role in roles}
    return None


def by_position(width: int) -> Layout | None:
    """Subject, relation, object, time; or start and end instead of the time."""
    roles = {len(POINT): POINT, len(INTERVAL): INTERVAL}.get(width)
    return None if roles is None else {role: at for at, role in enumerate(roles)}


def find_layout(
    file: str, names: Sequence[str] | None, width: int, mapping: Mapping[str, str]
) -> Layout:
    """Where the roles stand in a file with these column names (None: it has none) and width."""
    given = {role: _position(file, role, name, names, width) for role, name in mapping.items()}
    told = by_name(names) if names is not None else {}
    if given:
        # Given columns belong to their roles alone; times are either points or intervals.
        other = {"time": ("start", "end"), "start": ("time",), "end": ("time",)}
        excluded = {role for known in given for role in other.get(known, ())}
        told = {role: at for role, at in told.items()
                if role not in excluded and at not in given.values()}  # fmt: skip
    layout = complete({**told, **given})
    if layout is None and not given:
        layout = by_position(width)
        if layout is not None and any(layout.get(role) != at for role, at in told.items()):
            layout = None
    if layout is None:
        raise DataError(f"{file}: {_unclear(names, width)}")
    return layout


def _unclear(names: Sequence[str] | None, width: int) -> str:
    wanted = "subject, relation, object and time, or start and end instead of time"
    example = "--columns subject=…,relation=…,object=…,time=…"
    if names is not None:
        held = ", ".join(f'"{name}"' for name in names)
        return f"which of the columns {held} are {wanted}? Say it with {example}"
    return (
        f"{width} column{'s' * (width != 1)} where 4 or 5 are expected ({wanted}); "
        f"with more, say which by number or by the header's names: {example}"
    )


def _position(file: str, role: str, name: str, names: Sequence[str] | None, width: int) -> int:
    for same in (lambda known: known == name, lambda known: known.lower() == name.lower()):
        found = [at for at, known in enumerate(names or ()) if same(known)]
        if len(found) > 1:
            raise DataError(f'{file}: {len(found)} columns are called "{name}"')
        if found:
            return found[0]
    if name.isdecimal() and 1 <= int(name) <= width:
        return int(name) - 1
    held = "it has no header" if names is None else f"it has {', '.join(names)}"
    raise DataError(f'{file}: no column "{name}" for the {role}; {held}')


def is_header(records: Sequence[Sequence[str]], mapping: Mapping[str, str]) -> bool:
    """Whether the first record names the columns.

    It does when its cells are known names or those of the mapping. Otherwise when its times are
    words where the times below hold digits, and its relation is none of those below: a line with a
    bad time repeats a relation, a header does not.
    """
    first = records[0]
    if mapping and not all(name.isdecimal() for name in mapping.values()):
        return True
    if complete(by_name(first)) is not None:
        return True
    layout: Mapping[str, int] | None = by_position(len(first))
    if mapping:
        layout = {role: int(name) - 1 for role, name in mapping.items()}
    if not layout or "relation" not in layout or max(layout.values()) >= len(first):
        return False
    times = [at for role, at in layout.items() if role in ("time", "start", "end")]
    below = [record for record in records[1:] if len(record) == len(first)]
    dated = [record for record in below if any(map(_has_digit, (record[at] for at in times)))]
    relation = layout["relation"]
    return (
        2 * len(dated) > len(below)
        and all(_is_word(first[at]) for at in times)
        and first[relation] not in {record[relation] for record in below}
    )


def _has_digit(text: str) -> bool:
    return any(character.isdigit() for character in text)


def _is_word(text: str) -> bool:
    return not is_unknown(text) and text[0].isalpha() and not _has_digit(text)
