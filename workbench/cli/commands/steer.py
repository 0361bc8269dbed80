"""Tell a running tuning session what to do."""

from __future__ import annotations

import json
import os
import time
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.cli import arguments as shared
from workbench.cli.arguments import Parser
from workbench.cli.output import Output
from workbench.errors import LogError, TuneError, UsageError

if TYPE_CHECKING:
    from workbench.log import Command

_POLL_S = 0.05
"""Seconds between two looks for the answer of the run."""


def arguments(command: Parser) -> None:
    """Declare the arguments."""
    command.add_argument("log", metavar="LOG", nargs="?", help="the log of the running session")
    command.add_argument("name", metavar="COMMAND", nargs="?", help="such as pause or pin; --list lists all")
    command.add_argument(
        "arguments", metavar="ARGUMENT", nargs="*", help="NAME=VALUE, or values in order; @FILE is the JSON in a file"
    )
    command.add_argument("--list", action="store_true", help="list the commands and their arguments")
    command.add_argument(
        "--wait",
        type=shared.positive_number,
        default=30.0,
        metavar="S",
        help="how long to wait for the answer (default 30)",
    )


def steer(options: Namespace, output: Output) -> int:
    """Run the command."""
    from workbench.tune.steer.commands import documentation, read_command
    from workbench.tune.steer.control_file import send

    if options.list:
        known = documentation()
        output.result({"commands": known}, _described(known))
        return 0
    if options.log is None or options.name is None:
        hint = "workbench steer LOG NAME [ARGUMENT=VALUE ...]; 'workbench steer --list' lists the commands"
        raise UsageError("usage.arguments", "Say which log and which command", (), hint)
    args = read_arguments(options.name, options.arguments)
    read_command(options.name, args)  # what cannot be a command is told without asking the session
    log = Path(options.log)
    _require_session(log)
    begin = log.stat().st_size
    answer = _wait(log, begin, send(log, options.name, args), options.wait)
    if not answer.accepted:
        text, _, code = answer.error.rpartition(" [")
        raise UsageError(code.rstrip("]") or "steer.refused", text or answer.error, [str(log)])
    data = {"id": answer.id, "name": answer.name, "args": dict(answer.args), "accepted": True, "log": str(log)}
    shown = {name: value for name, value in answer.args.items() if name not in ("trace", "key")}
    words = " ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in shown.items())
    output.result(data, f"Done: {answer.name} {words}".rstrip())
    return 0


def read_arguments(name: str, words: Sequence[str]) -> dict[str, Any]:
    """Return the arguments of a command: ``name=value``, or values in the order in which they are declared.

    A value is JSON where it can be read as such, else text; ``@FILE`` stands for the JSON in a file.
    """
    from workbench.tune.steer.commands import documentation

    known = {c["name"]: [a["name"] for a in c["arguments"]] for c in documentation()}
    order = list(known.get(name, []))
    out: dict[str, Any] = {}
    for word in words:
        key, sign, text = word.partition("=")
        if not sign or not key.isidentifier():
            left = [n for n in order if n not in out]
            if not left and name in known:
                raise UsageError("steer.argument", f"'{name}' has no argument for '{word}'", [name])
            key, text = (left[0] if left else f"argument {len(out) + 1}"), word
        out[key] = _value(text)
    return out


def _value(text: str) -> Any:
    if text.startswith("@"):
        try:
            text = Path(text[1:]).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise LogError("steer.file", f"The file cannot be read: {error}", [text[1:]]) from error
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _require_session(log: Path) -> None:
    """Raise ``steer.no_session`` unless somebody holds the log."""
    from workbench.log.writer import is_open

    if not os.path.exists(log):
        raise LogError("log.missing", "There is no such log file", [str(log)], "give the --log of a running session")
    if not is_open(log):
        hint = "start one with 'workbench tune MODEL --log F --resume'"
        raise TuneError("steer.no_session", "No session is writing to this log", [str(log)], hint)


def _wait(log: Path, begin: int, id: str, seconds: float) -> Command:
    """Wait for the answer of the session, a line of the log."""
    from workbench.log.writer import is_open

    end = time.monotonic() + seconds
    rest = b""
    while True:
        running = is_open(log)
        with open(log, "rb") as file:
            file.seek(begin)
            data = file.read()
        begin += len(data)
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            answer = _answer(line, id)
            if answer is not None:
                return answer
        if not running:
            raise TuneError("steer.ended", "The session ended before it answered", [str(log)])
        if time.monotonic() > end:
            hint = "it takes the command as soon as it goes on; --wait S waits longer"
            raise TuneError("steer.timeout", f"The session has not answered for {seconds:g} s", [str(log)], hint)
        time.sleep(_POLL_S)


def _answer(line: bytes, id: str) -> Command | None:
    from workbench.log import Command
    from workbench.log.lines import parse_line

    if id.encode() not in line:
        return None
    try:
        parsed = parse_line(json.loads(line))
    except (ValueError, RecursionError, LogError):
        return None
    return parsed if isinstance(parsed, Command) and parsed.id == id else None


def _described(known: Sequence[dict[str, Any]]) -> str:
    lines = []
    for command in known:
        lines.append(f"{command['name']}: {command['doc']}")
        for argument in command["arguments"]:
            need = "" if argument["required"] else " (may be left out)"
            lines.append(f"    {argument['name']:<9} {argument['values']}: {argument['doc']}{need}")
    return "\n".join(lines)
