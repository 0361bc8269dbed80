"""What the processor's execution units need for the innermost loop, from its machine code.

`loop_nest.machine_loops` finds the loops in the assembly; `osaca_model` and `llvm_mca` ask an analyser that knows the
processor; `report` is what is said of it. The analysers are optional: `pip install 'schedule-workbench[throughput]'`
brings OSACA, llvm-mca comes with LLVM. Start at `report`.
"""
