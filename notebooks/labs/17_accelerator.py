# %% title [markdown] tags=["slide"]
# # Lab 17: An accelerator
#
# A processor for one thing has an instruction that a CPU lacks, memories that a program fills, and engines that run side by side.
# What it does not have is hardware that hides latency: a program says who waits for whom. Here you write such programs, count
# their cycles, and in the end you choose the sizes of the accelerator itself.
#
# You need labs 2 and 9. Nothing is timed: the accelerator is simulated, and two runs never differ.

# %% teacher [markdown] tags=["instructor"]
# **For the lecturer.** 75 to 120 minutes: 15 for the memories, 25 for tokens, 10 for virtual threads, 15 for the repair, and as
# long as you like for the capstone.
#
# The accelerator is VTA's: its sizes are options of the target, its cycles a model of 8 bytes and 256 multiplications in a cycle.
# Sections 1 to 4 are about one program, the capstone about the machine; a course can begin with it and go back.
#
# Misconceptions: "a faster product makes the program faster" (it waits for loads half of the time), "a larger memory is faster"
# (two tiles are enough), "a token says which data are ready" (it says that an instruction has ended, and no more).

# %% machine
import workbench as wb
from workbench import labs
from workbench.analysis import pipeline, pipeline_figure
from workbench.space.default_schedule import default_schedule

lab = labs.open("accelerator")

# %% memories-text [markdown] tags=["slide"]
# ## 1. Exercise: three memories and an instruction

# %% memories-show
lab.memories.show()

# %% memories-nest
print(lab.memories.reset().schedule.nest())

# %% memories-predict tags=["solution"]
rows = lab.memories.setting["rows"]
load, products = 32 + rows * 64 // 8, rows * 16
lab.memories.predict(load=load, products=products, share=f"{100 * products / (load + 544 + 6 + products):.1f} %")

# %% memories-predict tags=["stub"]
lab.memories.predict(load=None, products=None, share=None)

# %% memories-do tags=["solution"]
s = lab.memories.reset().schedule
s.set_scope("A.local", "inp")
s.set_scope("B.local", "wgt")
s.set_scope("C", "acc")
s.tensorize("j.3", "vta.gemm.1x16x16")
print(s.nest())

# %% memories-do tags=["stub"]
s = lab.memories.reset().schedule
# your steps

print(s.nest())

# %% memories-check
lab.memories.check()

# %% memories-help [markdown]
# Stuck? `lab.memories.hint()` gives one hint after the other; `lab.memories.solution()` shows a solution (and its points are
# gone).

# %% tokens-text [markdown] tags=["slide"]
# ## 2. Exercise: tokens

# %% tokens-show
lab.tokens.show()

# %% tokens-program [markdown]
# A program of the accelerator as text. Behind the bar stands what an instruction pops before it begins, and what it pushes when
# it has ended. `load inp` and `load wgt` bring tiles, `gemm` multiplies, `alu` works on sums one by one, `store` writes them. A
# *micro-op* (uop) names the rows of the three memories that one product touches; a program loads the list of them first, into a
# small memory of its own, and `gemm` goes through it. Two tiles are in flight here: exercise 3 says why.

# %% tokens-listing
small = wb.workloads.matmul_int8(64, 64, 64, signed=True, constant_b=True, shift=7)
print(default_schedule(small, wb.Target("vta")).build().source)

# %% tokens-predict tags=["solution"]
lab.tokens.predict(queues=4, over="compute", one="the first load")

# %% tokens-predict tags=["stub"]
lab.tokens.predict(queues=None, over=None, one=None)


# %% tokens-do tags=["solution"]
def outcome(instructions):
    todo = {engine: [i for i in instructions if i[0] == engine] for engine in ("load", "compute", "store")}
    tokens = {(a, b): 0 for a in todo for b in todo}
    moved = True
    while moved:
        moved = False
        for engine, waiting in todo.items():
            if waiting and all(tokens[other, engine] for other in waiting[0][1]):
                _, pops, pushes = waiting.pop(0)
                for other in pops:
                    tokens[other, engine] -= 1
                for other in pushes:
                    tokens[engine, other] += 1
                moved = True
    if any(todo.values()):
        return "waits"
    return "left" if any(tokens.values()) else "runs"


# %% tokens-do tags=["stub"]
def outcome(instructions):
    # an instruction is (engine, engines that it pops a token of, engines that it pushes one to)
    raise NotImplementedError


# %% tokens-check
lab.tokens.check()

# %% hide-text [markdown] tags=["slide"]
# ## 3. Exercise: two virtual threads

# %% hide-show
lab.hide.show()

# %% hide-picture
alone = lab.hide.reset().schedule.copy()
pipeline_figure(alone)

# %% hide-predict tags=["solution"]
lab.hide.predict(step=1088, data="8 KiB", sums="32 KiB")

# %% hide-predict tags=["stub"]
lab.hide.predict(step=None, data=None, sums=None)

# %% hide-do tags=["solution"]
s = lab.hide.reset().schedule
s.bind("j.1", "vthread")
pipeline_figure(s)

