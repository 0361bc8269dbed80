# %% title [markdown] tags=["slide"]
# # Lab 8: Sums in another order
#
# A sum of many numbers is the simplest loop there is, and as written it uses a small part of the machine: each addition waits
# for the one before it. Partial sums break the chain. They also change the result in its last digits, so a compiler must not make
# them unless somebody says so. You say so with `rfactor`, and find out what it costs in accuracy.
#
# You need labs 3, 4 and 7. Afterwards you can break the chain of a reduction, make vectors of partial sums, choose along which
# loop, and bound the rounding error of a sum.

# %% teacher [markdown] tags=["instructor"]
# **For the lecturer.** 60 to 90 minutes: 30 for sections 1 to 3, 10 for columns, 10 for the repair, 20 for the tree, 15 for
# softmax.
#
# Misconceptions: "float32 addition is associative" (section 3 measures that it is not), "partial sums lose accuracy" (they gain:
# each term goes through fewer additions), "a reduction can never be vectorised" (section 4: it depends on where the results lie).
# The function of section 6 is the only place where students write Python of their own; a recursive solution is as good.

# %% machine
import numpy as np
import pandas as pd

import workbench as wb
from workbench import labs
from workbench.labs.catalog.reductions.partial_sums import chain

target = wb.Target.host(threads=1)
lab = labs.open("reductions", target)
n, lanes = lab.chain.setting["n"], target.lanes("float32")
print(f"your rows have {n:,} numbers; one core of {target.cpu}, vectors of {lanes} float32 numbers")

# %% written-text [markdown] tags=["slide"]
# ## 1. As written
#
# `Y[i]` is the sum of row i. The loop over `k` carries the sum from one iteration to the next: a step that would run its
# iterations side by side is refused, because it would change the result.

# %% written
s = wb.Schedule(wb.workloads.reduce(64, n), target)
print(s.nest())
for step in (lambda: s.vectorize("k"), lambda: s.parallel("k")):
    try:
        step()
    except wb.WorkbenchError as refused:
        print(refused, "\n")

# %% chain-text [markdown] tags=["slide"]
# ## 2. Exercise: a chain of additions

# %% chain-show
lab.chain.show()

