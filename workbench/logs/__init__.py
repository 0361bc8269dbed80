"""Logs of any tuner: open them, see what they say, replay them, put them back to work.

`open` and `parse` (pasted text) give a `TuningLog`, whose table of records is the same for every tuner. `importers` has
a module per tuner, `importer` is what they share, `source` what they read from, `evaluation` what they yield. `log` is
the room of our own format. Imports `analysis` and below; what stands above the tables is loaded when it is first used.
"""

from typing import TYPE_CHECKING

from workbench.first_use import loaded_on_first_use
from workbench.logs.evaluation import SECONDS, STATUSES, Evaluation
from workbench.logs.importer import IMPORTERS, JsonLinesImporter, LogImporter, log_importer
from workbench.logs.opening import open
from workbench.logs.pasting import parse
from workbench.logs.source import Fault, LogSource
from workbench.logs.space import SearchSpace, read_space
from workbench.logs.tuning_log import TuningLog

if TYPE_CHECKING:
    from workbench.logs import analysis
    from workbench.logs.conversion import convert
    from workbench.logs.replays import (
        Replay,
        explain,
        explain_figure,
        replay,
        replay_all,
        then_and_now,
        then_and_now_figure,
    )
    from workbench.logs.reporting import report
    from workbench.logs.simulation import (
        random_baseline,
        score,
        scores,
        simulate,
        simulation_curves,
        simulation_figure,
    )

_REPLAYS = ("Replay", "explain", "explain_figure", "replay", "replay_all", "then_and_now", "then_and_now_figure")
_SIMULATION = ("random_baseline", "score", "scores", "simulate", "simulation_curves", "simulation_figure")

_WRITERS = {"convert": "conversion:convert", "report": "reporting:report"}

__getattr__ = loaded_on_first_use(
    __name__,
    {room: f"{room}:" for room in ("analysis", "replays", "simulation")}
    | _WRITERS
    | {name: f"replays:{name}" for name in _REPLAYS}
    | {name: f"simulation:{name}" for name in _SIMULATION},
)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


__all__ = [
    "IMPORTERS",
    "SECONDS",
    "STATUSES",
    "Evaluation",
    "Fault",
    "JsonLinesImporter",
    "LogImporter",
    "LogSource",
    "Replay",
    "SearchSpace",
    "TuningLog",
    "analysis",
    "convert",
    "explain",
    "explain_figure",
    "log_importer",
    "open",
    "parse",
    "random_baseline",
    "read_space",
    "replay",
    "replay_all",
    "report",
    "score",
    "scores",
    "simulate",
    "simulation_curves",
    "simulation_figure",
    "then_and_now",
    "then_and_now_figure",
]
