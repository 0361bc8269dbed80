from __future__ import annotations

import numpy as np

from workbench.ir.compact_temporaries import compact
from workbench.ir.interpreter import interp
from workbench.ir.text.parser import parse
from workbench.ir.text.printer import to_text
from workbench.ir.unit_loops import drop_unit_loops
from workbench.ir.verify import verify

MATMUL = """\
f(A: input float32[4, 2], B: input float32[2, 1], C: output float32[4, 1]):
  for i.0 in 4 @prefetch=2:
    for z in 1:
      for i.1 in 1 intrin dot @block="dot":
        for j in 1:
          for k in 2:
            block C(i: 4 = i.0 + i.1, j: 1, reduce k: 2):
              init C[i, j] = 0.0
              C[i, j] = C[i, j] + A[i, k] * B[k, j]
"""


def names(func):
    return [line.split()[1] for line in to_text(func).splitlines() if line.strip().startswith("for ")]


def test_a_loop_with_an_intrinsic_keeps_its_description():
    func = parse(MATMUL)
    small = drop_unit_loops(func)
    verify(small)
    assert names(small) == ["i.0", "i.1", "j", "k"]
    assert small.loop("i.1")[0].intrin == "dot"
    assert small.loop("i.0")[0].notes == (("prefetch", 2),)
    assert names(drop_unit_loops(parse(MATMUL.replace(" intrin dot", "")))) == ["i.0", "k"]
    given = interp.random_inputs(func)
    np.testing.assert_array_equal(interp.run(small, given)["C"], interp.run(func, given)["C"])


def test_compaction_keeps_what_a_loop_and_a_buffer_say():
    func = compact(
        parse("""\
f(X: input float32[8, 6], Y: output float32[8, 6]):
  temp P: float32[8, 6] scope(local) align(0: 8 + 1)
  parallel i in 8 @prefetch=1:
    for p in 6 intrin copy:
      block P(i: 8, j: 6 = p) @origin="here":
        P[i, j] = X[i, j]
    for t in 6:
      block Y(i: 8, j: 6 = t):
        Y[i, j] = P[i, j]
""")
    )
    p = func.buffer("P")
    assert (p.shape, p.scope, p.strides(), p.nbytes) == ((1, 6), "local", (9, 1), 36)
    assert func.loop("i")[0].notes == (("prefetch", 1),)
    assert func.loop("p")[0].intrin == "copy"
    assert func.block("P")[0].notes == (("origin", "here"),)
