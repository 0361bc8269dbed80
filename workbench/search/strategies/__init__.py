"""Search strategies, each one module that is found by being here; `search.base` is what they have in common."""

from workbench.late_binding import import_modules

import_modules(__name__)
