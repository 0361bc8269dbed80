"""What a user interface works with, free of any user interface: commands in, patches out.

`Session` owns the schedule on show, the tasks, the tuning run and one immutable `Snapshot` of all that is shown.
"""

from __future__ import annotations

from workbench.session.core.encoding import readable
from workbench.session.core.protocol import Snapshot, apply_delta, delta
from workbench.session.session import Session

__all__ = ["Session", "Snapshot", "apply_delta", "delta", "readable"]
