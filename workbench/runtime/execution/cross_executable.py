"""A network that is compiled for another machine than this one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from workbench.arguments import whole
from workbench.errors import TargetError
from workbench.runtime.buffers import Array
from workbench.runtime.execution.executable import Executable
from workbench.runtime.execution.run_context import LoadedNetwork
from workbench.runtime.networks.execution_plan import ExecutablePlan
from workbench.runtime.networks.network import Network
from workbench.runtime.networks.plan_check import check_plan
from workbench.safe_text import shown_legibly


class CrossExecutable(Executable):
    """A compiled network that this machine cannot run: `export` writes it for the one that can.

    Parameters
    ----------
    plan : ExecutablePlan
        Calls, memory, constants.

    Raises
    ------
    BuildError
        ``build.plan`` when the plan is not consistent.
    """

    def __init__(self, plan: ExecutablePlan) -> None:
        check_plan(plan)
        Network.__init__(self, plan.inputs, plan.outputs)
        self.plan, self._threads = plan, plan.threads

    @shown_legibly
    def __repr__(self) -> str:
        return f"<CrossExecutable {self.plan.name}: {len(self.plan.calls)} calls for {self.plan.target}>"

    def set_threads(self, threads: int) -> None:
        self._threads = whole("threads", threads, code="run.threads")

    @property
    def network(self) -> LoadedNetwork:  # type: ignore[override]
        """Nothing of it can be loaded here."""
        self._refuse()

    def _running(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> NoReturn:
        self._refuse()

    def poison(self) -> None:
        """Nothing here is memory of a run."""

    def _refuse(self) -> NoReturn:
        target = self._target()
        raise TargetError(
            "target.host",
            f"The network {self.plan.name!r} is compiled for {target.cpu!r}, which this machine is not: it lacks "
            f"{', '.join(target.missing_here())}.",
            (str(target),),
            "net.export(path, main=True) writes a library and a C program for it; compile(graph) is for this machine",
        )
