# %% title [markdown] tags=["slide"]
# # Lab 18: GPU thinking on a CPU
#
# A GPU runs thousands of threads that execute the same text. What makes a kernel fast is not how one thread computes, but which
# thread computes what: neighbours in a warp should read neighbours in memory, threads of a block should fetch together what they
# all need, and meet only where they have to. All of that is in the nest, and can be counted without a GPU.
#
# You need labs 2, 3 and 5, and a C++ compiler: the target `cpu-simt` runs the CUDA text of a kernel on this processor, thread by
# thread, in several orders.

# %% teacher [markdown] tags=["instructor"]
# **For the lecturer.** 75 to 100 minutes: 15 each for bindings and the repair, 25 for shared memory, 15 each for barriers and
# banks.
#
# Everything graded is counted from index forms; `cpu-simt` checks results, in three orders of threads, with shared memory that
# starts as NaN. Its time says nothing about a GPU, so leave it out of the discussion. With a GPU in the room, set
# `wb.Target("cuda")` in section 6 and measure.
#
# Misconceptions: "a thread should read its own contiguous piece" (right on a CPU, wrong for a warp), "shared memory is a cache"
# (a program fills it), "one barrier is enough" (what is fetched next overwrites what somebody still reads).

# %% machine
import pandas as pd

import workbench as wb
from workbench import labs

lab = labs.open("gpu")
"cpu-simt runs here:", "cpu-simt" in set(wb.devices().query("state == 'runs'")["target"])

# %% bind-text [markdown] tags=["slide"]
# ## 1. Exercise: a thread for each element

# %% bind-show
lab.bind.show()

# %% bind-nest
print(lab.bind.reset().schedule.nest())

