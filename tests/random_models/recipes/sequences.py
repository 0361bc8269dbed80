"""Sequences and optional values."""

from __future__ import annotations

from random_models.recipes.base import recipe
from random_models.values import PLAIN


def sequence(d):
    """A sequence of one to three tensors, and their names."""
    kind = d.choice(*PLAIN)
    rank = d.whole(0, 3)
    parts = [d.tensor(kind, rank=rank) for _ in range(d.whole(1, 3))]
    (s,) = d.add("SequenceConstruct", parts)
    return s, parts


def _at(d, n):
    return d.ints(d.whole(-n, n - 1), d.choice("int32", "int64"))


@recipe("SequenceAt SequenceConstruct")
def at(d, op):
    s, parts = sequence(d)
    d.add("SequenceAt", [s, _at(d, len(parts))])


@recipe("SequenceLength")
def length(d, op):
    d.add(op, [sequence(d)[0]])


@recipe("SequenceErase SequenceInsert SequenceEmpty")
def changed(d, op):
    if op == "SequenceErase":
        s, parts = sequence(d)
        (s,) = d.add(op, [s, *([_at(d, len(parts))] if d.flip(0.7) else [])])
    elif op == "SequenceInsert":
        s, parts = sequence(d)
        (s,) = d.add(op, [s, d.tensor(d.dtype_of(parts[0])), *([_at(d, len(parts))] if d.flip(0.7) else [])])
    else:
        (s,) = d.add(op, [])
        (s,) = d.add("SequenceInsert", [s, d.tensor("float32")])
    d.add("SequenceLength", [s])


@recipe("ConcatFromSequence")
def concatenated(d, op):
    x = d.tensor(PLAIN, rank=(1, 2, 3))
    (s,) = d.add("SequenceConstruct", [x, d.tensor(d.dtype_of(x), shape=d.shape(x)), x])
    new = d.whole(0, 1)
    d.add(op, [s], axis=d.axis(len(d.shape(x)) + new), **({"new_axis": 1} if new else {}))


@recipe("SplitToSequence")
def split(d, op):
    x = d.tensor(("float32", "float64", "int32", "int64", "string"), rank=(1, 2, 3), fits=lambda a: a.size > 0)
    axis = d.axis(len(d.shape(x)))
    n = d.shape(x)[axis]
    first = d.whole(0, n)
    how = d.choice([], [d.ints(d.whole(1, 3))], [d.ints([first, n - first])])
    (s,) = d.add(op, [x, *how], axis=axis, **d.maybe(keepdims=d.whole(0, 1)))
    d.add("SequenceAt", [s, d.ints(0)])


@recipe("Optional OptionalGetElement OptionalHasElement")
def optional(d, op):
    (o,) = d.add("Optional", [d.tensor(PLAIN)])
    d.add("OptionalGetElement" if op == "Optional" else op, [o])


@recipe("SequenceMap")
def mapped(d, op):
    from onnx import ValueInfoProto, helper

    s, _ = sequence(d)
    body = helper.make_graph(
        [helper.make_node("Identity", ["e"], ["f"])], "body", [ValueInfoProto(name="e")], [ValueInfoProto(name="f")]
    )
    (m,) = d.add(op, [s], body=body)
    d.add("SequenceAt", [m, d.ints(0)])
