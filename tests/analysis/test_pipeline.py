"""The picture of an accelerator's engines."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.codegen.vta_schedules import matmul, truncated_matmul
from workbench import workloads
from workbench.analysis import pipeline, pipeline_figure
from workbench.errors import UsageError
from workbench.schedule import Schedule


def test_bars_are_what_the_engines_do() -> None:
    s = matmul(truncated_matmul(64, 64, 64), (32, 2, 2), 2)
    run = pipeline(s)
    figure = pipeline_figure(s)
    bars = {t.name: list(zip(t.base, t.x, t.y, strict=True)) for t in figure.data}
    assert sum(map(len, bars.values())) == len(run.events)
    assert max(base + width for of in bars.values() for base, width, _ in of) == run.cycles
    assert {row for _, _, row in bars["gemm"]} == {1}
    assert sum(width - run.design.fill for _, width, _ in bars["gemm"]) == run.products
    for engine in range(3):  # an engine does one thing at a time
        spans = sorted((b, b + w) for of in bars.values() for b, w, row in of if row == engine)
        assert all(end <= start for (_, end), (start, _) in pairwise(spans))
    assert pipeline_figure(run, theme="dark").data[0].name == figure.data[0].name


def test_other_targets_have_no_engines() -> None:
    with pytest.raises(UsageError, match="engines"):
        pipeline(Schedule(workloads.matmul(8, 8, 8)))
