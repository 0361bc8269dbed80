"""The innermost loop on the ports of the processor, instruction by instruction."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from workbench.session import registry as declare
from workbench.session.registry import Host

declare.panel("throughput", "Throughput", 10, needs="program", about_task=True)


@declare.question("throughput", lane="code")
def throughput_question(host: Host, args: Mapping[str, Any]) -> Callable[[], dict[str, Any]]:
    """Analyse a machine loop of the variant ``node`` (that on show by default): that of ``row``, or the innermost."""
    node, target = host.state.variant(args.get("node")), host.state.target
    func, row = node.schedule.func, args.get("row")

    def work() -> dict[str, Any]:
        from workbench.analysis.throughput.report import throughput

        return {"node": node.id, **throughput(func, target, row=row).to_json()}

    return work


@declare.recorded
def _recorded(slices: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    history = slices.get("history") or {"rows": []}
    yield from (("throughput", {"node": row["id"]}) for row in history["rows"] if row["id"] == history["at"])
