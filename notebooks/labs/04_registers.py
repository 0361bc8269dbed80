# %% title [markdown] tags=["slide"]
# # Lab 4: Registers
#
# Two schedules of the same matrix product: both use vectors, both keep a tile of C beside k, both take the matrices in the same
# order. The second one has **more accumulators and fewer loads on paper, and stores to memory in every step**. Why? And how far
# does one get by hand, beside the library of a vendor?
#
# You need labs 2 and 3: tiles and vectors. Afterwards you can choose a tile of results by three numbers of the core (latency,
# loads in a cycle, registers) and see in the assembly whether it fits.

# %% teacher [markdown] tags=["instructor"]
# **For the lecturer.** 75 to 90 minutes: 15 each for chains and loads, 15 for what fits, 15 for the assembly, 10 for the repair,
# 15 for the whole product. The exercises think of a core with round numbers (latency 4, two multiply-adds and two loads in a
# cycle); the tables in between show the machine at hand.
#
# The common misconception: registers are only for what is computed, so 32 of them hold 32 accumulators. Another one: "unrolling
# saves the counter of the loop". Ask what would happen with 8 copies that all add to the same register.
#
# The last exercise repeats steps of the ones before on purpose: students write them without looking.

# %% machine
import re
import time

import numpy as np
import pandas as pd

import workbench as wb
from workbench import analysis, labs
from workbench.labs.catalog.registers.spilling import SAMPLES
from workbench.runtime.machine.blas_threads import quiet

target = wb.Target.host(threads=1)
lab = labs.open("registers", target)
n, lanes, registers = lab.product.setting["n"], target.lanes("float32"), target.vector_registers
print(f"your matrices: {n} x {n}; one core of {target.cpu}: {registers} registers of {lanes} float32 numbers")

# %% chains-text [markdown] tags=["slide"]
# ## 1. Exercise: chains
#
# In lab 2 a tile was a piece of the work that a cache holds. The smallest and nearest memory of all are the **registers**: a core
# has 16 or 32, each of one vector (lab 3). A tile of C that stays in registers while k runs is neither loaded nor stored in the
# meantime. A register that holds a vector of such sums is an **accumulator**. So that each row of a tile has registers of its
# own, the loop over its rows is **unrolled**: the body stands there once for each row.

# %% chains-show
lab.chains.show()

# %% chains-predict tags=["solution"]
lab.chains.predict(cycles=4 * lab.chains.setting["n"], share="12.5 %", chains=8)

# %% chains-predict tags=["stub"]
lab.chains.predict(cycles=None, share=None, chains=None)

# %% chains-do-text [markdown]
# Five steps make a tile that stays in registers: split i into rows, split j into vectors, `reorder` so that k stands outside of
# the tile, `unroll` the rows, `vectorize` the columns.

# %% chains-do tags=["solution"]
s = lab.chains.reset().schedule
s.split("i", [None, 8])
s.split("j", [None, lanes])
s.reorder("i.0", "j.0", "k", "i.1", "j.1")
s.unroll("i.1")
s.vectorize("j.1")

wb.Workbench(s)

# %% chains-do tags=["stub"]
s = lab.chains.reset().schedule
# your steps

wb.Workbench(s)

# %% chains-check
lab.chains.check()

# %% chains-help [markdown]
# Stuck? `lab.chains.hint()` gives one hint after the other; `lab.chains.solution()` shows a solution (and its points are gone).
# In the widget, press `C` and select the loop k: its lines of code light up.

# %% tools-text [markdown] tags=["slide"]
# ## 2. Tiles of this machine
#
# Three functions for the rest of the lab: `tile` makes a schedule; `code` prints the machine's instructions of the loop over k;
# `row` counts and measures (≤ where something else disturbed the time). *Stack* is the number of instructions in the loop over k
# that name the stack; you will count them yourself in section 5.

# %% tools
def tile(rows, vectors):
    """C in tiles of rows x vectors, which have to divide its size; a tile stays in place while k runs."""
    s = wb.Schedule(wb.workloads.matmul(n, n, n), target)
    s.split("i", [None, rows])
    s.split("j", [None, vectors * lanes])
    s.reorder("i.0", "j.0", "k", "i.1", "j.1")
    s.unroll("i.1")
    s.vectorize("j.1")
    return s

# %% tools-code
def code(schedule):
    """The machine code of the loop over k."""
    lines = analysis.listing(schedule, "asm", target)
    found = lines.of("k")
    return "\n".join(line.text.strip().expandtabs(1) for line in lines.lines[found[0]:found[-1] + 1])

def row(rows, vectors):
    """Count and measure a tile."""
    s = tile(rows, vectors)
    counted, m = labs.count(s.func, lanes), s.measure()
    speed = f"{m.gflops:.0f}" if m.clean else f"≤ {2 * n**3 / m.at_least_ms / 1e6:.0f}"
    return {"tile": f"{rows} x {vectors}", "accumulators": counted.accumulators, "loads": counted.vector_loads,
            "per load": round(counted.adds_per_load, 2), "stack": len(re.findall(r"\(%rsp|\[sp", code(s))), "GFLOP/s": speed}

