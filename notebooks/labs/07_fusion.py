# %% title [markdown] tags=["slide"]
# # Lab 7: Where to compute a stage
#
# A blur has two stages: the mean of three neighbours in a row, then the mean of three rows. It does two additions and a
# multiplication per stage, and its speed is decided by **where the first stage is computed**: all of it first, inside the
# second one, or something between. You predict what each place costs (memory kept, work repeated), build it, and see.
#
# You need labs 2 and 3: splitting, reordering, vectors. Afterwards you can place a stage with `compute_inline`, `compute_at`
# and `reverse_compute_at`, and say what it costs before you measure.

# %% teacher [markdown] tags=["instructor"]
# **For the lecturer.** 60 to 90 minutes: 10 for sections 1 and 2, 15 each for strips and tiles, 10 for the repair, 15 for the
# layer, the rest for the questions at the end. Halide's lesson on producers and consumers is a good reading afterwards.
#
# The common misconception is that fusion is free: students say that an inlined value is computed once. Let them turn the
# indices round: who reads `bx[5, x]`? The second one is that a tile of T rows needs T rows of the stage before it.

# %% machine
import pandas as pd

import workbench as wb
from workbench import labs
from workbench.labs.catalog.fusion.blurring import blur

target = wb.Target.host(threads=1)
lab = labs.open("fusion", target)
n = lab.inline.setting["n"]
tried = {}
print(f"your image: {n} x {n}; one core of {target.cpu}, first cache {target.l1_bytes // 1024} KiB")

# %% blur-text [markdown] tags=["slide"]
# ## 1. Two stages
#
# The first nest makes all of `bx`, the second one reads it. This order is called *breadth first*.

# %% blur
s = wb.Schedule(blur(n, n), target)
print(s.nest())

# %% table-text [markdown]
# `labs.stages` counts what a stage costs: how often its statement *runs*, how often it would have to if nothing was computed
# twice (*needed*), and how many bytes of its result are *kept* at a time. The next cell makes a function that puts these counts
# beside a measured time. A time is marked ≥ where something else disturbed it.

# %% table
def add(name, schedule):
    """Count and measure a schedule, and put it into the table."""
    counted = labs.stages(schedule.func)
    bx, m = counted.get("bx"), schedule.measure()
    tried[name] = {
        "bx computed, times": 3.0 if bx is None else round(bx.repeated, 2),  # inlined: once for each of its readers
        "bx kept, KiB": 0 if bx is None else bx.kept / 1024,
        "ms": f"{m.ms:.3g}" if m.clean else f"≥ {m.at_least_ms:.3g}",
    }
    return pd.DataFrame.from_dict(tried, orient="index")

# %% inline-text [markdown] tags=["slide"]
# ## 2. Exercise: everything at once, or nothing kept

# %% inline-show
lab.inline.show()

# %% inline-predict tags=["solution"]
lab.inline.predict(holds=f"{(n + 2) * n * 4} B", read=3, computed=3)

# %% inline-predict tags=["stub"]
lab.inline.predict(holds=None, read=None, computed=None)

# %% inline-do tags=["solution"]
s = lab.inline.reset().schedule
s.compute_inline("bx")
print(s.nest())

# %% inline-do tags=["stub"]
s = lab.inline.reset().schedule
# your step

print(s.nest())

# %% inline-check
lab.inline.check()

# %% inline-help [markdown]
# Stuck? `lab.inline.hint()` gives one hint after the other; `lab.inline.solution()` shows a solution (and its points are gone).

# %% inline-compare
add("all of bx first", wb.Schedule(blur(n, n), target))
add("inlined", wb.Schedule(blur(n, n), target).compute_inline("bx"))

# %% inline-why [markdown]
# Three times the additions of `bx`, and is it slower? What does the inlined nest not do at all any more?

# %% row-text [markdown] tags=["slide"]
# ## 3. Exercise: what one row needs
#
# `compute_at` is between the two: the stage stays a stage, but inside a loop of its reader.

# %% row-show
lab.row.show()

# %% row-predict tags=["solution"]
lab.row.predict(kept=f"{3 * n * 4} B", repeated=3)

# %% row-predict tags=["stub"]
lab.row.predict(kept=None, repeated=None)

