"""How fast the schedule is that the offers of "What takes the time?" lead to, against the clock.

Run it by hand on a quiet machine, or with ``pytest -m bench tests/benchmarks/bench_advice.py``::

    python tests/benchmarks/bench_advice.py [--threads 1] [--rounds 6] [--networks] [--tuned 64]

A user takes the offer that gains most until there is none. The claim: what comes out has at least 70 % of the default
schedule's speed, on each computation and with one thread and two, and no answer takes a second. Who takes the whole
plan has at least 90 % of it, on the four tasks of each of five networks that compute most (``--networks``).
``--tuned N`` compares it with the best of N trials of the tuner, on five tasks of MobileNet, in turns.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator

import pytest
from analysis.test_advice import COMPUTATIONS, greedy

import workbench as wb
from workbench import Schedule, Target
from workbench.advice import Plan, plan, way_to, why
from workbench.advice.lookahead import default_of
from workbench.ir import Func
from workbench.runtime.schedule_methods import contest

CLAIM, LONGEST_S = 0.7, 1.0

NETWORKS = ("light_squeezenet", "light_resnet50", "light_inception_v1", "light_shufflenet", "light_densenet121")
EACH = 4
"""Tasks of each network."""


class BusyError(Exception):
    """No measurement was undisturbed."""


def least_ms(schedule: Schedule, target: Target, rounds: int) -> float:
    """Least time of a call, of the measurements in which every thread had a core of its own."""
    found = [schedule.measure(target, repeat=5, min_repeat_ms=5) for _ in range(rounds)]
    assert all(one.status == "ok" for one in found), [one.error for one in found]
    clean = [float(one.min_ms) for one in found if one.clean]
    if not clean:
        raise BusyError(found[-1].why_not)
    return min(clean)


def compared(name: str, threads: int, rounds: int) -> tuple[float, float, int]:
    """Least milliseconds of the default schedule and of what the offers lead to; and how many were taken."""
    target = Target.host(threads=threads)
    plain = Schedule(COMPUTATIONS[name](), target)
    found, taken = greedy(plain)
    best, _ = default_of(plain, target)
    return least_ms(best, target, rounds), least_ms(found, target, rounds), len(taken)


def tasks_of_networks(target: Target) -> Iterator[tuple[str, Func]]:
    """The tasks that compute most, of each network those that no other one has."""
    known: set[str] = set()
    for name in NETWORKS:
        found = wb.extract_tasks(wb.load_onnx(name).optimize(), target)
        tasks = [t for t in sorted(found, key=lambda t: -t.weight * t.flops) if t.key not in known]
        for task in tasks[:EACH]:
            known.add(task.key)
            yield f"{name} {task.name}", task.func


def planned(func: Func, target: Target, rounds: int) -> tuple[float, float, Plan]:
    """Least milliseconds of the default schedule and of the plan's end, measured in turns."""
    plain = Schedule(func, target)
    found = plan(plain, target)
    best, _ = default_of(plain, target)
    turns = [(least_ms(best, target, 1), least_ms(found.end, target, 1)) for _ in range(rounds)]
    return min(a for a, _ in turns), min(b for _, b in turns), found


@pytest.mark.bench
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", COMPUTATIONS)
def test_the_largest_gains_lead_near_the_default_schedule(name: str, threads: int) -> None:
    try:
        default, reached, _ = compared(name, threads, 6)
    except BusyError as e:
        pytest.skip(f"the machine is busy: {e}")
    assert default / reached >= CLAIM, (name, threads, default, reached)


@pytest.mark.bench
@pytest.mark.parametrize("name", COMPUTATIONS)
def test_an_answer_takes_less_than_a_second(name: str) -> None:
    target = Target.host(threads=2)
    schedule = Schedule(COMPUTATIONS[name](), target)
    began = time.process_time()
    assert why(schedule, target) is not None
    assert time.process_time() - began < LONGEST_S


def plans(threads: int, rounds: int) -> None:
    """Print what whole plans reach, for the tasks of networks."""
    target = Target.host(threads=threads)
    for name, func in tasks_of_networks(target):
        try:
            default, reached, found = planned(func, target, rounds)
        except BusyError as e:
            print(json.dumps({"task": name, "busy": str(e)}), flush=True)
            continue
        row = {"task": name, "default ms": round(default, 4), "reached ms": round(reached, 4)}
        told = {"share": round(default / reached, 2), "estimated": round(found.of_default, 2)}
        print(json.dumps({**row, **told, "offers": len(found.offers)}), flush=True)


#: Beginnings of the names of five tasks of MobileNet.
KINDS = ("conv2d 1x1 512→512", "conv2d 3x3/2", "depthwise 3x3 512", "dense", "softmax")


def tuned(threads: int, trials: int) -> None:
    """Print what the plan from the program as written reaches of the best of a run, measured as inside the network."""
    target = Target.host(threads=threads)
    tasks = wb.extract_tasks(wb.zoo.get_network("mobilenet").optimize(), target)
    for kind in KINDS:
        task = next(t for t in tasks if t.name.startswith(kind))
        session = wb.tune(task, target=target, trials=trials, options=wb.TuneOptions(constants="shared"))
        session.wait()
        best, plain = session.best(), Schedule(task.func, target)
        ends = {"plan": plan(plain, target, constants="shared").end, "default": default_of(plain, target)[0]}
        funcs = [best.func, *(end.func for end in ends.values())]
        found = contest(funcs, task.func, target, constants="shared", budget_ms=3000)
        shares = {name: round(1.0 / found.ratio(k), 2) for k, name in enumerate(ends, 1)}
        row = {"task": task.name, "best ms": round(found.latency_ms(0), 4), **shares}
        print(json.dumps({**row, "rows of the way": len(way_to(plain, best, target).offers)}), flush=True)


def main() -> None:
    """Print both times of every computation."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--networks", action="store_true", help="whole plans, for tasks of networks")
    parser.add_argument("--tuned", type=int, metavar="TRIALS", help="plans beside the best of so many trials")
    given = parser.parse_args()
    if given.tuned:
        return tuned(given.threads, given.tuned)
    if given.networks:
        return plans(given.threads, given.rounds)
    for name in COMPUTATIONS:
        try:
            default, reached, taken = compared(name, given.threads, given.rounds)
        except BusyError as e:
            print(json.dumps({"computation": name, "busy": str(e)}), flush=True)
            continue
        row = {"computation": name, "default ms": round(default, 4), "reached ms": round(reached, 4)}
        print(json.dumps({**row, "share": round(default / reached, 2), "offers taken": taken}), flush=True)


if __name__ == "__main__":
    main()
