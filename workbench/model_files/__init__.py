"""ONNX files as they are, without graphs and kernels: a process that looks into one is ready soon.

`opening` finds a file and parses it, `protobuf_wire` knows the encoding, `model_path` the models by name; `weights`
reads tensors (`sparse_tensors`, `element_types`). `contents` says what a file holds, `drawing` draws it. Nothing here
loads what schedules or compiles. Start at `contents`.
"""
