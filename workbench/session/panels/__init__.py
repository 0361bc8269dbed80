"""What a session can do and show, area by area.

Every module declares slices, commands and questions with the decorators of `workbench.session.registry`; it is
found by being here. They do not import each other: what two of them need stands beside this package.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module

for _module in pkgutil.iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
