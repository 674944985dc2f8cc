"""How large a synthetic world is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tflex.errors import DataError
from tflex.graph.world_names import FEWEST_RELATIONS, MOST_RELATIONS

FEWEST_FACTS, MOST_FACTS = 200, 100_000_000


@dataclass(frozen=True)
class Scale:
    """The counts of a world."""

    name: str
    entities: int
    relations: int
    timestamps: int
    train: int
    valid: int
    test: int
    first_day: str = "2014-01-01"

    @property
    def facts(self) -> int:
        return self.train + self.valid + self.test


SCALES = {
    scale.name: scale
    for scale in (
        Scale("demo", 300, 24, 120, 6_000, 750, 750),
        Scale("icews14", 7_128, 230, 365, 72_826, 8_941, 8_963),
        Scale("icews05-15", 10_488, 251, 4_017, 368_962, 46_275, 46_092, "2005-01-01"),
        Scale("gdelt-500", 500, 20, 366, 2_735_685, 341_961, 341_961),
    )
}


def scale_of(text: str) -> Scale:
    """The scale of a name, or one for a number of facts with the other counts to match."""
    if text in SCALES:
        return SCALES[text]
    if not (text.isascii() and text.isdigit()):
        raise DataError(f'no scale "{text}"; scales are {", ".join(SCALES)} or a number of facts')
    count = int(text)
    if not FEWEST_FACTS <= count <= MOST_FACTS:
        raise DataError(f"a world has {FEWEST_FACTS:,} to {MOST_FACTS:,} facts, not {count:,}")
    held_out = count // 10
    return Scale(
        text,
        entities=round(0.3 * count**0.8),
        relations=int(np.clip(2.6 * count**0.25, FEWEST_RELATIONS, MOST_RELATIONS)),
        timestamps=min(round(1.4 * count**0.5), 20 * 365),
        train=count - 2 * held_out,
        valid=held_out,
        test=held_out,
    )
