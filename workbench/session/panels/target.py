"""What kernels are made for: the target of the session, and the others that there could be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from workbench.errors import TargetError
from workbench.session import registry as declare
from workbench.session.core.protocol import error_json
from workbench.session.registry import Host, SliceContext
from workbench.session.state.session_input import why_not_for
from workbench.target import Target

STATES = ("runs", "compiles", "prints", "missing")


@declare.slice_("target")
def target(context: SliceContext) -> dict[str, Any]:
    """Return the slice `target`: the whole text of it, and how far the tasks of another one are."""
    return {"text": str(context.state.target), **context.state.retargeting.to_json()}


@declare.question("devices", lane="devices")
def devices(host: Host, args: Mapping[str, Any]) -> Callable[[], dict[str, Any]]:
    """List the rows of `workbench.devices`, what runs here first, with what a choice of each comes to.

    ``now``: it is the target of the session; ``refused``: why what is open cannot be made for it.
    """
    own, opened = host.state.target, host.state.opened

    def work() -> dict[str, Any]:
        from workbench.runtime.devices import found

        rows = []
        for row in found():
            meant = _meant(row["target"])
            error = why_not_for(opened, meant) if meant and meant != own else None
            rows.append({**row, "now": meant == own, "refused": error and error_json(error)})
        return {"rows": sorted(rows, key=lambda row: (not row["now"], STATES.index(row["state"])))}

    return work


def _meant(text: str) -> Target | None:
    """The target that a row's text means; None where something is left open."""
    try:
        return Target(text)
    except TargetError:
        return None
