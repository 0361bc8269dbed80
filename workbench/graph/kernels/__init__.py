"""Bodies of runtime kernels, one file per family: `workbench.codegen.runtime_kernels` says what they are written in."""
