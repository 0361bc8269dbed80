"""What a lab is: its place among the others, what it takes and asks for, its exercises; and the table of all labs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from workbench.errors import UsageError
from workbench.labs.exercise import Exercise
from workbench.registry import Registry


@dataclass(frozen=True, slots=True, kw_only=True)
class LabSettings:
    """What a student may use while a lab is open; a lecturer's choice overrides the lab's.

    Attributes
    ----------
    advice : bool
        The advice of `Workbench`, and ``wb.advice.why``.
    tuner : bool
        ``wb.tune`` and the tuning panel.
    solutions : bool
        ``solution()`` of an exercise.
    hint_cost : float
        Points that a look at a hint costs, up to what the exercise gives.
    """

    advice: bool = False
    tuner: bool = False
    solutions: bool = True
    hint_cost: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LabPlan:
    """One lab; ``LAB`` of a module in `workbench.labs.catalog`.

    Parameters
    ----------
    name : str
        As in ``labs.open(name)``; the module in the catalog and the notebook are called the same.
    number : int
        Place in the course, from 1 on.
    title : str
    minutes : tuple of int
        Least and most time of a student.
    prerequisites : tuple of str
        Names of labs, or words for what else has to be known.
    summary : str
        What one can do afterwards, in one or two sentences.
    exercises : tuple of Exercise
    settings : LabSettings
    threads : int or None
        Threads of the target; None for all that there are.
    """

    name: str
    number: int
    title: str
    minutes: tuple[int, int]
    prerequisites: tuple[str, ...] = ()
    summary: str
    exercises: tuple[Exercise, ...]
    settings: LabSettings = LabSettings()
    threads: int | None = 1

    def __post_init__(self) -> None:
        names = [e.name for e in self.exercises]
        if len({*names}) < len(names):
            raise UsageError("lab.exercise", f"Two exercises of lab '{self.name}' have the same name", names)

    @property
    def points(self) -> int:
        """Points for all exercises."""
        return sum(e.points for e in self.exercises)

    @property
    def file_name(self) -> str:
        """Stem of the notebook, ``02_tiling``."""
        return f"{self.number:02}_{self.name}"


@cache
def plans() -> Registry[LabPlan]:
    """Return all labs by name, in the order of their numbers; each module of the catalog has one."""
    catalog = import_module("workbench.labs.catalog")
    modules = [import_module(f"{catalog.__name__}.{found.name}") for found in iter_modules(catalog.__path__)]
    table: Registry[LabPlan] = Registry("lab", "labs", "lab.unknown")
    table.update({lab.name: lab for lab in sorted((m.LAB for m in modules), key=lambda lab: lab.number)})
    return table
