"""Parses a command line; only the module of the command that is named is loaded."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module, resources

from workbench.cli import commands as commands_folder
from workbench.cli.arguments import Parser, json_option
from workbench.errors import UsageError, did_you_mean

OWN_JSON = ("lab", "labs", "log")
"""Commands that have no ``--json``, or have it for each of their actions."""


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Parse a command line.

    Raises
    ------
    UsageError
        ``usage.*`` with a proposal where a word was misspelt.
    """
    parser, commands = parsers(argv)
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
        option = unknown[0].startswith("-")
        hint = did_you_mean(unknown[0].split("=")[0], known, "options") if option else "let options stand behind words"
        raise UsageError("usage.option", f"Unknown argument: {' '.join(unknown)}", (), hint)
    if not hasattr(options, "module"):
        parser.error(f"a command is needed: {', '.join(commands)}")
    options.jupyter = rest
    options.command = getattr(import_module(options.module), options.function)
    return options


def parsers(argv: Sequence[str]) -> tuple[Parser, dict[str, Parser]]:
    """Return the whole parser and those of its commands; the ones that `argv` names have their arguments."""
    parser = Parser(prog="workbench", description="From an ONNX file to measured, tuned, correct machine code.")
    parser.add_argument("--version", action="version", version=_version())
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    built = {}
    for name, text in _commands().items():
        command = built[name] = commands.add_parser(name, help=text)
        if name in argv:  # the arguments of the others would be declared for nobody
            module = f"{commands_folder.__name__}.{name}"
            command.set_defaults(module=module, function=name)
            import_module(module).arguments(command)
            if name not in OWN_JSON:
                json_option(command)
    return parser, built


def _commands() -> dict[str, str]:
    """Return the commands with what they do: the first line of each module, read without loading it."""
    found = resources.files(commands_folder).iterdir()
    files = [f for f in found if f.name.endswith(".py") and f.name[0] != "_" and f.name[:-3].isidentifier()]
    lines = {f.name[:-3]: f.read_text(encoding="utf-8").partition("\n")[0].strip('".') for f in files}
    return {name: line[:1].lower() + line[1:] for name, line in sorted(lines.items())}


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"workbench {version('schedule-workbench')}"
    except PackageNotFoundError:
        return "workbench (from a source tree)"
