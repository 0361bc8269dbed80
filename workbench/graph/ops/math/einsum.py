"""Sums of products of tensors whose dimensions have labels: Einsum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workbench import te
from workbench.graph.graph import Array, TensorType
from workbench.graph.node_steps import Steps
from workbench.graph.opdef import OpDef, operator
from workbench.graph.operator_call import Call
from workbench.graph.operator_facts import dims
from workbench.graph.ops.lowering import compute

#: Labels of the dimensions that an ellipsis stands for, counted from the last: no letters, so no other has them.
_ELLIPSIS = "9876543210"


@dataclass(frozen=True, slots=True)
class Equation:
    """Labels of the dimensions of each operand and of the result, and how long each is."""

    operands: tuple[str, ...]
    result: str
    sizes: dict[str, int]

    @property
    def text(self) -> str:
        """The equation as a node has it; only of one without an ellipsis."""
        return f"{','.join(self.operands)}->{self.result}"


def equation(c: Call) -> Equation:
    """Read the equation of an Einsum; `ModelError` "model.invalid_graph" or "model.shape_mismatch"."""
    text = c.get_str("equation", "").replace(" ", "")
    left, arrow, result = text.partition("->")
    terms = left.split(",")
    letters = text.replace("->", "").replace(",", "").replace("...", "")
    if len(terms) != len(c.types) or not (letters.isalpha() or not letters):
        raise c.error("invalid_graph", f"has the equation {text!r} for {len(c.types)} operands")
    ranks = [len(c.shape(k)) for k in range(len(terms))]
    free = [rank - len(t.replace("...", "")) for rank, t in zip(ranks, terms, strict=True)]
    if any(n < 0 or (n and "..." not in t) or n > len(_ELLIPSIS) for n, t in zip(free, terms, strict=True)):
        raise c.error("shape_mismatch", f"has the equation {text!r} for operands of {ranks} dimensions")
    operands = tuple(t.replace("...", _ELLIPSIS[len(_ELLIPSIS) - n :]) for n, t in zip(free, terms, strict=True))
    common = _ELLIPSIS[len(_ELLIPSIS) - max(free) :]
    if not arrow:
        result = "..." + "".join(sorted(x for x in {*letters} if letters.count(x) == 1))
    return Equation(operands, _checked(c, text, result.replace("...", common), operands), _sizes(c, text, operands))


def _checked(c: Call, text: str, result: str, operands: tuple[str, ...]) -> str:
    if len({*result}) < len(result) or not {*result} <= {*"".join(operands)}:
        raise c.error("invalid_graph", f"has the equation {text!r}, whose result names a dimension twice or a new one")
    return result


def _sizes(c: Call, text: str, operands: tuple[str, ...]) -> dict[str, int]:
    sizes = dict[str, int]()
    for k, labels in enumerate(operands):
        for label, size in zip(labels, c.shape(k), strict=True):
            if 1 not in (size, sizes.get(label, 1)) and size != sizes[label]:
                raise c.error("shape_mismatch", f"has the equation {text!r} for lengths {sizes[label]} and {size}")
            sizes[label] = size if sizes.get(label, 1) == 1 else sizes[label]
    return sizes


@operator("Einsum", "complex")
class Einsum(OpDef):
    """Sum of products over all dimensions that the result does not have."""

    def words(self, c: Call, out: TensorType) -> str:
        return f"einsum {equation(c).text} {' · '.join(dims(t.shape) for t in c.types if t is not None)}"

    def shape(self, c: Call) -> tuple[int, ...]:
        found = equation(c)
        if any(c.type(k).dtype != c.type(0).dtype for k in range(len(c.types))):
            raise c.error("shape_mismatch", f"mixes element types {', '.join(t.dtype for t in c.types if t)}")
        return tuple(found.sizes[label] for label in found.result)

    def reference(self, c: Call, *args: Array) -> Array:
        found = equation(c)
        number = {label: k for k, label in enumerate(found.sizes)}
        dtype = args[0].dtype
        args = args if dtype.kind in "fiub" else tuple(a.astype(np.float32) for a in args)  # NumPy cannot add others
        pairs = [x for a, labels in zip(args, found.operands, strict=True) for x in (a, [number[s] for s in labels])]
        return np.asarray(np.einsum(*pairs, [number[s] for s in found.result]), dtype)

    def decompose(self, c: Call, steps: Steps) -> bool:
        """Sum first over what one operand alone has; multiply two operands at a time."""
        found = equation(c)
        operands, names = list(found.operands), list(c.node.inputs)
        for k, labels in enumerate(operands):
            others = {*found.result}.union(*(o for n, o in enumerate(operands) if n != k))
            kept = "".join(s for s in dict.fromkeys(labels) if s in others)
            if len(operands) > 1 and len(kept) < len(labels):
                names[k], operands[k] = _sum(steps, [names[k]], [labels], kept), kept
        while len(operands) > 2:
            later = {*found.result}.union(*operands[2:])
            kept = "".join(s for s in dict.fromkeys(operands[0] + operands[1]) if s in later)
            names[:2] = [_sum(steps, names[:2], operands[:2], kept)]
            operands[:2] = [kept]
        if steps.nodes:
            _sum(steps, names, operands, found.result)
        return bool(steps.nodes) and steps.finish()

    def lower(self, c: Call, *args: te.Tensor) -> te.Tensor:
        found = equation(c)
        letters = dict(zip(found.sizes, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", strict=False))
        summed = {s: te.reduce_axis(n, letters[s]) for s, n in found.sizes.items() if s not in found.result}

        def body(*i: te.Axis) -> te.Value | te.Reduction:
            at = {**summed, **dict(zip(found.result, i, strict=True))}
            product = None
            for t, labels in zip(args, found.operands, strict=True):
                value = t[tuple(0 if n == 1 != found.sizes[s] else at[s] for s, n in zip(labels, t.shape, strict=True))]
                product = value if product is None else product * value
            assert product is not None
            return te.sum(product, axis=list(summed.values())) if summed else product

        return compute(self.shape(c), body, c.name("einsum"), tuple(letters[s] for s in found.result))


def _sum(steps: Steps, names: list[str], operands: list[str], result: str) -> str:
    """Einsum over some operands; labels that an ellipsis gave become letters that nothing else has."""
    labels = dict.fromkeys("".join(operands))
    letters = {s: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"[k] for k, s in enumerate(labels)}
    text = ",".join("".join(letters[s] for s in o) for o in operands) + "->" + "".join(letters[s] for s in result)
    return steps.add("Einsum", tuple(names), "einsum", {"equation": text})
