"""The text of ``docs/log-format.md``, made from the dataclasses that are the format."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.log.columns import Line, columns
from workbench.log.encoder import Encoder
from workbench.log.lines import Command, Comparison, NetworkTime, Round
from workbench.log.reader import Header
from workbench.log.record import STATUSES, Record
from workbench.log.rows import ROWS, SHORT, SPECIAL, Shared

_INTRODUCTION = f"""\
# The tuning log

<!-- Made by `python -m workbench.documentation`; change the dataclasses, not this text. -->

A log is a text file in UTF-8 with one JSON object per line (JSON Lines); `.tunelog.jsonl` is the ending that JupyterLab
opens. The first line is the header, every other line is of one of the kinds below; the key `kind` says which. A line
without it is a trial: whole, or as a `row`, which leaves out what a `shared` line before it says; `of` and `n` tell a
row, `id` a shared line. This is version {ROWS} of the format. Version 1 has no rows; it is read as well, and a log that
was begun so goes on so.

## Promises

- **Append-only.** A line is never changed. A trial is shown only after its whole line was handed to the operating
  system, so a kill at any moment loses at most a trial that nobody has seen.
- **A torn last line** (without its newline) is what such a kill leaves behind. Readers pass over it and say so; going
  on with the log removes it. A line that lacks only its newline counts.
- **One writer.** A lock that ends with the process keeps a second one away (`log.locked`); anybody may read meanwhile.
- **Rows belong to their log.** A row means nothing without the shared lines above it (`log.corrupt` says so): a cut log
  keeps every line with an `id`. Numbers mean something within one log only: logs one behind the other in a file are
  refused, `workbench log merge` puts them together. The names of an object stay in their order, or are sorted.
- **Unknown fields and kinds are kept.** Newer versions only add. What this version does not know is passed over by
  readers and written back by `workbench log merge` and `distill`.
- **Nothing in a log is ever executed**: there is no pickle in it and no expression; a schedule is a list of primitives
  with their numbers, and is checked like one that a user types.
- **Damage is named.** A complete line that is not what its kind says is an error with its line number (`log.corrupt`).
  A log of another tuner is told from a damaged one (`log.foreign`).
- Numbers are finite: `NaN` is damage. Where something is not known there is `null`, or the field is missing.
- Times end with their unit: `_ms` in milliseconds, `_s` in seconds. `elapsed_s` counts the tuning time of the log over
  all runs, pauses left out; `timestamp` is in seconds since 1970 (UTC).

## Who is best

Trials and comparisons together say who is the best of a task, how fast it is, and how sure that is.
[The ledger](ledger.md) says how, with examples. A trial's `latency_ms` by itself may be a lucky one.

## Tools

- `workbench log summary LOG`: tasks, failures, comparisons, hosts. `workbench log best LOG`: the best trials.
- `workbench log distill LOG`: a log of the best trials and the comparisons between them.
- `workbench log merge LOG LOG … -o OUT`: logs of several machines or runs as one. Lines keep the order of their times;
  trials and rounds get new numbers, in comparisons too; a trial that is in several logs is taken once.
