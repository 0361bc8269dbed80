# %% title [markdown] tags=["slide"]
# # Lab 5: Threads
#
# Two cores should be twice as fast as one. Often they are not, and sometimes they are slower than one. Four reasons: the
# iterations depend on each other, the shares are uneven, threads write into each other's cache lines, or too much is left that no
# thread shares. Each of them can be counted before anything is measured.
#
# You need labs 2 to 4. Afterwards you can say which loops may run in parallel, cut even shares, find false sharing, and say how
# fast a program can become at most.

# %% teacher [markdown] tags=["instructor"]
# **For the lecturer.** 60 to 90 minutes: 15 each for what is legal, even shares, false sharing and the repair, 10 for the sum, 5
# for Amdahl's law.
#
# On two cores little of it can be *felt*: false sharing of results that are written once costs nothing that one could measure.
# Therefore everything that is graded is counted. Section 4 measures a nest that writes its lines at every step.
#
# Misconceptions: "no element is written twice, so there is no conflict" (lines, not elements), "more threads, proportionally
# faster" (Amdahl, rounds), "parallel may stand anywhere" (handing out work takes microseconds).

# %% machine
import pandas as pd

import workbench as wb
from workbench import labs

target = wb.Target.host()
lab = labs.open("threads", target)
print(f"{target.cpu}: {target.threads} threads")
if target.threads < 2:
    print("One thread only: all counts hold, times show nothing.")

# %% legal-text [markdown] tags=["slide"]
# ## 1. Exercise: what may run at the same time

# %% legal-show
lab.legal.show()

# %% legal-predict tags=["solution"]
lab.legal.predict(loops="i and j", starts=512)

# %% legal-predict tags=["stub"]
lab.legal.predict(loops=None, starts=None)

# %% refusals-text [markdown]
# Try it. What could change the result is refused, with the reason. So is what would be right and start threads again and again:
# only loops on the outside can be parallel here.

# %% refusals
for loop in ("k", "j", "i"):
    s = wb.Schedule(wb.workloads.matmul(512, 512, 512), target)
    try:
        s.parallel(loop)
        print(f"parallel({loop!r}) is legal\n")
    except wb.WorkbenchError as refused:
        print(refused, "\n")

# %% legal-do tags=["solution"]
s = lab.legal.reset().schedule
s.split("i", [None, 8])
s.parallel("i.0")
print(s.nest())

# %% legal-do tags=["stub"]
s = lab.legal.reset().schedule
# your steps

print(s.nest())

# %% legal-check
lab.legal.check()

# %% legal-help [markdown]
# Stuck? `lab.legal.hint()` gives one hint after the other; `lab.legal.solution()` shows a solution (and its points are gone).

# %% balance-text [markdown] tags=["slide"]
# ## 2. Exercise: even shares

# %% balance-show
lab.balance.show()

