"""What a session can do and show, area by area.

Every module declares slices, commands and questions with the decorators of `workbench.session.registry`; it is
found by being here. They do not import each other: what two of them need stands beside this package.
"""

from __future__ import annotations

from workbench.late_binding import import_modules

import_modules(__name__)
