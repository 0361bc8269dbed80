# %% title [markdown] tags=["slide"]
# # Lab 1: The order of loops
#
# A matrix product is three loops around one line. The loops may stand in six orders; all six do the same multiplications and
# give the same result. One of them takes many times as long as another. **Why?**
#
# You need Python, and what a matrix product is. Afterwards you can read from a nest of loops which way it goes through memory,
# count what it fetches, and put its loops into a good order.

# %% teacher [markdown] tags=["instructor"]
# **For the lecturer.** 60 to 90 minutes: 10 for section 1, 10 each for lines and order, 15 each for reuse, transposition and
# row lengths, 10 for the repair, the rest for the questions.
#
# Everything that is graded is counted on a simulated cache of 64 lines. It is so small that students can follow it on paper, and
# a matrix of 80 by 80 behaves on it as one of 1000 by 1000 does on a real one.
#
# The misconception that stays longest is "what fits, stays": with the least recently used line thrown out, a loop over slightly
# more than the cache holds finds *nothing*. Let somebody act it out with three cards on a table for two.
#
# The table of strips: B falls out before 64 columns, because lines of A and C pass as well. A is fetched once for each strip, so
# narrow strips fetch it more often. Where a strip ends within a line of C, its neighbour fetches that line again.

# %% machine
import pandas as pd

import workbench as wb
from workbench import analysis, labs
from workbench.labs.catalog.loops import simulated

target = wb.Target.host(threads=1)
lab = labs.open("loops", target)
n = lab.order.setting["n"]
print(f"one core of {target.cpu}; your matrices: {n} x {n}")

# %% orders-text [markdown] tags=["slide"]
# ## 1. One product, six orders
#
# This is a *nest*: loops around a statement. A `Schedule` is a nest together with the steps that changed it. `init` sets an
# element of C to zero before anything is added to it. The line `block` says over what the statement runs; `reduce` marks the loop
# that adds up: it is in no index of the result.

# %% orders-nest
s = wb.Schedule(wb.workloads.matmul(384, 384, 384), target)
print(s.nest())

# %% orders-times-text [markdown]
# `reorder` puts the loops into another order, from the outside to the inside. `measure` compiles the nest, compares its result
# with NumPy's, and takes the time. Where another program disturbed it, the time is not `clean`, and what is known is a lower
# bound, `at_least_ms`. Here are the times of all six orders, from the fastest to the slowest. Which is which is your task; the
# last section of this lab tells.

# %% orders-times
times = {}
for order in ("ijk", "ikj", "jik", "jki", "kij", "kji"):
    s = wb.Schedule(wb.workloads.matmul(384, 384, 384), target)
    if order != "ijk":
        s.reorder(*order)
    m = s.measure()
    times[order] = m.ms if m.clean else m.at_least_ms

print("ms:", ", ".join(f"{ms:.0f}" for ms in sorted(times.values())))
print(f"the slowest takes {max(times.values()) / min(times.values()):.1f} times as long as the fastest")

# %% lines-text [markdown] tags=["slide"]
# ## 2. Exercise: memory comes in lines
#
# Arithmetic is the same in all orders, so it must be memory. We look at one loop less first.

# %% lines-show
lab.lines.show()

# %% lines-nest
print(lab.lines.reset().schedule.nest())

# %% lines-predict-text [markdown]
# Put your answers in place of `None`, numbers or arithmetic such as `80 * columns`. Guess before you do: an answer may be changed
# and checked again at no cost.

# %% lines-predict tags=["solution"]
columns = lab.lines.setting["columns"]
lab.lines.predict(per_line=16, down=80 * columns, along=80 * columns / 16)

# %% lines-predict tags=["stub"]
columns = lab.lines.setting["columns"]
lab.lines.predict(per_line=None, down=None, along=None)

# %% lines-do-text [markdown]
# Now do it. Each run of the cell starts from the nest as it was (`reset`).

# %% lines-do tags=["solution"]
s = lab.lines.reset().schedule
s.reorder("i", "j")
print(s.nest())

