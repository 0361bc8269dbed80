"""What a user interface works with, free of any user interface: commands in, patches out.

`core` has messages and threads and knows nothing of schedules. `state` is what a session knows. `registry` declares
what a session can do and show. `measurement`, `tuning_run`, `variants` and `schedule_view` work on the state; `export`
and `panels` offer it. `compute_slices` computes the snapshot, `session` holds all of it together; `autosave` writes
variants to a file, `model_form` serves the form that opens a model, `explorer_exchange` those who look at a log.
Imports go in this order, see `pyproject.toml`. Start at `session`.
"""

from __future__ import annotations

import workbench.analysis  # noqa: F401 (the room before its modules, see `workbench.__getattr__`)
from workbench.session.core.encoding import readable
from workbench.session.core.protocol import Snapshot, apply_delta, delta
from workbench.session.session import Session

__all__ = ["Session", "Snapshot", "apply_delta", "delta", "readable"]
