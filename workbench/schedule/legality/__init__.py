"""The questions that primitives share: may these iterations run at once, is this produced before it is read, does it
stay inside?

Every answer is for all fillings of the holes. There are three answers (proved, refuted, undecided), and undecided
counts as no: what changes the structure of a nest must be proved, with the open inequality in the message. Limits on
numbers are not asked here; they become `Constraint` values that are checked per row.

==================  ==================================================================================================
`independence`      `check_independent`, `check_reductions`: iterations of a loop in any order, or at once
`marks`             `check_parallel`, `check_vector`, `check_marks`: which loops may be marked, and whether marks hold
`flow`              `check_flow`, `check_sole_writer`: what is read has been written before, by whom
`forms`             `check_affine`, and what affine forms say: signs, ranges, whether a value tells loops apart
`nest`              what is asked about: extents, reduction loops, writers and readers
`witness`           `conflict`, `twice`, `early`: two iterations that a refused step would bring into conflict
==================  ==================================================================================================
"""

from __future__ import annotations

from workbench.schedule.legality.flow import check_flow, check_sole_writer
from workbench.schedule.legality.forms import check_affine, determines, evaluate_form, form_range, nonneg, tiles
from workbench.schedule.legality.independence import check_independent, check_reductions, writes_distinct
from workbench.schedule.legality.marks import check_marks, check_parallel, check_vector
from workbench.schedule.legality.nest import (
    chain,
    extents_of,
    is_unit,
    private,
    readers,
    reading_in_nest,
    reads,
    reduction_loops,
    spatial_loops,
    writers,
)
from workbench.schedule.legality.witness import conflict, early, twice

__all__ = [
    "chain",
    "check_affine",
    "check_flow",
    "check_independent",
    "check_marks",
    "check_parallel",
    "check_reductions",
    "check_sole_writer",
    "check_vector",
    "conflict",
    "determines",
    "early",
    "evaluate_form",
    "extents_of",
    "form_range",
    "is_unit",
    "nonneg",
    "private",
    "readers",
    "reading_in_nest",
    "reads",
    "reduction_loops",
    "spatial_loops",
    "tiles",
    "twice",
    "writers",
    "writes_distinct",
]
