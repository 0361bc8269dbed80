"""What to do with a schedule: why it takes as long as it does, steps that make it faster, steps for a refused one.

A *proposal* is steps that nobody has judged yet; a trial takes them on a copy, estimates, and keeps what gains.

- `bottlenecks`: what bounds a schedule, as reasons (`why`); `estimated_speedup` judges the proposals against each.
- `refusal_alternatives`, `drop_targets`: legal steps for a refused one; places to drop a row of the nest on.
- `lookahead`: several steps, where no single proposal gains; `whole_plan`: all of them, to the fastest schedule that
  the estimate finds.
- `way_to_best`: what a faster schedule decides otherwise, and the steps there.
- `leave_one_out`: what each step of a schedule is worth, measured.
- `hardware_counters`: what the processor counts, each counter beside what the models say.
- `memory_limit`: what a call takes at least, for what it has to fetch.
- `reason_proposers`, `refusal_proposers`: what is proposed; `register_tiles`, `row_reductions` and `stage_placement`
  propose many steps together.

Imports `analysis`, the machine model and `schedule`, and `leave_one_out` and `hardware_counters` the runtime, to
measure; nothing below `session` imports it. Start at `proposal_evaluation`.
"""

from __future__ import annotations

import workbench.analysis  # noqa: F401 (the room before its modules, see `workbench.__getattr__`)
from workbench.advice.bottlenecks import Reason, Why, why
from workbench.advice.hardware_counters import Counter, Counters, counters
from workbench.advice.leave_one_out import LeaveOneOut, leave_one_out
from workbench.advice.offer import Offer
from workbench.advice.way_to_best import Way, way_to
from workbench.advice.whole_plan import Plan, plan

__all__ = [
    "Counter",
    "Counters",
    "LeaveOneOut",
    "Offer",
    "Plan",
    "Reason",
    "Way",
    "Why",
    "counters",
    "leave_one_out",
    "plan",
    "way_to",
    "why",
]
