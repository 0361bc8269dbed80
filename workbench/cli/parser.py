"""The arguments of every command; parsing loads nothing heavy."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, NoReturn

from workbench.errors import UsageError, did_you_mean


class Parser(argparse.ArgumentParser):
    """An ArgumentParser that raises `UsageError` instead of ending the process."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"allow_abbrev": False, **kwargs})

    def error(self, message: str) -> NoReturn:
        """Raise ``usage.arguments``."""
        raise UsageError("usage.arguments", message[:1].upper() + message[1:], (), f"see '{self.prog} --help'")


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Parse a command line.

    Raises
    ------
    UsageError
        ``usage.*`` with a proposal where a word was misspelt.
    """
    parser, commands = _build(argv)
    if argv and not argv[0].startswith("-") and argv[0] not in commands:
        raise UsageError(
            "usage.command", f"There is no command '{argv[0]}'", (), did_you_mean(argv[0], commands, "commands")
        )
    if not any(word in commands or word in ("-h", "--help", "--version") for word in argv):
        parser.error(f"a command is needed: {', '.join(commands)}")
    rest: list[str] = []
    if argv and argv[0] == "lab" and "--" in argv:  # what follows is for JupyterLab
        cut = list(argv).index("--")
        argv, rest = argv[:cut], list(argv[cut + 1 :])
    options, unknown = parser.parse_known_args(argv)
    if unknown:
        known = [name for action in commands[argv[0]]._actions for name in action.option_strings] if argv else []
        hint = did_you_mean(unknown[0].split("=")[0], known, "options") if unknown[0].startswith("-") else ""
        raise UsageError("usage.option", f"Unknown argument: {' '.join(unknown)}", (), hint)
    if not hasattr(options, "module"):
        parser.error(f"a command is needed: {', '.join(commands)}")
    options.jupyter = rest
    options.command = getattr(import_module(options.module), options.function)
    return options


def _build(argv: Sequence[str]) -> tuple[Parser, dict[str, Parser]]:
    parser = Parser(prog="workbench", description="From an ONNX file to measured, tuned, correct machine code.")
    parser.add_argument("--version", action="version", version=_version())
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    built = {}
    for name, (text, fill) in _COMMANDS.items():
        built[name] = commands.add_parser(name, help=text)
        if name in argv:  # the arguments of the others would be declared for nobody
            fill(built[name])
            if name not in ("lab", "log"):
                _json(built[name])
    return parser, built


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"workbench {version('schedule-workbench')}"
    except PackageNotFoundError:
        return "workbench (from a source tree)"


def _tasks(command: Parser) -> None:
    _model(command)
    _target(command)
    command.set_defaults(module="workbench.cli.model", function="tasks")


def _passes(command: Parser) -> None:
    command.add_argument("model", metavar="MODEL", nargs="?", help="say what each pass does to this model")
    _shape(command)
    _without(command)
    command.set_defaults(module="workbench.cli.passes", function="passes")


def _cache(command: Parser) -> None:
    command.add_argument("--clear", action="store_true", help="remove compiled kernels and measurements")
    command.set_defaults(module="workbench.cli.cache", function="cache")


def _doctor(command: Parser) -> None:
    _target(command)
    command.set_defaults(module="workbench.cli.doctor", function="doctor")


def _json(command: Parser) -> None:
    command.add_argument(
        "--json", action="store_true", help="one JSON object on standard output, the rest on standard error"
    )


def _model(command: Parser) -> None:
    command.add_argument("model", metavar="MODEL", help="an ONNX file, or the name of one in the onnx package")
    _shape(command)
    command.add_argument(
        "--fill-weights", type=int, metavar="SEED", help="replace constant stub weights by seeded, calibrated ones"
    )
    command.add_argument("--save-filled", metavar="OUT.onnx", help="also save the model with the filled weights")
    _without(command)


def _shape(command: Parser) -> None:
    command.add_argument(
        "--shape", action="append", default=[], metavar="NAME=1x3x224x224", help="shape of an input; may be repeated"
    )


def _without(command: Parser) -> None:
    command.add_argument(
        "--without", action="append", default=[], metavar="PASS", help="leave out a graph pass; may be repeated"
    )


def _target(command: Parser) -> None:
    command.add_argument("--threads", type=positive, metavar="T", help="threads to use (default: all cores)")
    command.add_argument(
        "--target", metavar="STR", help="such as 'llvm -mcpu=skylake -threads=2' (default: this machine)"
    )


def _lab(command: Parser) -> None:
    command.usage = "workbench lab [-h] [--port N] [--no-browser] [DIR] [-- JUPYTER ARGUMENTS]"
    command.add_argument(
        "folder",
        metavar="DIR",
        nargs="?",
        default="workbench-notebooks",
        help="folder for the notebooks (default: workbench-notebooks); files that are there are kept",
    )
    command.add_argument("--port", type=port, metavar="N", help="port of JupyterLab (default: a free one from 8888 on)")
    command.add_argument("--no-browser", action="store_true", help="only print the address")
    command.set_defaults(module="workbench.cli.lab", function="lab")


def _tune(command: Parser) -> None:
    _model(command)
    _target(command)
    command.add_argument("--trials", type=positive, metavar="N", help="trials in all, those in the log included")
    command.add_argument("--seconds", type=positive_number, metavar="S", help="time limit for this run")
    command.add_argument("--log", required=True, metavar="F", help="the log to write, one line for each trial")
    command.add_argument("--tasks", metavar="LIST", help="only these tasks: numbers or names, separated by commas")
    command.add_argument("--seed", type=int, default=0, metavar="K", help="seed of the search (default 0)")
    command.add_argument("--resume", action="store_true", help="go on with an existing log")
    command.add_argument(
        "--seed-log",
        action="append",
        default=[],
        metavar="F",
        help="start from the trials of this log; may be repeated",
    )
    import_module("workbench.cli.tune_options").add_options(command)  # which are declared where the search is
    command.set_defaults(module="workbench.cli.tune", function="tune")


def _steer(command: Parser) -> None:
    command.add_argument("log", metavar="LOG", nargs="?", help="the log of the running session")
    command.add_argument("name", metavar="COMMAND", nargs="?", help="such as pause or pin; --list lists all")
    command.add_argument(
        "arguments", metavar="ARGUMENT", nargs="*", help="NAME=VALUE, or values in order; @FILE is the JSON in a file"
    )
    command.add_argument("--list", action="store_true", help="list the commands and their arguments")
    command.add_argument(
        "--wait", type=positive_number, default=30.0, metavar="S", help="how long to wait for the answer (default 30)"
    )
    command.set_defaults(module="workbench.cli.steer", function="steer")


def _run(command: Parser) -> None:
    _model(command)
    _target(command)
    command.add_argument("--log", metavar="F", help="take the best schedules from this log")
    command.add_argument(
        "--nearest", action="store_true", help="tasks that the log does not know take the nearest task's, adapted"
    )
    command.add_argument("--inputs", metavar="IN.npz", help="inputs by their ONNX names; missing ones are random")
    command.add_argument("--outputs", metavar="OUT.npz", help="save the outputs under their ONNX names")
    command.add_argument("--seed", type=int, default=0, metavar="K", help="seed of the random inputs (default 0)")
    command.add_argument("--benchmark", action="store_true", help="time the whole model")
    command.add_argument("--profile", action="store_true", help="time every call, and compare it with the machine")
    command.add_argument("--trace", metavar="FILE", help="write one run as a timeline for Perfetto or chrome://tracing")
    command.add_argument("--repeat", type=positive, metavar="R", help="timed repeats of --benchmark and --profile")
    command.set_defaults(module="workbench.cli.run", function="run")


def _export(command: Parser) -> None:
    _model(command)
    _target(command)
    command.add_argument("-o", "--output", required=True, metavar="NET.so", help="the library; its header is NET.h")
    command.add_argument("--log", metavar="F", help="take the best schedules from this log")
    command.add_argument(
        "--nearest", action="store_true", help="tasks that the log does not know take the nearest task's, adapted"
    )
    command.add_argument("--name", metavar="NAME", help="what functions begin with (default: the network's name)")
    command.set_defaults(module="workbench.cli.export", function="export")


def _log(command: Parser) -> None:
    actions = command.add_subparsers(title="actions", metavar="ACTION", required=True)
    texts = {
        "summary": "what was tuned and how far it came",
        "best": "the best trials of every task",
        "distill": "write a log that holds the best trials only",
        "merge": "write one log that holds several, for instance of several machines",
    }
    for name, text in texts.items():
        action = actions.add_parser(name, help=text)
        if name == "merge":
            action.add_argument("logs", nargs="+", metavar="F", help="tuning logs")
            action.add_argument("-o", "--output", required=True, metavar="OUT", help="file to write; it must not exist")
            action.add_argument("--force", action="store_true", help="merge logs of different models, too")
        else:
            action.add_argument("log", metavar="F", help="a tuning log")
        if name in ("best", "distill"):
            action.add_argument("-k", type=positive, default=1, metavar="K", help="trials of each task (default 1)")
        if name == "distill":
            action.add_argument(
                "-o", "--output", metavar="OUT", help="file to write (default: F with '.best' in its name)"
            )
        _json(action)
        action.set_defaults(module="workbench.cli.log", function=name)


def positive(text: str) -> int:
    """Return a whole number of at least 1."""
    try:
        value = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number") from None
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is less than 1")
    return value


def port(text: str) -> int:
    """Return a number that a TCP port can have."""
    value = positive(text)
    if value > 65535:
        raise argparse.ArgumentTypeError(f"{value} is no port; the last one is 65535")
    return value


def positive_number(text: str) -> float:
    """Return a number above 0."""
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number") from None
    if not 0.0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return value


def share(text: str) -> float:
    """Return a number from 0 to 1."""
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number") from None
    if not 0.0 <= value <= 1.0:
        raise argparse.ArgumentTypeError(f"{text} is not from 0 to 1")
    return value


_COMMANDS: dict[str, tuple[str, Callable[[Parser], None]]] = {
    "lab": ("copy the notebooks to a folder and open JupyterLab on the tour", _lab),
    "tasks": ("list the tasks that a model consists of", _tasks),
    "tune": ("search for fast schedules of a model's tasks", _tune),
    "steer": ("tell a running tuning session what to do", _steer),
    "run": ("compile a model and run or time it", _run),
    "export": ("compile a model to a shared library with a C header", _export),
    "passes": ("list the graph passes, or what they do to a model", _passes),
    "log": ("look at a tuning log", _log),
    "cache": ("show or clear what is kept on disk between runs", _cache),
    "doctor": ("check this machine and this installation", _doctor),
}
"""Every command: what it does, and what declares its arguments."""
