# %% title [markdown] tags=["slide"]
# # Lab 2: Tiling by hand
#
# Lab 1 has found the best order of the loops of a matrix product. And yet: two nests with that very order in their innermost
# loops, with the same arithmetic and the same result, and one of them **fetches more than sixteen times as much from memory**.
# Why?
#
# You need lab 1: lines of a cache, and how long they stay. Afterwards you can cut a nest into tiles, say how large they should
# be and what they save, for one cache and for two, and say when this makes a program faster.

# %% teacher [markdown] tags=["instructor"]
# **For the lecturer.** 60 to 90 minutes: 5 for the picture, 10 for traffic, 15 each for the tile and the second level, 10 each
# for edges and repair, 15 for the open exercise, which is good for pairs.
#
# Everything that is graded is counted on two simulated caches, L1 of lab 1 and one behind it. They are small, so that matrices
# can be small: three tiles of 16 fit into the first one, three tiles of 48 into the second one.
#
# Two misconceptions. "B has 1 MiB, so 1 MiB is loaded": ask how often the innermost line runs. "What fits is the tile of C": the
# repair is about this; what has to fit is all that lies between two uses of a number. Section 8 is to keep students from the
# third one, that tiles always pay.

# %% machine
import pandas as pd

import workbench as wb
from workbench import analysis, labs
from workbench.labs.catalog.tiling.caches import L1, L2, cut, run
from workbench.labs.catalog.tiling.fewest import waiting

target = wb.Target.host(threads=1)
lab = labs.open("tiling", target)
n = lab.tile.setting["n"]
print(f"your matrices: {n} x {n}; simulated caches: {L1}; {L2}")

# %% picture-text [markdown] tags=["slide"]
# ## 1. What a tile is
#
# Two nests for a small product, 80 by 80. The first one goes through C row by row, and through **all of B** for each row. In the
# second one the loops are cut into parts of 8: a **tile** is a square piece of a matrix, 8 by 8. A tile of A and one of B are
# multiplied into a tile of C before the next ones are touched.

# %% picture-nests
rows = wb.Schedule(wb.workloads.matmul(80, 80, 80), target)
rows.reorder("i", "k", "j")
tiles = wb.Schedule(wb.workloads.matmul(80, 80, 80), target)
for loop in "ijk":
    tiles.split(loop, [None, 8])
tiles.reorder("i.0", "j.0", "k.0", "i.1", "k.1", "j.1")
print(tiles.nest())

# %% picture-play-text [markdown]
# `split("i", [None, 8])` makes two loops of one: `i.0` counts tiles, `i.1` runs inside of one. The same iterations run, in
# another order.
#
# Play both on the cache of lab 1, or drag the slider: which part of A, B and C is touched, and which lines does the cache hold?
# What happens to a line of B between two uses, on the left and on the right?

# %% picture-play
wb.CacheView(rows, tiles, levels=L1, names=["rows", "tiles of 8"])

# %% traffic-text [markdown] tags=["slide"]
# ## 2. Exercise: what the core loads
#
# There is traffic on each way: from memory to the caches, and from the nearest cache to the core. We begin at the core. There is
# a new step: `unroll` writes the body of a loop out, once for each iteration, so that the copies stand next to each other and
# can share what is loaded.

# %% traffic-show
lab.traffic.show()

# %% traffic-nest
print(lab.traffic.reset().schedule.nest())

# %% predict-text [markdown]
# Put your answers in place of `None`: numbers, or texts with a unit such as "3 MiB".

# %% traffic-predict tags=["solution"]
size = lab.traffic.setting["n"]
lab.traffic.predict(naive=f"{4 * size**3} B", tiled=f"{4 * size**3 // 8} B")

# %% traffic-predict tags=["stub"]
size = lab.traffic.setting["n"]
lab.traffic.predict(naive=None, tiled=None)

# %% traffic-do-text [markdown]
# Now do it. Each run of the cell starts from the nest as it was (`reset`).

# %% traffic-do tags=["solution"]
s = lab.traffic.reset().schedule
_, i1 = s.split("i", [None, 8])
s.reorder("i.0", "j", "k", i1)
s.unroll(i1)

print(s.nest())

# %% traffic-do tags=["stub"]
s = lab.traffic.reset().schedule
# your steps

print(s.nest())

# %% traffic-check
lab.traffic.check()

# %% traffic-help [markdown]
# Stuck? `lab.traffic.hint()` gives one hint after the other; `lab.traffic.solution()` shows a solution (and its points are gone).

# %% traffic-view-text [markdown]
# What is counted: bytes that the core loads, the same one as often as it is loaded again. Why is A not loaded less often?

