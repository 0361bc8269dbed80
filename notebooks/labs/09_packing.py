# %% title [markdown] tags=["slide"]
# # Lab 9: Packing
#
# A matrix product goes through B in narrow strips. A strip has 8 KiB, the cache 64 KiB. With 1008 or 1040 columns in B few
# accesses miss the cache; with 1024 there are several times as many. **What matters is where the elements lie.** Libraries
# therefore copy their operands into another order first. That costs something. When does it pay?
#
# You need labs 1 to 3. Afterwards you can lay out an operand in the order in which a nest reads it, ahead of time or as a copy,
# and say from counted lines and pages whether that pays.

# %% teacher [markdown] tags=["instructor"]
# **For the lecturer.** 60 to 90 minutes: 10 for place, 20 for ahead, 15 for copy, 10 for strip, 15 for channels, 10 for the
# repair.
#
# Lines and pages are counted on a simulated cache of 64 KiB with 128 sets. A core remembers more pages than the 16 of this lab,
# and large pages exist; the argument is the same for larger matrices.
#
# Misconceptions: "packing makes the data smaller"; "what is smaller than the cache stays in it"; "a copy costs one pass" (it is
# read, written, and read again). The counts for pages are those of the product alone. The copy comes to many pages itself,
# whichever way its loops stand, because one of its two sides goes down the columns: see the table in section 5.
#
# In ahead and in the repair some will cut k, put `k.0` outside of i, and pack nothing. That fetches few lines, too, and the time
# that is shown may be shorter at these sizes. It still looks up far more pages, which is the goal that it misses. Libraries do
# both: they cut k, and pack each part.

# %% machine
import pandas as pd
from IPython.display import display

import workbench as wb
from workbench import analysis, labs
from workbench.labs.catalog.packing import simulated
from workbench.labs.catalog.packing.simulated import CACHE, PAGES, product, strips

target = wb.Target.host(threads=1)
lab = labs.open("packing", target)
m, n = lab.ahead.setting["m"], lab.ahead.setting["n"]
print(f"your product: A {m} x 128, B 128 x {n}; simulated: {CACHE}; one core of {target.cpu}")

# %% widths-text [markdown] tags=["slide"]
# ## 1. One column more, or less
#
# The same nest with 4 rows of A, and several widths of B. A simulated cache says how many accesses miss it, of all arrays
# together. B has hardly more elements in one row of the table than in the next.

# %% widths
rows = {}
for width in (960, 992, 1008, 1024, 1040, 1056, 1088):
    rows[width] = simulated.misses(strips(wb.Schedule(product(4, width), target)))
pd.Series(rows, name="misses").rename_axis("columns of B").to_frame()

# %% widths-nest-text [markdown]
# This is the nest. `j.0` goes from strip to strip; in a strip, `i` goes through all rows of A.

# %% widths-nest
print(strips(wb.Schedule(product(4, 1024), target)).nest())

# %% place-text [markdown] tags=["slide"]
# ## 2. Exercise: where an element lies

# %% place-show
lab.place.show()

# %% place-predict-text [markdown]
# Put your answers in place of `None`.

# %% place-predict tags=["solution"]
lab.place.predict(down=n, packed=16, next=128 * 16 - 15)

# %% place-predict tags=["stub"]
lab.place.predict(down=None, packed=None, next=None)

# %% place-do tags=["solution"]
def place(k, j, rows, width):
    """Number of the place of B[k, j], packed into strips."""
    return j // width * rows * width + k * width + j % width

# %% place-do tags=["stub"]
def place(k, j, rows, width):
    """Number of the place of B[k, j], packed into strips."""
    raise NotImplementedError

# %% place-check
lab.place.check()

# %% place-help [markdown]
# Stuck? `lab.place.hint()` gives one hint after the other; `lab.place.solution()` shows a solution (and its points are gone).

# %% place-view-text [markdown]
# A small matrix in memory. Each element shows the number of its place: row by row, and as your function says.

# %% place-view
def places(rule, rows=4, columns=8):
    """The place of each element of a small matrix."""
    try:
        return pd.DataFrame([[rule(k, j) for j in range(columns)] for k in range(rows)]).rename_axis("k")
    except NotImplementedError:
        return "place is not written yet"

display(places(lambda k, j: k * 8 + j))
display(places(lambda k, j: place(k, j, 4, 4)))

# %% ahead-text [markdown] tags=["slide"]
# ## 3. Exercise: packed ahead of time

# %% ahead-show
lab.ahead.show()

# %% ahead-nest
print(lab.ahead.reset().schedule.nest())

# %% ahead-predict tags=["solution"]
sets = 128 * 16 // n
lab.ahead.predict(room=8 * sets, times=m, pages=128 * n * 4 / 4096, packed=128 * 64 / 4096)

# %% ahead-predict tags=["stub"]
lab.ahead.predict(room=None, times=None, pages=None, packed=None)

