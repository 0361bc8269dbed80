# %% title [markdown] tags=["slide"]
# # Lab 11: Templates
#
# You know how to tile a product by hand. Which sizes are the best depends on the machine and on the matrix, so who wants to try
# many writes the schedule once and **leaves the numbers open**. That is a template (the words are those of AutoTVM, the first
# tuner of the compiler TVM), with the steps that you know. The question of this lab: **which configurations does a template
# have, and is the best one among them?**
#
# You need labs 2 and 4: tiles, and tiles in registers. Afterwards you can write a template, count its space before you make it,
# keep out of it what cannot be good, carry a configuration to another size, and find out why a tuner misses the best.

# %% teacher [markdown] tags=["instructor"]
# **For the lecturer.** 60 to 90 minutes: 10 for the beginning, 10 to 15 for each exercise, the rest for the questions at the end.
#
# Misconceptions: factors have to be powers of two; knobs add instead of multiply; a limit is checked by an `if` (which makes
# variants); a best configuration belongs to the kernel, not to the size; a tuner that finds nothing good is a bad tuner. All
# points come from counting: the worth of a tile is its multiply-adds per load, as in lab 4, and no clock decides anything.

# %% machine
import tempfile

import pandas as pd

import workbench as wb
from workbench import labs
from workbench.labs.catalog.templates.spaces import table

target = wb.Target.host(threads=1)
lab = labs.open("templates", target)
n = lab.factors.setting["n"]
func = wb.workloads.matmul(n, n, n)
lanes, registers = target.lanes("float32"), target.vector_registers
print(f"your product: {n} x {n} x {n}")
print(f"{registers} vector registers of {lanes} float32 numbers")

# %% first-text [markdown] tags=["slide"]
# ## 1. A schedule that leaves a number open
#
# A template is a function of a configuration `cfg` and a schedule `s`. `cfg.define_split` declares a *knob*: in how many parts a
# loop is cut. `cfg["tile_i"].apply(s)` cuts it, with sizes that are open. `matches` says for which functions the template is;
# `cfg.match` has the names of their loops: i and j of the result, k of the sum.

# %% first
@wb.template("rows", matches="matmul")
def rows(cfg, s):
    """Rows in groups."""
    m = cfg.match
    cfg.define_split("tile_i", m.i, num_outputs=2)
    i0, i1 = cfg["tile_i"].apply(s)
    s.reorder(i0, m.k, i1, m.j)

space = wb.make_space(wb.workloads.matmul(60, 60, 60), target, template="rows")
space.knobs()

# %% holes-text [markdown]
# The open sizes are *holes* of the nest: `?` and a name. A configuration is a number for each; `fill` puts them in.

# %% holes
nest = space.variants[0].schedule
print(nest.nest())
print(nest.fill({"tile_i_0": 12, "tile_i_1": 5}).nest())

# %% factors-text [markdown] tags=["slide"]
# ## 2. Exercise: what is left open

# %% factors-show
lab.factors.show()

