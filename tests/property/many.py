"""Many random schedules, and how often each thing occurs in them: ``python -m property.many [--count N] [--seed S]``.

With ``--number K`` the Kth alone is drawn again, with ``--every K`` only every Kth.

Of 5,000 schedules a hundred are asked to contain each primitive, a few more to call each intrinsic; a tenth is of the
usual shape (see `products`). The rest are rows of the spaces that tuning searches, each kind of computation in turn.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable, Iterator

from property import checks, products, programs, randoms, spaces, tensors
from property.tally import Tally
from workbench.schedule import registry as primitives

#: Schedules of 5,000 that are asked to contain a primitive, or to call an intrinsic.
PER_PRIMITIVE = 100
PER_INTRINSIC = 110
#: A check: a random schedule is made and checked, and counted.
Draw = Callable[[random.Random, Tally], None]


def _steps(rng: random.Random, tally: Tally, wanted: str) -> None:
    made = randoms.random_schedule(rng, wanted, programs=0.5)
    tally.note(made, "steps", checks.check_all(made, target=spaces.any_target(rng)))


def _tiles(rng: random.Random, tally: Tally, intrin: str) -> None:
    made = randoms.random_schedule(rng, "tensorize", intrin=intrin)
    tally.note(made, "tiles", checks.check_all(made))


def _product(rng: random.Random, tally: Tally) -> None:
    made = products.product(rng)
    tally.note(made, "products", checks.check_all(made, target=spaces.any_target(rng)))


def _row(rng: random.Random, tally: Tally, kind: str) -> None:
    symbolic, filled, machine = spaces.row(rng, kind)
    tally.note(filled, f"space of {kind}", spaces.check_row(rng, symbolic, filled, machine))


def draws(count: int) -> Iterator[tuple[str, Draw]]:
    """What to draw, `count` times, with a name."""
    todo: list[tuple[str, Draw]] = []
    for name in primitives.names:
        todo += [(name, lambda rng, t, n=name: _steps(rng, t, n))] * (count * PER_PRIMITIVE // 5000)
    for name in tensors.TILES:
        todo += [(name, lambda rng, t, n=name: _tiles(rng, t, n))] * (count * PER_INTRINSIC // 5000)
    todo += [("product", _product)] * (count // 10)
    kinds = list(programs.KINDS)
    for k in range(count - len(todo)):
        name = kinds[k % len(kinds)]
        todo.append((name, lambda rng, t, n=name: _row(rng, t, n)))
    yield from todo[:count]


def run(count: int, seed: int, failed: list[str] | None = None, only: slice = slice(None)) -> Tally:
    """Draw and check `count` schedules. Each has a seed of its own, so that one alone can be drawn again (`only`).

    The first that is wrong ends the run, unless there is a list for what is wrong.
    """
    tally = Tally()
    for k, (name, draw) in list(enumerate(draws(count)))[only]:
        try:
            draw(random.Random(f"{seed}.{k}"), tally)
        except Exception as e:
            if failed is None:
                e.add_note(f"number {k} of {count} with seed {seed}: {name}")
                raise
            failed.append(f"number {k} ({name}): {type(e).__name__}: {e}")
    return tally


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=31)
    parser.add_argument("--number", type=int, help="draw this one alone")
    parser.add_argument("--every", type=int, default=1, help="draw only so many")
    args = parser.parse_args(argv)
    failed: list[str] = []
    start = time.monotonic()
    only = slice(0, None, args.every) if args.number is None else slice(args.number, args.number + 1)
    print(run(args.count, args.seed, failed, only))
    print(f"{len(failed)} wrong, {time.monotonic() - start:.0f} s", *failed, sep="\n\n")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
