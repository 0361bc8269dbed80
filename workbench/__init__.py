"""See, change and tune the schedules of tensor programs: from an ONNX file to measured machine code.

>>> import workbench as wb
>>> s = wb.Schedule(wb.workloads.matmul(512, 512, 512))

Every name is loaded when it is first used, so that importing the package stays cheap: it touches neither
Jupyter nor onnx, xgboost, llvmlite and pandas.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.first_use import loaded_on_first_use
from workbench.former_modules import keep_former_names

__version__ = "0.1.0"

#: Public name -> the module that has it; "module:" alone means the module itself.
_HOME = {
    "BenchmarkResult": "runtime.networks.benchmark:BenchmarkResult",
    "BoardRunner": "runtime.boards.board_runner:BoardRunner",
    "CacheView": "widgets:CacheView",
    "DaskRunner": "tune.dask.runner:DaskRunner",
    "Executable": "runtime.execution.executable:Executable",
    "Graph": "graph:Graph",
    "Hole": "schedule:Hole",
    "Kernel": "runtime.kernel:Kernel",
    "LocalRunner": "runtime.workers.local_runner:LocalRunner",
    "LogExplorer": "widgets:LogExplorer",
    "Measurement": "runtime.results.measurement:Measurement",
    "Move": "schedule:Move",
    "Schedule": "schedule:Schedule",
    "Session": "session:Session",
    "Target": "target:Target",
    "Task": "graph.tasks:Task",
    "TuneOptions": "tune.options:TuneOptions",
    "TuningSession": "tune.run.tuning_session:TuningSession",
    "Workbench": "widgets:Workbench",
    "WorkbenchError": "errors:WorkbenchError",
    "accuracy": "network.accuracy:accuracy",
    "advice": "advice:",
    "analysis": "analysis:",
    "compare_precisions": "network.precisions:compare_precisions",
    "compile": "network.compile:compile",
    "devices": "runtime.devices:devices",
    "errors": "errors:",
    "extern": "network.extern:extern",
    "extract_tasks": "graph:extract_tasks",
    "load_exported": "runtime.export.loader:load_exported",
    "load_onnx": "graph:load_onnx",
    "load_torch": "graph.onnx.pytorch:load_torch",
    "logs": "logs:",
    "make_space": "space.space:make_space",
    "merge_logs": "log.merge:merge_logs",
    "offload": "network.offload:offload",
    "open_page": "widgets.saved_page:open_page",
    "partition": "network.partition.partition:partition",
    "quantization": "network.quantization:",
    "quantize": "network.quantization:quantize",
    "read_log": "logs.opening:read_log",
    "save_onnx": "graph.onnx.writer:save_onnx",
    "sketch_rule": "space.sketch:sketch_rule",
    "sparsify": "network.sparsify:sparsify",
    "te": "te:",
    "template": "space.template:template",
    "templates_for": "space.template:templates_for",
    "tune": "tune:",
    "workloads": "workloads:",
    "zoo": "zoo:",
}

__all__ = [*_HOME]

keep_former_names()


__getattr__ = loaded_on_first_use(__name__, _HOME)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


if TYPE_CHECKING:
    from workbench import advice as advice
    from workbench import analysis as analysis
    from workbench import errors as errors
    from workbench import logs as logs
    from workbench import te as te
    from workbench.errors import WorkbenchError as WorkbenchError
    from workbench.target import Target as Target
