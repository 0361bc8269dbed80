"""What the processor counts while a variant runs, beside what the models say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from workbench.codegen.backend import require_runnable
from workbench.session import registry as declare
from workbench.session.measurement.comparisons import closed
from workbench.session.registry import Host

declare.panel("counters", "Counters", 10, needs="program", about_task=True)


@declare.question("counters", lane="counters")
def counters_question(host: Host, args: Mapping[str, Any]) -> Callable[[], dict[str, Any]]:
    """Measure the variant ``node`` (that on show by default) and count events of the processor in its calls."""
    node, target, constants = closed(host.state.variant(args.get("node"))), host.state.target, host.state.constants
    require_runnable(target)
    schedule = node.schedule.copy()

    def work() -> dict[str, Any]:
        from workbench.advice import counters

        return {"node": node.id, **counters(schedule, target, constants=constants).to_json()}

    return work
