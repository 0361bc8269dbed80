"""What a user interface works with, free of any user interface: commands in, patches out.

`core` has messages and threads and knows nothing of schedules. `state` is what a session knows. `registry` declares
what a session can do and show. `measurement`, `tuning_run`, `variants` and `schedule_view` work on the state; `export`
and `panels` offer it. `compute_slices` computes the snapshot, `session` holds all of it together; `autosave` writes
variants to a file, `model_form` serves the form that opens a model, `explorer_exchange` those who look at a log.
Imports go in this order, see `pyproject.toml`. Start at `session`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.first_use import loaded_on_first_use

if TYPE_CHECKING:
    from workbench.session.core.encoding import readable
    from workbench.session.core.protocol import Snapshot, apply_delta, delta
    from workbench.session.session import Session

__all__ = ["Session", "Snapshot", "apply_delta", "delta", "readable"]

# `core` and `explorer_exchange` serve who looks at a log, and load nothing of schedules.
__getattr__ = loaded_on_first_use(
    __name__,
    {name: f"core.protocol:{name}" for name in ("Snapshot", "apply_delta", "delta")}
    | {"readable": "core.encoding:readable", "Session": "session:Session"},
)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
