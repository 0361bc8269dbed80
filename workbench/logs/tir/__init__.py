"""TVM's modules of loop nests, as MetaSchedule stores them: read without TVM, as far as replays and names need it.

`graph` has the nodes of the stored text, `module` functions with blocks and loops. Imports nothing of `logs`.
"""

from workbench.logs.tir.module import TirBlock, TirBuffer, TirFunction, TirLoop, read_module

__all__ = ["TirBlock", "TirBuffer", "TirFunction", "TirLoop", "read_module"]
