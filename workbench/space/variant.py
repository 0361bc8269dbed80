"""One schedule with holes of a space, and what is derived from it: rows, features, keys of programs."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from workbench.ir import Constraint
from workbench.ir.flops import count_flops
from workbench.machine_model import features as feature_columns
from workbench.machine_model import nest_summary
from workbench.machine_model.machine_parameters import Machine
from workbench.safe_text import legible_line
from workbench.schedule import Schedule
from workbench.space.program_keys import Keys, Outline
from workbench.space.sampling import Picks, Sampler
from workbench.space.sketch import Note
from workbench.space.trace_alignment import Trace


@dataclass(repr=False)
class Variant:
    """One schedule with holes and everything that is derived from it, made when first needed.

    Attributes
    ----------
    schedule : Schedule
        With open holes.
    notes : tuple of Note
        The rules that led here, with reasons.
    skips : tuple of Note
        The rules that had nothing to do, with reasons.
    limits : tuple of Constraint
        Numeric limits beyond those of the schedule itself.
    """

    index: int
    schedule: Schedule
    machine: Machine
    notes: tuple[Note, ...] = ()
    skips: tuple[Note, ...] = ()
    limits: tuple[Constraint, ...] = ()
    wishes: tuple[Constraint, ...] = ()

    @property
    def label(self) -> str:
        """Short name, of the rules (or a template's knobs) that make the difference: "SSRSRS · pad in blocks"."""
        said = [n.tag for n in self.notes if n.tag] or [n.reason for n in self.notes if n.rule == "knob"]
        return " · ".join(said) or (self.notes[-1].rule if self.notes else "as it is")

    def __repr__(self) -> str:
        return f"<variant {self.index}: {legible_line(self.label[:80])}>"

    @property
    def origin(self) -> str:
        """What a row that was bred from no other one is called in a log."""
        return "template" if any(n.rule == "template" for n in self.notes) else "sketch"

    @cached_property
    def sampler(self) -> Sampler:
        """Draws rows; wishes that cannot be met are dropped."""
        func, wishes = self.schedule.func, self.wishes
        while True:
            sampler = Sampler.of(replace(func, constraints=(*func.constraints, *self.limits, *wishes)))
            if not wishes or len(sampler.draw(4, np.random.default_rng(0))):
                return sampler
            wishes = wishes[:-1]

    def held_to(self, sampler: Sampler) -> Variant:
        """Return the variant with the rows of another sampler."""
        made = copy(self)
        made.sampler = sampler
        return made

    @property
    def feature_count(self) -> int:
        """Columns of `features`."""
        return len(feature_columns.COLUMNS)

    @property
    def work(self) -> int:
        """Operations of the computation, whatever algorithm the schedule has."""
        return count_flops(self.schedule.base)

    @cached_property
    def plan(self) -> nest_summary.NestPlan:
        """What the features evaluate."""
        return nest_summary.plan(self.schedule.func, self.work)

    @cached_property
    def trace(self) -> Trace:
        """Its steps, to hold others against them."""
        return Trace(self.schedule.to_json())

    @cached_property
    def _outline(self) -> Outline:
        return Outline.of(self.schedule.func)

    def features(self, picks: Picks) -> NDArray[np.float32]:
        """Features ``[N, F]`` of rows ``[N, groups]``."""
        return feature_columns.features(self.plan, self.sampler.columns(picks), len(picks), self.machine)

    def keys(self, picks: Picks) -> Keys:
        """Structural keys ``[N]`` of rows ``[N, groups]``."""
        return self._outline.keys(self.sampler.columns(picks), len(picks))