# %% factors-predict tags=["solution"]
def ways(number, parts):
    """Ways to write a number as a product of so many factors."""
    divisors = [d for d in range(1, number + 1) if number % d == 0]
    return 1 if parts == 1 else sum(ways(number // d, parts - 1) for d in divisors)

lab.factors.predict(two=ways(n, 2), three=ways(n, 3), both=ways(n, 2) ** 2)

# %% factors-predict tags=["stub"]
lab.factors.predict(two=None, three=None, both=None)

# %% factors-do tags=["solution"]
@wb.template("tiles", matches="matmul")
def tiles(cfg, s):
    """Tiles of any size."""
    m = cfg.match
    cfg.define_split("tile_i", m.i, num_outputs=2)
    cfg.define_split("tile_j", m.j, num_outputs=2)
    i0, i1 = cfg["tile_i"].apply(s)
    j0, j1 = cfg["tile_j"].apply(s)
    s.reorder(i0, j0, m.k, i1, j1)

# %% factors-do tags=["stub"]
@wb.template("tiles", matches="matmul")
def tiles(cfg, s):
    """Tiles of any size."""
    raise NotImplementedError

# %% factors-check
lab.factors.check()

# %% factors-help [markdown]
# Stuck? `lab.factors.hint()` gives one hint after the other; `lab.factors.solution()` shows a solution (and its points are gone).

# %% limits-text [markdown] tags=["slide"]
# ## 3. Exercise: what cannot be good
#
# Factors are called *sizes*, from the outside to the inside: `cfg["tile_i"].size[-1]` is the innermost one.
#
# - `define_split(..., filter=lambda e: e.size[-1] > 1)` keeps the ways of one knob for which the function is true.
# - `cfg.limit("a name for it", a * b <= 64)` is an inequality of several knobs: sums, differences and products of sizes, compared
#   with a number.

# %% limits-show
lab.limits.show()

# %% limits-predict tags=["solution"]
widths = [w for w in range(1, n // lanes + 1) if (n // lanes) % w == 0]
heights = [h for h in range(1, n + 1) if n % h == 0]
both = sum(h * w <= registers - 4 for h in heights for w in widths)
lab.limits.predict(whole=len(widths), elements=(registers - 4) * lanes, both=both)

# %% limits-predict tags=["stub"]
lab.limits.predict(whole=None, elements=None, both=None)

# %% limits-do tags=["solution"]
@wb.template("limited", matches="matmul")
def limited(cfg, s):
    """Tiles of whole vectors that fit the registers."""
    m, lanes, registers = cfg.match, cfg.machine.lanes, cfg.machine.registers
    cfg.define_split("tile_i", m.i, num_outputs=2)
    cfg.define_split("tile_j", m.j, num_outputs=2, filter=lambda e: e.size[-1] % lanes == 0)
    i0, i1 = cfg["tile_i"].apply(s)
    j0, j1 = cfg["tile_j"].apply(s)
    s.reorder(i0, j0, m.k, i1, j1)
    tile = cfg["tile_i"].size[-1] * cfg["tile_j"].size[-1]
    cfg.limit("the tile fits the registers", tile <= (registers - 4) * lanes)
    s.unroll(i1)
    s.vectorize(j1)

# %% limits-do tags=["stub"]
@wb.template("limited", matches="matmul")
def limited(cfg, s):
    """Tiles of whole vectors that fit the registers."""
    m, lanes, registers = cfg.match, cfg.machine.lanes, cfg.machine.registers
    raise NotImplementedError

# %% limits-check
lab.limits.check()

# %% limits-table-text [markdown]
# When it checks, look at what is left: `table` has a row for each configuration, with the registers that its tile takes, and its
# *multiply-adds per load*: how much work one load instruction does, whether it loads a vector of B or one number of A.

# %% limits-table tags=["solution"]
space = wb.make_space(func, target, template="limited")
table(space, target).sort_values("adds per load", ascending=False).head(8)

# %% limits-table tags=["stub"]
# space = wb.make_space(func, target, template="limited")
# table(space, target).sort_values("adds per load", ascending=False).head(8)

# %% three-text [markdown]
# Three tiles by hand, as such a template makes them: what they keep in registers, what they load, what they take here. *Loaded*
# counts bytes, and 8 x 1 loads fewer of them than 4 x 2: a number of A that is broadcast has only 4. *Multiply-adds per load*
# count instructions: 8 in 9 loads, and 8 in 6. A core starts two or three loads in a cycle, however few bytes each one has, so
# this lab goes by instructions. When does it go by bytes?

# %% three
def tile(rows, vectors):
    """One configuration, without a template."""
    s = wb.Schedule(func, target)
    i0, i1 = s.split("i", [None, rows])
    j0, j1 = s.split("j", [None, vectors * lanes])
    s.reorder(i0, j0, "k", i1, j1)
    return s.unroll(i1).vectorize(j1)

steps = labs.Steps()
for shape in ((1, 1), (8, 1), (4, 2)):
    steps.add(f"{shape[0]} x {shape[1]}", tile(*shape))
steps

# %% widget-text [markdown]
# The same configuration in the workbench: the nest, and the steps that are legal. For the machine code press `C` and choose
# *Assembly*. In this lab advice and tuning are allowed, other than in the labs before: the points come from counts.

# %% widget
wb.Workbench(tile(4, 2))

# %% variants-text [markdown] tags=["slide"]
# ## 4. Exercise: what Python has to look at
#
# Two more knobs:
#
# - `cfg.define_reorder("order", [loop, loop, loop])` leaves the order of loops open; `cfg["order"].apply(s)` puts them into it.
# - `cfg.define_knob("far", [False, True])` leaves a choice open; `if cfg["far"]:` looks at it.

# %% variants-show
lab.variants.show()

# %% variants-predict tags=["solution"]
lab.variants.predict(looked=len(heights), orders=2)

# %% variants-predict tags=["stub"]
lab.variants.predict(looked=None, orders=None)

# %% variants-do tags=["solution"]
@wb.template("branches", matches="matmul")
def branches(cfg, s):
    """Orders of the tile's loops, with and without unrolling."""
    m, lanes, registers = cfg.match, cfg.machine.lanes, cfg.machine.registers
    cfg.define_split("tile_i", m.i, num_outputs=2)
    cfg.define_split("tile_j", m.j, num_outputs=2, filter=lambda e: e.size[-1] % lanes == 0)
    i0, i1 = cfg["tile_i"].apply(s)
    j0, j1 = cfg["tile_j"].apply(s)
    s.reorder(i0, j0, m.k, i1, j1)
    tile = cfg["tile_i"].size[-1] * cfg["tile_j"].size[-1]
    cfg.limit("the tile fits the registers", tile <= (registers - 4) * lanes)
    cfg.define_reorder("order", [m.k, i1, j1])
    cfg["order"].apply(s)
    s.vectorize(j1)
    cfg.define_knob("unroll", [False, True])
    if cfg["unroll"]:
        s.unroll(i1)

# %% variants-do tags=["stub"]
@wb.template("branches", matches="matmul")
def branches(cfg, s):
    """Orders of the tile's loops, with and without unrolling."""
    m, lanes, registers = cfg.match, cfg.machine.lanes, cfg.machine.registers
    raise NotImplementedError

# %% variants-check
lab.variants.check()

# %% variants-table-text [markdown]
# When it checks: which orders were left out, and why? (1×0×2 are positions: the second loop of your list, the first, the third.)
# In which of the variants does a load do the most work? 0 stands for a tile that is not in registers: nothing is saved.

# %% variants-table tags=["solution"]
space = wb.make_space(func, target, template="branches")
print(space.knobs())
table(space, target).groupby(["variant", "order", "unroll"])["adds per load"].max()

# %% variants-table tags=["stub"]
# space = wb.make_space(func, target, template="branches")
# print(space.knobs())
# table(space, target).groupby(["variant", "order", "unroll"])["adds per load"].max()

# %% transfer-text [markdown] tags=["slide"]
# ## 5. Exercise: the best, elsewhere

# %% transfer-show
lab.transfer.show()

# %% transfer-do tags=["solution"]
def carried(values, knobs):
    """The configuration of another space that is nearest, from below."""
    found = {}
    for name, value in values.items():
        small = [c for c in knobs[name].candidates if c[-1] <= value[-1]]
        found[name] = max(small, key=lambda c: c[-1])
    return found

# %% transfer-do tags=["stub"]
def carried(values, knobs):
    """The configuration of another space that is nearest, from below."""
    raise NotImplementedError

# %% transfer-predict tags=["solution"]
other = wb.make_space(wb.workloads.matmul(400, 400, 400), target, template="limited")
here = table(wb.make_space(func, target, template="limited"), target)
there = table(other, target)
here["rows"] = [value[-1] for value in here["tile_i"]]
best = here.sort_values(["adds per load", "rows"]).iloc[-1]
values = carried({name: best[name] for name in ("tile_i", "tile_j")}, other.knobs())
height, width = values["tile_i"][-1], values["tile_j"][-1] // lanes
share = height * width / (height + width) / there["adds per load"].max()
print(best["tile_i"], best["tile_j"], "becomes", values)
lab.transfer.predict(columns=values["tile_j"][-1], share=f"{100 * share:.1f} %")

# %% transfer-predict tags=["stub"]
lab.transfer.predict(columns=None, share=None)

# %% transfer-check
lab.transfer.check()

# %% small-text [markdown] tags=["slide"]
# ## 6. Exercise: small, and with the best

# %% small-show
lab.small.show()

# %% small-predict tags=["solution"]
lab.small.predict(square=24 / (6 + 4), thin=24 / (24 + 1))

# %% small-predict tags=["stub"]
lab.small.predict(square=None, thin=None)

# %% small-do tags=["solution"]
@wb.template("small", matches="matmul")
def small(cfg, s):
    """Tiles that fill the registers."""
    m, lanes, registers = cfg.match, cfg.machine.lanes, cfg.machine.registers
    cfg.define_split("tile_i", m.i, num_outputs=2)
    cfg.define_split("tile_j", m.j, num_outputs=2, filter=lambda e: e.size[-1] % lanes == 0)
    i0, i1 = cfg["tile_i"].apply(s)
    j0, j1 = cfg["tile_j"].apply(s)
    s.reorder(i0, j0, m.k, i1, j1)
    tile = cfg["tile_i"].size[-1] * cfg["tile_j"].size[-1]
    cfg.limit("the tile fits the registers", tile <= (registers - 4) * lanes)
    cfg.limit("it uses two thirds of them", tile * 3 >= (registers - 4) * lanes * 2)
    s.unroll(i1)
    s.vectorize(j1)

# %% small-do tags=["stub"]
@wb.template("small", matches="matmul")
def small(cfg, s):
    """Your name for what it keeps."""
    m, lanes, registers = cfg.match, cfg.machine.lanes, cfg.machine.registers
    raise NotImplementedError

# %% small-check
lab.small.check()

# %% repair-text [markdown] tags=["slide"]
# ## 7. Exercise: repair
#
# `policy="power2"` keeps the ways whose inner factors are powers of two, `max_factor` those whose inner factors are no larger.

# %% repair-broken
@wb.template("broken", matches="matmul")
def broken(cfg, s):
    """A template whose space leaves out the best."""
    m, lanes, registers = cfg.match, cfg.machine.lanes, cfg.machine.registers
    cfg.define_split("tile_i", m.i, policy="power2", num_outputs=2, max_factor=4)
    whole = lambda e: e.size[-1] % lanes == 0
    cfg.define_split("tile_j", m.j, policy="power2", num_outputs=2, filter=whole)
    i0, i1 = cfg["tile_i"].apply(s)
    j0, j1 = cfg["tile_j"].apply(s)
    s.reorder(i0, j0, m.k, i1, j1)
    tile = cfg["tile_i"].size[-1] * cfg["tile_j"].size[-1]
    cfg.limit("the tile fits the registers", tile <= registers)
    s.unroll(i1)
    s.vectorize(j1)

# %% repair-show
lab.repair.show()

# %% repair-predict tags=["solution"]
left = table(wb.make_space(func, target, template="broken"), target)
lab.repair.predict(many=len(left), best=left["adds per load"].max())

# %% repair-predict tags=["stub"]
lab.repair.predict(many=None, best=None)

# %% repair-do tags=["solution"]
@wb.template("mended", matches="matmul")
def mended(cfg, s):
    """The template broken, with its three mistakes mended."""
    m, lanes, registers = cfg.match, cfg.machine.lanes, cfg.machine.registers
    cfg.define_split("tile_i", m.i, num_outputs=2)
    cfg.define_split("tile_j", m.j, num_outputs=2, filter=lambda e: e.size[-1] % lanes == 0)
    i0, i1 = cfg["tile_i"].apply(s)
    j0, j1 = cfg["tile_j"].apply(s)
    s.reorder(i0, j0, m.k, i1, j1)
    tile = cfg["tile_i"].size[-1] * cfg["tile_j"].size[-1]
    cfg.limit("the tile fits the registers", tile <= (registers - 4) * lanes)
    s.unroll(i1)
    s.vectorize(j1)

# %% repair-do tags=["stub"]
@wb.template("mended", matches="matmul")
def mended(cfg, s):
    """The template broken, with its mistakes mended."""
    m, lanes, registers = cfg.match, cfg.machine.lanes, cfg.machine.registers
    raise NotImplementedError

# %% repair-check
lab.repair.check()

# %% tune-text [markdown] tags=["slide"]
# ## 8. With a clock
#
# A tuner draws configurations of a template and measures them on this machine. Here it may try eight.

# %% tune
def tuned(name):
    """Measure eight configurations of a template; returns the three fastest."""
    task = wb.Task.of_func(func, target)
    with tempfile.TemporaryDirectory() as folder:
        log = f"{folder}/log.tunelog.jsonl"
        with wb.tune(task, template=name, trials=8, log=log) as session:
            session.wait()
        tried = session.frame()
    tried = tried[tried["row"].map(bool)]  # the first trial is a schedule without tuning
    best = tried.sort_values("latency_ms").head(3)
    numbers = best[["latency_ms", "gflops"]].round(2).to_dict("records")
    return pd.DataFrame([row | more for row, more in zip(best["row"], numbers)])

tuned("broken")

# %% tune-mended-text [markdown]
# And the one that you have mended. Does the clock agree with the counts? What do the counts leave out?

# %% tune-mended tags=["solution"]
tuned("mended")

# %% tune-mended tags=["stub"]
# tuned(...), with the name of your template

# %% remember [markdown] tags=["slide"]
# ## What to remember
#
# 1. A split has as many ways as the extent has **divisors**, and knobs **multiply**. Count a space before you make it.
# 2. What is known beforehand is a **limit**, an inequality of open numbers. It costs the search nothing.
# 3. What Python has to look at makes **variants**. An `if` on a split makes one for each of its values.
# 4. A configuration belongs to a **size** and to a **machine**. Carried over it may be legal and still be poor.
# 5. No search finds what the space **does not have**. When a result disappoints, look at the space first.
#
# ## Five questions
#
# 1. A loop of 1,024 iterations is cut in three. In how many ways?
# 2. Why is `cfg.limit("fits", a * b <= 64)` better than `if a * b > 64: return`?
# 3. A prime extent, 127: which splits has it, and what can a template do about it?
# 4. A tile of 4 x 3 registers and one of 12 x 1: which needs fewer load instructions in one step of k, and how many? Which
#    loads fewer bytes?
# 5. Two templates: one with 20 configurations, one with 20,000 that has all of these 20. When would you choose which?

# %% answers [markdown] tags=["instructor"]
# **Answers.** 1: ten twos in three places, 12 * 11 / 2 = 66. 2: the `if` needs both values, so each pair makes a variant, and
# what returns early is still a schedule in the space; the limit stays an inequality, and no row breaks it. 3: 1 x 127 and
# 127 x 1; pad the axis to 128. 4: 4 x 3 needs 3 + 4 = 7 load instructions, 12 x 1 needs 1 + 12 = 13, for 12 multiply-adds
# each: 1.71 against 0.92 per load. 12 x 1 loads fewer bytes: with vectors of 64 bytes 64 + 12 * 4 = 112, against
# 3 * 64 + 4 * 4 = 208. (In section 3: bytes decide where data come from a cache further away than L1, or from memory.) 5: the
# small one with few trials, if one trusts the rule that made it; the large one with many trials, or on a
# machine that nobody knows yet.

# %% report
lab.report()
