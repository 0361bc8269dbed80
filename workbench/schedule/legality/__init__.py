"""The questions that primitives share: may these iterations run at once, is this produced before it is read, does it
stay inside?

Every answer is for all fillings of the holes. There are three answers (proved, refuted, undecided), and undecided
counts as no: what changes the structure of a nest must be proved, with the open inequality in the message. Limits on
numbers are not asked here; they become `Constraint` values that are checked per row.

==================  ==================================================================================================
`independence`      `check_independent`, `check_reductions`: iterations of a loop in any order, or at once
`loop_kinds`        `check_parallel`, `check_vector`, `check_marks`: which loops may be marked, and whether marks hold
`data_flow`         `check_flow`, `check_sole_writer`: what is read has been written before, by whom
`coverage`          every element of a block that runs elsewhere is still made, once
`invariants`        what earlier steps established stays so: bound loops, scopes of temporaries, units
`affine_queries`    `check_affine`, and what affine forms say: signs, ranges, whether a value tells loops apart
`readers_writers`   what is asked about: extents, reduction loops, writers and readers
`witness`           `conflict`, `twice`, `early`: two iterations that a refused step would bring into conflict
                    (`counterexample_values`: what both make of one element)
==================  ==================================================================================================
"""

from __future__ import annotations

from workbench.schedule.legality.affine_queries import (
    check_affine,
    determines,
    evaluate_form,
    form_range,
    nonneg,
    tiles,
)
from workbench.schedule.legality.data_flow import check_flow, check_sole_writer
from workbench.schedule.legality.independence import check_independent, check_reductions, writes_distinct
from workbench.schedule.legality.loop_kinds import check_marks, check_parallel, check_vector
from workbench.schedule.legality.readers_writers import (
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
