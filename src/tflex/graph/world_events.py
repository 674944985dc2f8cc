"""What happens in a synthetic world: the processes that make its facts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tflex.graph.facts import Ids
from tflex.graph.world_cast import (
    DOMESTIC,
    FRIENDLY,
    HOSTILE,
    Cast,
    Relations,
    Ties,
    draw_ties,
    weighted,
)
from tflex.graph.world_names import APPOINT, HOLD_OFFICE, RESIGN, TAKE_OVER
from tflex.graph.world_scale import Scale

OFFICE_SHARE, SEASON_SHARE, NOISE_SHARE = 0.05, 0.12, 0.03
IN_BURST, FIRST_BURST, FIRST_HABIT = 0.8, 0.6, 0.7
BY_HEAD_OF_COUNTRY, ALSO_TO_ANOTHER = 0.2, 0.45


@dataclass(frozen=True)
class Events:
    """Columns of facts to be. Those of one story stay together when the world is filled up."""

    subject: Ids
    relation: Ids
    object: Ids
    day: Ids
    story: NDArray[np.int64]

    @classmethod
    def of(cls, subject: NDArray, relation: NDArray | int, object: NDArray, day: NDArray,
           story: NDArray | int = 0) -> Events:  # fmt: skip
        columns = (subject, relation, object, day)
        s, r, o, t = (np.broadcast_to(np.asarray(c, np.int32), subject.shape) for c in columns)
        return cls(s, r, o, t, np.broadcast_to(np.asarray(story, np.int64), subject.shape))

    @classmethod
    def joined(cls, parts: list[Events]) -> Events:
        columns = zip(*(part.columns() for part in parts), strict=True)
        return cls(*(np.concatenate(column) for column in columns))

    def __len__(self) -> int:
        return len(self.subject)

    def columns(self) -> tuple[NDArray, ...]:
        return (self.subject, self.relation, self.object, self.day, self.story)

    def take(self, rows: NDArray) -> Events:
        return Events(*(column[rows] for column in self.columns()))


def draw_facts(size: Scale, cast: Cast, relations: Relations, generator: Generator) -> Events:
    """Exactly as many distinct facts as the scale says."""
    ties = draw_ties(size, cast, relations, generator)
    offices, heads = draw_offices(size, cast, relations, generator)
    basis = Events.joined(
        [
            draw_coverage(size, cast, ties, relations, generator),
            offices,
            draw_seasons(size, cast, ties, relations, generator),
        ]
    )
    facts = distinct(basis, size)
    noise = NOISE_SHARE
    while len(facts) < size.facts:
        stories = max(100, int(0.8 * (size.facts - len(facts))))
        more = [
            draw_stories(stories, size, ties, heads, relations, generator),
            draw_noise(int(noise * stories), stories, size, cast, relations, generator),
        ]
        batch = Events.joined(more)
        facts = distinct(
            Events.joined([facts, batch.take(np.argsort(batch.story, kind="stable"))]), size
        )
        # A world too small for its number of facts still gets them.
        noise = min(1.0, 1.5 * noise)
    return facts.take(np.arange(size.facts))


def distinct(events: Events, size: Scale) -> Events:
    """The events without self-loops and repetitions, the first of equals kept, order kept."""
    key = events.subject.astype(np.int64)
    for column, count in ((events.relation, size.relations), (events.object, size.entities),
                          (events.day, size.timestamps)):  # fmt: skip
        key = key * count + column
    _, first = np.unique(key, return_index=True)
    first.sort()
    return events.take(first[events.subject[first] != events.object[first]])


def draw_coverage(
    size: Scale, cast: Cast, ties: Ties, relations: Relations, generator: Generator
) -> Events:
    """One fact for each entity, with its own people, and one for each relation that ties use."""
    entity = generator.permutation(cast.size)
    partner = cast.actors.draw(cast.home[entity], generator)
    partner = np.where(partner == entity, cast.home[entity], partner)
    shift = (cast.group[partner] - cast.group[entity]) % cast.groups
    tone = np.where(cast.side[entity] == cast.side[partner], FRIENDLY, HOSTILE)
    relation = relations.draw(relations.class_of(DOMESTIC, tone, shift), generator)
    day = np.resize(generator.permutation(size.timestamps), cast.size)
    used = np.flatnonzero(relations.usage.sum(0) > 0)
    tie = np.array([weighted(relations.usage[ties.classes[0], id], 1, generator)[0] for id in used])
    first = generator.random(len(used)) * ties.turn[tie]
    return Events.joined(
        [
            Events.of(entity, relation, partner, day),
            Events.of(ties.subject[tie], used, ties.object[tie], first),
        ]
    )


def draw_offices(
    size: Scale, cast: Cast, relations: Relations, generator: Generator
) -> tuple[Events, Ids]:
    """Facts about offices, and the head of each country on each day."""
    days = size.timestamps
    persons = cast.size - cast.first_person
    wanted = int(OFFICE_SHARE * size.facts * 7 / days)
    count = max(cast.countries, min(wanted, persons // 3, cast.first_person))
    bodies = (
        np.argsort(-cast.power[cast.countries : cast.first_person], kind="stable") + cast.countries
    )
    host = np.concatenate([np.arange(cast.countries), bodies])[:count]
    holder = _holders(host, cast, days, generator)

    step = int(np.clip(count * days / (OFFICE_SHARE * size.facts), 1, 30))
    phase = generator.integers(step, size=count)
    office, day = np.nonzero((np.arange(days) - phase[:, None]) % step == 0)
    seat, change = np.nonzero(holder[:, 1:] != holder[:, :-1])
    new, old = holder[seat, change + 1], holder[seat, change]
    ids = relations.ids
    parts = [
        Events.of(holder[office, day], ids[HOLD_OFFICE], host[office], day),
        Events.of(cast.home[host[seat]], ids[APPOINT], new, change + 1),
        Events.of(new, ids[TAKE_OVER], old, change + 1),
    ]
    if RESIGN in ids:
        parts.append(Events.of(old, ids[RESIGN], host[seat], change + 1))
    return Events.joined(parts), holder[: cast.countries]


def _holders(host: NDArray, cast: Cast, days: int, generator: Generator) -> Ids:
    """Who holds each office on each day: a few rivals take turns, for terms of any length."""
    count = len(host)
    usual = np.clip(days / 3, 30, 500)
    terms = 2 + generator.poisson(max(days / usual - 1.5, 0), count)
    office = np.repeat(np.arange(count), terms)
    place = np.arange(len(office)) - np.repeat(np.cumsum(terms) - terms, terms)
    start = np.where(place == 0, 0, generator.integers(1, days, len(office)))
    start = start[np.lexsort((start, office))]
    length = np.append(start[1:], 0)
    length = np.where(length == 0, days, length) - start

    home = cast.home[cast.first_person :]
    by_home = np.argsort(home, kind="stable") + cast.first_person
    people = np.bincount(home, minlength=cast.countries)
    first = np.cumsum(people) - people
    country = cast.home[host[office]]
    rivals = np.minimum(people[country], 4)
    favourite = generator.integers(1 << 30, size=count)[office]
    person = by_home[first[country] + (favourite + place % rivals) % people[country]]
    return np.repeat(person, length).reshape(count, days).astype(np.int32)


def draw_seasons(
    size: Scale, cast: Cast, ties: Ties, relations: Relations, generator: Generator
) -> Events:
    """Facts of pairs that meet by the calendar; now and then they skip."""
    parts = []
    kept = 0.9
    for id in relations.seasonal:
        kind = relations.kinds[id]
        share = SEASON_SHARE * size.facts / len(relations.seasonal)
        count = max(1, int(share * kind.period / (kept * size.timestamps)))
        able = np.flatnonzero(ties.foreign == (kind.scope == "foreign"))
        # Subjects with many partners, so that the calendar says whose turn it is.
        partners = np.bincount(ties.subject[able])[ties.subject[able]]
        tie = able[np.unique(weighted(partners**1.5, count, generator))]
        phase = generator.integers(min(kind.period, size.timestamps), size=len(tie))
        times = (size.timestamps - phase + kind.period - 1) // kind.period
        place = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)
        day = np.repeat(phase, times) + kind.period * place
        pair = np.repeat(tie, times)
        happened = np.flatnonzero(generator.random(len(day)) < kept)
        pair, day = pair[happened], day[happened]
        parts.append(Events.of(ties.subject[pair], id, ties.object[pair], day))
    return Events.joined(parts)


def draw_stories(count: int, size: Scale, ties: Ties, heads: Ids, relations: Relations,
                 generator: Generator) -> Events:  # fmt: skip
    """Facts of ties with everything that follows from them."""
    tie = weighted(ties.weight, count, generator)
    burst = (generator.random(count) > FIRST_BURST).astype(np.int64)
    inside = ties.burst_start[burst, tie] + ties.burst_length[burst, tie] * generator.random(count)
    anywhere = generator.random(count) * size.timestamps
    day = np.where(generator.random(count) < IN_BURST, inside, anywhere).astype(np.int32)
    era = (day >= ties.turn[tie]).astype(np.int64)
    habit = (generator.random(count) > FIRST_HABIT).astype(np.int64)
    relation = ties.habits[era, tie, burst, habit]
    ends = [
        _by_head(end[tie], day, ties.foreign[tie], heads, generator)
        for end in (ties.subject, ties.object)
    ]
    told = Events.of(ends[0], relation, ends[1], day, np.arange(count))
    # Some do the same on that day to another partner of the same scope and tone.
    other = ties.by_subject.draw(ties.subject[tie], generator)
    alike = ties.scope_and_tone[era, other] == ties.scope_and_tone[era, tie]
    also = np.flatnonzero(alike & (generator.random(count) < ALSO_TO_ANOTHER))
    told = Events.joined(
        [told, Events.of(ends[0][also], relation[also], ties.object[other[also]], day[also], also)]
    )
    parts = [told]
    while len(told):
        told = _what_follows(told, size, relations, generator)
        parts.append(told)
    return Events.joined(parts)


def _by_head(
    entity: NDArray, day: NDArray, foreign: NDArray, heads: Ids, generator: Generator
) -> NDArray:
    """Some countries act abroad through their head of that day."""
    chosen = foreign & (entity < len(heads)) & (generator.random(len(entity)) < BY_HEAD_OF_COUNTRY)
    return np.where(chosen, heads[np.where(chosen, entity, 0), day], entity)


def _what_follows(told: Events, size: Scale, relations: Relations, generator: Generator) -> Events:
    parts = []
    for slot in range(len(relations.follower)):
        rows = np.flatnonzero(generator.random(len(told)) < relations.chance[slot, told.relation])
        cause = told.take(rows)
        at = slot, cause.relation
        delay = generator.integers(relations.earliest[at], relations.latest[at] + 1)
        back, day = relations.back[at], cause.day + delay
        effect = Events.of(
            np.where(back, cause.object, cause.subject), relations.follower[at],
            np.where(back, cause.subject, cause.object), day, cause.story,
        )  # fmt: skip
        parts.append(effect.take(np.flatnonzero(day < size.timestamps)))
    return Events.joined(parts)


def draw_noise(count: int, stories: int, size: Scale, cast: Cast, relations: Relations,
               generator: Generator) -> Events:  # fmt: skip
    """Facts without a reason, strewn among the stories."""
    return Events.of(
        weighted(cast.power, count, generator),
        weighted(relations.weight, count, generator),
        weighted(cast.power, count, generator),
        generator.integers(size.timestamps, size=count),
        generator.integers(stories, size=count),
    )
