"""Readers of other tuners' logs, each in a module that is found by being here; `logs.importer` is what they share."""

from workbench.late_binding import import_modules

import_modules(__name__)
