"""Random legal schedules mean what the function means, compiled or interpreted, with numbers or with holes."""

from __future__ import annotations

from collections import Counter

import pytest

from property import many, programs, tensors
from property.randoms import WEIGHTS
from property.suite import Report, run_concrete, run_scenarios, run_symbolic
from property.tally import TAILS, Tally, tails
from workbench import workloads
from workbench.intrinsics import registry as intrinsics
from workbench.schedule import Schedule, registry


def check_balance(report: Report, per_primitive: int) -> None:
    assert len(report.nests) >= 12
    assert set(report.primitives) == set(WEIGHTS)
    assert min(report.primitives.values()) >= per_primitive
    assert report.placing >= report.schedules / 2


def test_every_primitive_takes_part():
    assert set(registry.names) == set(WEIGHTS), "give new primitives a weight, a proposal and mutations"


def test_scenarios():
    assert run_scenarios().refused == {
        "compute_at.producer": 1,
        "reorder.reduction": 1,
        "parallel.conflict": 1,
        "region.inside": 1,
        "reverse_compute_at.cover": 1,
        "compute_inline.output": 1,
        "compute_at.consumers": 1,
        "fuse.kinds": 2,
        "split.peel": 1,
        "reverse_compute_inline.order": 1,
        "decompose_reduction.repeats": 1,
        "region.union": 1,
        "set_scope.shared": 1,
        "loop.mark": 1,
        "decompose_reduction.loop": 1,
    }


def test_random_schedules():
    check_balance(run_concrete(140, seed=1), per_primitive=5)


def test_random_schedules_with_holes():
    report = run_symbolic(66, seed=2)
    assert report.rows >= 60


def test_what_is_counted_is_what_is_registered():
    wanted = {name for _, name, _ in Tally().rows()}
    assert wanted == {*registry.names, *TAILS, *intrinsics.names}
    assert {*tensors.TILES, *tensors.ELSEWHERE} == set(intrinsics.names), "say how a product is cut for a new intrinsic"
    asked = Counter(name for name, _ in many.draws(5000))
    assert sum(asked.values()) == 5000
    assert min(asked[name] for name in (*registry.names, *tensors.TILES)) >= 100
    assert set(asked) >= {*programs.KINDS, "product"}


def test_some_of_the_many():
    """Each part of what the slow test draws."""
    tally = many.run(120, seed=4, only=slice(0, None, 8))
    assert tally.schedules == 15
    assert tally.compiled >= 10


@pytest.mark.parametrize(
    ("step", "want"),
    [
        (("split", "i", [None, 4], "guard"), {"guard"}),
        (("split", "i", [None, 4], "peel"), {"peel"}),
        (("split", "i", [None, 13], "guard"), set()),
        (("pad", "C", "i", 16), {"pad"}),
    ],
)
def test_tails_are_counted_where_they_are(step, want):
    s = Schedule(workloads.matmul(13, 16, 8))
    s.apply(registry[step[0]].make(*step[1:]))
    assert set(tails(s)) == want


@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_five_thousand_random_schedules(capsys):
    tally = many.run(5000, seed=31)
    with capsys.disabled():
        print(f"\nno mismatch in {tally}")
    assert tally.schedules == 5000
    assert not tally.lacking(100)


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_a_thousand_random_schedules_with_holes(capsys):
    report = run_symbolic(1000, seed=12)
    with capsys.disabled():
        print(f"\nfilling = replaying in {report}")
    assert report.rows >= 1000
