"""Many random models against onnxruntime: ``python -m random_models.many [--first K] [--count N] [--seed S]``.

Each model is made and run in a process that may die or hang without harm to the others. ``--number K`` runs the Kth
alone, here, and shows it; ``--save FILE`` writes it. ``--match PATTERN`` takes only those asked to begin with such an
operator.
"""

from __future__ import annotations

import argparse
import multiprocessing as mp
import os
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path

from random_models.judging import Result, judge
from random_models.making import NODES, random_model
from random_models.recipes import RECIPES

#: Seconds after which a model hangs.
LIMIT = 120.0


def one(seed: int, number: int, nodes: tuple[int, int] = NODES, drafted: Connection | None = None) -> Result:
    """Make and judge one model."""
    draft = random_model(seed, number, nodes)
    if draft is None:
        return Result(number, "none", (sorted(RECIPES)[number % len(RECIPES)],), detail="onnxruntime takes none")
    operators = tuple(s.proto.op_type for s in draft.steps)
    return judge(draft, number, lambda: None if drafted is None else drafted.send(operators))


def _work(seed: int, nodes: tuple[int, int], pipe: Connection) -> None:
    sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - for as long as the process lives
    import warnings

    warnings.simplefilter("ignore")
    while (number := pipe.recv()) is not None:
        pipe.send(one(seed, number, nodes, pipe))


@dataclass
class _Worker:
    """A process, what it works on and since when."""

    seed: int
    nodes: tuple[int, int]
    pipe: Connection = field(init=False)
    process: mp.process.BaseProcess = field(init=False)
    number: int = -1
    since: float = 0.0
    operators: tuple[str, ...] = ()

    def start(self) -> None:
        context = mp.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(self.seed, self.nodes, theirs), daemon=True)
        self.process.start()
        theirs.close()

    def give(self, number: int) -> None:
        self.number, self.since, self.operators = number, time.monotonic(), ()
        self.pipe.send(number)

    def look(self) -> Result | None:
        """What it has to say; a process that is gone or hangs is started again."""
        status = ""
        try:
            while self.pipe.poll():
                said = self.pipe.recv()
                if isinstance(said, Result):
                    return said
                self.operators = said
        except (EOFError, ConnectionError):
            status = "crash"
        if not status and time.monotonic() - self.since > LIMIT:
            status = "hang"
        if not status:
            return None
        self.process.join(1.0 if status == "crash" else 0.0)  # for its exit code
        what = f"process ended with {self.process.exitcode}" if status == "crash" else f"more than {LIMIT:.0f} s"
        self.end()
        self.start()
        status = status if self.operators else "none"  # before there was a model: onnxruntime's or the maker's
        return Result(self.number, status, self.operators, detail=what)

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


def run(numbers: Sequence[int], seed: int, jobs: int = 2, nodes: tuple[int, int] = NODES) -> Iterator[Result]:
    """Results in the order in which they come."""
    todo, workers = iter(numbers), [_Worker(seed, nodes) for _ in range(min(jobs, len(numbers)))]
    for w in workers:
        w.start()
    busy = [w for w, k in zip(workers, todo, strict=False) if w.give(k) is None]
    try:
        while busy:
            wait([w.pipe for w in busy], timeout=1.0)
            for w in list(busy):
                result = w.look()
                if result is None:
                    continue
                yield result
                following = next(todo, None)
                if following is None:
                    busy.remove(w)
                else:
                    w.give(following)
    finally:
        for w in workers:
            w.end()


def summary(found: Sequence[Result]) -> str:
    """Counts, then each thing that is not the same, by what it is about."""
    count = Counter(r.status for r in found)
    judged = len(found) - count["none"]
    nodes = Counter(o for r in found if r.status != "none" for o in r.operators)
    head = f"{judged} models of {len(found)} ({count['none']} not taken by onnxruntime), {sum(nodes.values())} nodes, "
    head += f"{len(nodes)} operators, opsets {', '.join(map(str, sorted({r.opset for r in found} - {0})))}"
    lines = [head]
    for status in ("same", "not ours", "refused", "differs", "crash", "hang"):
        share = 100 * count[status] / max(judged, 1)
        lines.append(f"  {status:<9} {count[status]:>6}  {share:5.1f} %")
        of = Counter(_about(r) for r in found if r.status == status)
        lines += [f"      {n:>5}  {what}" for what, n in of.most_common()] if status != "same" else []
    return "\n".join(lines)


def _about(r: Result) -> str:
    if r.status == "refused":
        return f"{r.detail.split(':')[0]} {r.culprit}"
    return r.detail.split(" | ")[0] if r.status == "not ours" else r.culprit or " ".join(r.operators)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--first", type=int, default=0, help="number of the first")
    parser.add_argument("--nodes", type=int, nargs=2, default=NODES, metavar=("LEAST", "MOST"))
    parser.add_argument("--number", type=int, help="this one alone, with its text")
    parser.add_argument("--save", type=Path, help="where to write that one")
    parser.add_argument("--match", default="", help="regular expression on the first operator")
    args = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as cache:
        os.environ.setdefault("WORKBENCH_CACHE_DIR", cache)
        if args.number is not None:
            return _show(args.seed, args.number, tuple(args.nodes), args.save)
        names, start, found = sorted(RECIPES), time.monotonic(), list[Result]()
        numbers = [
            k for k in range(args.first, args.first + args.count) if re.search(args.match, names[k % len(names)])
        ]
        for r in run(numbers, args.seed, args.jobs, tuple(args.nodes)):
            found.append(r)
            if r.status not in ("same", "none", "not ours"):
                print(r, flush=True)
    print(summary(found), f"{time.monotonic() - start:.0f} s", sep="\n")
    return int(any(r.status in ("differs", "crash", "hang") for r in found))


def _show(seed: int, number: int, nodes: tuple[int, int], save: Path | None) -> int:
    import onnx

    draft = random_model(seed, number, nodes)
    if draft is None:
        print("onnxruntime takes none")
        return 0
    model = draft.model()
    print(onnx.printer.to_text(model))
    for name, value in draft.known.items():
        shape = [v.shape for v in value] if isinstance(value, list) else value.shape
        print(f"{name}: {getattr(value, 'dtype', 'sequence')}{shape} {str(value)[:400]}")
    if save is not None:
        onnx.save(model, save)
    print(judge(draft, number))
    return 0


if __name__ == "__main__":
    sys.exit(main())
