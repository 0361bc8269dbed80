"""The backends, a module each: what is declared here with `codegen.backend.backend` is found by being here."""

from __future__ import annotations

from workbench.late_binding import import_modules

import_modules(__name__)
