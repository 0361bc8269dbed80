"""Records of MetaSchedule: `computation` makes a function of a stored module, `instructions` says what each kind of
instruction is here, `building` follows a trace.
"""

from workbench.logs.replays.metaschedule.building import build
from workbench.logs.replays.metaschedule.computation import Computation, computation_of

__all__ = ["Computation", "build", "computation_of"]