# %% balance-predict tags=["solution"]
threads = lab.balance.setting["threads"]
rounds = -(-8 // threads)
lab.balance.predict(rounds=rounds, share=f"{100 * 8 / (threads * rounds):.1f} %")

# %% balance-predict tags=["stub"]
lab.balance.predict(rounds=None, share=None)

# %% balance-do tags=["solution"]
s = lab.balance.reset().schedule
s.split("i", [None, 4])
s.parallel("i.0")
print(s.nest())

# %% balance-do tags=["stub"]
s = lab.balance.reset().schedule
# your steps

print(s.nest())

# %% balance-check
lab.balance.check()

# %% rounds-text [markdown]
# The first question as a picture: a line is a thread, a column is a round, and a point is somebody who waits.

# %% rounds
iterations, threads = 512 // 64, lab.balance.setting["threads"]
end = threads * -(-iterations // threads)
for thread in range(threads):
    print(f"thread {thread:2}  " + " ".join("#" if k < iterations else "." for k in range(thread, end, threads)))

# %% shares-text [markdown]
# Sizes of blocks and numbers of threads: read down a column. Where does waiting begin, and why is it never with two threads?

# %% shares
def share(iterations, threads):
    """Share of the threads' time that is work."""
    return iterations / (threads * -(-iterations // threads))

sizes = [4, 8, 16, 32, 64, 128]
table = {f"{t} threads": [f"{share(512 // size, t):.0%}" for size in sizes] for t in (2, 6, 12, 16, 48)}
pd.DataFrame(table, index=[f"blocks of {size} rows" for size in sizes])

# %% sharing-text [markdown] tags=["slide"]
# ## 3. Exercise: false sharing

# %% sharing-show
lab.sharing.show()

# %% sharing-nest
print(lab.sharing.reset().schedule.nest())

# %% sharing-predict tags=["solution"]
lab.sharing.predict(together=16, shared=lab.sharing.setting["rows"] // 16)

# %% sharing-predict tags=["stub"]
lab.sharing.predict(together=None, shared=None)

# %% sharing-do tags=["solution"]
s = lab.sharing.reset().schedule
s.split("i", [None, 16])
s.parallel("i.0")
print(s.nest())

# %% sharing-do tags=["stub"]
s = lab.sharing.reset().schedule
# your steps

print(s.nest())

# %% sharing-check
lab.sharing.check()

# %% writers [markdown]
# Two lines of Y, 32 elements, each with the letter of the iteration that writes it. A line with two letters has two writers.

# %% writers-picture
from string import ascii_letters

for block in (1, 4, 16, 32):
    letters = "".join(ascii_letters[k // block] for k in range(32))
    print(f"blocks of {block:2}: |{letters[:16]}|{letters[16:]}|")

# %% lines-text [markdown]
# `labs.shared_lines` counts, for each stage, the iterations that may run at the same time, the lines that the stage writes, those
# with more than one writer, and the most writers of a line:

# %% lines
rows = {}
for block in (1, 4, 8, 16, 32):
    s = wb.Schedule(wb.workloads.reduce(256, 2048), target)
    s.split("i", [None, block])
    s.parallel("i.0")
    rows[f"blocks of {block}"] = labs.shared_lines(s.func)["Y"]
pd.DataFrame.from_dict(
    {name: [x.iterations, x.lines, x.shared, x.writers] for name, x in rows.items()},
    orient="index", columns=["iterations", "lines", "shared", "writers"],
)

# %% repair-text [markdown] tags=["slide"]
# ## 4. Exercise: repair

# %% repair-show
lab.repair.show()

# %% repair-nest
s = lab.repair.reset().schedule
print(s)

# %% repair-predict tags=["solution"]
lab.repair.predict(writers=4, lines=512 * 512 // 16)

# %% repair-predict tags=["stub"]
lab.repair.predict(writers=None, lines=None)

# %% repair-widget [markdown]
# Mend it with steps in the cell or in the widget. The widget has the steps that were taken above the nest: a click on one goes
# back to it, and *Change…*, below the variants, takes it with another number, and the later ones after it. `check()` judges what
# the widget shows.

# %% repair-do tags=["solution"]
s = lab.repair.reset().schedule
s.undo(len(s.trace))
s.split("i", [None, 8])
s.reorder("i.0", "k", "i.1", "j")
s.parallel("i.0")
wb.Workbench(s)

# %% repair-do tags=["stub"]
s = lab.repair.reset().schedule
# your steps: s.undo(n) takes back the last n

wb.Workbench(s)

# %% repair-check
lab.repair.check()

# %% felt-text [markdown]
# **Can it be felt?** The same nest with blocks of columns of several widths, and with blocks of rows, on one thread and on all.
# Compare each with itself: which ones become faster by less than the number of threads? Narrow columns cost something on one
# thread already, because each line comes again for every block. (A time is marked ≥ where another program had a core in the
# meantime; run the cell again then.)

# %% felt
def blocks(loop, size, threads):
    """C in blocks of columns (j) or rows (i), loaded and stored at every step of k."""
    s = wb.Schedule(wb.workloads.matmul(256, 256, 256), wb.Target.host(threads=threads))
    s.split(loop, [None, size])
    s.reorder("j.0", "k", "i", "j.1") if loop == "j" else s.reorder("i.0", "k", "i.1", "j")
    return s.parallel(f"{loop}.0")

def time(schedule):
    m = schedule.measure()
    return f"{m.ms:.3g}" if m.clean else f"≥ {m.at_least_ms:.3g}"

tried = {f"{w} columns": ("j", w) for w in (2, 4, 16, 32)} | {"16 rows": ("i", 16)}
table = {name: [time(blocks(*of, 1)), time(blocks(*of, target.threads))] for name, of in tried.items()}
pd.DataFrame.from_dict(table, orient="index", columns=["ms on one thread", f"ms on {target.threads}"])

# %% sum-text [markdown] tags=["slide"]
# ## 5. Exercise: one sum, many threads

# %% sum-show
lab.sum.show()

# %% sum-nest
print(lab.sum.reset().schedule.nest())

# %% sum-predict tags=["solution"]
lab.sum.predict(part=1_048_576 // 16, problem="no")

# %% sum-predict tags=["stub"]
lab.sum.predict(part=None, problem=None)

# %% sum-do tags=["solution"]
s = lab.sum.reset().schedule
s.split("k", [None, 65536])
s.rfactor("k.0")
s.parallel("i", "k.0")
print(s.nest())

# %% sum-do tags=["stub"]
s = lab.sum.reset().schedule
# your steps

print(s.nest())

# %% sum-check
lab.sum.check()

# %% amdahl-text [markdown] tags=["slide"]
# ## 6. Exercise: the most that threads can give

# %% amdahl-show
lab.amdahl.show()

# %% amdahl-predict tags=["solution"]
lab.amdahl.predict(time="20 ms", speedup=5, most=10)

# %% amdahl-predict tags=["stub"]
lab.amdahl.predict(time=None, speedup=None, most=None)

# %% amdahl-check
lab.amdahl.check()

# %% remember [markdown] tags=["slide"]
# ## What to remember
#
# 1. Iterations may run at the same time if none needs or writes what another one writes. A loop over a **sum** may not.
# 2. The parallel loop belongs **outside**: work is handed out once. Where it has fewer iterations than there are threads, take
#    the loop inside of it as well: `parallel("i", "j")`.
# 3. Count **rounds**: iterations over threads, rounded up. Many iterations make even shares; too small ones cost more than they
#    do.
# 4. Threads own **lines**, not elements: an iteration should write whole lines.
# 5. What is **serial** decides in the end.
#
# ## Five questions
#
# 1. 100 iterations of 1 ms on 16 threads: how long does it take, and how much of it is waiting?
# 2. 16 threads sum the rows of a matrix; each takes every 16th row. Why do they disturb each other when they write the sums?
# 3. A histogram: each thread counts into the same array. What goes wrong first, races or false sharing?
# 4. The outer loop has 3 iterations, the one inside of it 1,000, and there are 16 threads. Which of them should be parallel?
# 5. A layer takes 20 µs on one thread, handing out work 5 µs. What is the best that 4 threads can do?

# %% answers [markdown] tags=["instructor"]
# **Answers.** 1: seven rounds, 7 ms; 112 places for 100 iterations, 11 % waiting. 2: then every line of the results has as many
# writers as it has elements. 3: races: the result is wrong; with an array per thread it is right, and lines at the borders may
# be shared. 4: both, `parallel` of the two: the outer one alone leaves 13 threads idle, the inner one alone hands out work three
# times. 5: 5 + 20 / 4 = 10 µs, twice as fast.

# %% report
lab.report()