# %% lines-do tags=["stub"]
s = lab.lines.reset().schedule
# your step: s.reorder(...)

print(s.nest())

# %% lines-check
lab.lines.check()

# %% lines-help [markdown]
# Stuck? `lab.lines.hint()` gives one hint after the other; `lab.lines.solution()` shows a solution (and its points are gone).
#
# The grey line below the points has a time of this machine. Its nearest cache is about ten times as large as that of the lab, so
# the small matrices of the exercises fit or nearly fit, and a time here need not follow the misses. Sections 5 and 8 measure
# larger ones.

# %% lines-view-text [markdown]
# Where do the counts come from? `analysis.cache_view` runs all accesses of a nest on a simulated cache; nothing is computed or
# timed. `simulated.CACHE` is the cache of this lab (what its *ways* are comes in section 6). `init` writes Y, too. Run this
# cell again after changes in the cell above.

# %% lines-view
def cache_table(schedule):
    """What each access of a nest does to the cache of the lab."""
    view = analysis.cache_view(schedule, levels=simulated.CACHE)
    return view.frame()[["access", "kind", "accesses", "misses"]]

print(simulated.CACHE)
cache_table(s)

# %% order-text [markdown] tags=["slide"]
# ## 3. Exercise: three loops, six orders

# %% order-show
lab.order.show()

# %% order-predict tags=["solution"]
lab.order.predict(step=4 * n, columns=2, innermost="j")

# %% order-predict tags=["stub"]
lab.order.predict(step=None, columns=None, innermost=None)

# %% order-do-text [markdown]
# The widget shows the nest and what its selected loop does to each array. Drag a loop by its name to another place, or write the
# step into the cell. A step that is not legal is refused with the reason. Press `C` for the code, and select a loop: its lines
# light up.

# %% order-do tags=["solution"]
s = lab.order.reset().schedule
s.reorder("i", "k", "j")

wb.Workbench(s)

# %% order-do tags=["stub"]
s = lab.order.reset().schedule
# your step

wb.Workbench(s)

# %% order-check
lab.order.check()

# %% order-view
cache_table(s)

# %% order-figure-text [markdown]
# The same as a figure. The axis is logarithmic: each line of the grid is ten times the one before.

# %% order-figure
analysis.cache_view_figure(analysis.cache_view(s, levels=simulated.CACHE))

# %% asm-text [markdown]
# What does the machine do in the innermost loop? These are its instructions, of the nest as it started and of yours. Names that
# end in `ss` work on one number. Where is C loaded and stored at every step, and where does it stay in a register? (Registers are
# the business of lab 4.)

# %% asm
def code(schedule, loop):
    """The machine code of a loop."""
    lines = analysis.listing(schedule, "asm", target)
    found = lines.of(loop)
    return "\n".join(line.text for line in lines.lines[found[0]:found[-1] + 1])

def innermost(schedule):
    """The name of the innermost loop."""
    return [row.name for row in analysis.nest_rows(schedule.func, target).rows if row.extent][-1]

start = wb.Schedule(wb.workloads.matmul(n, n, n), target)
for name, schedule in (("as it started", start), ("yours", s)):
    print(f"{name}, loop {innermost(schedule)}:", code(schedule, innermost(schedule)), "", sep="\n")

# %% reuse-text [markdown] tags=["slide"]
# ## 4. Exercise: how long a line has to stay
#
# A good inner loop uses a line completely. But B is needed again, for the next row of C. Is it still there?

# %% reuse-show
lab.reuse.show()

# %% reuse-nest
print(lab.reuse.reset().schedule.nest())

# %% reuse-predict tags=["solution"]
columns = lab.reuse.setting["columns"]
lab.reuse.predict(between=f"{16 * columns * 4} B", misses=64 * columns, columns=64)

# %% reuse-predict tags=["stub"]
columns = lab.reuse.setting["columns"]
lab.reuse.predict(between=None, misses=None, columns=None)

# %% reuse-do tags=["solution"]
s = lab.reuse.reset().schedule
s.split("j", [None, 32])
s.reorder("j.0", "i", "k", "j.1")
print(s.nest())