# %% traffic-view
counts = labs.count(s.func, target.lanes("float32"))
{name: f"{size / 2**20:.6g} MiB" for name, size in counts.loaded.items() if name != "C"}

# %% tile-text [markdown] tags=["slide"]
# ## 3. Exercise: how large is a tile?
#
# A load that finds its line in L1 is cheap. So the next question is which loads do not.

# %% tile-show
lab.tile.show()

# %% tile-predict tags=["solution"]
lab.tile.predict(rows=n**3 / 16, size=16, tiles=n**3 / 256)

# %% tile-predict tags=["stub"]
lab.tile.predict(rows=None, size=None, tiles=None)

# %% tile-do-text [markdown]
# Write steps into the cell, or take them in the widget. Its column *working set* says how many bytes one run of a loop touches;
# a KB has 1,024 bytes there. Its badges L1 and L2 and its times belong to the core of this machine, whose caches its last line
# names. They are larger than the cache of the exercise, which only the check knows: compare working sets with 4 KiB yourself.

# %% tile-do tags=["solution"]
s = lab.tile.reset().schedule
for loop in "ijk":
    s.split(loop, [None, 16])
s.reorder("i.0", "j.0", "k.0", "i.1", "k.1", "j.1")

wb.Workbench(s)

# %% tile-do tags=["stub"]
s = lab.tile.reset().schedule
# your steps

wb.Workbench(s)

# %% tile-check
lab.tile.check()

# %% tile-view-text [markdown]
# What each access of your nest does to L1:

# %% tile-view
found = run(s).frame()
found[found.level == "L1"][["access", "kind", "accesses", "misses"]]

# %% sweep-text [markdown] tags=["slide"]
# ## 4. Why the size has a best value
#
# All sizes of tiles, and what misses L1. Before you run it: what goes wrong with 4, and what with 48?

# %% sweep-tools
def tiled(size, *sizes):
    """A product of this size in square tiles, the largest first."""
    s = wb.Schedule(wb.workloads.matmul(size, size, size), target)
    cut(s, sizes)
    return s

def missed(s, level="L1"):
    """Misses of each array."""
    return {name: run(s).misses(level, name) for name in "ABC"}

# %% sweep
sizes = (4, 8, 12, 16, 24, 48)
sweep = pd.DataFrame({t: missed(tiled(n, t)) for t in sizes}).T.rename_axis("tiles of")
sweep["all"] = sweep.sum(axis=1)
sweep["three tiles, KiB"] = [f"{3 * t * t * 4 / 1024:.3g}" for t in sizes]
bars = (12 * sweep["all"] / sweep["all"].max()).round().astype(int)
sweep["of the most"] = ["■" * bar + "□" * (12 - bar) for bar in bars]
sweep

# %% sweep-why [markdown]
# - **Too small**: a row of a tile of 4 is a quarter of a line. The rest of the line is fetched, and gone when it is wanted.
# - **Too large**: three tiles of 48 have 27 KiB. As in lab 1, what does not fit does not stay at all: B misses as often as
#   without tiles.
# - **12 and 24** are worse than their neighbour 16: tiles end in the middle of lines, or fit only in part. (Here each row begins
#   at a line. Section 6 has rows that do not.)
#
# Twice the rows and columns of a tile, in whole lines, halve the misses of A and B, as long as it fits. So the best tile is the
# largest one that fits.

# %% levels-text [markdown] tags=["slide"]
# ## 5. Exercise: a second level

# %% levels-show
lab.levels.show()

# %% levels-predict tags=["solution"]
lab.levels.predict(near=n**3 / 256, size=48, both=n**3 / 16 / 48)

# %% levels-predict tags=["stub"]
lab.levels.predict(near=None, size=None, both=None)

# %% levels-do tags=["solution"]
s = lab.levels.reset().schedule
for loop in "ijk":
    s.split(loop, [None, 3, 16])
s.reorder("i.0", "j.0", "k.0", "i.1", "j.1", "k.1", "i.2", "k.2", "j.2")

print(s.nest())

# %% levels-do tags=["stub"]
s = lab.levels.reset().schedule
# your steps

print(s.nest())

# %% levels-check
lab.levels.check()

# %% levels-view-text [markdown]
# A table of the steps so far, for your size, in KiB: what the core loads of A and B, and what each cache fetches of all three.
# Which step helps which column? Which column is none of them for, so that labs 3 and 4 have something left to do? In the last
# column you find the "more than sixteen times" from the beginning: compare the first row with the last one.

