"""What kernels are made for: the target of the session, and the others that there could be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from workbench.errors import TargetError
from workbench.session import registry as declare
from workbench.session.registry import Host, SliceContext
from workbench.target import Target

STATES = ("runs", "compiles", "prints", "missing")


@declare.slice_("target")
def target(context: SliceContext) -> dict[str, Any]:
    """Return the slice `target`: the whole text of it, and how far the tasks of another one are."""
    return {"text": str(context.state.target), **context.state.retargeting.to_json()}


@declare.question("devices", lane="devices")
def devices(host: Host, args: Mapping[str, Any]) -> Callable[[], dict[str, Any]]:
    """List the rows of `workbench.devices`, what runs here first; ``now``: whether it is the target of the session."""
    own = host.state.target

    def work() -> dict[str, Any]:
        from workbench.runtime.devices import found

        rows = [{**row, "now": _is(own, row["target"])} for row in found()]
        return {"rows": sorted(rows, key=lambda row: (not row["now"], STATES.index(row["state"])))}

    return work


def _is(own: Target, text: str) -> bool:
    """Whether a row's text means a target; one with something left open means none."""
    try:
        return Target(text) == own
    except TargetError:
        return False
