"""Templates that are declared for one test, and a few of them."""

from __future__ import annotations

import pytest

from workbench import workloads
from workbench.space.space import make_space
from workbench.space.template import TEMPLATES, template
from workbench.target import Target

TARGET = Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v4 -l1=48K -l2=2M -l3=32M -threads=2")


@pytest.fixture
def declare():
    """Declare templates that are gone after the test."""
    made = []

    def declare_(function, matches="matmul", name="mine"):
        template(name, matches=matches)(function)
        made.append(name)
        return name

    yield declare_
    for name in dict.fromkeys(made):
        del TEMPLATES[name]


@pytest.fixture
def space_of(declare):
    """Space of a template over a product of matrices, 48 by 64 by 32."""

    def space(function, fixed=None, func=None):
        name = declare(function)
        return make_space(func or workloads.matmul(48, 64, 32), TARGET, template=name, fixed=fixed)

    return space


def numeric(cfg, s):
    s.split("k", [None, cfg.define_knob("step", [2, 4, 5]).val])


def in_an_if(cfg, s):
    if cfg.define_knob("step", [2, 4, 5]).val > 2:
        s.unroll("k")