# %% levels-view
def counted(s):
    """Traffic of a nest: loads of the core, and lines that the two caches fetch, in KiB."""
    loads = sum(labs.count(s.func, target.lanes("float32")).loaded.values())
    view = run(s)
    into = {f"into {c}": view.misses(c) * 64 // 1024 for c in ("L1", "L2")}
    return {"A and B loaded": loads // 1024, **into}

untiled = wb.Schedule(wb.workloads.matmul(n, n, n), target)
untiled.reorder("i", "k", "j")
table = {"i k j": untiled, "tiles of 16": tiled(n, 16), "tiles of 48": tiled(n, 48)}
table["48 and 16"] = tiled(n, 48, 16)
pd.DataFrame({name: counted(s) for name, s in table.items()}).T

# %% edges-text [markdown] tags=["slide"]
# ## 6. Exercise: edges

# %% edges-show
lab.edges.show()

# %% edges-predict tags=["solution"]
prime = lab.edges.setting["n"]
whole = -(-prime // 16) * 16
best = {101: 17, 107: 18, 113: 19}[prime]
lab.edges.predict(tiles=whole // 16, idle=f"{100 - 100 * (prime / whole) ** 3} %", best=best)

# %% edges-predict tags=["stub"]
prime = lab.edges.setting["n"]
lab.edges.predict(tiles=None, idle=None, best=None)

# %% edges-do tags=["solution"]
s = lab.edges.reset().schedule
for loop in "ijk":
    s.split(loop, [None, best], tail="guard")
s.reorder("i.0", "j.0", "k.0", "i.1", "k.1", "j.1")

print(s.nest())

# %% edges-do tags=["stub"]
s = lab.edges.reset().schedule
# your steps

print(s.nest())

# %% edges-check
lab.edges.check()

# %% edges-view-text [markdown]
# The condition is in the line `when`. What does it cost? Below is the other way for one loop, `peel`: no run is idle, and the
# code is there twice.

# %% edges-view
for tail in ("guard", "peel"):
    one = wb.Schedule(wb.workloads.matmul(prime, prime, prime), target)
    one.reorder("i", "k", "j")
    one.split("i", [None, 16], tail=tail)
    m = one.measure()
    print(f"tail='{tail}':", f"{m.ms:.3g} ms" if m.clean else f"at least {m.at_least_ms:.3g} ms")
    print(one.nest())

# %% edges-why-text [markdown]
# Section 4 has said: whole lines. How many accesses miss L1 here, with a guard, for each size of a tile? Most rows begin in the
# middle of a line here, so tiles of 16 cut lines as well, and fewer and larger tiles may miss less.

# %% edges-why
def guarded(size):
    """The product of this exercise in tiles of one size, with a guard."""
    one = wb.Schedule(wb.workloads.matmul(prime, prime, prime), target)
    for loop in "ijk":
        one.split(loop, [None, size], tail="guard")
    return one.reorder("i.0", "j.0", "k.0", "i.1", "k.1", "j.1")

pd.DataFrame({size: missed(guarded(size)) for size in range(16, 21)}).T.rename_axis("tiles of")

# %% repair-text [markdown] tags=["slide"]
# ## 7. Exercise: repair

# %% repair-show
lab.repair.show()

# %% repair-nest
print(lab.repair.reset().schedule)

# %% repair-predict tags=["solution"]
lab.repair.predict(piece=f"{n * 16 * 4} B", misses=n**3 / 16, steps=32)

# %% repair-predict tags=["stub"]
lab.repair.predict(piece=None, misses=None, steps=None)

# %% repair-do tags=["solution"]
s = lab.repair.reset().schedule
s.split("k", [None, 16])
s.reorder("i.0", "j.0", "k.0", "i.1", "k.1", "j.1")

print(s.nest())

# %% repair-do tags=["stub"]
s = lab.repair.reset().schedule
# your steps; s.undo(n) takes back the last n

print(s)

# %% repair-check
lab.repair.check()

# %% repair-view-text [markdown]
# Before and after, on L1. Where does the tile of B stay now?

# %% repair-view
broken = wb.Schedule(wb.workloads.matmul(n, n, n), target)
broken.split("i", [None, 16])
broken.split("j", [None, 16])
broken.reorder("i.0", "j.0", "i.1", "k", "j.1")
wb.CacheView(broken, s, levels=L1, names=["as it was", "yours"])

# %% clock-text [markdown] tags=["slide"]
# ## 8. On this machine
#
# Now a product of 960 by 960, on the real core. Tiles are of 96: three of them have 108 KiB, for a real L2. Each nest once with
# one number at a time, and once with vectors: `vectorize` lets one instruction work on several numbers (lab 3 is about them).
# Where do tiles pay?

# %% clock-tools
def measured(s):
    """A nest on this machine: misses on simulated caches of its sizes, and its time."""
    view, m = analysis.cache_view(s), s.measure()
    speed = f"{m.gflops:.3g}" if m.clean else f"≤ {2 * 960**3 / m.at_least_ms / 1e6:.3g}"
    near = [c.name for c in view.levels[:2]]
    misses = {f"{c} misses, million": round(view.misses(c) / 1e6, 1) for c in near}
    return {**misses, "GFLOP/s": speed}

def nests(vectors):
    """The product by rows and in tiles."""
    rows = wb.Schedule(wb.workloads.matmul(960, 960, 960), target)
    rows.reorder("i", "k", "j")
    tiles = tiled(960, 96)
    if vectors:
        rows.vectorize("j")
        tiles.vectorize("j.1")
    return {"rows": rows, "tiles": tiles}

# %% clock
both = {f"{name}, one by one": s for name, s in nests(False).items()}
both |= {f"{name}, vectors": s for name, s in nests(True).items()}
pd.DataFrame({name: measured(s) for name, s in both.items()}).T

# %% clock-why [markdown]
# Compare the two nests one by one, then the two with vectors. One number at a time, a core is so slow that lines come in time
# whatever the nest: the processor sees rows being read and fetches ahead. Tiles save misses then, and little or no time. With
# vectors the arithmetic wants its numbers many times as fast, and a nest without tiles waits for memory.
#
# So both are needed: tiles, and fast arithmetic inside of them. Labs 3 and 4 are about the inside.

# %% fewest-text [markdown] tags=["slide"]
# ## 9. Exercise: as little waiting as you can

# %% fewest-show
lab.fewest.show()

# %% fewest-predict tags=["solution"]
lab.fewest.predict(least=3 * 240**2 / 16, halved="A")

# %% fewest-predict tags=["stub"]
lab.fewest.predict(least=None, halved=None)

# %% fewest-do-text [markdown]
# The loops of your nest may be cut into three parts or into two, each with its own numbers.

# %% fewest-do tags=["solution"]
s = lab.fewest.reset().schedule
s.split("i", [None, 4, 20])
s.split("j", [None, 3, 16])
s.split("k", [None, 16])
s.reorder("i.0", "j.0", "k.0", "i.1", "j.1", "k.1", "i.2", "j.2")

print(f"{waiting(s):.3g} cycles for each multiply-add")
run(s).frame("buffer")[["buffer", "level", "accesses", "misses"]]

# %% fewest-do tags=["stub"]
s = lab.fewest.reset().schedule
# your steps

print(f"{waiting(s):.3g} cycles for each multiply-add")
run(s).frame("buffer")[["buffer", "level", "accesses", "misses"]]

# %% fewest-check
lab.fewest.check()

# %% remember [markdown] tags=["slide"]
# ## What to remember
#
# 1. A **tile** is a piece of the work whose data stay in a cache. It changes the order of the iterations, not what they do.
# 2. T rows of C that share a line of B fetch it once instead of T times: misses fall by T, **as long as all tiles fit**.
# 3. The best tile is the largest that fits, in whole lines where rows begin at lines. Too large is as bad as no tile.
# 4. Each cache has its own tile; the larger ones are outside. What has to fit is all that is touched between two uses.
# 5. A tile that does not divide leaves idle runs (`guard`) or more code (`peel`). Prefer one that leaves little.
# 6. Tiles make a program faster where it waits for memory, and not before.
#
# ## Five questions
#
# 1. B has 1 MiB, as 512 by 512 numbers. How much of it does a core load for the nest as written, and why?
# 2. A cache has 48 KiB. What is the largest square tile of float32, a multiple of 16, of which three fit? And of float64?
# 3. Tiles of 32 are replaced by tiles of 64, and three of them still fit. How do the misses of B change, and why?
# 4. Somebody cuts i and j, and leaves k whole in the innermost loops. For which sizes is this as good as cutting all three?
# 5. A loop of 100 is cut by 16 with a guard. What share of its runs is idle? Name a tile that leaves none.

# %% answers [markdown] tags=["instructor"]
# **Answers.** 1: 512 MiB; the innermost line runs 512 * 512 * 512 times, and each run loads 4 bytes of B. 2: three tiles of T
# by T have 12 T² bytes, so T is at most 64; with float64, 24 T² bytes, at most 45, so 32. 3: they halve, because each line is
# shared by twice as many rows of C. 4: where the columns of B that belong to a tile, from the first k to the last, fit beside
# the rest: for a small k. 5: 12 of 112 runs, 11 %; 10, 20, 25 or 50.

# %% report
lab.report()
