# %% title [markdown] tags=["slide"]
# # Lab 13: Networks
#
# Where does the time of a network go, apart from its convolutions? It has 43 nodes, and only 12 of them are convolutions. You
# make the others disappear or cost nothing: normalisations are folded, element-wise nodes fused, tensors share memory. What is
# left are kernels to tune, and you decide which of them the tuner works on next.
#
# You need labs 7 and 12. Afterwards you can read what a graph compiler did, count what it saved in kernels and bytes, plan
# memory, and say who deserves the next trial.

# %% teacher [markdown] tags=["instructor"]
# **For the lecturer.** 75 to 90 minutes: 10 for traffic, 10 for folding, 20 for fusing, 20 for memory, 15 for trials, 10 for the
# repair. The functions are short, at most 15 lines; most of the time goes into reading what they are given.
#
# Misconceptions: an element-wise node is free because it has little arithmetic; whatever stands next to each other can be fused
# (the stem's result is needed twice: let them draw it); memory is freed when a tensor is last *named*; a task with a bad round
# is done. Sizes differ from student to student in the exercises that count bytes, kernels do not.

# %% open
import time

import pandas as pd

import workbench as wb
from workbench import labs
from workbench.labs.catalog.networks.memory import drawn_items, items_of, needed_at_once
from workbench.labs.catalog.networks.memory import overlaps, picture
from workbench.labs.catalog.networks.residual import kernels_of, optimised, sizes_of
from workbench.labs.catalog.networks.residual import small_network, views_of, with_kernels
from workbench.labs.catalog.networks.trials import BUDGET, RECORDED, WEIGHTS, in_turn, replay

lab = labs.open("networks", wb.Target.host(threads=1))
n, channels = lab.traffic.setting["n"], lab.traffic.setting["c"]
network = small_network(n, channels)
print("\n".join(str(network).splitlines()[:12]), "\n...")

# %% network-text [markdown] tags=["slide"]
# ## 1. A network is a graph
#
# Each line is a **node**: its result, an operator, its operands. The first convolution is the *stem*; then come five *blocks*
# of two convolutions (`a`, `b`), whose result is added to what came into the block, the *shortcut*. Block `four` halves the
# image and has twice as many channels, so its shortcut goes through a convolution, too (`fours`). At the end: a mean per
# channel, a product, ten numbers.

# %% network
for op in dict.fromkeys(node.op for node in network.nodes):
    print(f"{op:19}", " ".join(node.name for node in network.nodes if node.op == op))

# %% traffic-text [markdown] tags=["slide"]
# ## 2. Exercise: what a kernel of its own costs
#
# A **kernel** is a loop nest that is compiled and called; it reads from memory and writes to memory.

# %% traffic-show
lab.traffic.show()

# %% traffic-predict tags=["solution"]
convolutions = [node for node in network.nodes if node.op == "Conv"]
kernels, left = len(network.nodes) - 1, len(convolutions) + 2
lab.traffic.predict(kernels=kernels, left=left, relu=f"{2 * channels * n * n * 4} B")

# %% traffic-predict tags=["stub"]
lab.traffic.predict(kernels=None, left=None, relu=None)

# %% traffic-do tags=["solution"]
def traffic(kernels, sizes):
    """Bytes that all kernels read and write."""
    total = 0
    for reads, writes in kernels:
        total += sum(sizes[tensor] for tensor in {*reads, *writes})
    return total

# %% traffic-do tags=["stub"]
def traffic(kernels, sizes):
    """Bytes that all kernels read and write."""
    raise NotImplementedError

# %% traffic-check
lab.traffic.check()

# %% traffic-help [markdown]
# Stuck? `lab.traffic.hint()` gives one hint after the other; `lab.traffic.solution()` shows a solution (and its points are
# gone).

# %% fold-text [markdown] tags=["slide"]
# ## 3. Exercise: a normalisation that disappears
#
# A **pass** maps a graph to a graph that computes the same. The first one is about BatchNormalization.

# %% fold-show
lab.fold.show()

# %% fold-predict tags=["solution"]
scale, mean, variance, bias = 3, 2, 4, 1
lab.fold.predict(factor=scale / variance**0.5, added=bias - mean * scale / variance**0.5)

# %% fold-predict tags=["stub"]
lab.fold.predict(factor=None, added=None)

# %% fold-do tags=["solution"]
def fold(w, scale, bias, mean, variance, epsilon):
    """New weights, and what is added per output channel."""
    factor = scale / (variance + epsilon) ** 0.5
    return w * factor.reshape(-1, 1, 1, 1), bias - mean * factor

