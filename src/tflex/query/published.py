"""The 40 structures of the paper, with its types, groups and other names."""

# ruff: noqa: E501 - one line a signature keeps the forty readable side by side.

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tflex.query.algebra import After, And, Before, Between, Node, Not, Or, Pe, Pt
from tflex.query.structures import (
    Entity,
    EntitySet,
    Relation,
    Structure,
    Structures,
    Time,
    TimeSet,
    structure,
)

STRUCTURES = Structures()
"""The 40 structures of the paper."""

GROUPS = ("avg_e", "avg_t", "avg_e_not", "avg_t_not", "avg_e_union", "avg_t_union", "avg_x")
TRAINING_GROUPS = GROUPS[:4]


def _published(group: str, *aliases: str,
               name: str | None = None) -> Callable[[Callable[..., Node]], Structure]:  # fmt: skip
    def register(function: Callable[..., Node]) -> Structure:
        made = structure(function, group=group, aliases=aliases)
        return STRUCTURES.add(replace(made, name=name or made.name))

    return register


# fmt: off
@_published("avg_e", "1p", name="Pe")
def entity_projection(s: Entity, r: Relation, t: Time) -> EntitySet:
    return Pe(s, r, t)


@_published("avg_e", "2p")
def Pe2(s1: Entity, r1: Relation, t1: Time, r2: Relation, t2: Time) -> EntitySet:
    return Pe(Pe(s1, r1, t1), r2, t2)


@_published("avg_e", "3p")
def Pe3(s1: Entity, r1: Relation, t1: Time, r2: Relation, t2: Time, r3: Relation, t3: Time) -> EntitySet:
    return Pe(Pe(Pe(s1, r1, t1), r2, t2), r3, t3)


@_published("avg_e", "2i")
def e2i(s1: Entity, r1: Relation, t1: Time, s2: Entity, r2: Relation, t2: Time) -> EntitySet:
    return And(Pe(s1, r1, t1), Pe(s2, r2, t2))


@_published("avg_e", "3i")
def e3i(s1: Entity, r1: Relation, t1: Time, s2: Entity, r2: Relation, t2: Time, s3: Entity, r3: Relation, t3: Time) -> EntitySet:
    return And(Pe(s1, r1, t1), Pe(s2, r2, t2), Pe(s3, r3, t3))


@_published("avg_e_not", "2in")
def e2i_N(s1: Entity, r1: Relation, t1: Time, s2: Entity, r2: Relation, t2: Time) -> EntitySet:
    return And(Pe(s1, r1, t1), Not(Pe(s2, r2, t2)))


@_published("avg_e_not", "3in")
def e3i_N(s1: Entity, r1: Relation, t1: Time, s2: Entity, r2: Relation, t2: Time, s3: Entity, r3: Relation, t3: Time) -> EntitySet:
    return And(Pe(s1, r1, t1), Pe(s2, r2, t2), Not(Pe(s3, r3, t3)))


@_published("avg_e_not", "inp", "Pe_e2i_Pe_NPe")
def Pe_e2i_N(s1: Entity, r1: Relation, t1: Time, s2: Entity, r2: Relation, t2: Time, r3: Relation, t3: Time) -> EntitySet:
    return Pe(And(Pe(s1, r1, t1), Not(Pe(s2, r2, t2))), r3, t3)


@_published("avg_e_not", "pin")
def e2i_PeN(s1: Entity, r1: Relation, t1: Time, r2: Relation, t2: Time, s2: Entity, r3: Relation, t3: Time) -> EntitySet:
    return And(Pe(Pe(s1, r1, t1), r2, t2), Not(Pe(s2, r3, t3)))


@_published("avg_e_not", "pni")
def e2i_NPe(s1: Entity, r1: Relation, t1: Time, r2: Relation, t2: Time, s2: Entity, r3: Relation, t3: Time) -> EntitySet:
    return And(Not(Pe(Pe(s1, r1, t1), r2, t2)), Pe(s2, r3, t3))


