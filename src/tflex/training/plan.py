"""Operator-level batching: a mixed batch of structures becomes one call per operator and level.

A batch is a list of structures, each with anchors [n, arity]. Every node of every structure is a
block of n rows. Nodes of one operator and arity whose arguments are ready at the same level run as
one call; the output of a call is cut where later calls need it, and their inputs are those pieces
side by side, so rows are copied at most once per use, forwards and backwards.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tflex.models.interpreter import interpreter, literal_ids, single_tokens
from tflex.models.tflex import TflexModel, operator_name
from tflex.query.algebra import Interpreter, Leaf, Node, Slot, Sort
from tflex.query.structures import Structure

Signature = tuple[tuple[Structure, int], ...]
"""The structures of a batch and how many queries of each, in order."""


@dataclass(eq=False)
class _Block:
    """The rows of one node over all queries of its structure."""

    node: Node
    structure: int
    size: int
    arguments: tuple[_Block, ...]
    level: int
    call: int = -1
    start: int = -1

    @property
    def key(self) -> tuple[int, str, int]:
        """Blocks of equal key run as one call."""
        if isinstance(self.node, Leaf):
            return 0, self.node.sort.name, 0
        return self.level, operator_name(self.node), len(self.arguments)


class Piece(NamedTuple):
    """Rows of an earlier call: the part of its output with this number."""

    call: int
    part: int


class TokenCall(NamedTuple):
    """Gather the tokens of one sort."""

    sort: Sort
    index: Tensor
    """Positions in the flat anchors."""
    literals: Tensor
    """Ids that the structures themselves name; they follow the anchors' rows."""
    sizes: tuple[int, ...]


class OperatorCall(NamedTuple):
    """Apply one operator to arguments of pieces side by side."""

    name: str
    arguments: tuple[tuple[Piece, ...], ...]
    stacked: bool
    """The operator takes its arguments as one tensor [k, n, 4d]."""
    total: int
    sizes: tuple[int, ...]


class Embedded(NamedTuple):
    """Rows [n, 4d] of the queries that answer entities, and of those that answer timestamps.

    `entity_rows` and `time_rows` are their positions in the batch, ascending.
    """

    entity: Tensor
    time: Tensor
    entity_rows: Tensor
    time_rows: Tensor


class Plan(NamedTuple):
    """The calls that embed every batch of one signature."""

    tokens: tuple[TokenCall, ...]
    operators: tuple[OperatorCall, ...]
    entity: tuple[Piece, ...]
    time: tuple[Piece, ...]
    entity_rows: Tensor
    time_rows: Tensor

    def run(self, model: TflexModel, anchors: Tensor) -> Embedded:
        """Embed a batch from its anchors, flattened row by row, structure by structure."""
        outputs: list[tuple[Tensor, ...]] = []
        for tokens in self.tokens:
            ids = torch.cat((anchors[tokens.index], tokens.literals))
            outputs.append(model.tokens.rows(tokens.sort, ids).split(tokens.sizes))
        for call in self.operators:
            module = model.operator(call.name)
            if call.stacked:
                pieces = [piece for argument in call.arguments for piece in argument]
                rows = _joined(outputs, pieces).view(len(call.arguments), call.total, -1)
                result = module(rows)
            else:
                result = module(*(_joined(outputs, pieces) for pieces in call.arguments))
            outputs.append(result.split(call.sizes))
        empty = outputs[0][0].new_empty(0, 4 * model.settings.dim)
        return Embedded(
            _joined(outputs, self.entity) if self.entity else empty,
            _joined(outputs, self.time) if self.time else empty,
            self.entity_rows,
            self.time_rows,
        )

    def multiply_adds(self, model: TflexModel) -> int:
        """Of the matrix products of one forward pass; a training step takes three times as many."""
        return sum(
            call.total * model.operator(call.name).multiply_adds(len(call.arguments))
            for call in self.operators
        )


