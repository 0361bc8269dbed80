"""``workbench export``: compile a model to a shared library with a C header."""

from __future__ import annotations

from argparse import Namespace

from workbench.cli.interrupt import load_heavy_modules
from workbench.cli.model import check_log, check_model_options, compiled, load_graph, make_target
from workbench.cli.output import Output


def export(options: Namespace, output: Output) -> int:
    """Run the command."""
    check_model_options(options)
    check_log(options)
    load_heavy_modules()
    from workbench.runtime.export.write_library import check_destination

    check_destination(options.output, options.name)
    target = make_target(options)
    executable = compiled(load_graph(options, output, target), options, output, target)
    made = executable.export(options.output, name=options.name)
    size = made.library.stat().st_size
    data = {
        "model": str(options.model),
        "library": str(made.library),
        "header": str(made.header),
        "prefix": made.prefix,
        "bytes": size,
        "threads": executable.threads,
        "untuned": list(executable.untuned),
        "borrowed": executable.borrowed,
    }
    functions = f"functions begin with {made.prefix}_"
    output.result(data, f"{made.library} ({size / 1e6:.1f} MB)\n{made.header} ({functions})")
    return 0
