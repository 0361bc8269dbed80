"""Runs on the same arrays again and again, which are checked once."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from workbench.errors import UsageError
from workbench.runtime.buffers import Array
from workbench.runtime.execution.run_context import RunContext
from workbench.runtime.execution.running import WithThreads

if TYPE_CHECKING:
    from workbench.runtime.execution.executable import Executable


def refuse_copies(name: str) -> NoReturn:
    """Refuse an input that machine code does not read where it is."""
    hint = "give C-contiguous arrays, or those of empty_inputs()"
    raise UsageError("run.bind", f"the input {name!r} would have to be copied at each run", (name,), hint)


class BoundRun:
    """A network with its inputs and outputs; calling it runs the network once.

    Parameters
    ----------
    exe : Executable
    inputs, outputs : sequence of array
        In the network's order, checked.

    Attributes
    ----------
    inputs, outputs : dict of str to array
        By name. A call reads what is in the inputs then, and writes the outputs.

    Raises
    ------
    UsageError
        ``run.bind`` for an input that machine code does not read where it is.

    Notes
    -----
    Calls from several threads wait for each other. Each has as many threads as the executable has then.
    """

    def __init__(self, exe: Executable, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        self._exe, self._outputs, self._lock = exe, outputs, threading.Lock()
        self.inputs = {spec.name: array for spec, array in zip(exe.inputs, inputs, strict=True)}
        self.outputs = {spec.name: array for spec, array in zip(exe.outputs, outputs, strict=True)}
        context = RunContext(exe.network, exe.threads)
        for number, (name, array) in enumerate(self.inputs.items()):
            if not context.reads(number, array):
                refuse_copies(name)
        context.bind(inputs, outputs)
        self._context = context

    def __repr__(self) -> str:
        return f"<BoundRun of {self._exe.plan.name}: {', '.join(self.inputs)} to {', '.join(self.outputs)}>"

    def __call__(self) -> dict[str, Array]:
        """Run once; returns `outputs`, or new views of them where data decide how much of an output counts.

        Raises
        ------
        RunError
            As for `Executable.run`.
        """
        exe = self._exe
        with self._lock, WithThreads(self._context, exe.threads) as context:
            exe.finish(context, self._outputs)
        return exe.results(self._outputs) if exe.plan.cuts else self.outputs