# %% reuse-do tags=["stub"]
s = lab.reuse.reset().schedule
# your steps: s.split("j", [None, T]) cuts j into j.0 and j.1; T has to divide the columns

print(s.nest())

# %% reuse-check
lab.reuse.check()

# %% reuse-view-text [markdown]
# Every width that divides your columns, and what misses. Where does B begin to fall out, and why not only beyond 64? Why is a
# narrower strip not better for A? And what is wrong for C where the width is no multiple of 16?

# %% reuse-view
def strips(width, columns):
    """The flat product in strips."""
    s = wb.Schedule(wb.workloads.matmul(64, columns, 16), target)
    s.split("j", [None, width])
    s.reorder("j.0", "i", "k", "j.1")
    return {name: simulated.misses(s, name) for name in "ABC"}

widths = [w for w in range(4, columns + 1, 4) if columns % w == 0]
pd.DataFrame({f"strips of {w}": strips(w, columns) for w in widths}).T

# %% rows-text [markdown]
# Without a simulation: `nest_rows` says for each loop how many bytes one run of it touches, in whole lines. This is its *working
# set* (`ws`, in bytes; the cache of the lab has 4096). A loop whose working set fits finds everything again when it runs the
# next time on the same data.

# %% rows
view = analysis.nest_rows(lab.reuse.schedule.func, target)
frame = pd.DataFrame([row.to_json() for row in view.rows], dtype=object).fillna("–")
frame[["name", "kind", "extent", "ws"]]

# %% transpose-text [markdown] tags=["slide"]
# ## 5. Exercise: when no order is good

# %% transpose-show
lab.transpose.show()

# %% transpose-nest
print(lab.transpose.reset().schedule.nest())

# %% transpose-predict tags=["solution"]
lab.transpose.predict(order="neither", written=n * n * 17 / 16, squares=2 * n * n / 16)

# %% transpose-predict tags=["stub"]
lab.transpose.predict(order=None, written=None, squares=None)

# %% transpose-do tags=["solution"]
s = lab.transpose.reset().schedule
s.split("j", [None, 16])
s.split("i", [None, 16])
s.reorder("j.0", "i.0", "j.1", "i.1")
print(s.nest())

# %% transpose-do tags=["stub"]
s = lab.transpose.reset().schedule
# your steps

print(s.nest())

# %% transpose-check
lab.transpose.check()

# %% transpose-large-text [markdown]
# Is this true outside of the simulation? A transposition of 2048 by 2048 on this machine, in both orders and in squares. Each
# matrix has 16 MiB:

# %% transpose-large
def transposition(tile=0, order=("j", "i")):
    s = wb.Schedule(simulated.transposition(2048), target)
    if tile:
        s.split("j", [None, tile])
        s.split("i", [None, tile])
        order = ("j.0", "i.0", "j.1", "i.1")
    if order != ("j", "i"):
        s.reorder(*order)
    m = s.measure()
    return f"{m.ms:.3g} ms" if m.clean else f"at least {m.at_least_ms:.3g} ms"

print("j outside:", transposition())
print("i outside:", transposition(order=("i", "j")))
print("squares of 16:", transposition(16))
print("squares of 32:", transposition(32))

# %% pitch-text [markdown] tags=["slide"]
# ## 6. Exercise: rows that want the same place

# %% pitch-show
lab.pitch.show()

# %% pitch-predict tags=["solution"]
lab.pitch.predict(sets=1, misses=lab.pitch.setting["rows"] * 128, padded=8)

# %% pitch-predict tags=["stub"]
lab.pitch.predict(sets=None, misses=None, padded=None)

