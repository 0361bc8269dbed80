"""What rebuilds a record, a module per kind of record, found by being here."""

from workbench.late_binding import import_modules

import_modules(__name__)