def _joined(outputs: list[tuple[Tensor, ...]], pieces: Sequence[Piece]) -> Tensor:
    if len(pieces) == 1:
        return outputs[pieces[0].call][pieces[0].part]
    return torch.cat([outputs[call][part] for call, part in pieces])


class Planner:
    """Embeds mixed batches with a model, compiling each signature once."""

    def __init__(self, model: TflexModel, remembered: int = 256) -> None:
        self.model = model
        self.interpreter = interpreter(model)
        self.plan = lru_cache(remembered)(self._plan)

    def _plan(self, signature: Signature) -> Plan:
        return compile_plan(signature, self.interpreter, self.model.tokens.entity.device)

    def __call__(self, batch: Sequence[tuple[Structure, NDArray[np.int64]]]) -> Embedded:
        """Embed structures with their anchors [n, arity]."""
        plan = self.plan(tuple((structure, len(anchors)) for structure, anchors in batch))
        return plan.run(self.model, self.flat(batch))

    def flat(self, batch: Sequence[tuple[Structure, NDArray[np.int64]]]) -> Tensor:
        """The anchors of a batch as `Plan.run` takes them."""
        flat = np.concatenate([anchors.reshape(-1) for _, anchors in batch])
        return torch.from_numpy(flat).to(self.model.tokens.entity.device)


def compile_plan(signature: Signature, rules: Interpreter, device: torch.device) -> Plan:
    """Order the nodes of a batch into calls."""
    roots, blocks = _blocks(signature, rules)
    calls = _calls(blocks)
    arguments = [_arguments(call) for call in calls]
    results = [
        _runs([root for root in roots if root.node.sort is sort])
        for sort in (Sort.ENTITY, Sort.TIME)
    ]
    cuts = _cuts(calls, [runs for slots in arguments for runs in slots] + results)
    tokens: list[TokenCall] = []
    operators: list[OperatorCall] = []
    for number, call in enumerate(calls):
        sizes = tuple(int(size) for size in np.diff(cuts[number]))
        if isinstance(call[0].node, Leaf):
            tokens.append(_token_call(call, signature, sizes, device))
            continue
        operators.append(
            OperatorCall(
                name=call[0].key[1],
                arguments=tuple(_pieces(runs, cuts) for runs in arguments[number]),
                stacked=all(a.sort is not Sort.RELATION for a in call[0].node.arguments),
                total=sum(block.size for block in call),
                sizes=sizes,
            )
        )
    entity, time = (_pieces(runs, cuts) for runs in results)
    entity_rows, time_rows = _rows_by_sort(signature, device)
    return Plan(tuple(tokens), tuple(operators), entity, time, entity_rows, time_rows)


def _blocks(signature: Signature, rules: Interpreter) -> tuple[list[_Block], list[_Block]]:
    """The root block of every structure, and all blocks."""
    roots: list[_Block] = []
    blocks: list[_Block] = []
    for number, (structure, size) in enumerate(signature):
        if size == 0:
            continue
        own: list[_Block] = []
        for _, node, positions in rules.compile(single_tokens(structure.body)).steps:
            arguments = tuple(own[position] for position in positions)
            level = 1 + max((argument.level for argument in arguments), default=-1)
            own.append(_Block(node, number, size, arguments, level))
        roots.append(own[-1])
        blocks += own
    return roots, blocks


def _calls(blocks: list[_Block]) -> list[list[_Block]]:
    """Blocks grouped into calls, in an order in which arguments come first.

    Within a call, blocks with alike arguments stand together; leaves stand as they are used; so
    that what a call reads from an earlier one is mostly one run.
    """
    groups: dict[tuple[int, str, int], list[_Block]] = defaultdict(list)
    for block in blocks:
        groups[block.key].append(block)
    keys = sorted(groups)
    operators = [key for key in keys if key[0] > 0]
    leaves = [key for key in keys if key[0] == 0]
    # Token calls are numbered first, but laid out when their users are.
    numbers = {key: number for number, key in enumerate(leaves + operators)}
    used: dict[int, dict[_Block, None]] = defaultdict(dict)
    calls: dict[int, list[_Block]] = {}
    for key in operators:
        call = sorted(
            groups[key], key=lambda block: [(a.call, a.start) for a in _placed(block, numbers)]
        )
        calls[numbers[key]] = call
        _place(call, numbers[key])
        for position in range(key[2]):
            for block in call:
                argument = block.arguments[position]
                if argument.level == 0:
                    used[argument.call][argument] = None
    for key in leaves:
        number = numbers[key]
        calls[number] = list(used[number] | dict.fromkeys(groups[key]))
        # Literals name their own ids, which follow the anchors' rows.
        calls[number].sort(key=lambda block: not isinstance(block.node, Slot))
        _place(calls[number], number)
    return [calls[number] for number in range(len(calls))]