# %% sweep-chains
pd.DataFrame([row(rows, 1) for rows in (1, 2, 4, 8)])[["tile", "accumulators", "GFLOP/s"]]

# %% sweep-chains-why [markdown]
# One more row is one more chain. While there are fewer chains than the core needs, what does twice as many of them give? Does
# it go on like this up to 8?

# %% loads-text [markdown] tags=["slide"]
# ## 3. Exercise: multiply-adds for each load

# %% loads-show
lab.loads.show()

# %% loads-predict tags=["solution"]
lab.loads.predict(strip=8 * 1 / (8 + 1), square=4 * 2 / (4 + 2), most="4 x 4")

# %% loads-predict tags=["stub"]
lab.loads.predict(strip=None, square=None, most=None)

# %% loads-do tags=["solution"]
s = lab.loads.reset().schedule
s.split("i", [None, 4])
s.split("j", [None, 2 * lanes])
s.reorder("i.0", "j.0", "k", "i.1", "j.1")
s.unroll("i.1")
s.vectorize("j.1")

print(s.nest())

# %% loads-do tags=["stub"]
s = lab.loads.reset().schedule
# your steps

print(s.nest())

# %% loads-check
lab.loads.check()

# %% see-text [markdown]
# Both tiles have 8 accumulators. In the code of the second one, find a vector of B (`vmovups`), a number of A for all lanes
# (`vbroadcastss`, or `{1to16}` in the multiply-add), and count the multiply-adds (`vfmadd`) until the next vector of B. The
# compiler does several steps of k in one run of its loop.

# %% see
print("\n".join(code(tile(4, 2)).splitlines()[:19]))
pd.DataFrame([row(8, 1), row(4, 2)])

# %% fit-text [markdown] tags=["slide"]
# ## 4. Exercise: what fits?

# %% fit-show
lab.fit.show()

