"""A suite that cannot fail proves nothing: break the rewrites one by one and see that it does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from property.mutations import MUTATIONS
from property.randoms import WEIGHTS

TESTS = Path(__file__).resolve().parents[1]
#: Index of the first mutation of each primitive: what a landing change has to notice.
FIRST = {m.primitive: k for k, m in reversed(list(enumerate(MUTATIONS)))}


def run_suite(*args: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    env = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "property.suite", *args]
    return subprocess.run(command, capture_output=True, text=True, env=env, cwd=TESTS.parent, timeout=280, check=False)


def check_found(k: int, count: int) -> None:
    done = run_suite("--mutation", str(k), "--primitive", MUTATIONS[k].primitive, "--count", str(count))
    assert done.returncode == 1, f"not noticed: {MUTATIONS[k]}\n{done.stdout}{done.stderr}"
    # A broken nest may also trip the step that comes after it; what does not count is a patch that cannot even run.
    found = "FOUND" in done.stdout and "FOUND NameError" not in done.stdout
    assert found or "no legal schedule" in done.stdout, done.stdout + done.stderr


def test_every_primitive_has_mutations():
    assert {m.primitive for m in MUTATIONS} == set(WEIGHTS)


@pytest.mark.parametrize("mutation", MUTATIONS, ids=str)
def test_the_text_to_change_is_there(mutation):
    compile(mutation.source(), mutation.module, "exec")


@pytest.mark.checks
@pytest.mark.parametrize("primitive", WEIGHTS)
def test_the_first_mutation_of_each_primitive_is_noticed(primitive):
    check_found(FIRST[primitive], 90)


@pytest.mark.slow
@pytest.mark.parametrize("k", range(len(MUTATIONS)), ids=lambda k: str(MUTATIONS[k]))
def test_every_mutation_is_noticed(k):
    check_found(k, 240)


@pytest.mark.slow
@pytest.mark.parametrize("primitive", WEIGHTS)
def test_without_a_mutation_nothing_is_noticed(primitive):
    done = run_suite("--primitive", primitive, "--count", "240")
    assert done.returncode == 0, done.stdout + done.stderr
