# %% title [markdown] tags=["slide"]
# # Lab 3: Vectors
#
# A core multiplies and adds 4, 8 or 16 numbers in the time of one, if they are the right numbers. Two schedules of this lab both
# have a vectorised loop, both are legal, and **one of them has not a single vector instruction in its code**. Why?
#
# You need labs 1 and 2: orders of loops, and splitting. Afterwards you can say which loop may become vectors and which one
# should, deal with sizes that do not divide, and read in the assembly whether it worked.

# %% teacher [markdown] tags=["instructor"]
# **For the lecturer.** 60 to 75 minutes: 10 each for sections 1 and 2, 15 for the legal loop, 10 for the rest, 15 for the
# repair, 10 for the assembly. The common misconception: what is vectorised in the schedule is a vector in the machine. Section
# 5 shows a legal vector loop that the compiler writes as single loads and stores. Let students guess the ratio of the times
# first.
#
# On a machine without x86 instructions, sections with assembly show other names; the exercise on reading stays as it is.

# %% machine
import pandas as pd

import workbench as wb
from workbench import analysis, labs
from workbench.labs.catalog.vectors.loops import ROWS, scaled

target = wb.Target.host(threads=1)
lab = labs.open("vectors", target)
n = lab.whole.setting["n"]
print(f"your table: {ROWS} x {n}; one core of {target.cpu}")

# %% tools-text [markdown] tags=["slide"]
# ## 1. A table that is scaled
#
# Two functions for the whole lab: `code` prints the machine's instructions of a loop; `add` puts a schedule into a table, with
# the distance of neighbouring lanes in each buffer (counted), and a time (measured; ≥ where something else disturbed it).

# %% tools
def code(schedule, loop):
    """The machine code of a loop."""
    lines = analysis.listing(schedule, "asm", target)
    found = lines.of(loop)
    return "\n".join(line.text.strip() for line in lines.lines[found[0]:found[-1] + 1])

def add(table, name, schedule):
    """Count and measure a schedule."""
    counted, m = labs.count(schedule.func, target.lanes("float32"), "Y"), schedule.measure()
    apart = ", ".join(f"{buffer} {step}" for buffer, step in counted.strides.items())
    time = f"{1000 * m.ms:.3g}" if m.clean else f"≥ {1000 * m.at_least_ms:.3g}"
    table[name] = {"vector loop": counted.vectorized or "none", "lanes apart": apart or "-", "µs": time}
    return pd.DataFrame.from_dict(table, orient="index")

def around(schedule):
    """The name of the loop around the innermost one; the innermost one may be a vector."""
    return [row.name for row in analysis.nest_rows(schedule.func, target).rows if row.extent][-2]

# %% start
plain = wb.Schedule(scaled(ROWS, n), target)
print(plain.nest())
print(code(plain, "j"))

# %% start-text [markdown]
# The last letters of an instruction say on how much it works: `ss` on one number. So the compiler has left the loop as it is:
# what becomes a vector is decided in the schedule.

# %% whole-text [markdown] tags=["slide"]
# ## 2. Exercise: how many numbers at once?

# %% whole-show
lab.whole.show()

