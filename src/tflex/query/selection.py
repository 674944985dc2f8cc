"""Structures as they are named on the command line: `all`, `train`, groups, names, files."""

from __future__ import annotations

from tflex.errors import QueryError
from tflex.query.published import GROUPS, STRUCTURES, TRAINING_GROUPS
from tflex.query.structures import Structure, Structures
from tflex.query.text import parse_structures


def select(text: str, known: Structures = STRUCTURES) -> list[Structure]:
    """The structures that a list of words and files separated by commas names, each once.

    `all` are the forty of the paper, `train` the 23 of its training groups; a file ends in `.py`
    and gives all the structures it defines.
    """
    every = known.copy()
    chosen: dict[str, Structure] = {}
    for word in (part.strip() for part in text.split(",")):
        if word.endswith(".py"):
            found = parse_structures(word, every)
            for one in found:
                every.add(one)
        elif word == "all":
            found = list(known)
        elif word == "train":
            found = [one for one in known if one.group in TRAINING_GROUPS]
        elif word in GROUPS:
            found = [one for one in known if one.group == word]
        elif word:
            found = [every[word]]
        else:
            found = []
        chosen.update((one.name, one) for one in found)
    if not chosen:
        raise QueryError(f'"{text}" names no structure; say all, train, {", ".join(GROUPS)}, '
                         "names of structures, or a file of your own that ends in .py")  # fmt: skip
    return list(chosen.values())
