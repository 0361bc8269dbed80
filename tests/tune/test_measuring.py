"""Where the kernels of a network find their weights."""

import pytest

from workbench.graph.tasks import Task
from workbench.ir import te
from workbench.target import Target
from workbench.tune.measuring import constants_of


def dense(k, n):
    x, w = te.placeholder((4, k), "float32", "X"), te.placeholder((k, n), "float32", "W", constant=True)
    r = te.reduce_axis(k, "k")
    return Task.of_func(te.func(te.compute((4, n), lambda i, j: te.sum(x[i, r] * w[r, j], r), "Y"), "dense"))


def lookup():
    w = te.placeholder((1 << 20, 64), "float32", "W", constant=True)
    x = te.placeholder((8, 64), "float32", "X")
    return Task.of_func(te.func(te.compute((8, 64), lambda i, j: w[i, j] + x[i, j], "Y"), "rows"))


@pytest.mark.parametrize(
    ("tasks", "where"),
    [
        ([dense(64, 64)], "near"),
        ([dense(8192, 8192)], "near"),
        ([dense(64, 64), dense(64, 32)], "shared"),
        ([dense(4096, 4096), dense(64, 32)], "memory"),
        ([lookup(), dense(64, 32)], "shared"),
    ],
)
def test_constants_come_from_where_a_run_of_the_network_finds_them(tasks, where):
    assert constants_of(tasks, Target("llvm", cpu="haswell", l3_bytes=32 << 20)) == where


def test_a_task_that_occurs_often_reads_its_weights_as_often():
    from dataclasses import replace

    target = Target("llvm", cpu="haswell", l3_bytes=32 << 20)
    tasks = [dense(1024, 1024), dense(64, 32)]
    assert constants_of(tasks, target) == "shared"
    assert constants_of([replace(tasks[0], weight=9), tasks[1]], target) == "memory"