- `workbench log convert LOG -o NEW.tunelog.jsonl`: the same log in this version of the format.
- Python: `read_log(path)` and `read_log(path, kind="comparison")` are tables; `merge_logs(paths, out)`.
"""

_EXAMPLES: tuple[tuple[str, type[Line], Line], ...] = (
    (
        "The first line. Logs without one are read, too.",
        Header,
        Header(
            tasks=(("3f2a91c0", "dense 512→10"),), target="llvm -mcpu=host -threads=2", host="node1 x86_64",
            model="net", version="0.1.0", created=1750000000.0,
        ),
    ),
    (
        f"One candidate, measured. `status` is one of {', '.join(f'`{s}`' for s in STATUSES)}.",
        Record,
        Record(
            task_key="3f2a91c0", task="dense 512→10", trial=17, status="ok", target="llvm -mcpu=host -threads=2",
            host="node1 x86_64", flops=10240, space="sketch:5d1c", variant=1, row={"j.1": 2, "j.2": 5}, key="a41be0",
            trace=({"primitive": "parallel", "args": {"loops": ["j"]}},), origin="mutation", parent="77c2d1",
            mutation="j.2", predicted=0.93, model="xgboost-3", costs_ms=(0.0021, 0.0019), latency_ms=0.0019,
            spread=0.05, compile_s=0.02, run_s=0.05, elapsed_s=3.4, timestamp=1750000003.4, caches="warm",
        ),
    ),
    (
        "Candidates of one task, timed in turns. A new best is claimed only after a comparison that it won.",
        Comparison,
        Comparison(
            task_key="3f2a91c0", task="dense 512→10", trials=(4, 17), costs_ms=((0.0022, 0.0021), (0.0020, 0.0019)),
            latency_ms=(0.0021, 0.0019), ratio=0.907, confidence=0.998, winner=17, reason="new best", elapsed_s=3.6,
            timestamp=1750000003.6,
        ),
    ),
    (
        "One round of a task: why it was its turn, what it brought, where the time went.",
        Round,
        Round(
            round=2, task_key="3f2a91c0", task="dense 512→10", trials=16, best_ms=0.0019, total_ms=0.0019,
            reason="gains of the last rounds", gain=0.0004, backward=0.0004, optimism=0.0002, similarity=0.0,
            epsilon=0.08, tau=0.62, spearman=0.81, model="xgboost-3", ask_s=0.05, tell_s=0.02, measure_s=0.7,
            elapsed_s=3.7, timestamp=1750000003.7,
        ),
    ),
    (
        "The whole network, measured: a sum of kernels that were timed alone is not what it takes.",
        NetworkTime,
        NetworkTime(
            measured_ms=1.84, untuned_ms=2.43, sum_of_kernels_ms=1.41, spread=0.02, untuned_spread=0.03,
            inside_ms={"3f2a91c0": 0.0024}, alone_ms={"3f2a91c0": 0.0019}, threads=2, trials=96, reason="at the end",
            target="llvm -mcpu=host -threads=2", host="node1 x86_64", elapsed_s=61.0, timestamp=1750000061.0,
        ),
    ),
    (
        "What somebody told the running session, and whether it did so. Going on with a log applies them again.",
        Command,
        Command(
            id="5c0f", name="pin", args={"task": 0, "hole": "j.2", "value": 5}, source="control file", elapsed_s=3.8,
            timestamp=1750000003.8,
        ),
    ),
)  # fmt: skip


_SHARED = """\
What trials have in common, written once, before the first row that needs it. Beside the fields below it has fields of a
`trial`, by their names. A line of kind `trial` refers to nothing."""

_ROW = """\
A trial in short. It has no `kind`. All fields of a `trial` may stand in it by their own names, too; what neither it nor
its shared lines say is as usual: `status` is `ok`, all else as in the table of `trial`, empty or null. The lines of
other kinds leave out what is as usual, too."""


def documentation() -> str:
    """Return the description of the log format in Markdown."""
    parts = [_INTRODUCTION]
    for text, cls, example in _EXAMPLES:
        parts.append(_section(cls.kind, text, _table(cls), [_shown(example)]))
        if isinstance(example, Record):
            *shared, row = Encoder().lines(example)
            parts.append(_section(Shared.kind, _SHARED, _table(Shared), shared))
            parts.append(_section("row", _ROW, _row_table(), [row]))
    return "\n".join(parts)


def _section(name: str, text: str, table: str, examples: Sequence[Mapping[str, Any]]) -> str:
    lines = "\n".join(json.dumps(example, ensure_ascii=False) for example in examples)
    return f"## `{name}`\n\n{text}\n\n{table}\n\n```json\n{lines}\n```\n"


def _shown(example: Line) -> dict[str, Any]:
    """Leave out of an example what it says nothing about."""
    silent = {f.name for f in dataclasses.fields(example) if getattr(example, f.name) in (None, "", ())}  # type: ignore[arg-type]
    return {name: value for name, value in example.to_json().items() if name not in silent}


def _table(cls: type[Line]) -> str:
    rows = ["| Field | Value | Meaning |", "|---|---|---|"]
    for f in columns(cls):
        rows.append(f"| `{f.name}` | {f.words}{', needed' if f.required else ''} | {f.kind.label} |")
    return "\n".join(rows)


def _row_table() -> str:
    whole = {f.name: f for f in columns(Record)}
    rows = [f"| `{name}` | {words} |" for name, words in SPECIAL.items()]
    rows += [f"| `{short}` | `{name}`: {whole[name].kind.label} |" for short, name in SHORT.items()]
    return "\n".join(["| Field | Meaning |", "|---|---|", *rows])