# %% chain-predict tags=["solution"]
lab.chain.predict(cycles=4 * n, steps=n // 16 + 16)

# %% chain-predict tags=["stub"]
lab.chain.predict(cycles=None, steps=None)

# %% chain-do tags=["solution"]
s = lab.chain.reset().schedule
s.split("k", [None, 16])
s.rfactor("k.1")
print(s.nest())

# %% chain-do tags=["stub"]
s = lab.chain.reset().schedule
# your steps

print(s.nest())

# %% chain-check
lab.chain.check()

# %% chain-help [markdown]
# Stuck? `lab.chain.hint()` gives one hint after the other; `lab.chain.solution()` shows a solution (and its points are gone).

# %% vectors-text [markdown] tags=["slide"]
# ## 3. Exercise: partial sums in vectors

# %% vectors-show
lab.vectors.show()

# %% vectors-predict tags=["solution"]
lab.vectors.predict(sums=2 * lanes, same="no")

# %% vectors-predict tags=["stub"]
lab.vectors.predict(sums=None, same=None)

# %% vectors-do tags=["solution"]
s = lab.vectors.reset().schedule
s.split("k", [None, 2 * lanes])
s.rfactor("k.1")
s.compute_at("Y.rf", "Y_i")
s.vectorize("Y.rf_k1")
print(s.nest())

# %% vectors-do tags=["stub"]
s = lab.vectors.reset().schedule
# your steps

print(s.nest())

# %% vectors-check
lab.vectors.check()

# %% widths-text [markdown]
# How many vectors of partial sums are worth it? Each makes the chain of a part shorter, and adds to what has to be brought
# together at the end. *near*: partial sums of one row are brought together at once (`compute_at`); otherwise those of all rows
# at the end. (`≥` marks a time that something else disturbed.)

# %% widths
def partial(vectors, near=True):
    """Row sums with so many vectors of partial sums; 0: as written."""
    s = wb.Schedule(wb.workloads.reduce(64, n), target)
    if vectors:
        s.split("k", [None, vectors * lanes])
        s.rfactor("k.1")
        if near:
            s.compute_at("Y.rf", "Y_i")
        s.vectorize("Y.rf_k1" if near else "k.1")
    return s

# %% widths-table
def time(schedule):
    m = schedule.measure()
    return f"{m.ms * 1e3:.1f}" if m.clean else f"≥ {m.at_least_ms * 1e3:.1f}"

rows = [(v, chain(partial(v).func), time(partial(v)), time(partial(v, near=False))) for v in (0, 1, 2, 4, 8)]
names = ["vectors of sums", "chain", "µs, near", "µs, at the end"]
pd.DataFrame(rows, columns=names).set_index("vectors of sums")

# %% bits-text [markdown]
# **The last digits.** The same numbers, summed by both nests, and exactly (in float64, which is exact enough here). Which of the
# two is nearer to the truth? Say it before you run the cell.

# %% bits
x = np.random.default_rng(0).random((64, n), dtype=np.float32)
true = x.astype(np.float64).sum(axis=1)
for name, vectors in (("as written", 0), ("2 vectors of sums", 2)):
    y = partial(vectors).build()(x)
    print(f"{name:18} largest error: {np.max(np.abs(y - true) / true) * 2**24:.1f} units of rounding")

# %% columns-text [markdown] tags=["slide"]
# ## 4. Exercise: sums of columns

# %% columns-show
lab.columns.show()

# %% columns-predict tags=["solution"]
lab.columns.predict(loop="i", same="yes")

# %% columns-predict tags=["stub"]
lab.columns.predict(loop=None, same=None)

# %% columns-do tags=["solution"]
s = lab.columns.reset().schedule
_, inner = s.split("i", [None, lanes])
s.reorder("i.0", "k", inner)
s.vectorize(inner)
print(s.nest())

# %% columns-do tags=["stub"]
s = lab.columns.reset().schedule
# your steps

print(s.nest())

# %% columns-check
lab.columns.check()

# %% repair-text [markdown] tags=["slide"]
# ## 5. Exercise: repair

# %% repair-show
lab.repair.show()

# %% repair-nest
s = lab.repair.reset().schedule
print(s)

# %% repair-predict tags=["solution"]
lab.repair.predict(apart=n // lanes)

# %% repair-predict tags=["stub"]
lab.repair.predict(apart=None)

# %% repair-do tags=["solution"]
s = lab.repair.reset().schedule
s.undo(len(s.trace))
_, inner = s.split("k", [None, lanes])
s.rfactor(inner)
s.vectorize(inner)
print(s.nest())

# %% repair-do tags=["stub"]
s = lab.repair.reset().schedule
# your steps: s.undo(n) takes back the last n

print(s)

# %% repair-check
lab.repair.check()

# %% tree-text [markdown] tags=["slide"]
# ## 6. Exercise: a tree of additions
#
# Partial sums make chains shorter. A tree makes them as short as they can be, and the error with them.

# %% tree-show
lab.tree.show()

# %% tree-predict tags=["solution"]
lab.tree.predict(depth=10, chain=1023)

# %% tree-predict tags=["stub"]
lab.tree.predict(depth=None, chain=None)

# %% tree-do tags=["solution"]
def total(terms, add):
    """The sum of terms, as a tree."""
    if len(terms) == 1:
        return terms[0]
    half = len(terms) // 2
    return add(total(terms[:half], add), total(terms[half:], add))

# %% tree-do tags=["stub"]
def total(terms, add):
    """The sum of terms, as a tree."""
    raise NotImplementedError("a chain would be: made = terms[0]; then made = add(made, term) for each other one")

# %% tree-check
lab.tree.check()

# %% softmax-text [markdown] tags=["slide"]
# ## 7. Exercise: two reductions and a row

# %% softmax-show
lab.softmax.show()

# %% softmax-nest
print(lab.softmax.reset().schedule.nest())

# %% softmax-predict tags=["solution"]
m = lab.softmax.setting["m"]
lab.softmax.predict(reads=2, bytes=4 * 64 * m + 12 * 64, largest="no")

# %% softmax-predict tags=["stub"]
lab.softmax.predict(reads=None, bytes=None, largest=None)

# %% softmax-widget [markdown]
# Open *Stages* below the nest: who reads what is a picture there.

# %% softmax-do tags=["solution"]
s = lab.softmax.reset().schedule
for stage in ("inverse", "total", "exps", "largest"):
    s.compute_at(stage, "softmax_i")
wb.Workbench(s)

# %% softmax-do tags=["stub"]
s = lab.softmax.reset().schedule
# your steps

wb.Workbench(s)

# %% softmax-check
lab.softmax.check()

# %% infinite-text [markdown]
# What happens without the largest number, for an input of 100?

# %% infinite
with np.errstate(over="ignore", invalid="ignore"):
    big = np.exp(np.float32([100.0, 99.0]))
    print(big, big / big.sum())

# %% remember [markdown] tags=["slide"]
# ## What to remember
#
# 1. A sum as written is **one chain**: its length times the latency of an addition is the least time.
# 2. `rfactor` makes **partial sums**, with chains of their own. It changes the order, so it has to be said; no other step does
#    it.
# 3. Make the lanes of vectors partial sums that are **neighbours in memory**: factor the inner part of the loop.
# 4. Where the **results** are neighbours (columns), vectorise along them: no partial sums, the same bits.
# 5. Fewer additions per term mean a **smaller error**: chain, then partial sums, then tree.
#
# ## Five questions
#
# 1. An addition takes 4 cycles and two start per cycle. How many chains keep the adders busy?
# 2. Why may a compiler not do `rfactor` by itself?
# 3. A matrix product sums over k for each of many results. Why does it need no `rfactor`? When would it?
# 4. 2,048 terms in 64 partial sums: how many additions does a term go through at most?
# 5. Largest value instead of sum: does the order matter for the result?

# %% answers [markdown] tags=["instructor"]
# **Answers.** 1: eight. 2: float addition is not associative, so the result changes; only who wrote the program knows whether
# that is allowed. 3: the results are chains of their own, enough of them to fill registers and lanes; with few results and a
# long k (a small output) partial sums are needed, also to give threads work. 4: 2,048 / 64 = 32 in its part, then 64 to bring
# the parts together: 96, counted as in the first exercise, from a zero (31 + 63 without it); with a tree at the end 32 + 6. 5:
# no: max does not round, so any order gives the same value.

# %% report
lab.report()
