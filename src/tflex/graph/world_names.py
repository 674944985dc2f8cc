"""What the synthetic world is called: its relations with their habits, and its generated names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Tone = Literal["friendly", "neutral", "hostile"]
Scope = Literal["any", "foreign", "domestic", "office"]


@dataclass(frozen=True)
class FollowUp:
    """A fact that tends to follow another, `earliest` to `latest` days later."""

    relation: str
    back: bool
    """Whether it runs from the object back to the subject."""
    earliest: int
    latest: int
    probability: float


@dataclass(frozen=True)
class RelationKind:
    """A relation, or (with `{}` for the topic) a family of relations."""

    name: str
    tone: Tone = "neutral"
    scope: Scope = "any"
    weight: float = 1.0
    period: int = 0
    """Days between the facts of one pair, for relations that recur by the calendar."""
    follow_ups: tuple[FollowUp, ...] = ()
    topic: int = -1

    def about(self, topic: int) -> RelationKind:
        """The member of the family for one topic; later topics are rarer."""
        name = TOPICS[topic]
        follow_ups = tuple(
            FollowUp(f.relation.format(name), f.back, f.earliest, f.latest, f.probability)
            for f in self.follow_ups
        )
        weight = self.weight * 0.2 / (topic + 1)
        return RelationKind(
            self.name.format(name), self.tone, self.scope, weight, self.period, follow_ups, topic
        )


HOLD_OFFICE, APPOINT, TAKE_OVER, RESIGN = (
    "hold office in",
    "appoint",
    "take over from",
    "resign from",
)

CORE = (
    RelationKind("make statement to", "neutral", weight=12),
    RelationKind("consult with", "neutral", weight=7),
    RelationKind(
        "express intent to meet",
        "friendly",
        weight=7,
        follow_ups=(FollowUp("visit", False, 3, 6, 0.85),),
    ),
    RelationKind(
        "visit",
        "friendly",
        weight=1,
        follow_ups=(
            FollowUp("host a visit by", True, 0, 0, 0.95),
            FollowUp("sign agreement with", False, 1, 2, 0.4),
        ),
    ),
    RelationKind("host a visit by", "friendly", weight=0.05),
    RelationKind("praise", "friendly", weight=5),
    RelationKind(
        "criticise",
        "hostile",
        weight=7,
        follow_ups=(FollowUp("make statement to", True, 2, 5, 0.8),),
    ),
    RelationKind(
        "accuse", "hostile", weight=5, follow_ups=(FollowUp("criticise", True, 1, 3, 0.6),)
    ),
    RelationKind(
        "make an appeal to",
        "neutral",
        weight=5,
        follow_ups=(FollowUp("provide aid to", True, 4, 7, 0.5),),
    ),
    RelationKind("provide aid to", "friendly", weight=1),
    RelationKind("sign agreement with", "friendly", "foreign", 0.5),
    RelationKind("negotiate with", "neutral", weight=3),
    RelationKind("threaten", "hostile", weight=3),
    RelationKind("impose sanctions on", "hostile", "foreign", 3),
    RelationKind("arrest", "hostile", "domestic", 3),
    RelationKind(HOLD_OFFICE, "neutral", "office", 0),
    RelationKind(APPOINT, "neutral", "office", 0),
    RelationKind(TAKE_OVER, "neutral", "office", 0),
    RelationKind("report to", "neutral", "domestic", 0, period=7),
    RelationKind("hold regular talks with", "neutral", "foreign", 0, period=28),
    RelationKind(RESIGN, "neutral", "office", 0),
    RelationKind("promise cooperation to", "friendly", weight=3),
    RelationKind("protest against", "hostile", "domestic", 2),
    RelationKind("demand action from", "neutral", weight=2),
)
"""The relations of every world, most basic first; a world has at least the first twenty."""

FAMILIES = (
    RelationKind("make statement on {} to", "neutral", weight=3),
    RelationKind("consult about {} with", "neutral", weight=6),
    RelationKind(
        "criticise over {}",
        "hostile",
        weight=6,
        follow_ups=(FollowUp("make statement on {} to", True, 2, 5, 0.8),),
    ),
    RelationKind("praise for progress on {}", "friendly", weight=4),
    RelationKind(
        "negotiate on {} with",
        "neutral",
        weight=4,
        follow_ups=(FollowUp("sign agreement on {} with", False, 5, 8, 0.6),),
    ),
    RelationKind("sign agreement on {} with", "friendly", weight=1),
    RelationKind("threaten over {}", "hostile", weight=3),
    RelationKind(
        "appeal for help with {} to",
        "neutral",
        weight=4,
        follow_ups=(FollowUp("promise help with {} to", True, 2, 4, 0.6),),
    ),
    RelationKind("promise help with {} to", "friendly", weight=1),
    RelationKind("hold quarterly talks on {} with", "neutral", "foreign", 0, period=91),
    RelationKind(
        "accuse over {}",
        "hostile",
        weight=3,
        follow_ups=(FollowUp("reject blame over {} from", True, 0, 1, 0.7),),
    ),
    RelationKind("reject blame over {} from", "hostile", weight=0.5),
    RelationKind("demand action on {} from", "neutral", weight=3),
    RelationKind("impose sanctions over {} on", "hostile", "foreign", 2),
)

TOPICS = (
    "trade", "borders", "energy", "security", "elections", "migration", "human rights", "fisheries",
    "water", "health", "education", "transport", "farming", "the budget", "the climate", "debt",
    "prisoners", "weapons",
)  # fmt: skip


def relation_kinds(count: int) -> list[RelationKind]:
    """The first `count` relations: the core, then the families topic by topic."""
    topical = [family.about(topic) for topic in range(len(TOPICS)) for family in FAMILIES]
    kinds = [*CORE, *topical]
    if not FEWEST_RELATIONS <= count <= len(kinds):
        raise ValueError(f"a world has {FEWEST_RELATIONS} to {len(kinds)} relations, not {count}")
    return kinds[:count]


FEWEST_RELATIONS = 20
MOST_RELATIONS = len(CORE) + len(FAMILIES) * len(TOPICS)

INSTITUTIONS = (
    "Parliament", "Police", "Army", "Ministry of Trade", "Ministry of Energy", "Ministry of Health",
    "Ministry of Defence", "Ministry of Justice", "Ministry of Finance", "Ministry of Transport",
    "Ministry of Education", "Ministry of Agriculture", "Foreign Ministry", "Interior Ministry",
    "Central Bank", "Supreme Court", "Reform Party", "People's Party", "National Party",
    "Green Party", "Labour Union", "Farmers' Union", "Teachers' Union", "Student Union",
    "Chamber of Commerce", "State Television", "Press Agency", "Human Rights Commission",
    "Electoral Commission", "Border Guard", "Navy", "Air Force", "Intelligence Service",
    "Medical Association",
    "Bar Association", "National University", "Academy of Sciences", "Railway Company",
    "Energy Company", "Opposition Alliance",
)  # fmt: skip

LOCAL_BODIES = (
    "City Council of", "Mayor of", "University of", "Traders of", "Police of", "Residents of",
    "Bishop of", "Port Authority of", "Court of", "Hospital of",
)  # fmt: skip

_ONSETS = (
    "b", "br", "d", "dr", "f", "g", "gr", "h", "j", "k", "l", "m", "n", "p", "r", "s", "st", "t",
    "tr", "v", "y", "z",
)  # fmt: skip
_VOWELS = ("a", "e", "i", "o", "u")
_CODAS = ("l", "m", "n", "r", "s", "nd", "rn", "k", "v", "t", "lb", "sk")
_MIDDLES = ("", "", "an", "el", "or", "in", "ar", "ev", "od", "as")
_COUNTRY_ENDINGS = ("ia", "ia", "ia", "ora", "land", "mark", "stan", "eria", "una", "esh")
_PLACE_ENDINGS = ("ton", "burg", "a", "o", "ville", "port", "grad", "ovo")
_FAMILY_ENDINGS = (
    "mund", "ov", "en", "ard", "is", "ak", "ez", "ini", "sen", "oja", "ura", "ely", "ois", "ek",
    "ani", "ez", "berg", "ko", "dal", "aro",
)  # fmt: skip


_SOUNDS = ((_ONSETS, 10), (_VOWELS, 4), (_CODAS, 6), (_MIDDLES, 6), (_FAMILY_ENDINGS, 6))
"""The kinds of sounds, and how many of each a region uses."""


class Names:
    """Pronounceable names that never repeat; each region has sounds of its own."""

    def __init__(self, regions: int, generator: Generator) -> None:
        self._generator = generator
        self._taken: set[str] = set()
        self._sounds = [
            tuple(self._some(sounds, count) for sounds, count in _SOUNDS) for _ in range(regions)
        ]

    def countries(self, region: NDArray) -> list[str]:
        return self._by_region(region, self._country)

    def persons(self, region: NDArray) -> list[str]:
        return self._by_region(region, self._person)

    def organisations(
        self, country: NDArray, names: Sequence[str], region: NDArray
    ) -> tuple[list[str], NDArray]:
        """National bodies of the given countries, then local ones, and the kind of each."""
        kind = np.empty(len(country), np.int64)
        for id in np.unique(country):
            rows = np.flatnonzero(country == id)
            national = self._generator.permutation(len(INSTITUTIONS))[: len(rows)]
            local = len(INSTITUTIONS) + np.arange(len(rows) - len(national)) % len(LOCAL_BODIES)
            kind[rows] = np.concatenate([national, local])
        places = iter(self._by_region(region[kind >= len(INSTITUTIONS)], self._place))
        labels = []
        for c, k in zip(country.tolist(), kind.tolist(), strict=True):
            if k < len(INSTITUTIONS):
                labels.append(f"{INSTITUTIONS[k]} ({names[c]})")
            else:
                labels.append(f"{LOCAL_BODIES[k - len(INSTITUTIONS)]} {next(places)} ({names[c]})")
        return labels, kind

    def _by_region(self, region: NDArray, draw: Callable[[int, int], list[str]]) -> list[str]:
        pools = {
            int(id): self._unique(int(id), int((region == id).sum()), draw)
            for id in np.unique(region)
        }
        streams = {id: iter(pool) for id, pool in pools.items()}
        return [next(streams[id]) for id in region.tolist()]

    def _unique(self, region: int, count: int, draw: Callable[[int, int], list[str]]) -> list[str]:
        found: list[str] = []
        while len(found) < count:
            for name in draw(region, count - len(found) + 8):
                if name not in self._taken and len(found) < count:
                    self._taken.add(name)
                    found.append(name)
        return found

    def _country(self, region: int, count: int) -> list[str]:
        onsets, vowels, codas, middles, _ = self._sounds[region]
        return self._words(count, onsets, vowels, codas, middles, _COUNTRY_ENDINGS)

    def _place(self, region: int, count: int) -> list[str]:
        onsets, vowels, codas, *_ = self._sounds[region]
        return self._words(count, onsets, vowels, codas, vowels, codas[:3], _PLACE_ENDINGS)

    def _person(self, region: int, count: int) -> list[str]:
        onsets, vowels, codas, middles, endings = self._sounds[region]
        first = self._words(count, ["", *onsets], vowels, codas, vowels[:2])
        last = self._words(count, onsets, vowels, codas, middles, endings)
        return [f"{a} {b}" for a, b in zip(first, last, strict=True)]

    def _words(self, count: int, *parts: Sequence[str]) -> list[str]:
        chosen = [self._generator.integers(len(part), size=count).tolist() for part in parts]
        return [
            "".join(part[i] for part, i in zip(parts, row, strict=True)).capitalize()
            for row in zip(*chosen, strict=True)
        ]

    def _some(self, sounds: Sequence[str], count: int) -> tuple[str, ...]:
        return tuple(sounds[i] for i in self._generator.permutation(len(sounds))[:count])
