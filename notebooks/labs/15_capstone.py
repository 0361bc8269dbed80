# %% title [markdown] tags=["slide"]
# # Lab 15: Capstone. Beat the tuner on one layer
#
# The tuner has tried 64 schedules of a layer of SqueezeNet, measured each, and kept the best one. You have no trials: you count.
# Can you find a schedule that is as good, or better? And how do you show that it is, if a time differs from day to day?
#
# You need labs 1 to 5 and 7. Afterwards you can schedule a layer of a real network from its numbers, compare two schedules by
# what is counted, and report the result so that somebody else can check it.

# %% teacher [markdown] tags=["instructor"]
# **For the lecturer.** 90 to 180 minutes, or a project of a week: 10 for the layer, 15 for the tuner's schedule, 15 for the
# repair, 25 for the tile, 40 and more for the schedule, the rest for the report.
#
# The tuner is off in this lab; its schedules are recorded, two for each length of vectors, and are replayed for the student's
# target. Everything that is graded is counted, simulated or computed, so your machine finds the same score as the student's.
# Times are shown only, and may well disagree with the score: that is worth a discussion.
#
# Misconceptions: "the tuner's is the best there is" (it is the best of those that it tried), "fewer misses are less time" (not
# if the arithmetic is what takes the time), "a larger tile is always better" (not if its sums do not fit).

# %% machine
import pandas as pd

import workbench as wb
from workbench import labs
from workbench.labs.catalog.capstone.layer import card, layer, tuned

target = wb.Target.host(threads=2)
lab = labs.open("capstone", target)
c = lab.layer.setting["c"]
cards = {}
print(f"your layer has {c} input channels; {target.vector_registers} registers of {target.lanes('float32')} numbers")

# %% layer-text [markdown] tags=["slide"]
# ## 1. Exercise: the layer
#
# SqueezeNet consists of *fire* modules: a 1 x 1 convolution squeezes the channels, two more expand them again. Yours is the
# squeezing one of module 8 or 9, in the network that the `onnx` package carries. Here is where its numbers come from:

# %% network
graph = labs.example_model("light_squeezenet", target=target)
lines = str(graph).splitlines()
for number in (8, 9):
    k = next(k for k, line in enumerate(lines) if f"fire{number}/squeeze1x1_w" in line)
    print("\n".join(lines[k - 1 : k + 2]), "\n")

# %% layer-nest
print(wb.Schedule(layer(c), target).nest())

# %% layer-show
lab.layer.show()

# %% layer-predict tags=["solution"]
lab.layer.predict(adds=169 * c * 64, weights=f"{c * 64 * 4} B", uses=169)

# %% layer-predict tags=["stub"]
lab.layer.predict(adds=None, weights=None, uses=None)

# %% layer-check
lab.layer.check()

# %% tuner-text [markdown] tags=["slide"]
# ## 2. Exercise: what the tuner did
#
# `h.0`, `h.1`, `h.2` are pieces of the loop `h`; loops of one iteration are left over from the tuner's pattern. `packed` says
# that the weights are stored in another order, done once, before the network runs.

# %% tuner-nest
tuner = tuned(c, target)
print(tuner.nest())

# %% tuner-show
lab.tuner.show()

