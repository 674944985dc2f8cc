"""How a model interprets the algebra: one rule per operator it has, on rows [n, 4d]."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from tflex.errors import QueryError
from tflex.models.tflex import TflexModel, operator_name
from tflex.query.algebra import (
    OPERATORS,
    Derived,
    EntityLiteral,
    Interpreter,
    Node,
    Or,
    RelationLiteral,
    Slot,
    Sort,
    TimeLiteral,
    fold,
    transform,
)
from tflex.query.structures import Structure


class Grounding(NamedTuple):
    """A model, and the anchors [n] of each placeholder by the identity of its node."""

    model: TflexModel
    total: int
    anchors: Mapping[int, Tensor]


def interpreter(model: TflexModel) -> Interpreter:
    """The rules of a model. Derived operators without a module are folded by their definition."""
    table = Interpreter(model.name)
    table.rule(Slot, EntityLiteral, RelationLiteral, TimeLiteral)(_leaf)
    for node_type in set(OPERATORS.values()):
        name = node_type.__name__
        modules = {name} if node_type.result else {name, f"Time{name}"}
        found = modules & set(model.operators)
        # A definition stands in unless both sorts have a module; a primitive lacks its other sort.
        if found == modules or (found and not issubclass(node_type, Derived)):
            table.rule(node_type)(_operator)
        elif not table.supports(node_type):
            table.unsupported(node_type, "it has no module for it")
    return table


def _leaf(grounding: Grounding, node: Node) -> Tensor:
    if isinstance(node, Slot):
        ids = grounding.anchors[id(node)]
    else:
        device = grounding.model.tokens.entity.device
        ids = torch.full((grounding.total,), literal_ids(node)[0], device=device)
    return grounding.model.tokens.rows(node.sort, ids)


def _operator(grounding: Grounding, node: Node, *arguments: Tensor) -> Tensor:
    module = grounding.model.operator(operator_name(node))
    if any(argument.sort is Sort.RELATION for argument in node.arguments):
        return module(*arguments)
    return module(torch.stack(arguments))


def literal_ids(node: Node) -> list[int]:
    """The ids that a bound literal names."""
    members: tuple[Any, ...] = ()
    if isinstance(node, RelationLiteral):
        members = (node.value,)
    elif isinstance(node, EntityLiteral):
        members = node.members
    elif isinstance(node, TimeLiteral):
        for span in node.members:
            members += (span,) if isinstance(span, str) else tuple(range(span[0], span[1] + 1))
    if not members or not all(isinstance(member, int) for member in members):
        raise QueryError(f"{node!r} names no ids; bind the query first")
    return list(members)


def single_tokens(query: Node) -> Node:
    """The query with every literal of several members written as the union of its members."""

    def change(node: Node) -> Node:
        if not isinstance(node, EntityLiteral | TimeLiteral):
            return node
        members = [type(node)([member]) for member in literal_ids(node)]
        return members[0] if len(members) == 1 else Or(*members)

    return transform(query, change)


def embed(model: TflexModel, query: Structure | Node, anchors: Tensor | None = None) -> Tensor:
    """Rows of one query, or of n groundings [n, arity] of one structure: [n, 4d]."""
    if isinstance(query, Structure):
        if anchors is None:
            raise QueryError(f"{query.name} needs anchors")
        columns = {id(slot): anchors[:, i] for i, slot in enumerate(query.parameters)}
        grounding = Grounding(model, len(anchors), columns)
        return fold(single_tokens(query.body), interpreter(model), grounding)
    return fold(single_tokens(query), interpreter(model), Grounding(model, 1, {}))