# %% fold-do tags=["stub"]
def fold(w, scale, bias, mean, variance, epsilon):
    """New weights, and what is added per output channel."""
    raise NotImplementedError

# %% fold-check
lab.fold.check()

# %% passes-text [markdown]
# The workbench has such a pass, and others. `explain` runs them and keeps what each did to which node, and why. The columns −, +
# and ~ count nodes that a pass removed, added and changed. Open a pass that changed something. (`layout` is left out here: it
# would turn tensors round, which is another story.)

# %% passes
network.explain(without=("layout", "fuse"))

# %% fuse-text [markdown] tags=["slide"]
# ## 4. Exercise: what may be one kernel

# %% fuse-show
lab.fuse.show()

# %% fuse-predict tags=["solution"]
lab.fuse.predict(four=3, stem="no", saved=f"{4 * channels * n * n * 4} B")

# %% fuse-predict tags=["stub"]
lab.fuse.predict(four=None, stem=None, saved=None)

# %% fuse-do tags=["solution"]
POINTWISE = ("Relu", "Add", "Sigmoid", "Mul")

def fuse(graph):
    """Kernels as lists of names of nodes."""
    readers, kernels, kernel_of = graph.consumers(), [], {}
    for node in graph.nodes:
        inner = [t for t in node.inputs if t in kernel_of and t not in graph.outputs]
        alone = [t for t in inner if len(readers[t]) == 1]
        if node.op in POINTWISE and alone:
            kernel = kernel_of[alone[0]]
        else:
            kernel = []
            kernels.append(kernel)
        kernel.append(node.name)
        if node.op != "Flatten":
            kernel_of[node.outputs[0]] = kernel
    return kernels

# %% fuse-do tags=["stub"]
POINTWISE = ("Relu", "Add", "Sigmoid", "Mul")

def fuse(graph):
    """Kernels as lists of names of nodes."""
    raise NotImplementedError

# %% fuse-check
lab.fuse.check()

# %% run-text [markdown] tags=["slide"]
# Legality, effect and code: the next cells count what a network moves, compile it, run it, and compare its ten numbers with
# those of the network as it was trained. The convolutions are not tuned here, and all have the same default schedule.
#
# The networks are timed **in turns**, so that what disturbs the machine disturbs all of them alike. *ms* is the median of 31
# runs; *middle half* has the times of the half of the runs around it. Where the middle halves of two rows overlap, the clock
# does not tell these two apart.
#
# Which share of the bytes is left in the end, and which share of the time? Bytes are counted, and the same everywhere. They fall
# much more than the time: the network is small, its tensors stay in the caches of one core, where moving them is cheap, and the
# convolutions take most of the time.

# %% run
added = {}
image = wb.compile(optimised(n, channels, "fuse", "fold_batch_norm"), threads=1).draw_inputs()

def add(name, graph):
    """Compile a network for the table."""
    added[name] = graph, wb.compile(graph, threads=1)

def in_turns(turns=31):
    """Milliseconds of runs; each network runs twice in a turn, and the second run is timed."""
    times = {name: [] for name in added}
    for _ in range(turns):
        for name, (_, net) in added.items():
            net.run(*image)
            begin = time.perf_counter()
            net.run(*image)
            times[name].append(1e3 * (time.perf_counter() - begin))
    return pd.DataFrame(times)

# %% run-table
def compared():
    """Kernels, bytes, times and results of the networks."""
    times, rows, first = in_turns(), {}, None
    for name, (graph, net) in added.items():
        kernels, sizes = kernels_of(graph), sizes_of(graph)
        moved = sum(sizes[t] for reads, writes in kernels for t in {*reads, *writes})
        (result,) = net.run(*image).values()
        first = result if first is None else first
        low, median, high = times[name].quantile([0.25, 0.5, 0.75])
        rows[name] = {
            "kernels": len(kernels),
            "MiB moved": round(moved / 2**20, 2),
            "ms": f"{median:.3g}",
            "middle half": f"{low:.3g} to {high:.3g}",
            "largest difference": float(abs(result - first).max()),
        }
    return pd.DataFrame(rows).T

# %% run-three
add("as trained", optimised(n, channels, "fuse", "fold_batch_norm"))
add("folded", optimised(n, channels, "fuse"))
add("folded and fused", optimised(n, channels))
compared()

