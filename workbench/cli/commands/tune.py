"""Search for fast schedules of a model's tasks."""

from __future__ import annotations

import contextlib
import shlex
from argparse import Namespace
from typing import TYPE_CHECKING, Any

from workbench.cli import arguments as shared
from workbench.cli.arguments import Parser
from workbench.cli.interrupt import deferred_interrupts, load_heavy_modules
from workbench.cli.model import check_model_options, load_graph, make_target
from workbench.cli.output import Output, network_fields
from workbench.cli.tune_options import add_options
from workbench.errors import TuneError, UsageError

if TYPE_CHECKING:
    from workbench.log import NetworkTime
    from workbench.tune.run.tuning_session import TuningSession
    from workbench.tune.state.events import Snapshot


def arguments(command: Parser) -> None:
    """Declare the arguments."""
    shared.model(command)
    shared.target(command)
    command.add_argument("--trials", type=shared.positive, metavar="N", help="trials in all, those in the log included")
    command.add_argument("--seconds", type=shared.positive_number, metavar="S", help="time limit for this run")
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
    add_options(command)  # which are declared where the search is


def tune(options: Namespace, output: Output) -> int:
    """Run the command."""
    from workbench.log.writer import check_writable
    from workbench.tune.options import TuneOptions, declared

    check_model_options(options)
    if options.trials is None and options.seconds is None:
        hint = "add --trials N or --seconds S, or both"
        raise UsageError("usage.budget", "The tuning needs a budget", (), hint)
    with deferred_interrupts():  # a name that is not the default one is looked up where it is declared
        tune_options = TuneOptions(**{f.name: getattr(options, f"tune_{f.name}") for f, flags in declared() if flags})
    check_writable(options.log, options.resume)
    load_heavy_modules()
    target = make_target(options)
    graph = load_graph(options, output, target)
    only = [item.strip() for item in options.tasks.split(",") if item.strip()] if options.tasks is not None else None
    from workbench.tune.run.start import tune as start

    session = start(
        graph,
        trials=options.trials,
        seconds=options.seconds,
        log=options.log,
        seed=options.seed,
        target=target,
        start=False,
        resume=options.resume,
        only_tasks=only,
        options=tune_options,
        seeds=options.seed_log,
        source="command line",
        progress=False,
    )
    return _drive(session, options, output)


def _drive(session: TuningSession, options: Namespace, output: Output) -> int:
    """Show the session until it ends; Ctrl-C ends it at once and keeps the log."""
    from workbench.tune.display.live_table import TERMINAL_S, TerminalTable
    from workbench.tune.state.run_end import goes_first

    if session.repaired is not None:
        output.warn(f"the last line of {options.log} was not complete and has been removed (one unfinished trial)")
    if options.resume:
        first = goes_first(session.snapshot().waiting)
        output.say(f"Going on with {options.log}: {len(session.records)} trials are there{first and f'; {first}'}")
    table = TerminalTable(session)
    try:
        session.start()
        while not session.wait(TERMINAL_S):
            table.draw()
        snapshot = table.finish()
        for note in table.notes if table.display.live else ():
            output.say(note)
    except BaseException as error:
        _end_now(session)
        if isinstance(error, KeyboardInterrupt):
            raise KeyboardInterrupt(_interrupted(session, options)) from None
        raise
    finally:
        table.close()
    _check_any_valid(session, options)
    output.result(_result(session, snapshot, options), _gain(snapshot, options, session.network()))
    return 0


def _check_any_valid(session: TuningSession, options: Namespace) -> None:
    """Raise ``tune.no_valid_trial`` when everything failed; what failed is in the log with its full text."""
    records = session.records
    if records and not any(record.ok for record in records):
        kinds = ", ".join(sorted({record.status for record in records}))
        lines = records[-1].error.strip().splitlines()
        hint = f"the last one said: {lines[-1] if lines else kinds}; see 'workbench doctor'"
        text = f"None of {len(records)} trials was valid ({kinds})"
        raise TuneError("tune.no_valid_trial", text, [str(options.log)], hint)


def _end_now(session: TuningSession) -> None:
    """Cancel, and let no second Ctrl-C get in the way of ending the workers."""
    with contextlib.suppress(KeyboardInterrupt), deferred_interrupts():
        session.cancel().join(10.0)


