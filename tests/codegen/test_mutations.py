"""The tests of tails, reductions and transposes notice small wrong changes to the code generator.

What random schedules notice is listed in `property.mutations`; these need the cases that were thought out.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from property.mutations import Mutation, install

TESTS = Path(__file__).resolve().parents[1]


def _m(module: str, what: str, old: str, new: str) -> Mutation:
    return Mutation("build", f"workbench.codegen.llvm.{module}", what, ((old, new),))


MUTATIONS = (
    _m("loops", "the cut iteration is left out", "self._iterations(lp, index(lp.extent - 1), 1)", "pass"),
    _m("loops", "the rest of an unrolled loop is lost", "self._iterations(lp, index(whole), extent - whole)", "pass"),
    _m("accumulators", "what does not exist is stored", "with self._where(cond):", "with self._where(True):"),
    _m("accumulators", "accumulators are never read", "starts = False if b.resumes else", "starts = True if True else"),
    _m("memory_access", "guarded loads are not harmless", "if cond is None:\n            return plain", "return plain"),
    _m("addresses", "no lane is too many", "(hi, \"slt\", most >= hi)", "(hi, \"slt\", False)"),
    _m("expressions", "a page of zeros for every constant", "if other.value == 0:", "if True:"),
    _m("addresses", "a mask begins too late", '(lo, "sge", least < lo)', '(lo, "sgt", least < lo)'),
    _m("strip_mining", "the rest of a vector is lost", "out.append((at, width, width))", "pass"),
    _m("expressions", "a page is always long enough", "if size > Padding.PAGE_BYTES:", "if False:"),
    _m("expressions", "a guard on lanes masks nothing", "self.both(self.mask, self._lanes_of(guard))", "self.mask"),
    _m("lane_reduction", "an odd vector is lost", "parts = pairs + parts[len(pairs) * 2 :]", "parts = pairs"),
    _m("transpose_shuffles", "squares are not swapped", "shift = distance if row & distance else 0", "shift = 0"),
)  # fmt: skip


@pytest.mark.parametrize("mutation", MUTATIONS, ids=str)
def test_the_text_to_change_is_there(mutation):
    compile(mutation.source(), mutation.module, "exec")


@pytest.mark.slow
@pytest.mark.parametrize("k", range(len(MUTATIONS)), ids=lambda k: str(MUTATIONS[k]))
def test_every_mutation_is_noticed(k):
    path = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, __file__, str(k)], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path},
        cwd=TESTS.parent, timeout=280, check=False,
    )  # fmt: skip
    # A test that failed, or a guard page that was touched; a run that could not even start shows nothing.
    noticed = done.returncode < 0 or (done.returncode == 1 and " failed" in done.stdout)
    assert noticed, f"not noticed: {MUTATIONS[k]}\n{done.stdout[-500:]}{done.stderr[-500:]}"
    assert "NameError" not in done.stdout


if __name__ == "__main__":
    install(MUTATIONS[int(sys.argv[1])])
    files = [str(TESTS / "codegen" / f"test_{n}.py") for n in ("tails", "reductions", "transposes")]
    sys.exit(pytest.main(["-q", "-x", "-p", "no:cacheprovider", *files]))
