"""Large logs of ours for measurements: what trials share, and how long a row is, is as in a real run."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path

from workbench.log import Comparison, Header, Record, Round
from workbench.log.reader import write_log


def own(path: Path, records: int, failed: float = 0.03, seed: int = 0, version: int = 2) -> int:
    """Write a log of ours with so many trials, in rounds of 16, a comparison and a round line after each; return the
    bytes. What they share, and how long a row is, is as in a real run.
    """
    rng, tasks = random.Random(seed), [(f"{k:016x}", f"conv2d 3x3 {k}→64 @55x55 + bias + relu") for k in range(24)]
    holes = [f"{axis}_{k}" for axis in "hwo" for k in range(4)] + ["c_0", "c_1"]
    loops = [f"{axis}.{k}" for k in range(4) for axis in "nhwoc"]

    def trial(number: int) -> Record:
        (key, name), values = tasks[number // 16 % 24], [rng.choice((1, 2, 4, 7, 8, 16)) for _ in holes]
        bad, ms = rng.random() < failed, float(f"{rng.lognormvariate(-3.0, 1.0):.6g}")
        tiles = [
            {"primitive": "split", "args": {"loop": "hwo"[k], "factors": values[4 * k : 4 * k + 4]}} for k in (0, 1, 2)
        ]
        rest = [
            {"primitive": "reorder", "args": {"loops": loops}},
            {"primitive": "parallel", "args": {"loops": loops[:4]}},
        ]
        reduced = {"primitive": "split", "args": {"loop": "c", "factors": values[12:]}}
        return Record(
            task_key=key, task=name, description=f"{name} (n1, n2)", trial=number, weight=2, flops=56144000,
            target="llvm -mcpu=sapphirerapids -threads=2", host="vm x86_64", round=number // 16, space=f"conv-{key}",
            variant=1, row=dict(zip(holes, values, strict=True)), trace=(*tiles, reduced, *rest), origin="sketch",
            key=f"{rng.getrandbits(64):016x}", predicted=float(f"{rng.random() * 9:.6g}"), model=f"xgb-{number // 16}",
            status="run_error" if bad else "ok", error="exit status 1" if bad else "", caches="constants shared",
            latency_ms=None if bad else ms, spread=0.0384, compile_s=0.0272, run_s=0.0154, max_rel_error=0.258,
            costs_ms=() if bad else tuple(float(f"{ms * rng.uniform(1, 1.1):.4g}") for _ in range(10)),
            elapsed_s=round(number * 0.05, 4), timestamp=round(1.795e9 + number * 0.05, 4),
        )  # fmt: skip

    def lines() -> Iterator[Record | Comparison | Round]:
        best: dict[str, Record] = {}
        for first in range(0, records, 16):
            found = [trial(number) for number in range(first, min(first + 16, records))]
            yield from found
            task, at = {"task_key": found[0].task_key, "task": found[0].task}, {"timestamp": found[-1].timestamp}
            good = min((r for r in found if r.ok), key=lambda r: r.latency_ms or 0.0, default=None)
            old = best.get(found[0].task_key)
            if good is not None and (old is None or (good.latency_ms or 0.0) < (old.latency_ms or 0.0)):
                best[good.task_key] = good
                if old is not None:
                    ms = (old.latency_ms or 0.0, good.latency_ms or 0.0)
                    yield Comparison(**task, trials=(old.trial, good.trial), latency_ms=ms, winner=good.trial, **at)
            yield Round(**task, round=first // 16, trials=len(found), ask_s=0.05, tell_s=0.02, measure_s=0.7, **at)

    write_log(path, Header(tasks=tuple(tasks), target="llvm", model="net", schema=version, created=1.795e9), lines())
    return path.stat().st_size


if __name__ == "__main__":
    print(own(Path(sys.argv[1]), int(sys.argv[2])), "bytes")