# %% row-do tags=["solution"]
s = lab.row.reset().schedule
s.compute_at("bx", "by_y")
print(s.nest())

# %% row-do tags=["stub"]
s = lab.row.reset().schedule
# your step

print(s.nest())

# %% row-check
lab.row.check()

# %% row-code-text [markdown]
# The text still says `temp bx` with all its rows: a temporary keeps its shape while you schedule, and shrinks when code is
# generated. This is what the compiler gets:

# %% row-code
from workbench.ir.compact_temporaries import compact

row = wb.Schedule(blur(n, n), target)
row.compute_at("bx", "by_y")
print(compact(row.func))
add("per row", row)

# %% strip-text [markdown] tags=["slide"]
# ## 4. Exercise: strips
#
# A row pays three times because it is so thin.

# %% strip-show
lab.strip.show()

# %% strip-predict tags=["solution"]
lab.strip.predict(kept=f"{6 * n * 4} B", repeated=1.5)

# %% strip-predict tags=["stub"]
lab.strip.predict(kept=None, repeated=None)

# %% strip-do tags=["solution"]
s = lab.strip.reset().schedule
outer, _ = s.split("by_y", [None, 8])
s.compute_at("bx", outer)
print(s.nest())

# %% strip-do tags=["stub"]
s = lab.strip.reset().schedule
# your steps

print(s.nest())

# %% strip-check
lab.strip.check()

# %% heights-text [markdown]
# All heights in one table. Where is *kept* larger than the first cache, and does the time care? (The nest is not vectorised yet,
# so additions may hide what memory costs.)
#
# *Inlined* and *per row* repeat the same additions, and one of them is much faster. In the other, each repeated element is
# stored, loaded again, and takes a step of a loop of its own: about twice the instructions for a pixel.

# %% heights
def strips(rows, vectors=False, n=n):
    """The blur in strips, with bx computed for each; all rows are one strip: everything first."""
    s = wb.Schedule(blur(n, n), target)
    if rows < n:
        outer, _ = s.split("by_y", [None, rows])
        s.compute_at("bx", outer)
    if vectors:
        for loop in ("bx_x" if rows < n else "x", "by_x"):
            _, inner = s.split(loop, [None, target.lanes("float32")])
            s.vectorize(inner)
    return s

for rows in (2, 4, 8, 16, 32):
    add(f"strips of {rows}", strips(rows))

add("strips of 8, vectors", strips(8, vectors=True))

# %% asm-text [markdown]
# What did the vectors change in the machine's code? Every line of it knows its loop; these are the lines of the innermost loop
# of `by`. In the widget, press `C` and select a loop: its lines light up.

# %% asm
from workbench import analysis

def code(schedule, loop):
    """The machine code of a loop."""
    lines = analysis.listing(schedule, "asm", target)
    found = lines.of(loop)
    return "\n".join(line.text for line in lines.lines[found[0]:found[-1] + 1])

print("one number at a time:", code(strips(8), "by_x"), "", sep="\n")
print("a vector at a time:", code(strips(8, vectors=True), "by_x.0"), sep="\n")

# %% large-text [markdown]
# With vectors the arithmetic is cheap, and memory decides. An image that no near cache holds, 2048 by 2048: how much are strips
# worth now? Say a number before you run the cell.

# %% large
tried.clear()
for rows in (2048, 256, 32, 8, 2):
    made = add("all of bx first" if rows == 2048 else f"strips of {rows}", strips(rows, vectors=True, n=2048))
made

# %% tile-text [markdown] tags=["slide"]
# ## 5. Exercise: a wide image

# %% tile-show
lab.tile.show()

