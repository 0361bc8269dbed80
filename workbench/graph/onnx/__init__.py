"""ONNX: programs of files (`workbench.model_files` opens those), functions, and operators that the onnx package has.

With `workbench.model_files`, `workbench.graph.seeded_weights` and `workbench.onnx_backend` the only modules that know
the onnx package, imported when first needed.
"""

from workbench.graph.onnx.reader import load_onnx, read_model, read_program

__all__ = ["load_onnx", "read_model", "read_program"]
