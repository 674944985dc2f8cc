"""Compiled counts around whole questions: (s, r, t), (s, r, o), and the window of s at t."""

# mypy: ignore-errors

from __future__ import annotations

from tflex.compiled import kernel
from tflex.models.predictors.context_kernels import first_at_least, neighbour_of, relation_group


@kernel
def near_rows(context, subjects, times, relations, objects, bounds, rows, gaps):
    """Rows of each subject nearest in rank to a time (−1: there are fewer), and their gap classes.

    The fact (relation, object) that holds at the time is left out.
    """
    trace = context.by_entity
    size = rows.shape[1]
    rows[:] = -1
    gaps[:] = 0
    for at in range(len(subjects)):
        begin, stop = trace.pointer[subjects[at]], trace.pointer[subjects[at] + 1]
        middle = first_at_least(trace.start, begin, stop, times[at])
        first = max(begin, middle - size // 2)
        last = min(stop, first + size)
        first = max(begin, last - size)
        for row in range(first, last):
            gap = 0
            if context.entity_end[row] < times[at]:
                gap = context.entity_end[row] - times[at]
            elif trace.start[row] > times[at]:
                gap = trace.start[row] - times[at]
            asked = (
                context.entity_relation[row] == relations[at]
                and context.entity_object[row] == objects[at]
            )
            if not (asked and gap == 0):
                rows[at, row - first] = row
                gaps[at, row - first] = first_at_least(bounds, 0, len(bounds), gap)


@kernel
def known_relations(context, subjects, relations, found):
    """Mark the (s, r) of which some fact is known."""
    for row in range(len(subjects)):
        found[row] = relation_group(context, subjects[row], relations[row]) >= 0


@kernel
def cover_density(context, subjects, times, out):
    """Σ 1 / length over the facts of s that hold at t."""
    for row in range(len(subjects)):
        time = times[row]
        trace = context.by_entity
        begin, stop = trace.pointer[subjects[row]], trace.pointer[subjects[row] + 1]
        for at in range(begin, first_at_least(trace.start, begin, stop, time + 1)):
            if context.entity_end[at] >= time:
                out[row] += 1.0 / (context.entity_end[at] - trace.start[at] + 1)


@kernel
def triple_counts(context, subjects, relations, objects, out):
    """All-time counts around (s, r, o): the pair, of r, of r⁻¹, weighted; (s,r), (r,o), s, o, r."""
    relation_count = context.weights.shape[1] // 2
    for row in range(len(subjects)):
        subject, relation, object = subjects[row], relations[row], objects[row]
        inverse = (
            relation - relation_count if relation >= relation_count else relation + relation_count
        )
        neighbour = neighbour_of(context, subject, object)
        if neighbour >= 0:
            for pair in range(context.pair_pointer[neighbour], context.pair_pointer[neighbour + 1]):
                other = context.pair_relation[pair]
                out[row, 0] += 1.0
                out[row, 1] += other == relation
                out[row, 2] += other == inverse
                out[row, 3] += context.weights[3, relation, other]
        group = relation_group(context, subject, relation)
        if group >= 0:
            out[row, 4] = (
                context.by_relation.pointer[group + 1] - context.by_relation.pointer[group]
            )
        group = relation_group(context, object, inverse)
        if group >= 0:
            out[row, 5] = (
                context.by_relation.pointer[group + 1] - context.by_relation.pointer[group]
            )
        out[row, 6] = context.by_entity.pointer[subject + 1] - context.by_entity.pointer[subject]
        out[row, 7] = context.by_entity.pointer[object + 1] - context.by_entity.pointer[object]
        out[row, 8] = (
            context.of_relation.pointer[relation + 1] - context.of_relation.pointer[relation]
        )