def _interrupted(session: TuningSession, options: Namespace) -> dict[str, Any]:
    count = len(session.records)
    return {
        "code": "interrupted",
        "message": f"Interrupted; {count} trials are safe in {options.log}",
        "where": [str(options.log)],
        "hint": "repeat the command with --resume to go on",
    }


def _result(session: TuningSession, snapshot: Snapshot, options: Namespace) -> dict[str, Any]:
    keys = ("id", "key", "name", "weight", "latency_ms", "gflops", "trials", "failed", "untuned_ms", "state",
            "spread", "confidence", "sure", "quality")  # fmt: skip
    return {
        "trials": snapshot.progress.trials,
        "seconds": snapshot.progress.elapsed_s,
        "tasks": [{name: getattr(row, name) for name in keys} for row in snapshot.rows],
        **network_fields(session.network()),
        "total_latency_ms": snapshot.total_ms,
        "untuned_latency_ms": snapshot.untuned_ms,
        "log": str(options.log),
        "state": session.state,
        "end": snapshot.end,
        "new_trials": session.new_trials,
    }


def _end_to_end(network: NetworkTime, trials: int) -> str:
    """Say what the network takes, and why its kernels take less."""
    from workbench.log.ledger.network import measured_at, network_change
    from workbench.tune.display.terminal_table import latency_text, network_times

    tuned, untuned = network_times(network)
    at = measured_at(network, trials) or "measured"
    text = f"End to end, {at}: {untuned} with default schedules, {tuned} tuned: {network_change(network)}."
    if not network.clean:
        text += f" Disturbed ({network.why_not}): the least times that were seen."
    if network.sum_of_kernels_ms is not None:
        text += f" Its kernels, timed one by one, add up to {latency_text(network.sum_of_kernels_ms, 3)} ms."
    return text


def _gain(snapshot: Snapshot, options: Namespace, network: NetworkTime | None) -> str:
    from workbench.tune.display.html import covered
    from workbench.tune.display.terminal_table import latency_text
    from workbench.tune.state.run_end import end_text, waiting_text

    lines = []
    if snapshot.total_ms is None:
        missing = [row for row in snapshot.rows if row.latency_ms is None and row.state != "skipped"]
        lines.append(
            f"{len(missing)} tasks have no valid trial yet; give them more with --resume and a larger --trials."
        )
    elif network is not None:
        lines.append(_end_to_end(network, snapshot.progress.trials))
    elif snapshot.untuned_ms is None:
        lines.append(
            f"Estimated latency ({covered(snapshot)}): {latency_text(snapshot.total_ms, 3)} ms "
            "(not every default schedule was measured)."
        )
    else:
        factor = snapshot.untuned_ms / snapshot.total_ms
        lines.append(
            f"Estimated latency ({covered(snapshot)}): {latency_text(snapshot.untuned_ms, 3)} ms with defaults, "
            f"{latency_text(snapshot.total_ms, 3)} ms tuned: {factor:.2f} times as fast."
        )
    count, failed = snapshot.progress.trials, sum(row.failed for row in snapshot.rows)
    lines.append(f"{count} trials ({failed} failed) in {snapshot.progress.elapsed_s:.1f} s are in {options.log}.")
    if snapshot.end == "exhausted":
        told = end_text(snapshot.end, given_up=any(row.state == "given up" for row in snapshot.rows))
        lines.append(f"{told.capitalize()}; more trials would find nothing new.")
    if snapshot.waiting:
        lines.append(f"{waiting_text(snapshot.waiting, str(options.log))}.")
    lines.append(f"Next: {_next_command(options)}")
    return "\n".join(lines)


def _next_command(options: Namespace) -> str:
    """Return the command that runs the tuned model: the same model options again."""
    words = ["workbench", "run", str(options.model), "--log", str(options.log), "--benchmark"]
    for shape in options.shape:
        words += ["--shape", shape]
    for lengths in options.dynamic:
        words += ["--dynamic", lengths]
    if options.fill_weights is not None:
        words += ["--fill-weights", str(options.fill_weights)]
    if options.threads is not None:
        words += ["--threads", str(options.threads)]
    if options.target is not None:
        words += ["--target", options.target]
    return shlex.join(words)