@_published("avg_e_union", "2u")
def e2u(s1: Entity, r1: Relation, t1: Time, s2: Entity, r2: Relation, t2: Time) -> EntitySet:
    return Or(Pe(s1, r1, t1), Pe(s2, r2, t2))


@_published("avg_e_union", "up")
def Pe_e2u(s1: Entity, r1: Relation, t1: Time, s2: Entity, r2: Relation, t2: Time, r3: Relation, t3: Time) -> EntitySet:
    return Pe(Or(Pe(s1, r1, t1), Pe(s2, r2, t2)), r3, t3)


@_published("avg_t", name="Pt")
def time_projection(s: Entity, r: Relation, o: Entity) -> TimeSet:
    return Pt(s, r, o)


@_published("avg_t")
def aPt(s: Entity, r: Relation, o: Entity) -> TimeSet:
    return After(Pt(s, r, o))


@_published("avg_t")
def bPt(s: Entity, r: Relation, o: Entity) -> TimeSet:
    return Before(Pt(s, r, o))


@_published("avg_t")
def Pe_Pt(s1: Entity, r1: Relation, s2: Entity, r2: Relation, o1: Entity) -> EntitySet:
    return Pe(s1, r1, Pt(s2, r2, o1))


@_published("avg_t")
def Pt_sPe_Pt(s1: Entity, r1: Relation, s2: Entity, r2: Relation, o1: Entity, r3: Relation, o2: Entity) -> TimeSet:
    return Pt(Pe(s1, r1, Pt(s2, r2, o1)), r3, o2)


@_published("avg_t")
def Pt_oPe_Pt(s1: Entity, r1: Relation, s2: Entity, r2: Relation, s3: Entity, r3: Relation, o1: Entity) -> TimeSet:
    return Pt(s1, r1, Pe(s2, r2, Pt(s3, r3, o1)))


@_published("avg_t")
def t2i(s1: Entity, r1: Relation, o1: Entity, s2: Entity, r2: Relation, o2: Entity) -> TimeSet:
    return And(Pt(s1, r1, o1), Pt(s2, r2, o2))


@_published("avg_t")
def t3i(s1: Entity, r1: Relation, o1: Entity, s2: Entity, r2: Relation, o2: Entity, s3: Entity, r3: Relation, o3: Entity) -> TimeSet:
    return And(Pt(s1, r1, o1), Pt(s2, r2, o2), Pt(s3, r3, o3))


@_published("avg_t_not")
def t2i_N(s1: Entity, r1: Relation, o1: Entity, s2: Entity, r2: Relation, o2: Entity) -> TimeSet:
    return And(Pt(s1, r1, o1), Not(Pt(s2, r2, o2)))


@_published("avg_t_not")
def t3i_N(s1: Entity, r1: Relation, o1: Entity, s2: Entity, r2: Relation, o2: Entity, s3: Entity, r3: Relation, o3: Entity) -> TimeSet:
    return And(Pt(s1, r1, o1), Pt(s2, r2, o2), Not(Pt(s3, r3, o3)))


@_published("avg_t_not", "Pe_t2i_PtPe_NPt")
def Pe_t2i_N(s1: Entity, r1: Relation, s2: Entity, r2: Relation, t1: Time, r3: Relation, o1: Entity, s3: Entity, r4: Relation, o2: Entity) -> EntitySet:
    return Pe(s1, r1, And(Pt(Pe(s2, r2, t1), r3, o1), Not(Pt(s3, r4, o2))))


@_published("avg_t_not")
def t2i_NPt(s1: Entity, r1: Relation, t1: Time, r2: Relation, o1: Entity, s2: Entity, r3: Relation, o2: Entity) -> TimeSet:
    return And(Not(Pt(Pe(s1, r1, t1), r2, o1)), Pt(s2, r3, o2))


@_published("avg_t_not")
def t2i_PtN(s1: Entity, r1: Relation, t1: Time, r2: Relation, o1: Entity, s2: Entity, r3: Relation, o2: Entity) -> TimeSet:
    return And(Pt(Pe(s1, r1, t1), r2, o1), Not(Pt(s2, r3, o2)))


