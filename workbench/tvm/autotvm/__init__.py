"""AutoTVM's words: templates that make their own computation, tasks, tuners, the best of a log."""

from workbench.tvm.auto_scheduler import ApplyHistoryBest
from workbench.tvm.autotvm import callback, graph_tuner, task, tuner
from workbench.tvm.autotvm.measure import LocalBuilder, LocalRunner, measure_option
from workbench.tvm.autotvm.task import ConfigSpace, Task, get_config, template

apply_history_best = apply_graph_best = ApplyHistoryBest

__all__ = [
    "ApplyHistoryBest", "ConfigSpace", "LocalBuilder", "LocalRunner", "Task", "apply_graph_best", "apply_history_best",
    "callback", "get_config", "graph_tuner", "measure_option", "task", "template", "tuner",
]  # fmt: skip
