"""Who and what there is in a synthetic world before anything happens: entities, relations, ties."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tflex.graph.facts import Ids
from tflex.graph.world_names import Names, RelationKind
from tflex.graph.world_scale import Scale

TONES = ("friendly", "neutral", "hostile")
FRIENDLY, NEUTRAL, HOSTILE = range(3)
FOREIGN, DOMESTIC = range(2)

TONE_MATCH = np.array([[1, 0.4, 0.02], [0.15, 1, 0.15], [0.02, 0.4, 1]])
"""How much a pair of one tone (row) uses relations of another (column)."""

BURSTS, HABITS = 2, 2
"""Short times in which most facts of a pair fall, and relations that it uses in each."""


class Grouped:
    """Draws members of groups in proportion to their weights."""

    def __init__(self, group: NDArray, weight: NDArray, group_count: int) -> None:
        self.members = np.argsort(group, kind="stable")
        self.pointer = np.concatenate(([0], np.cumsum(np.bincount(group, minlength=group_count))))
        self._cumulative = np.concatenate(([0.0], np.cumsum(weight[self.members])))

    def draw(self, group: NDArray, generator: Generator) -> NDArray:
        low, high = (self._cumulative[self.pointer[group + side]] for side in (0, 1))
        place = (
            np.searchsorted(
                self._cumulative, low + generator.random(len(group)) * (high - low), "right"
            )
            - 1
        )
        return self.members[np.clip(place, self.pointer[group], self.pointer[group + 1] - 1)]


def weighted(weight: NDArray, count: int, generator: Generator) -> NDArray:
    """`count` places in an array of weights, each drawn in proportion to its weight."""
    cumulative = np.cumsum(weight)
    drawn = np.searchsorted(cumulative, generator.random(count) * cumulative[-1], "right")
    return np.minimum(drawn, len(weight) - 1)


def zipf(count: int, exponent: float = 1.0, offset: float = 1.0) -> NDArray:
    return (np.arange(count) + offset) ** -exponent


@dataclass(frozen=True)
class Cast:
    """Who there is: countries, then organisations, then persons, and what is hidden about them."""

    countries: int
    first_person: int
    groups: int
    home: Ids
    """The country of each entity; a country's is itself."""
    group: Ids
    """The region of a country, the sector of anyone else."""
    side: Ids
    """0 or 1; a country's is the side of its government before the election."""
    power: NDArray[np.float64]
    bloc: Ids
    """By country."""
    election: Ids
    """By country: the day when its government changes side (after the last day: never)."""
    bloc_tone: Ids
    """By era (before, after), bloc, bloc."""
    bloc_break: Ids
    """By bloc, bloc: the day when the second era begins."""
    actors: Grouped
    """Organisations and persons by home."""
    neighbours: Grouped
    """Countries by region."""

    @property
    def size(self) -> int:
        return len(self.home)


