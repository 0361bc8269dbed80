"""Records of AutoTVM: `computations` and `images` have what a task computes, `cpu` and `cuda` what a
template does with its knobs; `templates` has the pairs.

A template is known here by its name, and its schedule by what TVM's release 0.19 does; a template that is not known is
refused with its name.
"""

from workbench.logs.replays.autotvm.templates import TEMPLATES, Template, known

__all__ = ["TEMPLATES", "Template", "known"]