@_published("avg_t_union")
def t2u(s1: Entity, r1: Relation, o1: Entity, s2: Entity, r2: Relation, o2: Entity) -> TimeSet:
    return Or(Pt(s1, r1, o1), Pt(s2, r2, o2))


@_published("avg_t_union")
def Pe_t2u(s1: Entity, r1: Relation, s2: Entity, r2: Relation, o1: Entity, s3: Entity, r3: Relation, o2: Entity) -> EntitySet:
    return Pe(s1, r1, Or(Pt(s2, r2, o1), Pt(s3, r3, o2)))


@_published("avg_x")
def between(s1: Entity, r1: Relation, o1: Entity, s2: Entity, r2: Relation, o2: Entity) -> TimeSet:
    return Between(Pt(s1, r1, o1), Pt(s2, r2, o2))


@_published("avg_x", "pi")
def e2i_Pe(s1: Entity, r1: Relation, t1: Time, r2: Relation, t2: Time, s2: Entity, r3: Relation, t3: Time) -> EntitySet:
    return And(Pe(Pe(s1, r1, t1), r2, t2), Pe(s2, r3, t3))


@_published("avg_x", "ip")
def Pe_e2i(s1: Entity, r1: Relation, t1: Time, s2: Entity, r2: Relation, t2: Time, r3: Relation, t3: Time) -> EntitySet:
    return Pe(e2i(s1, r1, t1, s2, r2, t2), r3, t3)


@_published("avg_x")
def t2i_Pe(s1: Entity, r1: Relation, t1: Time, r2: Relation, o1: Entity, s2: Entity, r3: Relation, o2: Entity) -> TimeSet:
    return And(Pt(Pe(s1, r1, t1), r2, o1), Pt(s2, r3, o2))


@_published("avg_x")
def Pe_t2i(s1: Entity, r1: Relation, s2: Entity, r2: Relation, o1: Entity, s3: Entity, r3: Relation, o2: Entity) -> EntitySet:
    return Pe(s1, r1, t2i(s2, r2, o1, s3, r3, o2))


@_published("avg_x")
def Pe_aPt(s1: Entity, r1: Relation, s2: Entity, r2: Relation, o1: Entity) -> EntitySet:
    return Pe(s1, r1, After(Pt(s2, r2, o1)))


@_published("avg_x")
def Pe_bPt(s1: Entity, r1: Relation, s2: Entity, r2: Relation, o1: Entity) -> EntitySet:
    return Pe(s1, r1, Before(Pt(s2, r2, o1)))


@_published("avg_x")
def Pe_at2i(s1: Entity, r1: Relation, s2: Entity, r2: Relation, o1: Entity, s3: Entity, r3: Relation, o2: Entity) -> EntitySet:
    return Pe(s1, r1, After(t2i(s2, r2, o1, s3, r3, o2)))


@_published("avg_x")
def Pe_bt2i(s1: Entity, r1: Relation, s2: Entity, r2: Relation, o1: Entity, s3: Entity, r3: Relation, o2: Entity) -> EntitySet:
    return Pe(s1, r1, Before(t2i(s2, r2, o1, s3, r3, o2)))


@_published("avg_x")
def Pt_sPe(s1: Entity, r1: Relation, t1: Time, r2: Relation, o1: Entity) -> TimeSet:
    return Pt(Pe(s1, r1, t1), r2, o1)


@_published("avg_x")
def Pt_oPe(s1: Entity, r1: Relation, s2: Entity, r2: Relation, t1: Time) -> TimeSet:
    return Pt(s1, r1, Pe(s2, r2, t1))


@_published("avg_x")
def Pt_se2i(s1: Entity, r1: Relation, t1: Time, s2: Entity, r2: Relation, t2: Time, r3: Relation, o1: Entity) -> TimeSet:
    return Pt(e2i(s1, r1, t1, s2, r2, t2), r3, o1)


@_published("avg_x")
def Pt_oe2i(s1: Entity, r1: Relation, s2: Entity, r2: Relation, t1: Time, s3: Entity, r3: Relation, t2: Time) -> TimeSet:
    return Pt(s1, r1, e2i(s2, r2, t1, s3, r3, t2))
# fmt: on
