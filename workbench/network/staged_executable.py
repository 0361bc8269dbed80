"""Networks of which a part is compiled ahead, and the rest for sizes that a run tells."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from workbench import markup as m
from workbench.errors import ModelError
from workbench.graph import Graph
from workbench.graph.model import Declared, Program
from workbench.log import Database
from workbench.network.by_inputs import ByInputs
from workbench.network.compile import staged
from workbench.network.dynamic_shapes import DynamicExecutable
from workbench.runtime.buffers import Array, aligned_empty
from workbench.runtime.execution.executable import Executable
from workbench.runtime.named_arguments import by_name
from workbench.runtime.networks.execution_plan import ArraySpec, ExecutablePlan
from workbench.runtime.networks.network import TimedRuns
from workbench.target import Target

#: Rows of a table that are shown.
_SHOWN = 30


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

    @property
    def reference_steps(self) -> tuple[str, ...]:
        """As `Executable.reference_steps`, with what was compiled of the rest so far."""
        return tuple(dict.fromkeys((*super().reference_steps, *self.rest.reference_steps)))

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

    def export(self, path: Any, *, name: str | None = None, main: bool = False) -> NoReturn:
        """Refused: a library has no compiler for the rest."""
        self._refuse("exported")

    def _refuse(self, what: str) -> NoReturn:
        first = self.rest.program.nodes[0]
        text = (
            f"The network {self.plan.name!r} cannot be {what}: shapes from node {first.name!r} ({first.op}) on depend"
        )
        hint = "take what comes before: load_onnx(path).with_outputs(names)"
        raise ModelError("model.dynamic_shape", f"{text} on data.", (first.name,), hint)


class AnyShapeExecutable(ByInputs, StagedExecutable):
    """A network that is compiled for the shapes and values that come, the most recent of which are kept.

    Inputs and outputs may be sequences. `profile`, `trace` and `record` take inputs, of which one part runs all.

    Attributes
    ----------
    inputs : tuple of ArraySpec
        As the model declares them; a size that a run tells is -1, the shape of an input without one is ().
    """

    def __init__(self, plan: ExecutablePlan, rest: DynamicExecutable) -> None:
        super().__init__(plan, rest)
        self.inputs = tuple(ArraySpec(v.name, _sizes(v), v.dtype) for v in rest.program.inputs)
        self._names = [v.name for v in rest.program.inputs]

    def __repr__(self) -> str:
        return f"<AnyShapeExecutable {self.plan.name}: compiled for what a run brings, {self.threads} threads>"

    def _repr_html_(self) -> str:
        head = m.heading(
            "Executable", self.plan.name, "compiled for what a run brings", m.plural(self.threads, "thread")
        )
        rows = [[m.text(v.name, 60), m.text(v.kind, 60)] for v in self.rest.program.inputs]
        return m.page(head, m.table((m.Column("Input"), m.Column("")), m.cut(rows, _SHOWN, "inputs", len(rows))))

    @property
    def untuned(self) -> tuple[str, ...]:
        """As `Executable.untuned`, of what was compiled so far."""
        return tuple(dict.fromkeys(name for built in self.rest.built for name in built.untuned))

    @property
    def borrowed(self) -> dict[str, str]:
        """As `Executable.borrowed`, of what was compiled so far."""
        return {name: why for built in self.rest.built for name, why in built.borrowed.items()}

    def run(self, *args: Any, out: Any = None, **named: Any) -> dict[str, Any]:
        """Run the network once, as `DynamicExecutable.run`."""
        return self.rest.run(by_name(self._names, args, named), out=out)

    __call__ = run

    def bind(self, *args: Any, out: Any = None, **named: Any) -> Any:
        """Return runs that read these arrays, as `DynamicExecutable.bind`."""
        given = by_name(self._names, args, named)
        return self.rest.bind(given) if out is None else lambda: self.run(given, out=out)

    def empty_inputs(self) -> dict[str, Array]:
        """As `Executable.empty_inputs`; refused where a run tells a size.

        Raises
        ------
        ModelError
            "model.unresolved_dim", "model.unsupported_dtype".
        """
        return {name: aligned_empty(t.shape, t.dtype) for name, t in self.rest.program.types({}).items()}

    def _arrays(self, args: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        given = by_name(self._names, args, named)
        return [given[name] for name in self._names]

    def _of(self, inputs: Mapping[str, Any] | None) -> tuple[Executable, dict[str, Array]]:
        given = dict(zip(self._names, self._given(inputs), strict=True))
        if (found := self.rest.whole(given)) is not None:
            return found
        text = f"The network {self.plan.name!r} runs in stages, as values decide its shapes."
        raise ModelError("model.dynamic_shape", text, (), "time whole runs: benchmark(inputs)")

    def _refuse(self, what: str) -> NoReturn:
        text = f"The network {self.plan.name!r} cannot be {what}: a run brings its shapes."
        raise ModelError("model.dynamic_shape", text, (), "give it shapes: load_onnx(path, shapes)")


def _sizes(v: Declared) -> tuple[int, ...]:
    return tuple(d if isinstance(d, int) else -1 for d in v.dims or ())


def _staged(
    plan: ExecutablePlan, tail: Program, log: Database, target: Target, ready: Callable[[Graph], Graph]
) -> Executable:
    kind = StagedExecutable if plan.calls or plan.outputs else AnyShapeExecutable
    return kind(plan, DynamicExecutable(tail, log, target, threads=plan.threads, ready=ready))


staged.provide(_staged)
