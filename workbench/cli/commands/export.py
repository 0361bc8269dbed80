"""Compile a model to a shared library with a C header."""

from __future__ import annotations

from argparse import Namespace

from workbench.cli import arguments as shared
from workbench.cli.arguments import Parser
from workbench.cli.interrupt import load_heavy_modules
from workbench.cli.model import check_log, check_model_options, compiled, load_graph, make_target
from workbench.cli.output import Output


def arguments(command: Parser) -> None:
    """Declare the arguments."""
    shared.model(command)
    shared.target(command)
    command.add_argument("-o", "--output", required=True, metavar="NET.so", help="the library; its header is NET.h")
    command.add_argument("--log", metavar="F", help="take the best schedules from this log")
    command.add_argument(
        "--nearest", action="store_true", help="tasks that the log does not know take the nearest task's, adapted"
    )
    command.add_argument(
        "--main", action="store_true", help="write a C program as well, NET_main.c, that runs it on files"
    )
    command.add_argument("--name", metavar="NAME", help="what functions begin with (default: the network's name)")


def export(options: Namespace, output: Output) -> int:
    """Run the command."""
    check_model_options(options)
    check_log(options)
    load_heavy_modules()
    from workbench.runtime.export.write_library import check_destination

    target = make_target(options, elsewhere=True)
    check_destination(options.output, options.name, target)
    executable = compiled(load_graph(options, output, target), options, output, target)
    made = executable.export(options.output, name=options.name, main=options.main)
    size = made.library.stat().st_size
    data = {
        "model": str(options.model),
        "library": str(made.library),
        "header": str(made.header),
        "main": None if made.main is None else str(made.main),
        "prefix": made.prefix,
        "bytes": size,
        "threads": executable.threads,
        "untuned": list(executable.untuned),
        "borrowed": executable.borrowed,
    }
    functions = f"functions begin with {made.prefix}_"
    program = "" if made.main is None else f"\n{made.main}"
    output.result(data, f"{made.library} ({size / 1e6:.1f} MB)\n{made.header} ({functions}){program}")
    return 0
