"""Choice of layouts for a whole network: here a pass of compilation, without measurements or a file of its own."""

from __future__ import annotations

import shutil
from typing import Any


class PBQPTuner:
    """The records of a log, as they are: `relay.build` chooses layouts from them."""

    def __init__(
        self, graph: Any, input_shapes: Any, records: str, target_ops: Any, target: Any, **options: Any
    ) -> None:
        self.records = records

    def benchmark_layout_transform(self, **options: Any) -> None:
        """Nothing is to be measured: what a transformation moves is known."""

    def run(self, **options: Any) -> None:
        """Nothing is chosen before a network is compiled."""

    def write_opt_sch2record_file(self, record_file: str = "graph_opt_schedule.log") -> None:
        """Copy the log, for `apply_graph_best`."""
        shutil.copyfile(self.records, record_file)


DPTuner = PBQPTuner