# %% pitch-do tags=["solution"]
def row_length(rows, columns):
    """Numbers that a row takes in memory."""
    lines = -(-columns // 16)
    return 16 * (lines + 1 - lines % 2)

# %% pitch-do tags=["stub"]
def row_length(rows, columns):
    """Numbers that a row takes in memory."""
    raise NotImplementedError

# %% pitch-check
lab.pitch.check()

# %% pitch-view-text [markdown]
# Matrices of 48 rows and 96 columns, with rows of 96 to 160 numbers. A column has 48 lines: six sets of eight have room for
# them. Which lengths reach enough sets? Powers of two are not special for arithmetic, but for addresses.

# %% pitch-view
def column(length):
    """Sets of a column, and misses of X, if rows are this long."""
    sets = {row * length // 16 % 8 for row in range(48)}
    misses = simulated.misses(simulated.column_sums(48, 96, length), "X")
    return {"lines per row": length // 16, "sets of a column": len(sets), "misses": misses}

pd.DataFrame({length: column(length) for length in range(96, 176, 16)}).T.rename_axis("row length")

# %% repair-text [markdown] tags=["slide"]
# ## 7. Exercise: repair

# %% repair-show
lab.repair.show()

# %% repair-nest
s = lab.repair.reset().schedule
print(s)

# %% repair-predict tags=["solution"]
lab.repair.predict(most="B", plain=n**3 / 16, rows=4096 // (4 * n))

# %% repair-predict tags=["stub"]
lab.repair.predict(most=None, plain=None, rows=None)

# %% repair-do tags=["solution"]
s = lab.repair.reset().schedule
s.split("j", [None, 4])
s.reorder("j.0", "i", "j.1", "k")
print(s.nest())

# %% repair-do tags=["stub"]
s = lab.repair.reset().schedule
# your steps; s.undo() takes the last one back

print(s)

# %% repair-check
lab.repair.check()

# %% answer-text [markdown] tags=["slide"]
# ## 8. Which order was which?
#
# The times of the beginning (384 rows and columns), with their names, beside the misses of your smaller product on the cache of
# the lab. On this machine a large part of B fits into a near cache, and fetching ahead hides some misses; so times differ less
# than misses do. But the groups are the same: they go by the innermost loop.

# %% answer
def row(order):
    """Time and misses of an order."""
    s = wb.Schedule(wb.workloads.matmul(n, n, n), target)
    if order != "ijk":
        s.reorder(*order)
    return {"ms at 384": round(times[order], 1), **{f"misses of {x} at {n}": simulated.misses(s, x) for x in "ABC"}}

pd.DataFrame.from_dict({order: row(order) for order in sorted(times, key=times.get)}, orient="index")

# %% remember [markdown] tags=["slide"]
# ## What to remember
#
# 1. Memory comes in **lines** of 64 bytes. Along a row one access of 16 misses, down a long column every one.
# 2. Look at the **indices** and at the innermost loop: neighbour, column, or no move at all?
# 3. A line is found again if what is touched between two uses, its **reuse distance**, fits into the cache. Slightly too much
#    is as bad as far too much.
# 4. **Cut** a loop, and put the outer part outside, to make the distance shorter. Where no order is good, cut squares.
# 5. Rows whose length is a power of two want the same **set**; an odd number of lines does not.
#
# ## Five questions
#
# 1. A matrix of float64, 1000 by 1000, is summed column by column; the cache has 32 KiB. How many times as many lines are
#    fetched as row by row?
# 2. In which order of the loops does C[i, j] stay in a register, and what does it cost in a product of A and B?
# 3. A loop goes ten times over 40 KiB; the cache has 32 KiB and throws out what was not used for the longest time. How many of
#    the ten passes find a line that the pass before has fetched?
# 4. Fortran keeps matrices column by column. Which innermost loop is best there for C = A B?
# 5. A cache has 64 sets of 8 lines. A matrix of float32 has rows of 1024 numbers. How many rows can a column have until its lines
#    throw each other out?

# %% answers [markdown] tags=["instructor"]
# **Answers.** 1: eight times: a line has 8 float64, and the 1000 lines of a column (62.5 KiB) do not stay. 2: with k innermost;
# B goes down a column. 3: none. 4: i, because A[i, k] and C[i, j] then go to their neighbours and B stays. 5: a row has 64
# lines, so all lines of a column are in one set: 8 rows.

# %% report
lab.report()
