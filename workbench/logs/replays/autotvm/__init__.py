"""Records of AutoTVM: `computations` has what a task computes, `schedules` what a template does with its knobs.

A template is known here by its name, and its schedule by what TVM's release 0.19 does; a template that is not known is
refused with its name.
"""

from workbench.logs.replays.autotvm.schedules import TEMPLATES, Template, known

__all__ = ["TEMPLATES", "Template", "known"]
