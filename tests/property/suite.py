"""The property suite as functions and as a program: ``python -m property.suite [--primitive P] [--count N]``.

The program exits with 0 when every schedule is right and with 1 at the first one that is not; it prints what was found.
"""

from __future__ import annotations

import argparse
import random
import sys
import traceback
from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Report:
    """How many schedules were checked, and what they consist of."""

    schedules: int = 0
    primitives: Counter[str] = field(default_factory=Counter)
    nests: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    placing: int = 0
    rows: int = 0

    def __str__(self) -> str:
        used = ", ".join(f"{n} in {c}" for n, c in sorted(self.primitives.items()))
        return (
            f"{self.schedules} schedules over {len(self.nests)} nests, {self.placing} pack, cache or place; "
            f"{used}; {self.rows} rows filled; {sum(self.refused.values())} steps refused ({len(self.refused)} codes)"
        )


def run_concrete(count: int, seed: int = 0, primitive: str | None = None, compiled: bool = True) -> Report:
    """Check `count` random concrete schedules; each primitive in turn is asked for, or always the given one."""
    from property import checks, randoms

    rng, report, names = random.Random(seed), Report(), list(randoms.WEIGHTS)
    for k in range(count):
        made = randoms.random_schedule(rng, primitive or names[k % len(names)], focus=primitive is not None)
        checks.check_all(made, compiled)
        _note(report, made)
    return report


def run_scenarios(primitive: str | None = None, compiled: bool = True) -> Report:
    """Check the sequences that were thought out, all of them or those with a primitive."""
    from property import checks, randoms

    report = Report()
    for nest, steps in randoms.SCENARIOS:
        if primitive and primitive not in (step[0] for step in steps):
            continue
        made = randoms.scenario(nest, steps)
        checks.check_all(made, compiled)
        _note(report, made)
    return report


def run_symbolic(count: int, seed: int = 0, primitive: str | None = None, rows: int = 2) -> Report:
    """Check `count` schedules with holes: well-formed, and filling commutes with replaying the numbers."""
    from property import checks, randoms

    rng, report, names = random.Random(seed), Report(), list(randoms.WEIGHTS)
    for k in range(count):
        made = randoms.random_schedule(rng, primitive or names[k % len(names)], holes=True, focus=primitive is not None)
        checks.check_states(made)
        checks.check_text(made)
        for _ in range(rows):
            row = randoms.random_row(rng, made.schedule)
            if row is not None:
                concrete = checks.check_filling(made, row)
                checks.check_states(concrete)
                checks.check_meaning(concrete)
                report.rows += 1
        _note(report, made)
    return report


def _note(report: Report, made) -> None:
    from property.randoms import PLACING

    report.schedules += 1
    report.primitives.update(set(made.names))
    report.nests[made.nest] += 1
    report.refused.update(made.refused)
    report.placing += bool(PLACING & set(made.names))


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--mutation", type=int)
    parser.add_argument("--primitive")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args(argv)
    if args.mutation is not None:
        from property import mutations

        mutations.install(mutations.MUTATIONS[args.mutation])
    try:
        print(run_scenarios(args.primitive))
        print(run_concrete(args.count, args.seed, args.primitive, compiled=False))
        print(run_symbolic(args.count // 3, args.seed, args.primitive))
        print(run_concrete(args.count // 6, args.seed + 1, args.primitive, compiled=True))
    except Exception as e:
        where = traceback.extract_tb(e.__traceback__)[-1]
        print(f"FOUND {type(e).__name__} in {where.name}: {str(e)[:400]}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
