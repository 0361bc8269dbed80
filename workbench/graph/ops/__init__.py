"""Operators, a module for each family; every module here is imported, and registers what it declares."""

from workbench.late_binding import import_modules

import_modules(__name__)