# %% fit-predict tags=["solution"]
lab.fit.predict(used=6 * 2 + 2 + 1, rows=(registers - 3 - 1) // 3, missing=16 * 2 + 2 + 1 - 32)

# %% fit-predict tags=["stub"]
lab.fit.predict(used=None, rows=None, missing=None)

# %% fit-do tags=["solution"]
def best_tile(registers):
    """(rows, vectors) of the tile that fits and has most multiply-adds for each load."""
    sizes = range(1, registers)
    fitting = [(r, v) for r in sizes for v in sizes if r * v + v + 1 <= registers]
    return max(fitting, key=lambda tile: tile[0] * tile[1] / (tile[0] + tile[1]))

# %% fit-do tags=["stub"]
def best_tile(registers):
    """(rows, vectors) of the tile that fits and has most multiply-adds for each load."""
    # your lines
    raise NotImplementedError

# %% fit-check
lab.fit.check()

# %% read-text [markdown] tags=["slide"]
# ## 5. Exercise: spills in the assembly

# %% read-show
lab.read.show()

# %% read-sample-text [markdown]
# A piece of that loop, from its beginning:

# %% read-sample
print(SAMPLES["spilled accumulators"][0])

# %% read-predict tags=["solution"]
lab.read.predict(move="a store", add="a calculation", accesses=38 / (64 / 16))

# %% read-predict tags=["stub"]
lab.read.predict(move=None, add=None, accesses=None)

# %% read-do tags=["solution"]
def stack(code):
    """(stores to the stack, loads from it)."""
    lines = [line.strip() for line in code.splitlines() if "(%rsp" in line]
    stores = sum(line.endswith(")") for line in lines)
    return stores, len(lines) - stores

# %% read-do tags=["stub"]
def stack(code):
    """(stores to the stack, loads from it)."""
    # your lines
    raise NotImplementedError

# %% read-check
lab.read.check()

# %% judge-text [markdown]
# Your function on tiles of this machine (where it has x86 instructions). Which of them fit, by the rule of section 4?

# %% judge
for rows, vectors in ((4, 2), (registers // 4, 2), (registers // 4, 4)):
    try:
        print(f"{rows} x {vectors}: (stores, loads) of the stack {stack(code(tile(rows, vectors)))}")
    except NotImplementedError:
        print("first write stack(code)")
        break

# %% repair-text [markdown] tags=["slide"]
# ## 6. Exercise: repair

# %% repair-show
lab.repair.show()

# %% repair-nest
s = lab.repair.reset().schedule
print(s)
print("\n".join(line for line in code(s).splitlines()[:12]))

# %% repair-predict tags=["solution"]
rows = registers // 2
fitting = [r for r in range(1, rows) if 2 * r + 3 <= registers and lab.repair.setting["n"] % r == 0]
lab.repair.predict(needed=2 * rows + 3, paper=2 * rows / (rows + 2), rows=max(fitting))

# %% repair-predict tags=["stub"]
lab.repair.predict(needed=None, paper=None, rows=None)

# %% repair-do tags=["solution"]
s = lab.repair.reset().schedule
s.undo(len(s.trace))
s.split("i", [None, max(fitting)])
s.split("j", [None, 2 * lanes])
s.reorder("i.0", "j.0", "k", "i.1", "j.1")
s.unroll("i.1")
s.vectorize("j.1")

print(s.nest())

# %% repair-do tags=["stub"]
s = lab.repair.reset().schedule
# your steps: s.undo(n) takes back the last n

print(s)

# %% repair-check
lab.repair.check()

# %% repair-compare-text [markdown]
# Tiles of two vectors, with more and more rows. The last one is the one that was to be mended: *per load* is the best, on paper.

# %% repair-compare
pd.DataFrame([row(rows, 2) for rows in (registers // 8, registers // 4, registers // 2)])

# %% product-text [markdown] tags=["slide"]
# ## 7. Exercise: a whole product

# %% product-show
lab.product.show()

# %% product-predict tags=["solution"]
rows = registers // 4
adds = n**3 / lanes
lab.product.predict(cycles=adds / 2, rate=2 * 3 * 2 * lanes, loads=adds * (rows + 2) / (2 * rows))

# %% product-predict tags=["stub"]
lab.product.predict(cycles=None, rate=None, loads=None)

# %% product-do tags=["solution"]
s = lab.product.reset().schedule
s.split("i", [None, registers // 4])
s.split("j", [None, 2 * lanes])
s.reorder("i.0", "j.0", "k", "i.1", "j.1")
s.unroll("i.1")
s.vectorize("j.1")

wb.Workbench(s)

# %% product-do tags=["stub"]
s = lab.product.reset().schedule
# your steps

wb.Workbench(s)

# %% product-check
lab.product.check()

# %% library-text [markdown] tags=["slide"]
# ## 8. Beside the library
#
# NumPy gives products of matrices to a library that specialists have written for each processor. A comparison is fair if
#
# - both have **one thread** (the library takes all cores otherwise), and write to an array that is there already;
# - they run **in turns**, so that whatever else the machine does meets both;
# - the **median** of many turns counts: the fastest of them is luck, the mean has the slowest in it.
#
# Where are you? 70 % is a good result by hand. It may be more than 100 %: the library is made for all sizes, your schedule for
# this one.

# %% library
def in_turns(schedule):
    """Seconds of a schedule and of NumPy's product, in turns on one thread for a second."""
    a, b = np.random.default_rng(0).random((2, n, n), dtype="float32")
    mine, out, times = schedule.build(threads=1).prepare(a, b), np.empty_like(a), []
    assert np.allclose(mine(), np.matmul(a, b), rtol=1e-4)
    with quiet():
        end = time.perf_counter() + 1
        while len(times) < 5 or time.perf_counter() < end:
            begin = time.perf_counter()
            mine()
            middle = time.perf_counter()
            np.matmul(a, b, out=out)
            times.append((middle - begin, time.perf_counter() - middle))
    return np.array(times)

# %% beside
plain = wb.Schedule(wb.workloads.matmul(n, n, n), target)
for name, schedule in (("as written", plain), ("your schedule", lab.product.schedule)):
    times = in_turns(schedule)
    mine, theirs = 2 * n**3 / np.median(times, axis=0) / 1e9
    low, middle, high = np.percentile(times[:, 1] / times[:, 0], (25, 50, 75))
    part = f"{middle:4.0%} of NumPy's (half of the turns: {low:.0%} to {high:.0%})"
    print(f"{name:>13} {mine:6.1f} GFLOP/s, {part}")
print(f"{'NumPy':>13} {theirs:6.1f} GFLOP/s; multiply-adds alone: {target.peak_gflops():.1f} GFLOP/s")

# %% beside-why [markdown]
# If half of the turns lie far apart, something else was running: run the cell again. What is left between you and
# *multiply-adds alone*? Rows of B that lie far apart in memory (lab 9 packs them), C that is loaded and stored once per tile,
# and caches, which have to hold what the next tile uses.

# %% remember [markdown] tags=["slide"]
# ## What to remember
#
# 1. Chains: latency times starts in a cycle is the number of independent results that have to be on their way.
# 2. Loads: a tile of R x V has R * V multiply-adds for R + V loads. Square tiles load least.
# 3. Registers: R * V accumulators, V vectors of B and a number of A have to fit. What does not is spilled.
# 4. A spill is seen in the assembly: stores to the stack and loads from it, in the innermost loop.
# 5. The best tile is a compromise of all three, and has to divide the size.
#
# ## Five questions
#
# 1. A core starts one multiply-add in a cycle, with a latency of 5. How many chains does it need?
# 2. A sum of 1,000 numbers has one accumulator; you give it four. How much faster can it become, and what changes in the result?
# 3. How many multiply-adds for each load has a tile of 6 x 2? And of 3 x 4?
# 4. A machine has 64 registers. Does a tile of 8 x 7 fit?
# 5. In a listing you find `vmovups 128(%rsp), %ymm3` outside of all loops. Is that bad?

# %% answers [markdown] tags=["instructor"]
# **Answers.** 1: 5. 2: four times at most, if it was bound by latency; the sums are in another order, so rounding differs. 3:
# 12 / 8 = 1.5; 12 / 7 = 1.71. 4: 56 + 7 + 1 = 64, just. 5: no, it happens once; what counts is the loop that runs most often.

# %% report
lab.report()
