"""`GraphModule`: a compiled network with inputs that are set and outputs that are asked for."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.graph.graph import Array
from workbench.runtime.networks.benchmark import BenchmarkResult
from workbench.tvm import nd
from workbench.tvm.relay import Library


class GraphModule:
    """Runs a network.

    Parameters
    ----------
    library : Library
        ``lib["default"](device)``.
    """

    def __init__(self, library: Library) -> None:
        self.executable = library.executable
        self._inputs: dict[str, Array] = {}
        self._outputs: list[Array] = []

    def set_input(self, key: str | int | None = None, value: Any = None, **more: Any) -> None:
        """Set an input by its name or number, or several by their names."""
        if key is not None:
            more[self.executable.inputs[key].name if isinstance(key, int) else key] = value
        self._inputs |= {name: np.asarray(a) for name, a in more.items()}

    def run(self, **inputs: Any) -> None:
        """Compute the outputs."""
        self.set_input(**inputs)
        self._outputs = list(self.executable.run(self._inputs).values())

    def get_output(self, index: int) -> nd.NDArray:
        """Return an output of the last run."""
        return nd.array(self._outputs[index])

    def get_num_outputs(self) -> int:
        """Number of outputs."""
        return len(self.executable.outputs)

    def benchmark(
        self, device: Any = None, func_name: str = "run", repeat: int = 5, number: int = 5, min_repeat_ms: float = 0,
        end_to_end: bool = False,
    ) -> BenchmarkResult:  # fmt: skip
        """Time runs; printed as TVM prints it."""
        feeds = self._inputs or None
        return self.executable.benchmark(feeds, repeat=repeat, number=number, min_repeat_ms=min_repeat_ms)