# %% bind-predict tags=["solution"]
n = lab.bind.setting["n"]
lab.bind.predict(blocks=n * n // 256, warps=8, sectors=4)

# %% bind-predict tags=["stub"]
lab.bind.predict(blocks=None, warps=None, sectors=None)

# %% bind-do tags=["solution"]
s = lab.bind.reset().schedule
s.split("i", [None, 8])
s.split("j", [None, 32])
s.reorder("i.0", "j.0", "i.1", "j.1")
s.bind("i.0", "blockIdx.y").bind("j.0", "blockIdx.x")
s.bind("i.1", "threadIdx.y").bind("j.1", "threadIdx.x")
print(s.nest())

# %% bind-do tags=["stub"]
s = lab.bind.reset().schedule
# your steps

print(s.nest())

# %% bind-check
lab.bind.check()

# %% bind-help [markdown]
# Stuck? `lab.bind.hint()` gives one hint after the other; `lab.bind.solution()` shows a solution (and its points are gone).

# %% text-text [markdown]
# What the threads run, as CUDA C; before it stands what lets this processor run threads. Where are the loops that you bound?

# %% text
def kernels(schedule):
    source = schedule.build().source
    return source[source.index('extern "C" __global__') :]


print(kernels(lab.bind.schedule))

# %% repair-text [markdown] tags=["slide"]
# ## 2. Exercise: repair

# %% repair-show
lab.repair.show()

# %% repair-nest
print(lab.repair.reset().schedule.nest())

# %% repair-predict tags=["solution"]
lab.repair.predict(apart=f"{4 * lab.repair.setting['n']} bytes", sectors=32, used="12.5 %")

# %% repair-predict tags=["stub"]
lab.repair.predict(apart=None, sectors=None, used=None)

# %% repair-statistics
print(*lab.repair.reset().schedule.build().statistics)

# %% repair-do tags=["solution"]
s = lab.repair.reset().schedule
s.undo(len(s.trace))
s.split("i", [None, 8])
s.split("j", [None, 32])
s.reorder("i.0", "j.0", "i.1", "j.1")
s.bind("i.0", "blockIdx.y").bind("j.0", "blockIdx.x")
s.bind("i.1", "threadIdx.y").bind("j.1", "threadIdx.x")
print(s.nest())

# %% repair-do tags=["stub"]
s = lab.repair.reset().schedule
# your steps: s.undo(n) takes back the last n

print(s.nest())

# %% repair-check
lab.repair.check()

# %% share-text [markdown] tags=["slide"]
# ## 3. Exercise: fetch together

# %% share-show
lab.share.show()

# %% share-nest
print(lab.share.reset().schedule.nest())

# %% share-predict tags=["solution"]
n = lab.share.setting["n"]
lab.share.predict(readers=n, fetched=n // 16, barriers=2)

# %% share-predict tags=["stub"]
lab.share.predict(readers=None, fetched=None, barriers=None)

# %% share-do tags=["solution"]
s = lab.share.reset().schedule
for operand in ("A", "B"):
    copy = s.cache_read("C", operand)
    s.compute_at(copy, "C_k.0")
    row, column = (loop.name for loop in s.func.block(copy)[1][-2:])
    s.bind(row, "threadIdx.y").bind(column, "threadIdx.x").set_scope(f"{operand}.local", "shared")
print(s.nest())

# %% share-do tags=["stub"]
s = lab.share.reset().schedule
# your steps: copy = s.cache_read("C", "A"), then look at s.nest()

print(s.nest())

# %% share-check
lab.share.check()

# %% meet-text [markdown] tags=["slide"]
# ## 4. Exercise: where threads meet

# %% meet-show
lab.meet.show()

# %% meet-predict tags=["solution"]
lab.meet.predict(where="before and behind the computation", own=0, uneven="they wait for ever")

# %% meet-predict tags=["stub"]
lab.meet.predict(where=None, own=None, uneven=None)

# %% meet-do tags=["solution"]
def barriers(statements):
    found, since = [], []
    for k, (verb, array, whose) in enumerate(statements):
        for before, same, of in since:
            if same == array and "writes" in (verb, before) and not whose == of == "own":
                found.append(k)
                since = []
                break
        since.append((verb, array, whose))
    return found

# %% meet-do tags=["stub"]
def barriers(statements):
    # a statement is ("reads" or "writes", array, "own" or "another")
    raise NotImplementedError

# %% meet-check
lab.meet.check()

# %% meet-look [markdown]
# And in the kernel of the exercise before: find both barriers, and say for each what it keeps apart.

# %% meet-source
marks = ("syncthreads", "for (", "if (")
print(*(line for line in kernels(lab.share.schedule).splitlines() if any(m in line for m in marks)), sep="\n")

# %% banks-text [markdown] tags=["slide"]
# ## 5. Exercise: repair: a bank for everybody

# %% banks-show
lab.banks.show()

# %% banks-predict tags=["solution"]
lab.banks.predict(column=32, longer=1, sectors=32)

# %% banks-predict tags=["stub"]
lab.banks.predict(column=None, longer=None, sectors=None)

# %% banks-statistics
print(*lab.banks.reset().schedule.build().statistics)

# %% banks-do tags=["solution"]
s = lab.banks.reset().schedule
s.storage_align("X.local", 0, 32, 1)
print(*s.build().statistics)

# %% banks-do tags=["stub"]
s = lab.banks.reset().schedule
# your step

print(*s.build().statistics)

# %% banks-check
lab.banks.check()

# %% lengths-text [markdown]
# Which lengths of a row would do? Turns for a column of 32 words:

# %% lengths
rows = {length: max(sum((r * length) % 32 == bank for r in range(32)) for bank in range(32)) for length in range(32, 41)}
pd.DataFrame({"words in a row": rows.keys(), "turns": rows.values()}).set_index("words in a row").T

# %% remember [markdown] tags=["slide"]
# ## What to remember
#
# 1. **threadIdx.x** is what lies side by side: bind it to the loop that steps by one element.
# 2. A warp pays for **sectors**, not for numbers: a column of a matrix moves eight times what it uses.
# 3. What many threads of a block need, the block **fetches once**, together, to memory that it shares.
# 4. **Barriers** stand where one thread touches what another one writes: before what was fetched is read, and before it is
#    overwritten.
# 5. Shared memory has **banks**: a row that is one word longer costs nothing and moves a column apart.
#
# ## Five questions
#
# 1. A thread for each row, summing up its row: how many sectors does a warp touch in one step?
# 2. Why is the same loop order, a piece of a row for each, right for the threads of a CPU?
# 3. Blocks of 32 by 32 threads instead of 16 by 16: how often is an element of A fetched, of a product of 1,024?
# 4. A kernel gives the right result on a CPU that runs thread after thread. Is it right?
# 5. Rows of 64-bit numbers: how many of them share a bank, and what does that change?

# %% answers [markdown] tags=["instructor"]
# **Answers.** 1: 32. 2: a thread of a CPU has a cache of its own and reads line after line; the threads of a warp read at the
# same time. 3: 32 times instead of 64. 4: not for certain: another order of threads may find what was not there yet, which is why
# cpu-simt tries several, with shared memory that starts as NaN. 5: each takes two banks, so half a warp fills them: two turns are
# the least.

# %% report
lab.report()
