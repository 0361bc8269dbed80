"""Records of TVM's auto-scheduler (Ansor): `steps` reads them, `program` follows them on stages and their iterators, as
the positions in them ask for, and `building` makes a schedule of what they come to.

A record names stages and iterators by position, and the positions shift when a step makes a stage or an iterator. So
all steps are followed first. The order here is another one than there: what makes stages comes first, then each stage
is placed, its readers before it, and cut after it is placed, because placing a block makes its loops anew.
"""

from workbench.logs.replays.ansor.building import build
from workbench.logs.replays.ansor.program import Program, follow
from workbench.logs.replays.ansor.steps import Step, read_steps

__all__ = ["Program", "Step", "build", "follow", "read_steps"]