# %% tile-predict tags=["solution"]
lab.tile.predict(columns=32 * 1024 // 4 // 34, beyond=0)

# %% tile-predict tags=["stub"]
lab.tile.predict(columns=None, beyond=None)

# %% tile-do tags=["solution"]
s = lab.tile.reset().schedule
y0, y1 = s.split("by_y", [None, 32])
x0, x1 = s.split("by_x", [None, 128])
s.reorder(y0, x0, y1, x1)
s.compute_at("bx", x0)
s.vectorize("bx_x")
s.vectorize(x1)

wb.Workbench(s)

# %% tile-do tags=["stub"]
s = lab.tile.reset().schedule
# your steps

wb.Workbench(s)

# %% tile-check
lab.tile.check()

# %% repair-text [markdown] tags=["slide"]
# ## 6. Exercise: repair

# %% repair-show
lab.repair.show()

# %% repair-nest
s = lab.repair.reset().schedule
print(s)

# %% repair-predict tags=["solution"]
lab.repair.predict(repeated=3)

# %% repair-predict tags=["stub"]
lab.repair.predict(repeated=None)

# %% repair-do tags=["solution"]
s = lab.repair.reset().schedule
s.undo(len(s.trace))
y0, _ = s.split("by_y", [None, 8])
s.compute_at("bx", y0)
for loop in ("bx_x", "by_x"):
    _, inner = s.split(loop, [None, target.lanes("float32")])
    s.vectorize(inner)

print(s.nest())

# %% repair-do tags=["stub"]
s = lab.repair.reset().schedule
# your steps: s.undo(n) takes back the last n

print(s)

# %% repair-check
lab.repair.check()

# %% epilogue-text [markdown] tags=["slide"]
# ## 7. Exercise: what may be moved where
#
# Layers of networks end with small stages: a bias, a ReLU. Here the *reader* moves.

# %% epilogue-show
lab.epilogue.show()

# %% epilogue-nest
print(lab.epilogue.reset().schedule.nest())

# %% epilogue-predict tags=["solution"]
lab.epilogue.predict(inlined="bias_add", moved="no")

# %% epilogue-predict tags=["stub"]
lab.epilogue.predict(inlined=None, moved=None)

# %% refusal-text [markdown]
# Now try what you were asked about. A step that could change the result is refused, with the reason and what to do instead:

# %% refusal
for attempt in (
    lambda: wb.Schedule(blur(n, n), target).reverse_compute_at("by", "y"),
    lambda: lab.epilogue.schedule.copy().compute_inline("dense"),
):
    try:
        print(attempt())
    except wb.WorkbenchError as refused:
        print(refused, "\n")

# %% epilogue-do tags=["solution"]
s = lab.epilogue.reset().schedule
s.compute_inline("bias_add")
i0, i1 = s.split("i", [None, 8])
j0, j1 = s.split("j", [None, target.lanes("float32")])
s.reorder(i0, j0, "k", i1, j1)
s.reverse_compute_at("relu", j0)

print(s.nest())

# %% epilogue-do tags=["stub"]
s = lab.epilogue.reset().schedule
# your steps

print(s.nest())

# %% epilogue-check
lab.epilogue.check()

# %% remember [markdown] tags=["slide"]
# ## What to remember
#
# 1. **All first**: nothing repeated, everything kept. **Inlined**: nothing kept, everything repeated. `compute_at` is between.
# 2. A strip of T rows needs T + 2 rows of the stage before it: repeated work is (T + 2) / T, kept memory is T + 2 rows.
# 3. Choose the tile by what has to **fit**, and put the stage into the loop over **tiles**, not into one inside of it.
# 4. Element-wise stages after a sum follow it with `reverse_compute_at`, tile by tile, for nothing.
# 5. A reduction cannot be inlined, and a reader cannot run before what it reads: the workbench refuses both, and says why.
#
# ## Five questions
#
# 1. A filter of 5 by 5 in two stages, strips of 16 rows: how much of the first stage is computed again?
# 2. Three stages, the second and the third each read 3 elements of the one before, and the first two are inlined: how often is
#    the first one computed per element of the last?
# 3. Why does `compute_at` in the innermost loop keep so little and still not pay?
# 4. When is breadth first the right choice?
# 5. A convolution, then a 2 by 2 maximum: who should move to whom, and into which loop?

# %% answers [markdown] tags=["instructor"]
# **Answers.** 1: 20 / 16, a quarter. 2: nine times. 3: nothing is shared between its iterations, so all is repeated, and loops of
# one or three iterations cost more than they do. 4: when the result fits in a cache anyway, or when repeating is dear and rows
# are needed far apart. 5: `reverse_compute_at` refuses the maximum, which reads more than one element of the convolution. So the
# convolution goes into the loop over tiles of the maximum; windows do not overlap, so nothing is computed twice.

# %% report
lab.report()