# %% whole-predict tags=["solution"]
lanes = target.lanes("float32")
lab.whole.predict(lanes=lanes, doubles=lanes // 2, instructions=ROWS * n / lanes)

# %% whole-predict tags=["stub"]
lab.whole.predict(lanes=None, doubles=None, instructions=None)

# %% whole-do tags=["solution"]
s = lab.whole.reset().schedule
_, j1 = s.split("j", [None, lanes])
s.vectorize(j1)

wb.Workbench(s)

# %% whole-do tags=["stub"]
s = lab.whole.reset().schedule
# your steps

wb.Workbench(s)

# %% whole-check
lab.whole.check()

# %% whole-help [markdown]
# Stuck? `lab.whole.hint()` gives one hint after the other; `lab.whole.solution()` shows a solution (and its points are gone). In
# the widget, press `C` and select a loop: its lines of code light up.

# %% whole-compare
yours = lab.whole.schedule.copy()
print(code(yours, around(yours)))
times = {}
add(times, "one by one", plain)
add(times, "yours", yours)

# %% whole-why [markdown]
# With vectors along j: the same instructions with `ps`, packed single, and wider registers. The loop runs fewer times by the
# number of lanes. Is the time smaller by as much? What else does the loop do besides the multiply-add?

# %% legal-text [markdown] tags=["slide"]
# ## 3. Exercise: which loop may become vectors?

# %% legal-show
lab.legal.show()

# %% legal-nest
print(lab.legal.reset().schedule.nest())

# %% legal-predict tags=["solution"]
lab.legal.predict(k="no", same="V", apart=lab.legal.setting["n"])

# %% legal-predict tags=["stub"]
lab.legal.predict(k=None, same=None, apart=None)

# %% legal-refused-text [markdown]
# A step that could change the result is refused, with the reason. Two of them:

# %% legal-refused
for loop in ("k", "j"):
    try:
        lab.legal.schedule.copy().vectorize(loop)
    except wb.WorkbenchError as refused:
        print(refused, "\n")

# %% legal-do tags=["solution"]
s = lab.legal.reset().schedule
_, j1 = s.split("j", [None, target.lanes("float32")])
s.reorder("j.0", "k", j1)
s.vectorize(j1)

print(s.nest())

# %% legal-do tags=["stub"]
s = lab.legal.reset().schedule
# your steps

print(s.nest())

# %% legal-check
lab.legal.check()

# %% broadcast-text [markdown]
# With k outside, the time may be smaller here, although Y is loaded and stored at each step: one sum in a register waits for
# itself, because each step adds to the result of the one before. Lab 4 keeps several sums in registers.
#
# What does the machine do with `V[k]`, of which there is one number for all lanes? Look for *broadcast*; with AVX-512 it may be
# a part of the multiply-add: `{1to16}`.

# %% broadcast
print(code(lab.legal.schedule, around(lab.legal.schedule)))

# %% rest-text [markdown] tags=["slide"]
# ## 4. Exercise: sizes that do not divide

# %% rest-show
lab.rest.show()

# %% rest-predict tags=["solution"]
n_odd, lanes = lab.rest.setting["n"], target.lanes("float32")
lab.rest.predict(whole=n_odd // lanes, left=n_odd % lanes, idle=lanes - n_odd % lanes)

# %% rest-predict tags=["stub"]
lab.rest.predict(whole=None, left=None, idle=None)

# %% rest-do tags=["solution"]
s = lab.rest.reset().schedule
s.split("j", [None, target.lanes("float32")], tail="peel")
s.vectorize("j.1")

print(s.nest())

# %% rest-do tags=["stub"]
s = lab.rest.reset().schedule
# your steps

print(s.nest())

# %% rest-check
lab.rest.check()

# %% tails-text [markdown]
# Both ways, side by side: the nest, and the time. Which one needs more code?

# %% tails
tails = {}
for tail in ("guard", "peel"):
    s = wb.Schedule(scaled(ROWS, lab.rest.setting["n"]), target)
    s.split("j", [None, target.lanes("float32")], tail=tail)
    s.vectorize("j.1")
    shown = add(tails, f"tail='{tail}'", s)
    print(s.nest())

shown

# %% repair-text [markdown] tags=["slide"]
# ## 5. Exercise: repair

# %% repair-show
lab.repair.show()

# %% repair-nest
s = lab.repair.reset().schedule
print(s)

# %% repair-predict tags=["solution"]
lab.repair.predict(apart=n, lines=target.lanes("float32"), mended=1)

# %% repair-predict tags=["stub"]
lab.repair.predict(apart=None, lines=None, mended=None)

# %% repair-do tags=["solution"]
s = lab.repair.reset().schedule
s.undo(len(s.trace))
_, j1 = s.split("j", [None, target.lanes("float32")])
s.vectorize(j1)

print(s.nest())

# %% repair-do tags=["stub"]
s = lab.repair.reset().schedule
# your steps: s.undo(n) takes back the last n

print(s)

# %% repair-check
lab.repair.check()

# %% wrong-text [markdown]
# Both schedules have a vectorised loop. This is the beginning of what the machine gets for the one down the columns, and what
# it costs. Is any instruction left that ends in `ps`?

# %% wrong
down = wb.Schedule(scaled(ROWS, n), target)
_, i1 = down.split("i", [None, target.lanes("float32")])
down.reorder("j", "i.0", i1)
down.vectorize(i1)
print("\n".join(code(down, "i.0").splitlines()[:10]))
add(times, "vectors along i", down)

# %% read-text [markdown] tags=["slide"]
# ## 6. Exercise: reading the assembly

# %% read-show
lab.read.show()

# %% read-predict tags=["solution"]
lab.read.predict(scalar="one number", ymm=8, broadcast="one number into all lanes")

# %% read-predict tags=["stub"]
lab.read.predict(scalar=None, ymm=None, broadcast=None)

# %% read-do tags=["solution"]
def arithmetic(code):
    """(instructions on whole vectors, on single numbers) that multiply or add."""
    names = [line.split()[0] for line in code.splitlines()]
    names = [name for name in names if name.startswith(("vfmadd", "vmul", "vadd"))]
    return sum(name.endswith("ps") for name in names), sum(name.endswith("ss") for name in names)

# %% read-do tags=["stub"]
def arithmetic(code):
    """(instructions on whole vectors, on single numbers) that multiply or add."""
    raise NotImplementedError

# %% read-check
lab.read.check()

# %% judge-text [markdown]
# Your function on the three schedules of the table: does it tell which one is slow?

# %% judge
try:
    for name, schedule, loop in (("one by one", plain, "j"), ("yours", yours, around(yours)), ("along i", down, "i.0")):
        print(name, arithmetic(code(schedule, loop)))
except NotImplementedError:
    print("arithmetic is not written yet")

# %% remember [markdown] tags=["slide"]
# ## What to remember
#
# 1. Lanes = bits of a register / bits of a number. Twice as wide numbers, half as many lanes.
# 2. A loop **may** become vectors if its iterations do not need each other; a loop that adds into one element may not.
# 3. A loop **should** become vectors if its neighbours are neighbours in memory, or one number for all lanes (broadcast).
# 4. Sizes that do not divide: peel the rest off, or guard the last vector.
# 5. The schedule says what you want, the assembly says what you got: `ps` is a vector, `ss` is one number.
#
# ## Five questions
#
# 1. A processor has registers of 128 bits. How many int8 numbers does one of them hold?
# 2. `for i: Y[i] = Y[i - 1] + X[i]`: may i be vectorised?
# 3. `Y[i, j] = X[j, i]`: which loop would you vectorise, and what is gathered?
# 4. A row has 17 numbers, a vector 16 lanes. What share of all lanes is idle with a guard?
# 5. Why is a vectorised loop of 8 lanes not always 8 times as fast?

# %% answers [markdown] tags=["instructor"]
# **Answers.** 1: 16. 2: no, each iteration needs the one before it. 3: neither is good: along j, Y is one piece of memory and X
# is loaded number by number; along i, X is one piece and Y is stored number by number. 4: 15 of 32 lanes, 47 %. 5: loads and
# stores may be the bound, data may come from memory, and the rest of a row is done one by one.

# %% report
lab.report()
