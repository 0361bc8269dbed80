"""Networks of which a part is compiled ahead, and the rest for sizes that a run tells."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from workbench.errors import ModelError
from workbench.graph import Graph
from workbench.graph.model import Program
from workbench.log import Database
from workbench.network.compile import staged
from workbench.network.dynamic_shapes import DynamicExecutable
from workbench.runtime.buffers import Array
from workbench.runtime.execution.executable import Executable
from workbench.runtime.named_arguments import by_name
from workbench.runtime.networks.execution_plan import ExecutablePlan
from workbench.runtime.networks.network import TimedRuns
from workbench.target import Target


class StagedExecutable(Executable):
    """A compiled network that ends where data decide sizes on which the shapes of the rest depend.

    `run` and `benchmark` are of the whole network: the rest is compiled once for each combination of sizes, the most
    recent ones are kept. `profile` and `trace` are of the part that is compiled ahead.

    Parameters
    ----------
    plan : ExecutablePlan
        Of the part that is compiled ahead.
    rest : DynamicExecutable
        It reads inputs and outputs of that part, and gives the network's outputs.
    """

    def __init__(self, plan: ExecutablePlan, rest: DynamicExecutable) -> None:
        super().__init__(plan)
        self.rest = rest

    def set_threads(self, threads: int) -> None:
        super().set_threads(threads)
        if (rest := getattr(self, "rest", None)) is not None:
            rest.set_threads(threads)

    def poison(self) -> None:
        """As `Executable.poison`, for the rest, too."""
        super().poison()
        self.rest.poison()

    def run(self, *args: Any, out: Any = None, **named: Any) -> dict[str, Any]:
        """Run the network once; as `Executable.run`, but arrays of `out` have the sizes that the outputs get."""
        given = by_name(self._names, args, named)
        values = {**given, **super().run(given)}
        return self.rest.run({v.name: values[v.name] for v in self.rest.program.inputs}, out=out)

    __call__ = run

    @contextmanager
    def _timed(self, inputs: list[Array]) -> Iterator[TimedRuns]:
        feeds = dict(zip(self._names, inputs, strict=True))

        def times(repeat: int, number: int) -> list[float]:
            found = []
            for _ in range(repeat):
                begin = time.perf_counter()
                for _ in range(number):
                    self.run(feeds)
                found.append((time.perf_counter() - begin) * 1e3 / number)
            return found

        yield TimedRuns(times, self.threads, self._pool, 1)

    def bind(self, *args: Any, out: Any = None, **named: Any) -> NoReturn:
        """Refused: the sizes of the outputs are not known before a run."""
        self._refuse("bound to arrays")

    def export(self, path: Any, *, name: str | None = None) -> NoReturn:
        """Refused: a library has no compiler for the rest."""
        self._refuse("exported")

    def _refuse(self, what: str) -> NoReturn:
        first = self.rest.program.nodes[0]
        text = (
            f"The network {self.plan.name!r} cannot be {what}: shapes from node {first.name!r} ({first.op}) on depend"
        )
        hint = "take what comes before: load_onnx(path).with_outputs(names)"
        raise ModelError("model.dynamic_shape", f"{text} on data.", (first.name,), hint)


class AnyShapeExecutable(StagedExecutable):
    """A network that is compiled for the shapes and values that come, the most recent of which are kept.

    Inputs and outputs may be sequences. `profile`, `trace` and `record` are refused: no part is compiled ahead.
    """

    def __init__(self, plan: ExecutablePlan, rest: DynamicExecutable) -> None:
        super().__init__(plan, rest)
        self._names = [v.name for v in rest.program.inputs]

    @property
    def reference_steps(self) -> tuple[str, ...]:
        """Operators that what was compiled so far leaves to their reference implementations."""
        return self.rest.reference_steps

    def run(self, *args: Any, out: Any = None, **named: Any) -> dict[str, Any]:
        """Run the network once, as `DynamicExecutable.run`."""
        return self.rest.run(by_name(self._names, args, named), out=out)

    __call__ = run

    def _arrays(self, args: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        given = by_name(self._names, args, named)
        return [given[name] for name in self._names]

    def measuring(self, inputs: Mapping[str, Any] | None, warmup: int = 0) -> NoReturn:
        """Refused: there are no calls before a run brings shapes."""
        text = f"The calls of the network {self.plan.name!r} are not known before a run brings shapes."
        raise ModelError("model.dynamic_shape", text, (), "give it shapes: load_onnx(path, shapes)")

    def record(self, inputs: Mapping[str, Any] | None = None, **how: Any) -> NoReturn:
        """Refused, as `measuring`."""
        self.measuring(inputs)

    def _of(self, inputs: Mapping[str, Any] | None) -> NoReturn:
        self.measuring(inputs)


def _staged(
    plan: ExecutablePlan, tail: Program, log: Database, target: Target, ready: Callable[[Graph], Graph]
) -> Executable:
    kind = StagedExecutable if plan.calls or plan.outputs else AnyShapeExecutable
    return kind(plan, DynamicExecutable(tail, log, target, threads=plan.threads, ready=ready))


staged.provide(_staged)
