"""The sketch rules: what stands here under `@rule(name, after=…)` is found by being there.

A rule may use `workbench.space.sketch.rule_table` and `workbench.space.shared_steps`, and call another rule's function.
"""

from __future__ import annotations

from workbench.late_binding import import_modules

import_modules(__name__)
