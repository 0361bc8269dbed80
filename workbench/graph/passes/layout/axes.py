"""Operators that name axes: what becomes of their attributes and constants when the axes are permuted.

`perm` gives the model's axis at each place in memory; an axis `a` of the model is found at ``perm.index(a)``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from workbench.graph.graph import Array, AttrValue
from workbench.graph.ops.arrays.tensor import Pad, Slice
from workbench.graph.ops.math.reduce import Reduce
from workbench.graph.ops.nn.norm import MeanVarianceNormalization
from workbench.graph.passes.layout.carry import RESULT, Carrier, Mode, Site, declare
from workbench.graph.passes.layout.costs import PRICES
from workbench.graph.passes.layout.order import PLAIN, Order, Perm
from workbench.graph.passes.layout.write import Writer


@dataclass(frozen=True, slots=True)
class Change:
    """How a node is written with permuted axes.

    Attributes
    ----------
    attrs : mapping
        All attributes.
    out : Perm
        Permutation of the axes of the result.
    constants : mapping
        Inputs that become other constants.
    count : int or None
        How many inputs are left; all of them by default.
    version : int or None
        Opset that the attributes are written in; the node's by default.
    """

    attrs: Mapping[str, AttrValue]
    out: Perm
    constants: Mapping[int, Array] = field(default_factory=dict)
    count: int | None = None
    version: int | None = None


Rewrite: TypeAlias = Callable[[Site, Perm], Change | None]


class Axes(Carrier):
    """Operators whose data (the first input, or all of them) share one permutation."""

    def __init__(self, rewrite: Rewrite, every: bool = False) -> None:
        self.rewrite, self.every = rewrite, every

    def data(self, site: Site) -> Sequence[int]:
        """Inputs that are permuted."""
        return range(len(site.node.inputs)) if self.every else (0,)

    def start(self, site: Site) -> list[Mode]:
        lead = next((i for i in self.data(site) if site.moving(i)), None)
        if lead is None:
            return [self.model(site)]
        plain = self.model(site)
        found = [replace(m, layout="model") if m.key[1:] == plain.key[1:] else m for m in self.modes(site, lead, PLAIN)]
        first = [m for m in found if m.layout == "model"] or [plain]
        return [*first, *(m for m in found if m not in first)]

    def modes(self, site: Site, at: int, order: Order) -> Iterable[Mode]:
        if (at != RESULT and at not in self.data(site)) or not any(site.moving(i) for i in self.data(site)):
            return
        found: dict[tuple[tuple[Order | None, ...], Order], list[Perm]] = {}
        for perm in order.perms(site.shape(at)):
            change = self.rewrite(site, perm) if at != RESULT or len(site.shape(0)) == site.out.rank else None
            if change is None or (at == RESULT and change.out != perm):
                continue
            inputs = tuple(self._order(site, i, perm) for i in range(len(site.node.inputs)))
            found.setdefault((inputs, Order.of(site.out.shape, change.out)), []).append(perm)
        for (inputs, out), perms in found.items():
            cost = PRICES.run(site.call, site.out)
            yield Mode("carried", inputs, out, cost, tuple(perms), "its axes are permuted like its neighbours'")

    def _order(self, site: Site, i: int, perm: Perm) -> Order | None:
        if not site.moving(i):
            return None
        return Order.of(site.shape(i), perm) if i in self.data(site) else PLAIN

    def write(self, w: Writer, site: Site, mode: Mode) -> None:
        lead = next((i for i in self.data(site) if site.moving(i)), 0)
        order = mode.inputs[lead]
        # Constants alone, or as the model has it with a result of another rank (a lookup in a vector).
        if order is None or len(mode.perms[0]) != len(site.shape(lead)):
            return w.keep(site.node)
        perm = w.likely(site.node.inputs[lead], order, mode.perms)
        change = self.rewrite(site, perm)
        if change is None or perm == tuple(range(len(perm))):
            return w.keep(site.node)
        inputs = []
        for i, x in enumerate(site.node.inputs[: change.count]):
            if i in change.constants:
                inputs.append(w.constant(x, (*perm, i), change.constants[i], "moved"))
            else:
                inputs.append(w.moved(site, i, perm) if i in self.data(site) else w.plain(x))
        return w.emit(site, inputs, dict(change.attrs), mode.output, change.out, change.version)


def carries(*names: str, every: bool = False) -> Callable[[Rewrite], Rewrite]:
    """Declare how operators are written with permuted axes."""

    def wrap(rewrite: Rewrite) -> Rewrite:
        declare(names, Axes(rewrite, every))
        return rewrite

    return wrap


def _axis(site: Site, perm: Perm, default: int) -> int:
    return perm.index(site.call.get_int("axis", default) % len(perm))


@carries("Concat", every=True)
def _concat(site: Site, perm: Perm) -> Change:
    return Change({**site.node.attrs, "axis": _axis(site, perm, 1)}, perm)


@carries("Softmax", "LogSoftmax", "Hardmax")
def _softmax(site: Site, perm: Perm) -> Change | None:
    if site.node.version < 13:  # all axes from one on
        return None
    return Change({**site.node.attrs, "axis": _axis(site, perm, -1)}, perm)


@carries("LpNormalization")
def _norm(site: Site, perm: Perm) -> Change:
    return Change({**site.node.attrs, "axis": _axis(site, perm, -1)}, perm)


@carries(
    "ReduceMean",
    "ReduceSum",
    "ReduceMax",
    "ReduceMin",
    "ReduceProd",
    "ReduceL1",
    "ReduceL2",
    "ReduceSumSquare",
    "ReduceLogSum",
    "ReduceLogSumExp",
)
def _reduce(site: Site, perm: Perm) -> Change | None:
    if not isinstance(site.op, Reduce):
        return None
    axes, keep = site.op.axes(site.call), site.call.get_int("keepdims", 1)
    if not axes:
        return None
    attrs: dict[str, AttrValue] = {"axes": tuple(sorted(perm.index(a) for a in axes)), "keepdims": keep}
    left = [a for a in range(len(perm)) if a not in axes]
    out = perm if keep else tuple(left.index(a) for a in perm if a not in axes)
    return Change(attrs, out, count=1, version=11)


@carries("MeanVarianceNormalization")
def _mean_variance(site: Site, perm: Perm) -> Change | None:
    if not isinstance(site.op, MeanVarianceNormalization):
        return None
    return Change({"axes": tuple(sorted(perm.index(a) for a in site.op.axes(site.call)))}, perm)


@carries("ArgMax", "ArgMin")
def _arg(site: Site, perm: Perm) -> Change:
    axis = site.call.get_int("axis", 0) % len(perm)
    left = [a for a in range(len(perm)) if a != axis]
    out = perm if site.call.get_int("keepdims", 1) else tuple(left.index(a) for a in perm if a != axis)
    return Change({**site.node.attrs, "axis": perm.index(axis)}, out)


@carries("Slice")
def _slice(site: Site, perm: Perm) -> Change | None:
    if not isinstance(site.op, Slice):
        return None
    call = site.call
    starts = call.ints_or_input("starts", 1, 10) or ()
    axes = call.ints_or_input("axes", 3, 10) or tuple(range(len(starts)))
    moved = tuple(perm.index(a % len(perm)) for a in axes)
    if site.node.version < 10:
        return Change({**site.node.attrs, "axes": moved}, perm)
    if len(site.node.inputs) < 4:
        return None
    return Change(dict(site.node.attrs), perm, {3: np.array(moved, np.int64)})


@carries("Pad")
def _pad(site: Site, perm: Perm) -> Change | None:
    if not isinstance(site.op, Pad) or any(site.moving(i) for i in range(1, len(site.node.inputs))):
        return None
    pads = site.op.pads(site.call)
    flat = tuple(pads[p][0] for p in perm) + tuple(pads[p][1] for p in perm)
    attrs: dict[str, AttrValue] = {
        "pads": flat,
        "mode": site.call.get_str("mode", "constant"),
        "value": site.op.fill(site.call),
    }
    return Change(attrs, perm, count=1, version=10)


@carries("Resize")
def _resize(site: Site, perm: Perm) -> Change | None:
    cropped = site.node.attrs.get("coordinate_transformation_mode") == "tf_crop_and_resize"
    if "axes" in site.node.attrs or cropped:
        return None
    at = 3 if site.call.has(3) and site.call.type(3).size else 2
    if site.moving(at) or len(site.node.inputs) <= at:
        return None
    return Change(dict(site.node.attrs), perm, {at: site.value(at)[list(perm)]})


@carries("Tile")
def _tile(site: Site, perm: Perm) -> Change | None:
    return None if site.moving(1) else Change(dict(site.node.attrs), perm, {1: site.value(1)[list(perm)]})


@carries("Expand")
def _expand(site: Site, perm: Perm) -> Change | None:
    if site.moving(1) or len(site.shape(0)) != site.out.rank:
        return None
    shape = np.array([site.out.shape[p] for p in perm], np.int64)
    return Change(dict(site.node.attrs), perm, {1: shape})


@carries("Gather")
def _gather(site: Site, perm: Perm) -> Change | None:
    axis = site.call.get_int("axis", 0) % len(perm)
    index = len(site.call.shape(1))
    if index > 1:
        return None
    left = [a for a in range(len(perm)) if a != axis]
    out = perm if index else tuple(left.index(a) for a in perm if a != axis)
    return Change({**site.node.attrs, "axis": perm.index(axis)}, out)


@carries("QuantizeLinear", "DequantizeLinear")
def _quantize(site: Site, perm: Perm) -> Change | None:
    scale = site.call.shape(1)
    if len(scale) > 1 or site.call.get_int("block_size", 0):
        return None
    attrs = {**site.node.attrs, "axis": _axis(site, perm, 1)} if scale else dict(site.node.attrs)
    return Change(attrs, perm)