# %% run-yours [markdown]
# Your own kernels can run, too: a graph takes groups of nodes from you, and they are compiled as they are. Where they are the
# same as those of the line above, the difference of the two medians is noise: no smaller difference in this table tells anything.

# %% run-own
folded = optimised(n, channels, "fuse")
try:
    add("with your fuse", with_kernels(folded, fuse(folded)))
    print(compared().to_string())
except NotImplementedError:
    print("Your function is not written yet.")

# %% kernel-text [markdown]
# This is the second kernel of a block: convolution, bias, Add and ReLU are stages of *one* nest, as in lab 7. A stage `pad`
# stands before them: it copies the image into a frame of zeros. To place stages is a matter of the schedule again: drag the
# statement of a stage onto one of the convolution's loops, and see the code change (`C`). While you drag, the widget marks the
# loops that can take it. The nest stands as written, without the default schedule of the table above; so this one kernel may
# take longer than the whole network there. (Loops of the Add are named by position: `add_h` runs over channels.)

# %% kernel
task = next(t for t in wb.extract_tasks(optimised(n, channels)) if "add" in t.name)
wb.Workbench(wb.Schedule(task.func, wb.Target.host(threads=1)))

# %% place-text [markdown] tags=["slide"]
# ## 5. Exercise: tensors that share memory
#
# A picture of three tensors in an **arena**: a line for each kernel, a character for each byte. `C` lies where `A` was, which
# is no longer needed then. With `B` one byte lower, two tensors that are needed together share a byte: `#`.

# %% place-picture
three = [(3, 0, 1), (2, 1, 2), (3, 2, 3)]  # bytes, first kernel, last kernel
print(picture(three, [0, 3, 0]), "overlaps:", overlaps(three, [0, 3, 0]))
print(picture(three, [0, 2, 0]), "overlaps:", overlaps(three, [0, 2, 0]))

# %% place-show
lab.place.show()

# %% place-predict tags=["solution"]
lab.place.predict(block=f"{3 * channels * n * n * 4} B", turn=9, least=7)

# %% place-predict tags=["stub"]
lab.place.predict(block=None, turn=None, least=None)

# %% place-do tags=["solution"]
def place(items):
    """An offset for each (bytes, first kernel, last kernel)."""
    placed = {}
    for k in sorted(range(len(items)), key=lambda k: -items[k][0]):
        size, first, last = items[k]
        at = 0
        for j in sorted(placed, key=lambda j: placed[j]):
            other, begin, end = items[j]
            if first <= end and begin <= last and at < placed[j] + other and placed[j] < at + size:
                at = placed[j] + other
        placed[k] = at
    return [placed[k] for k in range(len(items))]

# %% place-do tags=["stub"]
def place(items):
    """An offset for each (bytes, first kernel, last kernel)."""
    raise NotImplementedError

# %% place-check
lab.place.check()

# %% place-look-text [markdown]
# The network's own results, and where your function puts them (run the cells again when it is written). The image that comes in
# belongs to the caller, and is not among them.

# %% place-look
items = items_of(n, channels)
apart = sum(size for size, _, _ in items)
print(f"{len(items)} tensors, apart {apart:,} bytes, at once {needed_at_once(items):,}")

# %% place-yours
try:
    unit = channels * n * n // 2
    print(f"a character is {unit / 1024:g} KiB", picture(items, place(items), unit), sep="\n")
except NotImplementedError:
    print("Your function is not written yet.")

# %% trials-text [markdown] tags=["slide"]
# ## 6. Exercise: who gets the next trials
#
# What is left are kernels to tune. Say the first two numbers before you go on to the table. It has the microseconds of each
# task's best kernel after 1, 2, 5, ... rounds, in the largest network of this lab.

# %% trials-show
lab.trials.show()

# %% trials-predict tags=["solution"]
lab.trials.predict(tasks=9, weight=3)

# %% trials-predict tags=["stub"]
lab.trials.predict(tasks=None, weight=None)

# %% trials-table
best = {name: pd.Series(us, range(1, len(us) + 1)) for name, (_, us) in RECORDED.items()}
recorded = pd.DataFrame(best).T.ffill(axis=1)
recorded.insert(0, "weight", WEIGHTS)
recorded[["weight", 1, 2, 5, 10, 15, 20]].rename_axis("rounds", axis=1)

# %% trials-share tags=["solution"]
spent = recorded["weight"] * recorded[1]
two = spent["3x3 32→32, relu"] + spent["3x3 32→32, add, relu"]
lab.trials.predict(share=f"{100 * two / spent.sum():.3f} %")

