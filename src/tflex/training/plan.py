"""Operator-level batching: a mixed batch of structures becomes a few calls per operator.

A batch is a list of structures, each with anchors [n, arity]. Every node of every structure is a
block of n rows. Blocks of one operator and arity whose arguments are ready run as one call; the
output of a call is cut where later calls need it, and their inputs are those pieces side by side,
so rows are copied at most once per use, forwards and backwards.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tflex.models.interpreter import interpreter, literal_ids, single_tokens
from tflex.models.tflex import TflexModel, as_rows, operator_name
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
    call: int = -1
    start: int = -1

    @property
    def is_leaf(self) -> bool:
        return isinstance(self.node, Leaf)

    @property
    def kind(self) -> tuple[str, int]:
        """Blocks of one kind may run as one call."""
        name = self.node.sort.name if self.is_leaf else operator_name(self.node)
        return name, len(self.arguments)


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

    `entity_rows` and `time_rows` are their positions in the batch, ascending; `candidates` are the
    features [m, d] of the further tokens that were asked for.
    """

    entity: Tensor
    time: Tensor
    entity_rows: Tensor
    time_rows: Tensor
    candidates: dict[Sort, Tensor]


class Plan(NamedTuple):
    """The calls that embed every batch of one signature."""

    tokens: tuple[TokenCall, ...]
    operators: tuple[OperatorCall, ...]
    entity: tuple[Piece, ...]
    time: tuple[Piece, ...]
    entity_rows: Tensor
    time_rows: Tensor

    def run(
        self, model: TflexModel, anchors: Tensor, candidates: Mapping[Sort, Tensor] | None = None
    ) -> Embedded:
        """Embed a batch from its anchors, flattened row by row, structure by structure.

        Tokens to compare with (`candidates`, ids [m]) are looked up together with the anchors,
        because every look-up costs a gradient as large as its table.
        """
        wanted = dict(candidates or {})
        found: dict[Sort, Tensor] = {}
        outputs: list[tuple[Tensor, ...]] = []
        for tokens in self.tokens:
            ids = torch.cat((anchors[tokens.index], tokens.literals))
            others = wanted.pop(tokens.sort, ids[:0])
            features = model.tokens.features(tokens.sort, torch.cat((ids, others)))
            own, found[tokens.sort] = features.split((len(ids), len(others)))
            outputs.append(as_rows(tokens.sort, own).split(tokens.sizes))
        found |= {sort: model.tokens.features(sort, ids) for sort, ids in wanted.items()}
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
            found,
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

    def __call__(
        self,
        batch: Sequence[tuple[Structure, NDArray[np.int64]]],
        candidates: Mapping[Sort, Tensor] | None = None,
    ) -> Embedded:
        """Embed structures with their anchors [n, arity]."""
        plan = self.plan(tuple((structure, len(anchors)) for structure, anchors in batch))
        return plan.run(self.model, self.flat(batch), candidates)

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
        if call[0].is_leaf:
            tokens.append(_token_call(call, signature, sizes, device))
            continue
        operators.append(
            OperatorCall(
                name=call[0].kind[0],
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
            own.append(_Block(node, number, size, arguments))
        roots.append(own[-1])
        blocks += own
    return roots, blocks


def _calls(blocks: list[_Block]) -> list[list[_Block]]:
    """Blocks grouped into calls, in an order in which arguments come first.

    Within a call, blocks with alike arguments stand together, and leaves stand as they are used, so
    that what a call reads from an earlier one is mostly one run.
    """
    leaves: dict[tuple[str, int], list[_Block]] = defaultdict(list)
    for block in blocks:
        if block.is_leaf:
            leaves[block.kind].append(block)
    for number, group in enumerate(leaves.values()):
        for block in group:
            block.call = number
    operators = _schedule([block for block in blocks if not block.is_leaf], len(leaves))
    used: list[_Block] = []
    for call in operators:
        call.sort(key=lambda block: [(a.call, a.start) for a in block.arguments])
        _place(call)
        used += [argument for arguments in zip(*(b.arguments for b in call), strict=True)
                 for argument in arguments if argument.is_leaf]  # fmt: skip
    tokens: list[list[_Block]] = [[] for _ in leaves]
    for block in dict.fromkeys(used + [block for group in leaves.values() for block in group]):
        tokens[block.call].append(block)
    for call in tokens:
        # Literals name their own ids, which follow the anchors' rows.
        call.sort(key=lambda block: not isinstance(block.node, Slot))
        _place(call)
    return tokens + operators


def _schedule(blocks: list[_Block], first: int) -> list[list[_Block]]:
    """Calls numbered from `first`. Each runs what is ready of one kind: of the kind with the
    largest part of its remaining rows ready, since what waits would need a call of its own."""
    calls: list[list[_Block]] = []
    waiting: dict[tuple[str, int], list[_Block]] = defaultdict(list)
    for block in blocks:
        waiting[block.kind].append(block)

    def ready(kind: tuple[str, int]) -> list[_Block]:
        return [b for b in waiting[kind] if all(a.call >= 0 for a in b.arguments)]

    def part(kind: tuple[str, int]) -> float:
        return sum(b.size for b in ready(kind)) / sum(b.size for b in waiting[kind])

    while waiting:
        kind = max(waiting, key=part)
        call = ready(kind)
        for block in call:
            block.call = first + len(calls)
        calls.append(call)
        waiting[kind] = [block for block in waiting[kind] if block.call < 0]
        if not waiting[kind]:
            del waiting[kind]
    return calls


def _place(call: list[_Block]) -> None:
    start = 0
    for block in call:
        block.start = start
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
