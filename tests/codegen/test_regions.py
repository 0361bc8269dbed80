"""How a parallel nest is cut into tasks."""

import itertools
import re

import numpy as np
import pytest

from workbench import te
from workbench.codegen.backend import build_func, generate_func
from workbench.codegen.lowering import task_limit
from workbench.runtime.kernel import Kernel
from workbench.schedule import Schedule
from workbench.target import Target


def rows(n, m=3):
    x = te.placeholder((n, m), name="X")
    s = Schedule(te.func(te.compute((n, m), lambda i, j: x[i, j] + 1.0, name="Y")))
    s.parallel("i")
    return s.func


def test_few_threads_get_eight_tasks_each_and_many_get_three():
    limits = {n: task_limit(n) for n in range(1, 257)}
    assert [limits[n] for n in (1, 2, 4, 8, 16, 64)] == [8, 16, 32, 64, 64, 192]
    assert all(limits[n] >= 3 * n for n in limits)
    assert all(b >= a for a, b in itertools.pairwise(limits[2**k] for k in range(9)))


@pytest.mark.parametrize(("n", "threads", "tasks"), [(5, 2, 5), (16, 2, 16), (17, 2, 16), (900, 2, 16), (900, 64, 192)])
def test_the_number_of_tasks_in_the_code(n, threads, tasks):
    text = generate_func(rows(n), Target.host(threads=threads)).source
    (found,) = re.findall(r"call void %\w+\(ptr %\w+, ptr @[\w.]+, ptr %\w+, i64 (\d+)\)", text)
    assert int(found) == tasks


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_every_iteration_is_in_one_task(threads):
    """Also where the tasks are of different sizes: an element that is left out would stay NaN."""
    for n in (1, 7, 8, 9, 15, 16, 17, 39, 40, 41, 97):
        func, target = rows(n), Target.host(threads=threads)
        x = np.arange(3 * n, dtype="f4").reshape(n, 3)
        kernel = Kernel(func, build_func(func, target), target, poison=True)
        np.testing.assert_array_equal(kernel(x), x + 1)
