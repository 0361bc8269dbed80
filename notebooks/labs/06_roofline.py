# %% title [markdown] tags=["slide"]
# # Lab 6: The roofline
#
# How fast *can* this kernel be? Two numbers of the machine and two of the kernel answer that before anything is written: what the
# arithmetic gives, what memory gives, how many operations there are, how many bytes. You read kernels in this way, move three of
# them, and see on a drawing where they went.
#
# You need labs 1 to 3. Afterwards you can say what bounds a kernel, and which steps are a waste of time.

# %% teacher [markdown] tags=["instructor"]
# **For the lecturer.** 60 to 90 minutes: 25 for sections 1 to 3 (no code), 15 for fusion, 20 for tiles, 10 for the repair.
#
# Misconceptions: writes are forgotten; a multiply-add is counted as one operation; elements are taken for bytes; "more
# operations, so slower" (left of the ridge operations are free). The exercises think of a core with round numbers, and of a
# simulated cache of 64 KiB, so that all students get the same answers; section 7 is about the machine at hand.

# %% machine
import pandas as pd

import workbench as wb
from workbench import analysis, labs
from workbench.analysis.figures.two_roofs import two_roofs
from workbench.labs.catalog.roofline.moving import CACHE, chain, fetched

target = wb.Target.host(threads=1)
lab = labs.open("roofline", target)
n = lab.tile.setting["n"]
print(f"simulated: {CACHE}; one core of {target.cpu}")

# %% intensity-text [markdown] tags=["slide"]
# ## 1. Exercise: operations per byte

# %% intensity-show
lab.intensity.show()

# %% intensity-predict tags=["solution"]
lab.intensity.predict(vectors=2 / 12, matrices=lab.intensity.setting["n"] / 6)

# %% intensity-predict tags=["stub"]
lab.intensity.predict(vectors=None, matrices=None)

# %% intensity-check
lab.intensity.check()

# %% intensity-help [markdown]
# Stuck? `lab.intensity.hint()` gives one hint after the other.

# %% ridge-text [markdown] tags=["slide"]
# ## 2. Exercise: two roofs

# %% ridge-show
lab.ridge.show()

# %% ridge-predict tags=["solution"]
core = lab.ridge.setting
lab.ridge.predict(ridge=core["peak"] / core["memory"], low=core["memory"] / 4, high=core["peak"])

# %% ridge-predict tags=["stub"]
lab.ridge.predict(ridge=None, low=None, high=None)

# %% ridge-check
lab.ridge.check()

# %% roofs-text [markdown]
# This is the drawing that gave the *roofline* its name: the roof of memory rises with the intensity, the roof of arithmetic is
# flat. Both kernels of section 1 stand at the most that they can reach on this core. Which of them would gain from a memory that
# is twice as fast?

# %% roofs-drawing
core, n1 = lab.ridge.setting, lab.intensity.setting["n"]
two_roofs(core["peak"], core["memory"], {"C = 2 A + B": 2 / 12, "matrix product": n1 / 6})

# %% bound-text [markdown] tags=["slide"]
# ## 3. Exercise: what bounds which kernel

# %% bound-show
lab.bound.show()

# %% bound-predict tags=["solution"]
lab.bound.predict(matvec="memory", convolution="arithmetic", relu="memory")

# %% bound-predict tags=["stub"]
lab.bound.predict(matvec=None, convolution=None, relu=None)

# %% bound-check
lab.bound.check()

# %% bound-text-after [markdown]
# A number for each: operations for one element, over the bytes that it moves. A pixel of the convolution needs 64 inputs and
# makes 64 results of 4 bytes, with 2 * 9 * 64 operations for each result. (Weights are the same for all pixels.)

# %% bound-drawing
kernels = {"matrix times vector": 2 / 4, "ReLU": 1 / 8}
kernels["convolution"] = 2 * 9 * 64 * 64 / (2 * 64 * 4)
two_roofs(core["peak"], core["memory"], kernels)

# %% fuse-text [markdown] tags=["slide"]
# ## 4. Exercise: fewer passes
#
# Left of the ridge a kernel becomes faster by moving to the right: the same operations, fewer bytes. A simulated cache counts
# what a nest fetches. Every access of every iteration goes through it; nothing is measured.

# %% fuse-show
lab.fuse.show()

# %% fuse-nest
print(lab.fuse.reset().schedule.nest())

# %% fuse-predict tags=["solution"]
lab.fuse.predict(written=7, least=2, factor=3.5)

# %% fuse-predict tags=["stub"]
lab.fuse.predict(written=None, least=None, factor=None)

# %% fuse-do tags=["solution"]
s = lab.fuse.reset().schedule
s.compute_inline("square")
s.compute_inline("total")
print(s.nest())

# %% fuse-do tags=["stub"]
s = lab.fuse.reset().schedule
# your steps

print(s.nest())

# %% fuse-check
lab.fuse.check()

# %% view-text [markdown]
# Which access fetched what? The first nest is as written, the second one is yours, both of the same size. Compare the misses in
# all: is it your factor?

# %% view
analysis.cache_view(wb.Schedule(chain(lab.fuse.setting["n"]), target), levels=CACHE)

# %% view-yours
analysis.cache_view(s, levels=CACHE)

# %% tile-text [markdown] tags=["slide"]
# ## 5. Exercise: tiles and intensity

# %% tile-show
lab.tile.show()

# %% tile-predict tags=["solution"]
lab.tile.predict(of32=8, least=40, most=73)

# %% tile-predict tags=["stub"]
lab.tile.predict(of32=None, least=None, most=None)

# %% tile-do tags=["solution"]
s = lab.tile.reset().schedule
for loop in ("i", "j", "k"):
    s.split(loop, [None, 48])
