"""A synthetic world: a temporal graph of any size that reads like news and can be learned.

Countries lie in regions and form blocs; persons and organisations have a home country, a sector and
a political side. All of this is hidden: only names, facts and days are given. Facts come from

- *ties*: recurring pairs with skewed weights. A pair is friendly, neutral or hostile, by the blocs
  abroad and by the sides at home, until the day when two blocs fall out or a government changes.
  The distance between the two groups decides which relations the pair uses, so that a relation
  has its own favourite partners for each region or sector. Most facts of a pair fall in two
  bursts, each with relations of its own; some are done to another partner on the same day, too;
- *follow-ups*: some facts call for another one, days later, onwards or back (`FollowUp`):
  `express intent to meet`, then `visit` and on the same day `host a visit by`;
- *offices*: `hold office in`, seen every few days, one holder at a time; at a change the winner is
  appointed and takes over and the loser resigns. Heads of countries act and are met in their name;
- *seasons*: relations that a pair repeats with a period, each pair on days of its own, so that
  the calendar says whose turn it is;
- a little noise, and one fact for every entity and relation that might otherwise have none.

Splits are drawn from all facts alike, so what is held out has its causes and its effects in train.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tflex.graph.facts import Facts, Level
from tflex.graph.temporal_graph import TemporalGraph
from tflex.graph.timeline import Timeline
from tflex.graph.vocab import Vocabulary
from tflex.graph.world_cast import Relations, draw_cast
from tflex.graph.world_events import Events, draw_facts
from tflex.graph.world_names import relation_kinds
from tflex.graph.world_scale import Scale, scale_of


@cache
def demo_world() -> TemporalGraph:
    """The world of the TARGET `demo`, built once in a process."""
    return build_world()


def build_world(scale: str = "demo", seed: int = 0) -> TemporalGraph:
    """A world of the given scale; equal scale and seed give equal bytes."""
    size = scale_of(scale)
    generator = np.random.default_rng(seed)
    cast, names = draw_cast(size, generator)
    relations = Relations(relation_kinds(size.relations), cast.groups, generator)
    events = draw_facts(size, cast, relations, generator)
    first = np.datetime64(size.first_day)
    days = np.datetime_as_string(first + np.arange(size.timestamps)).tolist()
    return TemporalGraph.from_facts(
        Facts.of(
            events.subject,
            events.relation,
            events.object,
            events.day,
            level=split(events, size, generator),
        ),
        Vocabulary("entity", names),
        Vocabulary("relation", [kind.name for kind in relations.kinds]),
        Timeline.of(days, "day"),
        f"world-{size.name}",
    )


def split(events: Events, size: Scale, generator: Generator) -> NDArray[np.uint8]:
    """A level for each fact: at random, but the first fact of each name goes to train."""
    count = len(events)
    order = generator.permutation(count)
    needed = np.zeros(count, bool)
    rows = order[::-1]
    names = (
        ((events.subject, events.object), size.entities),
        ((events.relation,), size.relations),
        ((events.day,), size.timestamps),
    )
    for columns, total in names:
        first = np.full(total, rows[0])
        for column in columns:
            first[column[rows]] = rows
        needed[first] = True
    free = order[~needed[order]]
    level = np.full(count, Level.train, np.uint8)
    level[free[: size.valid]] = Level.valid
    level[free[size.valid : size.valid + size.test]] = Level.test
    return level
