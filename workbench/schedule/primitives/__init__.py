"""The primitives, a module per family. Every module here declares some, and is found by being here."""

from __future__ import annotations

from workbench.late_binding import import_modules

import_modules(__name__)