# %% tuner-predict tags=["solution"]
lanes = target.lanes("float32")
sums = labs.count(tuner.func, lanes, "conv").accumulators
iterations = labs.shared_lines(tuner.func)["conv"].iterations
lab.tuner.predict(accumulators=sums, loaded=f"{13 * c * 64 * 4} B", rounds=-(-iterations // 2))

# %% tuner-predict tags=["stub"]
lab.tuner.predict(accumulators=None, loaded=None, rounds=None)

# %% tuner-check
lab.tuner.check()

# %% repair-text [markdown] tags=["slide"]
# ## 3. Exercise: repair
#
# Why not a larger tile than the tuner's?

# %% repair-show
lab.repair.show()

# %% repair-nest
s = lab.repair.reset().schedule
print(s.nest())

# %% repair-predict tags=["solution"]
wide = max(v for v in (1, 2, 4) if 13 * v <= target.vector_registers - 2) * lanes
lab.repair.predict(wanted=13 * 64 // lanes, most=wide, spilled="stored and loaded again")

# %% repair-predict tags=["stub"]
lab.repair.predict(wanted=None, most=None, spilled=None)

# %% repair-do tags=["solution"]
s = lab.repair.reset().schedule
s.undo(len(s.trace))
s.compute_inline("bias_add")
s.split("o", [None, wide])
s.reorder("h", "o.0", "kh", "kw", "c", "w", "o.1")
s.unroll("w")
s.vectorize("o.1")

wb.Workbench(s)

# %% repair-do tags=["stub"]
s = lab.repair.reset().schedule
# your steps: s.undo(n) takes back the last n

wb.Workbench(s)

# %% repair-check
lab.repair.check()

# %% repair-help [markdown]
# Stuck? `lab.repair.hint()` gives one hint after the other; `lab.repair.solution()` shows a solution (and its points are gone).
# The widget shows the nest and the effect of each step; press `C` for the machine code of the selected loop.

# %% tile-text [markdown] tags=["slide"]
# ## 4. Exercise: a tuner in ten lines

# %% tile-show
lab.tile.show()

# %% tile-predict tags=["solution"]
lab.tile.predict(per_load=24 / 10, better="4 x 6")

# %% tile-predict tags=["stub"]
lab.tile.predict(per_load=None, better=None)

# %% tile-do tags=["solution"]
def best_tile(width, channels, lanes, registers):
    """The tile (pixels, vectors) with the most multiply-adds per load."""
    tiles = [
        (p, v)
        for p in range(1, width + 1)
        for v in range(1, channels // lanes + 1)
        if width % p == 0 and channels % (v * lanes) == 0 and p * v <= registers - 2
    ]
    return max(tiles, key=lambda tile: tile[0] * tile[1] / sum(tile))

best_tile(13, 64, target.lanes("float32"), target.vector_registers)

# %% tile-do tags=["stub"]
def best_tile(width, channels, lanes, registers):
    """The tile (pixels, vectors) with the most multiply-adds per load."""
    raise NotImplementedError

# %% tile-check
lab.tile.check()

# %% hand-text [markdown] tags=["slide"]
# ## 5. Exercise: by hand, against the tuner

# %% hand-show
lab.hand.show()

# %% hand-predict tags=["solution"]
lab.hand.predict(lines=c * 64 * 4 // 64, fetched=13 * c * 64 * 4 // 64, share=f"{100 * 13 / 14:.1f} %")

# %% hand-predict tags=["stub"]
lab.hand.predict(lines=None, fetched=None, share=None)

# %% card-text [markdown]
# `card(schedule)` counts what is compared. This is the layer as written; a schedule that does nothing has a score, too:

# %% card
cards["as written"] = card(wb.Schedule(layer(c), target))
pd.DataFrame(cards)

# %% hand-do tags=["solution"]
s = lab.hand.reset().schedule
s.compute_inline("bias_add")
s.split("o", [None, wide])
s.split("c", [None, 64])
s.reorder("h", "c.0", "o.0", "kh", "kw", "c.1", "w", "o.1")
s.unroll("w")
s.vectorize("o.1")
s.reverse_compute_at("relu", "h")
s.split("relu_o", [None, lanes])
s.vectorize("relu_o.1")
s.parallel("n", "h")

pd.DataFrame({"by hand": card(s)})

# %% hand-do tags=["stub"]
s = lab.hand.reset().schedule
# your steps; begin with the tile of section 3

pd.DataFrame({"by hand": card(s)})

# %% hand-check
lab.hand.check()

# %% compare-text [markdown] tags=["slide"]
# ## 6. The report
#
# First the numbers. Times are shown, and marked ≥ where another program had a core in the meantime; run the cell a few times, and
# see which digits stay. The tuner chose by the clock, the score does not: where the two disagree, your report says so.

# %% compare
def time(schedule):
    for _ in range(5):
        m = schedule.measure()
        if m.clean:
            break
    return f"{m.ms:.3g}" if m.clean else f"≥ {m.at_least_ms:.3g}"

cards["tuner"] = {**card(tuner), "ms": time(tuner)}
cards["by hand"] = {**card(s), "ms": time(s)}
pd.DataFrame(cards).fillna("–")

# %% misses-text [markdown]
# Where do the misses come from? The same for each array, as the simulated cache of 32 KiB counts them. What would have to
# change so that a line of W is fetched less often than once for each row of pixels, and what would that cost?

# %% misses
from workbench.labs.catalog.capstone.layer import CACHE, run

views = {"tuner": run(tuner), "by hand": run(s)}
pd.DataFrame({who: {name: v.misses(CACHE.name, name) for name in ("X", "W", "bias", "relu")} for who, v in views.items()})

# %% write [markdown]
# Now write your report, one page, in a cell below this one:
#
# 1. **Claim.** One sentence: what is better than the tuner's, by how much, in which number.
# 2. **Schedule.** The tile, the order of the loops around it, what is parallel; for each, the number that decided it.
# 3. **Evidence.** The table above, and one prediction of yours that was wrong at first, with the reason.
# 4. **Limits.** Where score and time disagree, or would on another machine; what you would try with one more hour.
#
# Report (write here):

# %% rubric [markdown] tags=["instructor"]
# **Rubric, 12 points beside those of the exercises.** For each of the four parts:
#
# - 3: numbers from the tables with their units, a reason for each, nothing that is claimed without one.
# - 2: numbers are right, a reason is missing.
# - 1: a description of steps without numbers.
# - 0: missing, or in conflict with the tables.
#
# *Claim*: a claim about speed from one run of a cell gets at most 1. *Schedule*: expect 13 pixels (a prime number), the vectors
# that fit the registers, rows outside, channels cut or a reason why not. *Evidence*: the wrong prediction is asked for because
# it shows more than a right one. *Limits*: W is fetched once for each row; two rows of pixels in one iteration would fetch it
# half as often, and sums of both rows would wait in memory. The model leaves prefetching out, the simulated cache is of one
# core and of 32 KiB, the time of a layer of a few microseconds per row includes starting threads.
#
# Schedules that were handed in can be compared: the score is deterministic for a target, and variants have tuner's schedules of
# their own. It may well happen that a schedule with a higher score takes longer: the tuner's 26 iterations, for example, fill two
# threads better than 13 rows do. A report that finds this and says why is better than one that hides it.

# %% remember [markdown] tags=["slide"]
# ## What to remember
#
# 1. Start from the **numbers of the layer**: multiply-adds, bytes, how often each number is used.
# 2. First the **tile in registers**: the most multiply-adds per load that fits.
# 3. Then the **order around it**: what is read again should still be in the cache.
# 4. Then **threads**: count rounds, and let each write its own lines.
# 5. A tuner finds the best of what it **tries**. Counts say **why** it is good, and what is left over.
#
# ## Five questions
#
# 1. The image has 14 x 14 pixels instead of 13 x 13. Which tiles become possible with 32 registers of 16 numbers?
# 2. Why does packing W not change how many of its bytes the core loads?
# 3. When does it pay to let a thread have output channels instead of rows?
# 4. A schedule has half the misses, but the same time. Name two possible reasons.
# 5. The tuner had 64 trials. What would you give it, so that it finds your schedule with 64 more?

# %% answers [markdown] tags=["instructor"]
# **Answers.** 1: with 64 channels and 30 registers for sums: 14 x 2 (1.75 multiply-adds per load), 7 x 4 (2.55), 2 x 4, and
# smaller ones; 7 x 4 is the best. 2: the same numbers are loaded as often; packing changes which of them are neighbours, so
# lines and pages. 3: when weights are larger than the image: then each thread keeps its part of W. 4: the arithmetic takes the
# time; what is missing is fetched ahead; threads wait for each other; the time is disturbed. 5: your schedule as a seed, or a
# template that has the cut of the channels between rows and tiles.

# %% report
lab.report()
