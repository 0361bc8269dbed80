"""Make the queue in which the measurements of several users take turns, or say who waits in it."""

from __future__ import annotations

import time
from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import Any

from workbench.cli import arguments as shared
from workbench.cli.arguments import Parser
from workbench.cli.output import Output
from workbench.errors import UsageError
from workbench.safe_text import legible_line


def arguments(command: Parser) -> None:
    """Declare the arguments."""
    command.add_argument(
        "folder", metavar="FOLDER", nargs="?", help="the queue (default: that of WORKBENCH_MEASUREMENT_QUEUE)"
    )
    command.add_argument(
        "--cores", metavar="LIST", help="processors that are for measurements, such as 2-5,8; makes the queue"
    )
    command.add_argument(
        "--turn", type=shared.positive_number, metavar="S",
        help="seconds after which a turn is given away where others wait (default 0.5); makes the queue",
    )  # fmt: skip


def queue(options: Namespace, output: Output) -> int:
    """Run the command."""
    from workbench import queue_settings
    from workbench.runtime.machine.queue_line import MeasurementQueue

    where = Path(options.folder) if options.folder else queue_settings.folder()
    if where is None:
        hint = f"workbench queue FOLDER --cores LIST makes one; or set {queue_settings.VARIABLE}"
        raise UsageError("usage.arguments", "Say which queue", (), hint)
    made = options.cores is not None or options.turn is not None
    if made:
        wanted = queue_settings.settings(where)
        if options.cores is not None:
            wanted = replace(wanted, cores=queue_settings.cores_of(options.cores))
        MeasurementQueue.make(where, wanted if options.turn is None else replace(wanted, turn_s=options.turn))
    found = _status(where)
    lines = _lines(found)
    if made:
        lines.append(f"For everybody who measures: export {queue_settings.VARIABLE}={where.resolve()}")
    output.result(found, "\n".join(lines))
    return 0


def _status(where: Path) -> dict[str, Any]:
    from workbench import queue_settings
    from workbench.runtime.machine.queue_line import MeasurementQueue

    declared = queue_settings.settings(where)
    holder, line, history = MeasurementQueue(where).status()
    return {
        "folder": str(where), "cores": sorted(declared.cores), "turn_s": declared.turn_s, "measures": holder,
        "waits": [{"user": ticket.user, "process": ticket.process} for ticket in line],
        "usual_s": history.usual_s, "turns": len(history.seconds),
    }  # fmt: skip


def _lines(found: dict[str, Any]) -> list[str]:
    cores = ", ".join(map(str, found["cores"])) or "any: declare some (--cores), compilers and notebooks disturb"
    lines = [f"Folder: {found['folder']}", f"Processors for measurements: {cores}"]
    holder = found["measures"]
    if holder is None:
        lines.append("Nobody measures.")
    else:
        since = f", for {max(0.0, time.time() - holder['since']):.1f} s" if holder else ""
        who = f"{legible_line(holder['user'])}, process {holder['process']}" if holder else "somebody"
        lines.append(f"Measures: {who}{since}")
    lines += [
        f"{k:4}. {legible_line(one['user'])}, process {one['process']}" for k, one in enumerate(found["waits"], 1)
    ]
    if found["turns"]:
        lines.append(f"A turn takes {found['usual_s']:.2g} s, the mean of {found['turns']} of late.")
    return lines
