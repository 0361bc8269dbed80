"""The templates of this package, a kind of kernel each: what stands here under `@template(name, matches=…)` is found.

A template uses `workbench.space.template.common_knobs` and `workbench.space.shared_steps`.
"""

from __future__ import annotations

from workbench.late_binding import import_modules

import_modules(__name__)