# %% trials-share tags=["stub"]
lab.trials.predict(share=None)

# %% trials-turn-text [markdown]
# `replay` plays the rounds from the table. To take turns is the simplest way:

# %% trials-turn
def played(choose):
    """The rounds of each task, and what the network takes afterwards."""
    total, rounds = replay(choose)
    print(f"{total:,.0f} µs after {BUDGET} rounds")
    return pd.DataFrame({"weight": WEIGHTS, "rounds": rounds}, index=list(RECORDED))

played(in_turn)

# %% trials-do tags=["solution"]
def choose(weights, best):
    """The position of the task that gets the next round."""
    expected = [w * b[-1] / len(b) for w, b in zip(weights, best, strict=True)]
    return expected.index(max(expected))

# %% trials-do tags=["stub"]
def choose(weights, best):
    """The position of the task that gets the next round."""
    raise NotImplementedError

# %% trials-yours
try:
    print(played(choose))
except NotImplementedError:
    print("Your function is not written yet.")

# %% trials-check
lab.trials.check()

# %% repair-text [markdown] tags=["slide"]
# ## 7. Exercise: repair

# %% repair-show
lab.repair.show()

# %% repair-broken
def too_short(kernels, views, outputs):
    """The first and the last kernel that touches each tensor. Two things are forgotten in it."""
    found = {}
    for k, (reads, writes) in enumerate(kernels):
        for tensor in (*writes, *reads):
            found[tensor] = (found[tensor][0] if tensor in found else k, k)
    return found

fused = optimised(n, channels)
spans = too_short(kernels_of(fused), views_of(fused), fused.outputs)
print(views_of(fused), {tensor: spans[tensor] for tensor in ("pool.y", "flat.y")})

# %% repair-predict tags=["solution"]
lab.repair.predict(view=3, output=4)

# %% repair-predict tags=["stub"]
lab.repair.predict(view=None, output=None)

# %% repair-do tags=["solution"]
def lifetimes(kernels, views, outputs):
    """The first and the last kernel that needs each tensor that has memory of its own."""
    def owner(tensor):
        while tensor in views:
            tensor = views[tensor]
        return tensor

    found = {}
    for k, (reads, writes) in enumerate(kernels):
        for tensor in map(owner, (*writes, *reads)):
            found[tensor] = (found[tensor][0] if tensor in found else k, k)
    for tensor in map(owner, outputs):
        found[tensor] = (found[tensor][0], len(kernels) - 1)
    return found

# %% repair-do tags=["stub"]
def lifetimes(kernels, views, outputs):
    """The first and the last kernel that needs each tensor that has memory of its own."""
    raise NotImplementedError

# %% repair-check
lab.repair.check()

# %% remember [markdown] tags=["slide"]
# ## What to remember
#
# 1. An element-wise kernel costs its **bytes**, not its arithmetic. Count kernels and bytes before and after a pass.
# 2. What has fixed numbers at run time is **folded** into weights, once.
# 3. A value may stay inside a kernel only if **nobody else needs it**.
# 4. No arena is smaller than what is **needed at once**; the order of placement decides how near one comes.
# 5. The next trial goes where **weight times what it may save** is the largest.
#
# ## Five questions
#
# 1. A ReLU follows a convolution whose result is also an output of the network. What can be done, and what does it cost?
# 2. Why can a BatchNormalization not be folded while the network is trained?
# 3. Ten convolutions in a row have results of the same size. How many of them are in memory at once, and how many with a
#    shortcut from the first to the last?
# 4. A plan has a lifetime that is one kernel too short, but all tests pass. How is that possible?
# 5. Two tasks take 10 µs and 500 µs; the first occurs 60 times, the second once. Which one do you tune first, and what else
#    would you like to know?

# %% answers [markdown] tags=["instructor"]
# **Answers.** 1: the convolution stays a kernel whose result is written; the ReLU becomes a kernel of its own that reads it again
# (or one kernel with two results, where a compiler has that). 2: mean and variance are those of the batch, which
# are known only when the convolution has run. 3: two; three, since the first one stays. 4: the bytes were not used again
# between, or what was written over them was equal or not looked at. 5: the first has 600 of 1,100 µs, so a share saved there is
# worth a little more; but a kernel of 10 µs may have little left to save: how fast is it compared with its roofline?

# %% report
lab.report()
