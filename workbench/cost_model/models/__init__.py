"""Cost models, each in a module that is found by being here; `cost_model.base` is what they have in common."""

from workbench.late_binding import import_modules

import_modules(__name__)
