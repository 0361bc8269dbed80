"""Exercises that check themselves: predict a number, do it, and be told what is still missing.

>>> from workbench import labs
>>> lab = labs.tiling()

`Exercise` is the declaration; `Lab` and `Attempt` are what a student works with. Scores come from counting what the
nest does (`load_counts`, `workbench.analysis`), never from a clock, so they are the same on every run of a machine.
"""

from __future__ import annotations

from workbench.labs.attempt import Attempt, Lab
from workbench.labs.example_models import example_model
from workbench.labs.exercise import Exercise, Goal, Prediction
from workbench.labs.sample_logs import sample_log
from workbench.labs.step_table import Steps
from workbench.labs.tiling_lab import tiling

__all__ = ["Attempt", "Exercise", "Goal", "Lab", "Prediction", "Steps", "example_model", "sample_log", "tiling"]
