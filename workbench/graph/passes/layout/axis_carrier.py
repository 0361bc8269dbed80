"""Operators that name axes: they run with permuted ones where they say what becomes of attributes and constants."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.graph.passes.layout.carrier_base import RESULT, Carrier, Mode, Site
from workbench.graph.passes.layout.costs import PRICES
from workbench.graph.passes.layout.memory_order import PLAIN, Order, Perm

if TYPE_CHECKING:
    from workbench.graph.passes.layout.write import Writer


class Axes(Carrier):
    """Operators whose data (the first input, or all of them) share one permutation."""

    def data(self, site: Site) -> Sequence[int]:
        """Inputs that are permuted."""
        return range(len(site.node.inputs)) if site.op.permutes_all else (0,)

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
            change = site.op.permuted(site.call, perm) if at != RESULT or len(site.shape(0)) == site.out.rank else None
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
        change = site.op.permuted(site.call, perm)
        if change is None or perm == tuple(range(len(perm))):
            return w.keep(site.node)
        inputs = []
        for i, x in enumerate(site.node.inputs[: change.count]):
            if i in change.constants:
                inputs.append(w.constant(x, (*perm, i), change.constants[i], "moved"))
            else:
                inputs.append(w.moved(site, i, perm) if i in self.data(site) else w.plain(x))
        return w.emit(site, inputs, dict(change.attrs), mode.output, site.permuted(change.out), change.version)