s.reorder("i.0", "j.0", "k.0", "i.1", "k.1", "j.1")
print(s.nest())

# %% tile-do tags=["stub"]
s = lab.tile.reset().schedule
# your steps

print(s.nest())

# %% tile-check
lab.tile.check()

# %% tiles-text [markdown]
# All tile sizes that divide: the formula of the exercise beside what the simulated cache fetches, and how often it fetches each
# matrix as a whole. Where do formula and count part, and why?

# %% tiles
rows = []
for size in [t for t in range(8, n + 1) if n % t == 0]:
    s = wb.Schedule(wb.workloads.matmul(n, n, n), target)
    for loop in ("i", "j", "k"):
        s.split(loop, [None, size])
    s.reorder("i.0", "j.0", "k.0", "i.1", "k.1", "j.1")
    misses = analysis.cache_view(s, levels=CACHE).frame().groupby("access")["misses"].sum()
    times = [64 * lines / (4 * n * n) for lines in misses]
    rows.append((size, 3 * size * size * 4 / 1024, size / 4, 2 * n**3 / fetched(s), *times))
names = ["T", "three tiles, KiB", "T / 4", "FLOP per byte fetched", "A fetched, times", "B", "C"]
pd.DataFrame(rows, columns=names).set_index("T").round(2)

# %% tiles-why [markdown]
# Three reasons. **Small tiles** do better than the formula: a strip of A is still there for the next tile of B, so A comes only
# once. **Tiles that are no multiple of 16** fetch lines of which they use a part. **Large tiles**: three of them fitting is safe,
# but in this order of the loops only a tile of B has to stay, with a row of A and of C. So the best tile of the table is larger
# than 73. Where a tile of B leaves no room for these rows, its lines are gone before they are used again. A formula says where
# to look; counting says what is there.

# %% repair-text [markdown] tags=["slide"]
# ## 6. Exercise: repair

# %% repair-show
lab.repair.show()

# %% repair-nest
s = lab.repair.reset().schedule
print(s)

# %% repair-predict tags=["solution"]
lab.repair.predict(times=16, intensity=1 / 64)

# %% repair-predict tags=["stub"]
lab.repair.predict(times=None, intensity=None)

# %% repair-do tags=["solution"]
s = lab.repair.reset().schedule
s.undo(len(s.trace))
s.reorder("k", "i")
print(s.nest())

# %% repair-do tags=["stub"]
s = lab.repair.reset().schedule
# your steps: s.undo(n) takes back the last n

print(s)

# %% repair-check
lab.repair.check()

# %% here-text [markdown] tags=["slide"]
# ## 7. This machine
#
# The roofs of the machine at hand are measured: arithmetic on registers, and by reading much what each level gives that is large
# enough to be told from its neighbours. Then four schedules of a product, under these roofs as the workbench estimates them (≈):
# v0 as written, v1 in another order, v2 in this order with vectors, v3 in tiles of registers. Here the bytes are those that go
# **into L1**, not those from memory. Where is each of them? What would help v1?

# %% roofs
from workbench.analysis.figures.roofline import working_sets
from workbench.runtime.machine.measured_roofline import roofs

print(f"arithmetic: {target.peak_gflops():.0f} GFLOP/s")
for level, size in working_sets(target).items():
    print(f"{level}: {roofs(target, 1, size).gbytes:.0f} GB/s")

# %% here
def product(step):
    """The product as written, in another order, this with vectors, and in tiles of registers."""
    s = wb.Schedule(wb.workloads.matmul(512, 512, 512), target)
    if step in (1, 2):
        s.reorder("i", "k", "j")
    if step == 2:
        s.vectorize("j")
    if step == 3:
        s.split("i", [None, target.vector_registers // 4])
        s.split("j", [None, 2 * target.lanes("float32")])
        s.reorder("i.0", "j.0", "k", "i.1", "j.1").unroll("i.1").vectorize("j.1")
    return s

analysis.roofline_figure([product(step) for step in range(4)], target)

# %% here-why [markdown]
# v1 is well below the roofs, and left of the ridge. Fewer bytes would help little: it works on one number at a time, and so it
# reaches neither roof. v2 moves **up** with the same bytes. v3 needs fewer bytes for each operation and moves to the right, where
# the roof is higher. A point above a sloping roof is no error: its bytes come from a nearer level than the one of this roof.

# %% remember [markdown] tags=["slide"]
# ## What to remember
#
# 1. **Intensity** is operations over bytes; count every read and every write, in bytes.
# 2. Speed is at most the smaller of *arithmetic* and *intensity times memory*. They meet at the **ridge**.
# 3. Left of the ridge: fewer bytes (fuse, tile, whole lines). Right of it: vectors, registers, threads.
# 4. A tile of T has about T / 4 operations per byte, as long as what is used again fits: three tiles are safe.
# 5. A step that helps the other roof changes nothing. Ask which roof before you choose a step.
#
# ## Five questions
#
# 1. A kernel adds 1 to every float32 of an array. How many operations per byte?
# 2. Memory becomes twice as fast. What happens to the ridge, and to the kernels on both sides?
# 3. int8 instead of float32: what happens to the intensity of a product?
# 4. Why has a convolution with one input channel (depthwise) a low intensity?
# 5. A kernel reaches a tenth of the arithmetic's roof at 0.5 FLOP/B, with 100 GFLOP/s and 20 GB/s. Is it slow?

# %% answers [markdown] tags=["instructor"]
# **Answers.** 1: an eighth. 2: it moves left, to half the intensity; kernels left of it become twice as fast, those right of it
# stay. 3: four times as large, because numbers have one byte; the arithmetic's roof rises as well. 4: each input goes into nine
# products only, not into nine times the number of output channels. 5: no: memory gives 10 GFLOP/s there, which is what it
# reaches.

# %% report
lab.report()