# %% ahead-do-text [markdown]
# `transform_layout(buffer, dim, block)` cuts dimension `dim` (0: the first index) into blocks; the number of the block becomes
# the first index, the place inside of it the last one. Each run of the cell starts from the nest as it was (`reset`). The nest
# says what B looks like now: `packed(1: 16)`, three dimensions, three indices. Who calls the function still passes a matrix of
# two dimensions.

# %% ahead-do tags=["solution"]
s = lab.ahead.reset().schedule
s.transform_layout("B", 1, 16)
print(s.nest())

# %% ahead-do tags=["stub"]
s = lab.ahead.reset().schedule
# your step: s.transform_layout(buffer, dim, block)

print(s.nest())

# %% ahead-check
lab.ahead.check()

# %% ahead-view-text [markdown]
# Which access fetched what? The first table is the nest as it started, the second one yours. *Lines fetched* are the misses of
# the cache; *pages looked up* says how often an access came to a page that was none of the last 16.

# %% ahead-view
def access_table(schedule):
    """Lines that each access fetches, and how often it comes to a page that is not remembered."""
    lines, pages = (analysis.cache_view(schedule, levels=level).frame() for level in (CACHE, PAGES))
    table = lines[["block", "access", "kind", "accesses", "misses"]].rename(columns={"misses": "lines fetched"})
    return table.assign(**{"pages looked up": pages["misses"]})

display(access_table(strips(wb.Schedule(product(m, n), target))))
display(access_table(s))

# %% copy-text [markdown] tags=["slide"]
# ## 4. Exercise: what the copy costs
#
# An operand that comes with the call cannot be packed ahead of time. What happens if one tries?

# %% copy-refused
try:
    lab.copy.reset().schedule.transform_layout("B", 1, 16)
except wb.WorkbenchError as refusal:
    print(refusal)

# %% copy-show
lab.copy.show()

# %% copy-predict tags=["solution"]
lab.copy.predict(accesses=2 * 128 * n, times=3, rows=4)

# %% copy-predict tags=["stub"]
lab.copy.predict(accesses=None, times=None, rows=None)

# %% copy-do-text [markdown]
# The widget shows the nest and the effect of each step; press `C` for the code. Take the steps in its menus (of a statement,
# or of a buffer below the nest), or write them into the cell. Its *working sets* count bytes: by them a strip fits into the
# cache at once. Which set of the cache a line has to go into is no part of that.

# %% copy-do tags=["solution"]
s = lab.copy.reset().schedule
s.cache_read("C", "B")
s.transform_layout("B.local", 1, 16)

wb.Workbench(s)

# %% copy-do tags=["stub"]
s = lab.copy.reset().schedule
# your steps: s.cache_read(block, buffer), and one more

wb.Workbench(s)

# %% copy-check
lab.copy.check()

# %% copy-view
access_table(s)

# %% strip-text [markdown] tags=["slide"]
# ## 5. Exercise: a copy that stays near
#
# `s.compute_at(block, loop)` moves a block into a loop of the block that reads its result; there it computes just what one
# iteration of that loop needs (lab 7 is about it).

# %% strip-show
lab.strip.show()

# %% strip-nest
print(lab.strip.reset().schedule.nest())

# %% strip-predict tags=["solution"]
lab.strip.predict(whole=f"{128 * n * 4} B", one="8 KiB", rows=2)

# %% strip-predict tags=["stub"]
lab.strip.predict(whole=None, one=None, rows=None)

# %% strip-do tags=["solution"]
s = lab.strip.reset().schedule
s.compute_at("B.copy", "j.0")
print(s.nest())

# %% strip-do tags=["stub"]
s = lab.strip.reset().schedule
# your step: s.compute_at(block, loop)

print(s.nest())

# %% strip-check
lab.strip.check()

# %% strip-view
access_table(s)

# %% ways-text [markdown]
# All ways, for 1 to 16 rows of A: how many times as many lines as B has are fetched, for B and its copy. From how many rows on
# does each of the copies pay? (Both axes are logarithmic.)

# %% ways
def fetched(rows, columns):
    """Lines of B and of its copy that are fetched, as multiples of the lines of B."""
    found = simulated.ways(rows, columns, target)
    return {way: round(simulated.of_b(s) / simulated.lines_of(columns), 2) for way, s in found.items()}

by_rows = pd.DataFrame({rows: fetched(rows, n) for rows in (1, 2, 3, 4, 8, 16)}).T.rename_axis("rows of A")
by_rows

# %% ways-figure
simulated.ways_figure(by_rows)

# %% odd-text [markdown]
# The same for 8 rows of A and other widths of B: lines first, then how often the product comes to a page that is not remembered.
# (A strip that was copied just before is remembered already, so its count can be 0.) Is it packing that helps, or only the power
# of two that hurts? Does the answer hold for pages?

# %% odd
pd.DataFrame({width: fetched(8, width) for width in (n - 64, n - 32, n - 16, n, n + 16)}).T.rename_axis("columns of B")

# %% odd-pages
def looked_up(columns):
    """How often the product, reading B or its copy, comes to a page that is not remembered."""
    return {way: simulated.pages(s) for way, s in simulated.ways(8, columns, target).items()}

