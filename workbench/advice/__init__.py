"""What to do with a schedule: why it takes as long as it does, steps that make it faster, steps for a refused one.

A *proposal* is steps that nobody has judged yet; the trial takes them on a copy, estimates, and keeps what gains.

- `why`: what bounds a schedule, as reasons; each reason asks for the proposals against it.
- `instead`, `drops`: legal steps for a refused one; places to drop a row of the nest on.
- `paths`: what there is where no single proposal gains.

Imports `analysis`, the machine model and `schedule`; nothing below `session` imports it. Start at `trial`.
"""

from __future__ import annotations

from workbench.advice.offer import Offer
from workbench.advice.why import Reason, Why, why

__all__ = ["Offer", "Reason", "Why", "why"]
