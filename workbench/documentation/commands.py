"""The page on the command line, made from what its parsers declare."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from workbench.cli.arguments import Parser
from workbench.cli.parser import parsers
from workbench.documentation.docstrings import line

_HEAD = """# Command line

<!-- Made by `python -m workbench.documentation`; change the declarations, not this text. -->

`MODEL` is a path to an ONNX file. A bare name such as `light_resnet50` that is not a file here stands for the model of
that name in the `onnx` package. `--json` puts the result on standard output as one JSON object and everything else on
standard error; an error is `{"error": {"code", "message", "where", "hint"}}`.

Exit codes: 0 done, 2 usage, 3 bad input, 4 failed while running, 130 interrupted.
"""


def command_page() -> str:
    """Return the page."""
    _, known = parsers([])
    _, built = parsers([*known])
    parts = [_HEAD]
    for name, parser in built.items():
        parts += _command(f"workbench {name}", parser, 2)
    return "\n".join(parts)


def _command(name: str, parser: Parser, level: int, text: str = "") -> Iterator[str]:
    yield f"{'#' * level} {name}\n"
    if text := text or _help_of(name):
        yield f"{line(text[:1].upper() + text[1:])}.\n"
    rows, below = [], []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            said = {choice.dest: choice.help or "" for choice in action._choices_actions}
            below = [(f"{name} {key}", one, said.get(key, "")) for key, one in action.choices.items()]
        elif not isinstance(action, argparse._HelpAction) and action.help is not argparse.SUPPRESS:
            rows.append(f"| {_spelt(action)} | {line(action.help or '')} |")
    if rows:
        yield "\n".join(["| Argument | Meaning |", "|---|---|", *rows]) + "\n"
    for one in below:
        yield from _command(one[0], one[1], level + 1, one[2])


def _help_of(name: str) -> str:
    whole, _ = parsers([])
    groups = (a for a in whole._actions if isinstance(a, argparse._SubParsersAction))
    return next((c.help or "" for group in groups for c in group._choices_actions if name.endswith(f" {c.dest}")), "")


def _spelt(action: argparse.Action) -> str:
    """How an argument is written: its names, and what stands for its value."""
    if isinstance(action.metavar, str):
        value = action.metavar
    else:
        value = "|".join(map(str, action.choices)) if action.choices else action.dest.upper()
    value = value.replace("|", "\\|")  # or it would end the cell of the table
    many = "..." if action.nargs in ("+", "*") else ""
    if not action.option_strings:
        return f"`{value}{many}`" if action.nargs not in ("?", "*") else f"`[{value}{many}]`"
    names = ", ".join(action.option_strings)
    return f"`{names}`" if action.nargs == 0 else f"`{names} {value}{many}`"
