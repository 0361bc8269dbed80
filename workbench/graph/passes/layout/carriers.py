"""How each kind of operator is carried to other orders; those that only name axes are in `axes`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from workbench.graph.graph import Array
from workbench.graph.opdef import OpDef
from workbench.graph.operator_facts import inverse
from workbench.graph.passes.layout.axis_carrier import Axes
from workbench.graph.passes.layout.carrier_base import RESULT, Carrier, Mode, Site
from workbench.graph.passes.layout.costs import PRICES
from workbench.graph.passes.layout.memory_order import PLAIN, Order, Perm, Shape, last, split_rows, transposed

if TYPE_CHECKING:
    from workbench.graph.passes.layout.write import Writer


class Image(Carrier):
    """Operators with an attribute `layout`."""

    def start(self, site: Site) -> list[Mode]:
        plain = self.model(site, slower=site.node.attrs.get("layout") != "NHWC")
        fits = 3 <= len(site.shape(0)) <= 5 and not site.node.attrs.get("layout")
        return [plain, self._last(site)] if fits else [plain]

    def _last(self, site: Site) -> Mode:
        inputs = [PLAIN if site.moving(i) else None for i in range(len(site.node.inputs))]
        if site.moving(0):
            inputs[0] = Order.of(site.shape(0), last(len(site.shape(0))))
        weights, perm = self._weights(site)
        if perm and site.moving(weights):
            inputs[weights] = Order.of(site.shape(weights), perm)
        out = Order.of(site.out.shape, last(site.out.rank))
        why = "runs channels last, where channels are vectors"
        return Mode("last", tuple(inputs), out, PRICES.run(site.call, site.out), (last(site.out.rank),), why)

    def _weights(self, site: Site) -> tuple[int, Perm]:
        """The input that holds weights, and how they are permuted; nothing for operators that have none to move."""
        found = site.op.weights
        return (0, ()) if found is None else (found.at, found.perm(len(site.shape(found.at))))

    def modes(self, site: Site, at: int, order: Order) -> Iterable[Mode]:
        return ()  # the two ways that there are come from the start

    def write(self, w: Writer, site: Site, mode: Mode) -> None:
        if mode.layout != "last":
            return w.keep(site.node)
        weights, back = self._weights(site)
        perms = {weights: (back, "hwio"), 0: (last(len(site.shape(0))), "nhwc")}
        inputs = [w.moved(site, i, *perms[i]) if i in perms else w.plain(x) for i, x in enumerate(site.node.inputs)]
        attrs = {**site.node.attrs, "layout": "NHWC"}
        w.emit(site, inputs, attrs, mode.output, site.permuted(last(site.out.rank)))
        return None


class Elementwise(Carrier):
    """Operators that compute each element from those at the same place, with broadcasting."""

    def start(self, site: Site) -> list[Mode]:
        found = list(self.modes(site, RESULT, PLAIN))
        return [replace(found[0], layout="model"), *found[1:]] if found else [self.model(site)]

    def modes(self, site: Site, at: int, order: Order) -> Iterable[Mode]:
        full = site.out.shape
        if site.shape(at) != full:
            return
        found: dict[tuple[Order | None, ...], list[Perm]] = {}
        for perm in order.perms(full):
            found.setdefault(tuple(self._operand(site, i, perm) for i in range(len(site.node.inputs))), []).append(perm)
        if not found and self._flat(site):
            found[tuple(order if self._full(site, i) else None for i in range(len(site.node.inputs)))] = []
        cost = PRICES.run(site.call, site.out)
        for inputs, perms in found.items():
            yield Mode("carried", inputs, order, cost, tuple(perms), "element-wise, in the order of its neighbours")

    def _full(self, site: Site, i: int) -> bool:
        return site.moving(i) and site.shape(i) == site.out.shape

    def _flat(self, site: Site) -> bool:
        """Whether any order will do: every operand has all elements, or is one number."""
        given = [i for i, x in enumerate(site.node.inputs) if x]
        return all(self._full(site, i) or site.call.scalar(i) is not None for i in given)

    def _operand(self, site: Site, i: int, perm: Perm) -> Order | None:
        if not site.moving(i):
            return None
        return Order.of(_widened(site.shape(i), len(perm)), perm)

    def write(self, w: Writer, site: Site, mode: Mode) -> None:
        rank, node = site.out.rank, site.node
        lead = next((i for i in range(len(node.inputs)) if self._full(site, i)), None)
        if not mode.perms:
            assert lead is not None
            shape = (w.shapes(node.inputs[lead], mode.output) or [mode.output.stored(site.out.shape)])[0]
            inputs = [
                w.read(x, mode.output, shape) if self._full(site, i) else self._number(w, site, i)
                for i, x in enumerate(node.inputs)
            ]
            return w.emit(site, inputs, dict(node.attrs), mode.output, shape)
        perm = mode.perms[0] if lead is None else w.likely(node.inputs[lead], mode.output, mode.perms)
        inputs = []
        for i, x in enumerate(node.inputs):
            if not x or site.call.type(i).size == 1 or perm == tuple(range(rank)):
                inputs.append(w.plain(x))
            elif site.moving(i):
                wide = _widened(site.shape(i), rank)
                inputs.append(w.read(x, Order.of(wide, perm), tuple(wide[p] for p in perm)))
            else:
                inputs.append(self._constant(w, site, i, perm, lead is None))
        return w.emit(site, inputs, dict(node.attrs), mode.output, site.permuted(perm))

    def _number(self, w: Writer, site: Site, i: int) -> str:
        """A constant of one element, without dimensions that the result would get from it."""
        x = site.node.inputs[i]
        return w.constant(x, (), site.value(i).reshape(()), "number") if x and site.value(i).ndim > 1 else x

    def _constant(self, w: Writer, site: Site, i: int, perm: Perm, whole: bool) -> str:
        """A constant, without leading dimensions of one element unless the result gets its own from it (`whole`)."""
        c = site.value(i)
        full: Array = np.transpose(c.reshape(_widened(c.shape, len(perm))), perm)
        lead = 0 if whole else next((d for d, e in enumerate(full.shape) if e != 1), len(perm) - 1)
        return w.constant(site.node.inputs[i], perm, full.reshape(full.shape[lead:]))


class View(Carrier):
    """Reshapes of all kinds: what lies in memory stays as it is."""

    def start(self, site: Site) -> list[Mode]:
        return list(self.modes(site, RESULT, PLAIN)) if site.moving(0) else [self.model(site)]

    def modes(self, site: Site, at: int, order: Order) -> Iterable[Mode]:
        if at in (0, RESULT) and site.moving(0):
            rest = (None,) * (len(site.node.inputs) - 1)
            yield Mode("named", (order, *rest), order, 0.0, (), "a view: the same memory with another shape")

    def write(self, w: Writer, site: Site, mode: Mode) -> None:
        if not site.moving(0):  # of a constant
            return w.keep(site.node)
        return w.rename(site, mode.output, mode.output)


class Permutation(Carrier):
    """A transposition in the model: the same memory whose order has another name; what has to move is decided anew."""

    def start(self, site: Site) -> list[Mode]:
        if not site.moving(0):
            return [self.model(site)]
        found = [*self.modes(site, 0, PLAIN), *self.modes(site, RESULT, PLAIN)]
        return found

    def modes(self, site: Site, at: int, order: Order) -> Iterable[Mode]:
        perm = site.op.perm(site.call)
        shape, how = (site.shape(0), perm) if at == 0 else (site.out.shape, inverse(perm))
        other = transposed(order, shape, how)
        if other is not None:
            before, after = (order, other) if at == 0 else (other, order)
            yield Mode("named", (before,), after, 0.0, (), "a transposition of the model, absorbed in the order")

    def write(self, w: Writer, site: Site, mode: Mode) -> None:
        if not site.moving(0):  # of a constant
            return w.keep(site.node)
        assert mode.inputs[0] is not None
        return w.rename(site, mode.inputs[0], mode.output)


class Product(Carrier):
    """Products with constant weights: what is summed over can be in any order, for the weights' rows can be too."""

    def start(self, site: Site) -> list[Mode]:
        return [self.model(site)]

    def fits(self, site: Site) -> bool:
        """Whether the node is a product of something computed with a constant matrix."""
        weights = site.call.values[1]
        fits = site.moving(0) and weights is not None and weights.ndim == 2 and len(site.shape(0)) >= 2
        return fits and site.op.summed_axis(site.call) is not None

    def modes(self, site: Site, at: int, order: Order) -> Iterable[Mode]:
        if at != 0 or not self.fits(site) or split_rows(order, site.shape(0)) is None:
            return
        inputs = (order, *(None for _ in site.node.inputs[1:]))
        why = "sums over its input in any order: the rows of its weights are permuted instead"
        yield Mode("carried", inputs, PLAIN, PRICES.run(site.call, site.out), (), why)

    def write(self, w: Writer, site: Site, mode: Mode) -> None:
        order = mode.inputs[0]
        if order is None or order.plain:
            return w.keep(site.node)
        index = split_rows(order, site.shape(0))
        assert index is not None
        weights = site.value(1)
        rows = np.take(weights, index, axis=site.op.summed_axis(site.call))
        x = w.read(site.node.inputs[0], order, site.shape(0))
        inputs = [x, w.constant(site.node.inputs[1], index, rows, "rows"), *site.node.inputs[2:]]
        return w.emit(site, inputs, dict(site.node.attrs), PLAIN, site.out.shape)


_AS_IT_IS, _ELEMENTWISE, _VIEW = Carrier(), Elementwise(), View()
_IMAGE, _PERMUTATION, _PRODUCT, _AXES = Image(), Permutation(), Product(), Axes()


def carrier(site: Site) -> Carrier:
    """How a node is carried, by what its operator declares; element-wise ones and views wherever they come from."""
    op = site.op
    if not site.alone or not site.node.inputs or site.empty or not (op.native or op.elementwise):
        return _AS_IT_IS
    if op.image:
        return _IMAGE
    if op.transposes:
        return _PERMUTATION
    if type(op).summed_axis is not OpDef.summed_axis:
        return _PRODUCT
    if type(op).permuted is not OpDef.permuted:
        return _AXES
    if op.view:
        return _VIEW
    plain = op.elementwise and not {"axis", "axes", "layout"} & set(site.node.attrs)
    return _ELEMENTWISE if plain else _AS_IT_IS


def _widened(shape: Sequence[int], rank: int) -> Shape:
    return (1,) * (rank - len(shape)) + tuple(shape)
