"""How fast the schedule is that the offers of "What takes the time?" lead to, against the clock.

Run it by hand on a quiet machine, or with ``pytest -m bench tests/benchmarks/bench_advice.py``::

    python tests/benchmarks/bench_advice.py [--threads 1] [--rounds 6]

A user takes the offer that gains most until there is none. The claim: what comes out has at least 70 % of the default
schedule's speed, on each computation and with one thread and two, and no answer takes a second.
"""

from __future__ import annotations

import argparse
import json
import time

import pytest
from analysis.test_advice import COMPUTATIONS, greedy

from workbench import Schedule, Target
from workbench.advice import why
from workbench.advice.lookahead import default_of

CLAIM, LONGEST_S = 0.7, 1.0


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


def main() -> None:
    """Print both times of every computation."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=6)
    given = parser.parse_args()
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
