"""Which parts of a workbench can be asked for."""

from __future__ import annotations

import pytest

from workbench import Target, Task, Workbench, workloads
from workbench.errors import UsageError


@pytest.fixture
def task() -> Task:
    return Task.of_func(workloads.matmul(64, 64, 64), Target.host(threads=1))


def test_a_panel_that_does_not_exist_is_refused_with_a_proposal(comms, task):
    with pytest.raises(UsageError) as caught:
        Workbench(task, panel="nst", auto_measure=False)
    assert caught.value.code == "workbench.panel"
    assert "nest" in caught.value.hint
    w = Workbench(task, auto_measure=False)
    with pytest.raises(UsageError) as caught:
        w.show("all")
    assert caught.value.code == "workbench.panel"
    w.close()


def test_a_part_knows_its_workbench(comms, task):
    w = Workbench(task, auto_measure=False)
    part = w.show("palette")
    assert (part.panel, part.root) == ("palette", "IPY_MODEL_" + w.model_id)
    w.close()