def _placed(block: _Block, numbers: dict[tuple[int, str, int], int]) -> tuple[_Block, ...]:
    for argument in block.arguments:
        argument.call = numbers[argument.key]
    return block.arguments


def _place(call: list[_Block], number: int) -> None:
    start = 0
    for block in call:
        block.call, block.start = number, start
        start += block.size


class _Run(NamedTuple):
    """Adjacent rows of one call."""

    call: int
    start: int
    stop: int


def _arguments(call: list[_Block]) -> list[list[_Run]]:
    arity = len(call[0].arguments)
    return [_runs([block.arguments[i] for block in call]) for i in range(arity)]


def _runs(blocks: list[_Block]) -> list[_Run]:
    runs: list[_Run] = []
    for block in blocks:
        if runs and runs[-1].call == block.call and runs[-1].stop == block.start:
            runs[-1] = runs[-1]._replace(stop=block.start + block.size)
        else:
            runs.append(_Run(block.call, block.start, block.start + block.size))
    return runs


def _cuts(calls: list[list[_Block]], uses: list[list[_Run]]) -> list[NDArray[np.int64]]:
    """Where each call's output is cut: at both ends of every run that is read from it."""
    cuts = [{0, sum(block.size for block in call)} for call in calls]
    for runs in uses:
        for run in runs:
            cuts[run.call] |= {run.start, run.stop}
    return [np.array(sorted(ends)) for ends in cuts]


def _pieces(runs: list[_Run], cuts: list[NDArray[np.int64]]) -> tuple[Piece, ...]:
    pieces = []
    for run in runs:
        first, last = np.searchsorted(cuts[run.call], (run.start, run.stop))
        pieces += [Piece(run.call, part) for part in range(int(first), int(last))]
    return tuple(pieces)


def _token_call(
    call: list[_Block], signature: Signature, sizes: tuple[int, ...], device: torch.device
) -> TokenCall:
    offsets = np.cumsum([0, *(structure.arity * size for structure, size in signature)])
    index: list[NDArray[np.int64]] = []
    literals: list[NDArray[np.int64]] = []
    for block in call:
        if isinstance(block.node, Slot):
            parameters = signature[block.structure][0].parameters
            column = next(i for i, slot in enumerate(parameters) if slot is block.node)
            steps = np.arange(block.size) * len(parameters)
            index.append(offsets[block.structure] + column + steps)
        else:
            literals.append(np.full(block.size, literal_ids(block.node)[0]))
    return TokenCall(call[0].node.sort, _tensor(index, device), _tensor(literals, device), sizes)


def _rows_by_sort(signature: Signature, device: torch.device) -> tuple[Tensor, Tensor]:
    rows: dict[Sort, list[NDArray[np.int64]]] = {Sort.ENTITY: [], Sort.TIME: []}
    start = 0
    for structure, size in signature:
        rows[structure.sort].append(np.arange(start, start + size))
        start += size
    return _tensor(rows[Sort.ENTITY], device), _tensor(rows[Sort.TIME], device)


def _tensor(arrays: list[NDArray[np.int64]], device: torch.device) -> Tensor:
    whole = np.concatenate(arrays) if arrays else np.empty(0, dtype=np.int64)
    return torch.from_numpy(whole).to(device)
