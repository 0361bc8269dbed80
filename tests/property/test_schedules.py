"""Random legal schedules mean what the function means, compiled or interpreted, with numbers or with holes."""

from __future__ import annotations

import pytest

from property.randoms import WEIGHTS
from property.suite import Report, run_concrete, run_scenarios, run_symbolic
from workbench.schedule import registry


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
    }


def test_random_schedules():
    check_balance(run_concrete(154, seed=1), per_primitive=5)


def test_random_schedules_with_holes():
    report = run_symbolic(66, seed=2)
    assert report.rows >= 60


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_two_thousand_random_schedules(capsys):
    report = run_concrete(2000, seed=11)
    with capsys.disabled():
        print(f"\nno mismatch in {report}")
    check_balance(report, per_primitive=100)


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_a_thousand_random_schedules_with_holes(capsys):
    report = run_symbolic(1000, seed=12)
    with capsys.disabled():
        print(f"\nfilling = replaying in {report}")
    assert report.rows >= 1000
