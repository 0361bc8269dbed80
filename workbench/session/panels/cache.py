"""Variants on simulated caches: which lines of each array the caches hold, one access after the other."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from workbench.analysis.cache.films import MOST, Films
from workbench.analysis.cache.levels import own_levels
from workbench.arguments import shown
from workbench.errors import UsageError
from workbench.ir.func import Same
from workbench.session import registry as declare
from workbench.session.registry import Host
from workbench.target import Target

declare.panel("cache", "Caches", 10, needs="program", about_task=True)


@declare.question("cache", lane="cache")
def cache(host: Host, args: Mapping[str, Any]) -> Callable[[], dict[str, Any]]:
    """Take pictures of the caches while the variants ``nodes`` run, one or two (that on show by default); with ``at``,
    a place in each run, of the single accesses from there on. They are packed as `Films` does it, in base 64.
    """
    asked = args.get("nodes", [host.state.variant().id])
    if not isinstance(asked, list) or not 0 < len(asked) <= MOST:
        text = f"The caches of 1 variant or of {MOST} are shown, not those of {shown(asked)}"
        raise UsageError("session.arguments", text, (), 'for example "nodes": [0, 1]')
    nodes, target, at = [host.state.variant(n) for n in asked], host.state.target, args.get("at")
    names, funcs = tuple(f"v{node.id}" for node in nodes), tuple(Same(node.schedule.func) for node in nodes)

    def work() -> dict[str, Any]:
        found = _films(names, funcs, target)
        if at is None:
            return {"films": found.about, "pictures": b64encode(found.pictures).decode()}
        counts, pictures = found.steps(at)
        return {"counts": counts, "pictures": b64encode(pictures).decode()}

    return work


@lru_cache(maxsize=2)
def _films(names: tuple[str, ...], funcs: tuple[Same, ...], target: Target) -> Films:
    """Run variants; the last ones are kept, for a reader looks at single accesses of them."""
    levels = own_levels(target)
    return Films([(name, one.func, target, levels) for name, one in zip(names, funcs, strict=True)])
