"""What each step of a schedule is worth: `variations` leaves steps out, `worth` measures them in turns, `figure` draws.

Imports the results of replays and the runtime's contests.
"""

from workbench.logs.replays.explaining.figure import explain_figure
from workbench.logs.replays.explaining.worth import explain

__all__ = ["explain", "explain_figure"]