# %% hide-do tags=["stub"]
s = lab.hide.reset().schedule
# your step

pipeline_figure(s)

# %% hide-check
lab.hide.check()

# %% hide-look [markdown]
# Point at a bar: it says who waits for whom. What is still white in the row of *compute*? Where sums are made bytes again (three
# instructions of the ALU), and where the last tile is stored, nothing can be hidden behind a product.

# %% repair-text [markdown] tags=["slide"]
# ## 4. Exercise: repair

# %% repair-show
lab.repair.show()

# %% repair-try
try:
    lab.repair.reset().schedule.build()
except wb.WorkbenchError as refused:
    print(refused)

# %% repair-predict tags=["solution"]
lab.repair.predict(over="16 KiB", enough="wgt", rows=32)

# %% repair-predict tags=["stub"]
lab.repair.predict(over=None, enough=None, rows=None)

# %% repair-steps [markdown]
# All steps of such a schedule in one function: tiles of `rows`, of `columns` blocks of 16, and of `terms` blocks of 16.


# %% repair-function
def cut_product(s, rows, columns, terms, threads=2):
    s.undo(len(s.trace))
    s.split("i", [None, rows])
    s.split("j", [None, threads, columns, 16])
    s.split("k", [None, terms, 16])
    s.transform_layout("B", 1, 16)
    s.transform_layout("B", 1, 16)
    s.reorder("i.0", "j.0", "j.1", "k.0", "i.1", "j.2", "k.1", "j.3", "k.2")
    for name, scope in (("A", "inp"), ("B", "wgt")):
        s.compute_at(s.cache_read("C", name), "k.0")
        s.set_scope(f"{name}.local", scope)
    s.reverse_compute_at("narrow", "j.1")
    s.set_scope("C", "acc")
    s.tensorize("j.3", "vta.gemm.1x16x16")
    return s.bind("j.1", "vthread")


# %% repair-do tags=["solution"]
s = cut_product(lab.repair.reset().schedule, rows=32, columns=4, terms=4)
run = pipeline(s)
print(f"{run.cycles:,} cycles, product busy {run.utilisation:.0%}, {run.bytes_read:,} bytes loaded")

# %% repair-do tags=["stub"]
s = lab.repair.reset().schedule
# your tiles: cut_product(s, rows=..., columns=..., terms=...)

# %% repair-check
lab.repair.check()

# %% design-text [markdown] tags=["slide"]
# ## 5. Capstone: design an accelerator

# %% design-show
lab.design.show()

# %% design-predict tags=["solution"]
lab.design.predict(cost=480, side=64, room=64)

# %% design-predict tags=["stub"]
lab.design.predict(cost=None, side=None, room=None)

# %% design-look [markdown]
# One layer on several designs, each with its default schedule. A memory that is half as large costs nothing where two tiles still
# fit. Change the sizes and look:

# %% design-try
layer = wb.workloads.conv2d_int8_nhwc(14, 14, 64, 64, shift=6)
for text in ("vta", "vta -wgt=16K", "vta -acc=4K", "vta -inp=4K", "vta -bus=16"):
    run = pipeline(default_schedule(layer, wb.Target(text)))
    print(f"{text:14} {run.cycles:7,} cycles, product busy {run.utilisation:.0%}, {run.bytes_read:,} bytes loaded")


# %% design-do tags=["solution"]
def design():
    return {"inp": 8, "wgt": 8, "acc": 16, "uop": 1, "bus": 15}


# %% design-do tags=["stub"]
def design():
    # {"inp": ..., "wgt": ..., "acc": ..., "uop": ..., "bus": ...}: KiB, and bytes in a cycle
    raise NotImplementedError


# %% design-check
lab.design.check()

# %% remember [markdown] tags=["slide"]
# ## What to remember
#
# 1. An accelerator's memories are **filled by the program**: a tile is an instruction of the load, and one of the product.
# 2. Engines run side by side; **tokens** say who waits for whom. One too few is a deadlock or a race, one too many stays.
# 3. **Two tiles in flight** hide the loads behind the products: a step takes as long as the slower side.
# 4. Tiles of **sums** decide how often operands are loaded; the bus decides how soon.
# 5. Sizes are a **budget**: what two tiles do not use is better spent elsewhere.
#
# ## Five questions
#
# 1. A load of 4 KiB, 32 cycles of latency, 8 bytes a cycle: how long does it take? And as eight loads of 512 bytes?
# 2. Why do three virtual threads rarely help where two do?
# 3. A program runs and gives the right result, and a token is left. What may happen in the next program?
# 4. The simulator finds a race in a program whose result is right. Is the program right?
# 5. A layer reads each weight once. Which size of the accelerator decides how fast it is?

# %% answers [markdown] tags=["instructor"]
# **Answers.** 1: 32 + 512 = 544 cycles; 8 × (32 + 64) = 768. 2: one product hides one load; a third tile only shares out the
# memories further. 3: an instruction there may begin too early, on a token that was meant for nobody. 4: no: it is right in this
# timing; with another latency it may not be. 5: the bus.

# %% report
lab.report()