pd.DataFrame({width: looked_up(width) for width in (n - 64, n - 32, n - 16, n, n + 16)}).T.rename_axis("columns of B")

# %% here-text [markdown]
# And on this machine, with larger matrices (64 rows of A, 512 rows of B), vectorised. These are measured: they depend on the
# machine, its caches, and what else it does. `≥` marks a time that something else disturbed.

# %% here
def large(copy, columns):
    """A product in strips, with or without a packed copy of each strip."""
    s = strips(wb.Schedule(wb.workloads.matmul(64, columns, 512), target))
    if copy:
        simulated.copied_by_strip(s)
    m = s.vectorize("j.1").measure()
    return f"{m.ms:.3g}" if m.clean else f"≥ {m.at_least_ms:.3g}"

pd.DataFrame({f"{w} columns, ms": {c: large(c == "packed", w) for c in ("as it stands", "packed")} for w in (1008, 1024)})

# %% channels-text [markdown] tags=["slide"]
# ## 6. Exercise: channels in blocks

# %% channels-show
lab.channels.show()

# %% channels-nest
print(lab.channels.reset().schedule.nest())

# %% channels-predict tags=["solution"]
side, channels = lab.channels.setting["side"], lab.channels.setting["channels"]
lab.channels.predict(plane=side**2, block=16 * side**2 - 15, filled=16 / 3, weights=channels)

# %% channels-predict tags=["stub"]
lab.channels.predict(plane=None, block=None, filled=None, weights=None)

# %% channels-do tags=["solution"]
s = lab.channels.reset().schedule
s.transform_layout("W", 0, 16)
s.reorder("c0", "c1", "o1")
s.vectorize("o1")
print(s.nest())

# %% channels-do tags=["stub"]
s = lab.channels.reset().schedule
# your steps

print(s.nest())

# %% channels-check
lab.channels.check()

# %% repair-text [markdown] tags=["slide"]
# ## 7. Exercise: repair

# %% repair-show
lab.repair.show()

# %% repair-nest
s = lab.repair.reset().schedule
started = s.copy()
print(s.nest())
print("steps:", *(f"{k}. {step}" for k, step in enumerate(s.trace, 1)), sep="\n")

# %% repair-predict tags=["solution"]
block = lab.repair.setting["block"]
lab.repair.predict(apart=4 * block, lines=min(16, block), dimension=1)

# %% repair-predict tags=["stub"]
lab.repair.predict(apart=None, lines=None, dimension=None)

# %% repair-do tags=["solution"]
s = lab.repair.reset().schedule
s.undo(3)
s.transform_layout("B.local", 1, 16)
s.compute_at("B.copy", "j.0")
s.vectorize("j.1")
print(s.nest())

# %% repair-do tags=["stub"]
s = lab.repair.reset().schedule
# your steps: s.undo(n) takes back the last n

print(s)

# %% repair-check
lab.repair.check()

# %% asm-text [markdown]
# The machine code says the same. These are the instructions of the loop over `k.1`, first as it was, then yours. Look for
# instructions that put a vector together from single numbers, and for one that loads a whole vector.

# %% asm
def code(schedule, loop="k.1", most=24):
    """The machine code of a loop, or its beginning."""
    lines = analysis.listing(schedule, "asm", target)
    found = lines.of(loop)
    text = [line.text for line in lines.lines[found[0]:found[-1] + 1]]
    return "\n".join(text[:most] + [f"... and {len(text) - most} more"] * (len(text) > most))

for name, schedule in (("as it was", started), ("yours", s)):
    print(f"{name}:", code(schedule), "", sep="\n")

# %% remember [markdown] tags=["slide"]
# ## What to remember
#
# 1. A **layout** is a rule from indices to places. The last index is the neighbour in memory.
# 2. Packed, what a nest reads one after the other lies one after the other: all **sets** are used, and few **pages**.
# 3. Constants are packed **ahead of time**. Everything else costs a copy: read, write, and read again.
# 4. A copy pays when it is **used often**, and costs least when it is made **near** its use and stays in the cache.
# 5. The dimension of the vectorised loop belongs into the **last** place, in blocks as long as that loop (NCHW16c).
#
# ## Five questions
#
# 1. B[k, j] of 100 rows is packed into strips of 8 columns. What is the place of B[2, 9]?
# 2. A cache has 64 sets of 8 lines. How many lines of a column of float32 stay, if rows have 512 numbers?
# 3. Why does a library that multiplies a matrix by a vector not pack the matrix?
# 4. A copy of all of B is used for 6 rows of A, and B does not fit into the cache. What share of the lines is saved, if nothing
#    of a strip stays without packing?
# 5. A network has three convolutions in a row. Between which operators does the layout have to be converted to NCHW16c and back?

# %% answers [markdown] tags=["instructor"]
# **Answers.** 1: strip 1 begins at 800; 800 + 2 * 8 + 1 = 817. 2: rows are 32 lines apart, so there are 2 sets: 16 lines. 3:
# every element is used once, so the copy costs more than it could save. 4: three times instead of six times the lines, so a
# half. 5: once before the first and once after the last one; all three read and write blocks.

# %% report
lab.report()
