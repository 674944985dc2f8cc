"""The model's equations on plain lists of floats: no tensors, no batches."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce

Vector = list[float]
Row = tuple[Vector, Vector, Vector, Vector]
"""(q_f^e, q_l^e, q_f^t, q_l^t)"""
Perceptron = Callable[[Vector], Vector]


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def perceptron(layers: Sequence[tuple[list[Vector], Vector]]) -> Perceptron:
    """From weight rows and biases."""

    def apply(x: Vector) -> Vector:
        for number, (weights, bias) in enumerate(layers):
            x = [
                sum(w * v for w, v in zip(row, x, strict=True)) + b
                for row, b in zip(weights, bias, strict=True)
            ]
            if number < len(layers) - 1:
                x = [max(v, 0.0) for v in x]
        return x

    return apply


def projection(
    mlp: Perceptron,
    source: Row,
    relation: Row,
    other: Row,
    feature: Callable[[float], float],
    logic: Callable[[float], float],
) -> Row:
    parts = zip(source, relation, other, strict=True)
    total = [a + b + c for part in parts for a, b, c in zip(*part, strict=True)]
    out, d = mlp(total), len(source[0])
    return (
        [feature(v) for v in out[:d]],
        [logic(v) for v in out[d : 2 * d]],
        [feature(v) for v in out[2 * d : 3 * d]],
        [logic(v) for v in out[3 * d :]],
    )


def attended(mlp: Perceptron, features: Sequence[Vector], logics: Sequence[Vector]) -> Vector:
    """Σ_i α_i f_i with α the softmax over i of the perceptron on [f_i; l_i]."""
    scores = [mlp(f + u) for f, u in zip(features, logics, strict=True)]
    result = []
    for j in range(len(features[0])):
        powers = [math.exp(score[j]) for score in scores]
        result.append(sum(p * f[j] for p, f in zip(powers, features, strict=True)) / sum(powers))
    return result


def dyadic(
    entity_mlp: Perceptron,
    time_mlp: Perceptron,
    rows: Sequence[Row],
    entity_connective: Callable[[float, float], float],
    time_connective: Callable[[float, float], float],
) -> Row:
    def connect(connective: Callable[[float, float], float], part: int) -> Vector:
        columns = zip(*(row[part] for row in rows), strict=True)
        return [reduce(connective, column) for column in columns]

    return (
        attended(entity_mlp, [row[0] for row in rows], [row[1] for row in rows]),
        connect(entity_connective, 1),
        attended(time_mlp, [row[2] for row in rows], [row[3] for row in rows]),
        connect(time_connective, 3),
    )


def complement(
    mlp: Perceptron, row: Row, of_time: bool, activation: Callable[[float], float]
) -> Row:
    first = 2 if of_time else 0
    parts = list(row)
    parts[first] = [activation(v) for v in mlp(row[first] + row[first + 1])]
    parts[first + 1] = [1 - v for v in row[first + 1]]
    return (parts[0], parts[1], parts[2], parts[3])


def after(row: Row) -> Row:
    moved = [f + (1 + u) / 2 for f, u in zip(row[2], row[3], strict=True)]
    return (row[0], row[1], moved, [(1 - u) / 2 for u in row[3]])


def before(row: Row) -> Row:
    moved = [f - (1 + u) / 2 for f, u in zip(row[2], row[3], strict=True)]
    return (row[0], row[1], moved, [(1 - u) / 2 for u in row[3]])


def feature_distance(feature: Vector, logic: Vector, candidate: Vector, weight: float) -> float:
    near = sum(abs(v - f) for v, f in zip(candidate, feature, strict=True))
    return near + weight * sum(abs(u) for u in logic)


def box_distance(feature: Vector, logic: Vector, candidate: Vector, scale: float) -> float:
    outer = inner = 0.0
    for v, f, u in zip(candidate, feature, logic, strict=True):
        outer += max(abs(v - f) - u, 0.0)
        inner += min(abs(v - f), u)
    return scale * (outer + 0.02 * inner)


def loss(positive: float, negatives: Sequence[float], margin: float) -> float:
    """Of one query; the negatives are those that are allowed."""
    pushed = sum(math.log(sigmoid(d - margin)) for d in negatives)
    return -math.log(sigmoid(margin - positive)) - (pushed / len(negatives) if negatives else 0.0)


VECTOR: dict[str, Callable[[float, float], float]] = {
    "and": lambda a, b: a * b,
    "or": lambda a, b: a + b - a * b,
    "implies": lambda a, b: 1 - a * (1 - b),
    "xor": lambda a, b: a + b - 2 * a * b,
    "equivalent": lambda a, b: 1 - (a + b - 2 * a * b),
}
FUZZY: dict[str, Callable[[float, float], float]] = {
    "and": min,
    "or": max,
    "implies": lambda a, b: max(1 - a, b),
    "xor": lambda a, b: min(a, 1 - b) + min(1 - a, b),
    "equivalent": lambda a, b: min(a, b) + min(1 - a, 1 - b),
}
