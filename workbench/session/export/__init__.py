"""What can be taken away from a session: scripts, tables, drawings, a compiled network, a page without a kernel.

Each is one function under `exporters.exporter`, in a module that is found by being here. Start at `exporters`.
"""
