"""Records of other tuners as our schedules: the same nest, rebuilt, checked and measured here.

`replaying` has `replay`, `result` what comes of it. `replayers` has a module per kind of record, found by being there:
a function of a `Request` under `@replayer("name of the log format")`. Imports `schedule`, `runtime` and `te`, and of
`logs` what a log is.
"""

from workbench.logs.replays.both_times import then_and_now, then_and_now_figure
from workbench.logs.replays.explaining import explain, explain_figure
from workbench.logs.replays.replaying import replay, replay_all
from workbench.logs.replays.result import REPLAYERS, CannotReplay, Replay, ReplayStep, Request, replayer

__all__ = [
    "REPLAYERS",
    "CannotReplay",
    "Replay",
    "ReplayStep",
    "Request",
    "explain",
    "explain_figure",
    "replay",
    "replay_all",
    "replayer",
    "then_and_now",
    "then_and_now_figure",
]