def draw_cast(size: Scale, generator: Generator) -> tuple[Cast, list[str]]:
    """The entities of a world with their names."""
    countries = max(3, round(min(2.2 * size.entities**0.5, size.entities / 6)))
    organisations = round(0.4 * (size.entities - countries))
    persons = size.entities - countries - organisations
    groups = int(np.clip(countries // 4, 2, 8))
    region = generator.permutation(countries) % groups
    strength = zipf(countries)
    size_of_home = strength**0.6
    # Two persons a country at least, so that every office has a rival for it.
    persons_home = np.concatenate(
        [
            np.tile(np.arange(countries), 2),
            weighted(size_of_home, persons - 2 * countries, generator),
        ]
    )
    organisations_home = np.sort(weighted(size_of_home, organisations, generator))
    home = np.concatenate([np.arange(countries), organisations_home, persons_home]).astype(np.int32)

    names = Names(groups, generator)
    country_names = names.countries(region)
    labels, kind = names.organisations(
        organisations_home, country_names, region[organisations_home]
    )
    labels = [*country_names, *labels, *names.persons(region[persons_home])]

    group = np.concatenate(
        [region, kind % groups, generator.integers(groups, size=persons)]
    ).astype(np.int32)
    actors = home[countries:]
    fame = np.minimum(np.exp(1.3 * generator.standard_normal(len(actors))), 8.0)
    power = np.concatenate([strength, strength[actors] ** 0.5 * fame])
    blocs, tones, breaks = _blocs(countries, region, groups, size.timestamps, generator)
    last = size.timestamps
    elected = generator.random(countries) < 0.6
    cast = Cast(
        countries=countries,
        first_person=countries + organisations,
        groups=groups,
        home=home,
        group=group,
        side=generator.integers(2, size=len(home)).astype(np.int32),
        power=power,
        bloc=blocs,
        election=np.where(elected, _middle_days(countries, last, generator), last).astype(np.int32),
        bloc_tone=tones,
        bloc_break=breaks,
        actors=Grouped(
            np.concatenate([np.full(countries, countries), actors]), power, countries + 1
        ),
        neighbours=Grouped(region, strength, groups),
    )
    return cast, labels


def _middle_days(count: int, days: int, generator: Generator) -> NDArray:
    return (days * generator.uniform(0.3, 0.7, count)).astype(np.int32)


def _blocs(countries: int, region: NDArray, groups: int, days: int,
           generator: Generator) -> tuple[Ids, Ids, Ids]:  # fmt: skip
    """Blocs of neighbours with some strays; some day each gets a rival, and other tones change."""
    count = min(4, groups)
    bloc = np.where(
        generator.random(countries) < 0.75,
        region % count,
        generator.integers(count, size=countries),
    )
    tone = generator.integers(3, size=(2, count, count))
    for a in range(count):
        tone[:, a, a] = FRIENDLY
        tone[:, a, :a] = tone[:, :a, a]
        if a % 2:
            tone[:, a, a - 1] = tone[:, a - 1, a] = (NEUTRAL, HOSTILE)
    day = _middle_days(count * count, days, generator).reshape(count, count)
    return bloc.astype(np.int32), tone.astype(np.int32), np.minimum(day, day.T)


class Relations:
    """The relations as arrays: which pairs use them, and what follows them."""

    def __init__(self, kinds: list[RelationKind], groups: int, generator: Generator) -> None:
        self.kinds = kinds
        self.groups = groups
        self.ids = {kind.name: id for id, kind in enumerate(kinds)}
        self.weight = np.array([kind.weight for kind in kinds])
        self.seasonal = [id for id, kind in enumerate(kinds) if kind.period]
        # Relations of one topic have one taste; a relation without a topic has its own.
        taste = np.exp(1.6 * generator.standard_normal((2 * len(kinds), groups)))
        topic = [
            len(kinds) + kind.topic if kind.topic >= 0 else id for id, kind in enumerate(kinds)
        ]
        tone = [TONES.index(kind.tone) for kind in kinds]
        scopes = [
            [kind.scope in ("any", scope) for kind in kinds] for scope in ("foreign", "domestic")
        ]
        usage = np.array(scopes)[:, None, None, :] * TONE_MATCH[:, tone][None, :, None, :]
        self.usage = (usage * taste[topic].T[None, None, :, :] * self.weight).reshape(
            -1, len(kinds)
        )
        """By class (scope, tone, shift) and relation."""
        classes, width = self.usage.shape
        self._by_class = Grouped(np.repeat(np.arange(classes), width), self.usage.ravel(), classes)
        self._read_follow_ups()

    def _read_follow_ups(self) -> None:
        slots = max(len(kind.follow_ups) for kind in self.kinds)
        shape = (slots, len(self.kinds))
        self.follower = np.zeros(shape, np.int32)
        self.back = np.zeros(shape, bool)
        self.earliest, self.latest = np.zeros(shape, np.int32), np.zeros(shape, np.int32)
        self.chance = np.zeros(shape)
        for id, kind in enumerate(self.kinds):
            for slot, follow in enumerate(kind.follow_ups):
                if follow.relation in self.ids:
                    at = slot, id
                    self.follower[at] = self.ids[follow.relation]
                    self.back[at] = follow.back
                    self.earliest[at], self.latest[at] = follow.earliest, follow.latest
                    self.chance[at] = follow.probability

    def class_of(self, scope: NDArray | int, tone: NDArray, shift: NDArray) -> NDArray:
        return (scope * len(TONES) + tone) * self.groups + shift

    def draw(self, classes: NDArray, generator: Generator) -> NDArray:
        """A relation for each class."""
        return self._by_class.draw(classes, generator) % len(self.kinds)


@dataclass(frozen=True)
class Ties:
    """Recurring pairs."""

    subject: Ids
    object: Ids
    weight: NDArray[np.float64]
    foreign: NDArray[np.bool_]
    classes: Ids
    """By era and tie."""
    scope_and_tone: Ids
    """The classes without the shift, by era and tie."""
    turn: Ids
    """The day when the second era begins."""
    habits: Ids
    """By era, tie, burst and place: relations that the pair uses."""
    burst_start: NDArray[np.float64]
    burst_length: NDArray[np.float64]
    by_subject: Grouped

    def __len__(self) -> int:
        return len(self.subject)


def draw_ties(size: Scale, cast: Cast, relations: Relations, generator: Generator) -> Ties:
    """Recurring pairs abroad and at home, with their tones, relations and bursts."""
    subject, object = _pairs(size, cast, generator)
    foreign = cast.home[subject] != cast.home[object]
    tone, turn = _tones(cast, subject, object, foreign)
    shift = (cast.group[object] - cast.group[subject]) % cast.groups
    classes = relations.class_of(np.where(foreign, FOREIGN, DOMESTIC), tone, shift)
    count = len(subject)
    habits = relations.draw(np.repeat(classes.ravel(), BURSTS * HABITS), generator).reshape(
        2, count, BURSTS, HABITS
    )
    both_states = (subject < cast.countries) & (object < cast.countries)
    weight = np.exp(0.6 * generator.standard_normal(count))
    weight *= (cast.power[subject] * cast.power[object]) ** 0.4 * np.where(both_states, 5.0, 1.0)
    longest = max(6.0, 0.04 * size.timestamps)
    length = generator.uniform(min(3.0, longest / 2), longest, (BURSTS, count))
    start = generator.random((BURSTS, count)) * (size.timestamps - length)
    return Ties(
        subject,
        object,
        weight,
        foreign,
        classes,
        classes // cast.groups,
        turn,
        habits,
        start,
        length,
        Grouped(subject, weight, cast.size),
    )


def _pairs(size: Scale, cast: Cast, generator: Generator) -> tuple[Ids, Ids]:
    """Distinct pairs: states with states, actors with states abroad, and actors at home."""
    wanted = int(min(size.facts / 2.4, 0.3 * cast.size**2))
    abroad, diplomats = int(0.25 * wanted), int(0.25 * wanted)
    sender = weighted(cast.power[: cast.countries], abroad, generator)
    away = weighted(cast.power[cast.countries :], diplomats, generator) + cast.countries
    local = (
        weighted(cast.power[cast.countries :], wanted - abroad - diplomats, generator)
        + cast.countries
    )

    traveller = np.concatenate([sender, away])
    favourite = generator.permutation(zipf(cast.groups))
    shift = weighted(favourite, len(traveller), generator)
    host = cast.neighbours.draw((cast.group[cast.home[traveller]] + shift) % cast.groups, generator)
    partner = cast.actors.draw(cast.home[local], generator)
    partner = np.where(generator.random(len(local)) < 0.35, cast.home[local], partner)

    one, other = np.concatenate([traveller, local]), np.concatenate([host, partner])
    turned = generator.random(len(one)) < 0.5
    subject, object = np.where(turned, other, one), np.where(turned, one, other)
    key = np.unique((subject.astype(np.int64) * cast.size + object)[subject != object])
    return (key // cast.size).astype(np.int32), (key % cast.size).astype(np.int32)


def _tones(cast: Cast, subject: Ids, object: Ids, foreign: NDArray) -> tuple[NDArray, Ids]:
    """The tone of each pair in both eras, and the day between them."""
    blocs = cast.bloc[cast.home[subject]], cast.bloc[cast.home[object]]
    abroad = cast.bloc_tone[:, *blocs]
    same_side = cast.side[subject] == cast.side[object]
    with_state = (subject < cast.countries) | (object < cast.countries)
    # A government that changes side finds its friends among its former enemies.
    changed = np.stack([same_side, same_side ^ with_state])
    at_home = np.where(changed, FRIENDLY, HOSTILE)
    turn = np.where(foreign, cast.bloc_break[blocs], cast.election[cast.home[subject]])
    return np.where(foreign, abroad, at_home), turn.astype(np.int32)
