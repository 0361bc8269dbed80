"""Labs: exercises that check themselves. Predict a number, do it, and be told what is still missing.

>>> from workbench import labs
>>> lab = labs.open("tiling")

`LabPlan` and `Exercise` are the declarations, one lab per module in `catalog`; `Lab` and `Attempt` are what a student
works with. Points come from counting what the work does, never from a clock, so they are the same on every machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.first_use import loaded_on_first_use
from workbench.labs.attempt import Attempt
from workbench.labs.counting import Counts, Sharing, Stage, Steps, count, shared_lines, stages
from workbench.labs.example_models import example_model
from workbench.labs.exercise import Exercise, Function, Goal, Misconception, Nest, Prediction, Setting
from workbench.labs.lab import Lab
from workbench.labs.lab import open_lab as open
from workbench.labs.plan import LabPlan, LabSettings, plans
from workbench.labs.progress.hand_in import HandIn, read_hand_in
from workbench.labs.progress.lab_file import LabFile, read_lab_file
from workbench.labs.progress.verification import ExerciseGrade, Grade, verify
from workbench.labs.recorded_machines import RECORDINGS, RecordedMachine, recorded
from workbench.labs.sample_logs import sample_log
from workbench.tune.run.tuning_session import end_runs

if TYPE_CHECKING:
    from workbench.labs.grading.checking import check_notebook
    from workbench.labs.grading.class_report import class_report
    from workbench.labs.grading.judging_anew import judged

__all__ = [
    "RECORDINGS",
    "Attempt",
    "Counts",
    "Exercise",
    "ExerciseGrade",
    "Function",
    "Goal",
    "Grade",
    "HandIn",
    "Lab",
    "LabFile",
    "LabPlan",
    "LabSettings",
    "Misconception",
    "Nest",
    "Prediction",
    "RecordedMachine",
    "Setting",
    "Sharing",
    "Stage",
    "Steps",
    "check_notebook",
    "class_report",
    "count",
    "end_runs",
    "example_model",
    "judged",
    "open",
    "plans",
    "read_hand_in",
    "read_lab_file",
    "recorded",
    "sample_log",
    "shared_lines",
    "stages",
    "verify",
]

# What runs notebooks loads nbclient, which a student's own notebook does not need.
__getattr__ = loaded_on_first_use(
    __name__,
    {
        "check_notebook": "grading.checking:check_notebook",
        "class_report": "grading.class_report:class_report",
        "judged": "grading.judging_anew:judged",
    },
)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
