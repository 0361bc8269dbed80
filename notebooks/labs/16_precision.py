# %% title [markdown] tags=["slide"]
# # Lab 16: Low precision
#
# A float32 has 32 bits. Networks get by with 16 or 8 for nearly everything: half or a quarter of the memory, two or four times as
# many numbers in a register, and instructions that compute a whole small nest. **And yet the sums are never kept in 16 or 8
# bits.** Why?
#
# You need labs 3, 4, 8 and 9: vectors, registers, rounding, and packing. Afterwards you can round to bfloat16 and to bytes, say
# how large the error is, let an instruction compute a nest, and choose which nodes of a network stay in float32.

# %% teacher [markdown] tags=["instructor"]
# **For the lecturer.** 75 to 90 minutes: 10 for the formats, 10 for sums, 15 for the instruction, 15 for packing, 10 for scales,
# 15 for cutting off, 10 for the network. The common misconception: low precision is a matter of storage only. Section 2 shows a
# sum that stops growing at 256. Let students guess its last value first.
#
# The nests of sections 3 and 4 are scheduled for a server with AVX-512 VNNI. A machine without it judges the steps and does not
# run them.

# %% machine
import ml_dtypes
import numpy as np
import pandas as pd

import workbench as wb
from workbench import labs
from workbench.graph import Graph, Node, TensorType
from workbench.labs.catalog.precision.instructions import DEPTH, DOT, SERVER
from workbench.workloads import matmul

target = wb.Target.host(threads=1)
lab = labs.open("precision", target)
missing = SERVER.missing_here()
print(f"{DOT} " + (f"is not here: this machine lacks {', '.join(missing)}" if missing else "runs on this machine"))

# %% formats-text [markdown] tags=["slide"]
# ## 1. Exercise: what a bfloat16 keeps
#
# The same numbers in three formats. Which one loses digits, which one loses the large number?

# %% formats-table
numbers = np.array([1 / 3, 3.14159265, 65_504, 100_000, 1e-10], np.float32)
with np.errstate(over="ignore"):  # 100,000 is no float16
    shown = {name: numbers.astype(name).astype(float) for name in ("float32", "bfloat16", "float16")}
pd.DataFrame(shown).map("{:.9g}".format)

# %% formats-show
lab.formats.show()

# %% formats-predict tags=["solution"]
lab.formats.predict(step=2**-7, holds="bfloat16", memory="8 MiB")

# %% formats-predict tags=["stub"]
lab.formats.predict(step=None, holds=None, memory=None)

# %% formats-do tags=["solution"]
def to_bfloat16(bits):
    """The 16 bits of the bfloat16 that is nearest to a float32."""
    half, rest = bits >> 16, bits & 0xFFFF
    up = rest > 0x8000 or (rest == 0x8000 and half % 2 == 1)
    return half + up

# %% formats-do tags=["stub"]
def to_bfloat16(bits):
    """The 16 bits of the bfloat16 that is nearest to a float32."""
    raise NotImplementedError

# %% formats-check
lab.formats.check()

# %% formats-help [markdown]
# Stuck? `lab.formats.hint()` gives one hint after the other; `lab.formats.solution()` shows a solution (and its points are gone).

# %% sums-text [markdown] tags=["slide"]
# ## 2. Exercise: where the sum is kept

# %% sums-show
lab.sums.show()

# %% sums-predict tags=["solution"]
lab.sums.predict(stops=256, bits=16, exact="yes")

# %% sums-predict tags=["stub"]
lab.sums.predict(stops=None, bits=None, exact=None)

# %% sums-do tags=["solution"]
def dot(x, y):
    """Sum of the products of two vectors of bfloat16."""
    return float(np.dot(x.astype("float32"), y.astype("float32")))

# %% sums-do tags=["stub"]
def dot(x, y):
    """Sum of the products of two vectors of bfloat16."""
    raise NotImplementedError

# %% sums-check
lab.sums.check()

# %% sums-see-text [markdown]
# The same sum of ones, with the sum in bfloat16 and in float32:

# %% sums-see
one = ml_dtypes.bfloat16(1)
low, high = ml_dtypes.bfloat16(0), np.float32(0)
for _ in range(1000):
    low, high = ml_dtypes.bfloat16(low + one), high + np.float32(one)
print(f"in bfloat16: {float(low):g}, in float32: {high:g}")

# %% dots-text [markdown] tags=["slide"]
# ## 3. Exercise: an instruction that is a nest

# %% dots-show
lab.dots.show()

# %% dots-nest
print(lab.dots.reset().schedule.nest())

# %% dots-predict tags=["solution"]
lab.dots.predict(adds=64, times=4, fits=2**31 // (255 * 128))

# %% dots-predict tags=["stub"]
lab.dots.predict(adds=None, times=None, fits=None)

# %% dots-do tags=["solution"]
s = lab.dots.reset().schedule
_, rows = s.split("i", [None, 16])
s.reorder("i.0", "o", "k", rows, "j", "q")
s.unroll(rows)
s.tensorize("j", DOT)

print(s.nest())

# %% dots-do tags=["stub"]
s = lab.dots.reset().schedule
# your steps; s.tensorize(loop, DOT) lets the instruction compute a loop and all inside of it

print(s.nest())

# %% dots-check
lab.dots.check()

# %% dots-refused-text [markdown]
# `tensorize` compares the nest with the one that the instruction stands for, and says what is not the same. The same step, tried
# on two other loops:

# %% dots-refused
for loop in ("k", "q"):
    try:
        lab.dots.reset().schedule.copy().tensorize(loop, DOT)
    except wb.WorkbenchError as refused:
        print(refused, "\n")

# %% pack-text [markdown] tags=["slide"]
# ## 4. Exercise: the instruction does not fit

# %% pack-show
lab.pack.show()

# %% pack-nest
s = lab.pack.reset().schedule
print(s.nest())
try:
    s.copy().tensorize("j.1", DOT)
except wb.WorkbenchError as refused:
    print(refused)

# %% pack-predict tags=["solution"]
lab.pack.predict(operand="B", apart=lab.pack.setting["n"], bytes=64)

# %% pack-predict tags=["stub"]
lab.pack.predict(operand=None, apart=None, bytes=None)

# %% pack-do tags=["solution"]
s = lab.pack.reset().schedule
s.transform_layout("B", 0, 4)
s.tensorize("j.1", DOT)

print(s.nest())

# %% pack-do tags=["stub"]
s = lab.pack.reset().schedule
# your steps

print(s.nest())

# %% pack-check
lab.pack.check()

# %% pack-times-text [markdown]
# What it gains: a product of float32 with vectors and 16 sums in registers, one of bytes by the loop, your nest, and your nest
# with 16 rows inside of k. Your nest keeps one sum, and each instruction waits for the one before: section 3 says for how long.
# Guess the ratio of the last two times first.

# %% pack-floats
m, n = lab.pack.setting["m"], lab.pack.setting["n"]
floats = wb.Schedule(matmul(m, n, DEPTH), target)
floats.split("i", [None, 8])
floats.split("j", [None, 2, target.lanes("float32")])
floats.reorder("i.0", "j.0", "k", "i.1", "j.1", "j.2")
floats.unroll("i.1")
floats.unroll("j.1")
floats.vectorize("j.2")

# %% pack-times
yours = lab.pack.schedule.copy()
nests = {"float32, vectors": floats, "bytes, a loop": wb.Schedule(yours.base, SERVER), "yours": yours}
try:
    tile = yours.copy()
    tile.split("i", [None, 16])
    tile.reorder("i.0", "j.0", "k.0", "i.1", "j.1")
    tile.unroll("i.1")
    nests["16 sums at once"] = tile
except wb.WorkbenchError as refused:  # your nest has other loops
    print("16 sums at once:", refused)
timed = {}
for name, nest in nests.items():
    if nest.target is not None and nest.target.missing_here():
        print(f"{name}: not measured, this machine lacks {', '.join(nest.target.missing_here())}")
        continue
    done = nest.measure()
    timed[name] = f"{1000 * done.ms:.3g}" if done.clean else f"≥ {1000 * done.at_least_ms:.3g}"
pd.DataFrame({"µs": timed})

# %% scale-text [markdown] tags=["slide"]
# ## 5. Exercise: scale and zero point

# %% scale-show
lab.scale.show()

# %% scale-predict tags=["solution"]
lab.scale.predict(scale=4 / 255, zero=64, off=2 / 255, outlier=102 / 255)

# %% scale-predict tags=["stub"]
lab.scale.predict(scale=None, zero=None, off=None, outlier=None)

# %% scale-do tags=["solution"]
def quantizer(values):
    """(scale, zero point) of a uint8."""
    least, most = min(0.0, *values), max(0.0, *values)
    scale = (most - least) / 255 or 1.0
    return scale, round(-least / scale)

# %% scale-do tags=["stub"]
def quantizer(values):
    """(scale, zero point) of a uint8."""
    raise NotImplementedError

# %% scale-check
lab.scale.check()

# %% clip-text [markdown] tags=["slide"]
# ## 6. Exercise: a scale for each channel, and where to cut off

# %% clip-show
lab.clip.show()

# %% clip-predict tags=["solution"]
lab.clip.predict(values=3, grows="0.694 %", cut=10)

# %% clip-predict tags=["stub"]
lab.clip.predict(values=None, grows=None, cut=None)

# %% clip-do tags=["solution"]
def limit(counts, width):
    """The multiple of width at which cutting off costs least."""
    middles = (np.arange(len(counts)) + 0.5) * width

    def error(limit):
        lost = np.where(middles > limit, (middles - limit) ** 2, (limit / 7) ** 2 / 12)
        return np.dot(counts, lost)

    return min((k * width for k in range(1, len(counts) + 1)), key=error)

# %% clip-do tags=["stub"]
def limit(counts, width):
    """The multiple of width at which cutting off costs least."""
    raise NotImplementedError

# %% clip-check
lab.clip.check()

# %% keep-text [markdown] tags=["slide"]
# ## 7. Exercise: which nodes stay in float32?

# %% keep-show
lab.keep.show()

# %% keep-predict tags=["solution"]
lab.keep.predict(error="4.4 %", fast="3.4 ms", node="softmax", slow="3.5 ms")

# %% keep-predict tags=["stub"]
lab.keep.predict(error=None, fast=None, node=None, slow=None)

# %% keep-do tags=["solution"]
def keep(rows, bound):
    """Names of the nodes that stay in float32; rows are (name, error, ms in float32, ms in low precision)."""
    kept, left = [], list(rows)
    while sum(row[1] for row in left) > bound:
        worst = max(left, key=lambda row: row[1] / (row[2] - row[3]))
        left.remove(worst)
        kept.append(worst[0])
    return kept

# %% keep-do tags=["stub"]
def keep(rows, bound):
    """Names of the nodes that stay in float32; rows are (name, error, ms in float32, ms in low precision)."""
    raise NotImplementedError

# %% keep-check
lab.keep.check()

# %% keep-see-text [markdown]
# The same for a network: two convolutions and a softmax. Look at both columns of errors, from node to node, and at what each
# precision gains. In which precision would you keep which node, if the result may be off by 1 %?

# %% keep-see
draw = np.random.default_rng(0)
weights = {w: (0.05 * draw.standard_normal((64, 64, 3, 3))).astype(np.float32) for w in ("w1", "w2")}
nodes = [
    Node("first", "Conv", ("x", "w1"), ("a",), {"pads": (1, 1, 1, 1)}),
    Node("relu", "Relu", ("a",), ("b",)),
    Node("second", "Conv", ("b", "w2"), ("c",), {"pads": (1, 1, 1, 1)}),
    Node("softmax", "Softmax", ("c",), ("y",), {"axis": 1}),
]
network = Graph.make("small", nodes, {"x": TensorType((1, 64, 28, 28))}, ("y",), weights)
images = [{"x": draw.standard_normal((1, 64, 28, 28)).astype(np.float32)} for _ in range(4)]
wb.compare_precisions(network, images, target=target, seconds=0.2)

# %% remember [markdown] tags=["slide"]
# ## What to remember
#
# 1. bfloat16 is the upper half of a float32: the same range, 8 significant bits. Round to the nearest, ties to even.
# 2. Products of two bfloat16 are exact in float32; **sums** are kept in float32, those of bytes in int32.
# 3. An instruction is a small nest. `tensorize` checks that yours is the same: loops, types, and how operands lie.
# 4. A byte stands for scale × (q − zero). A value far away makes every step longer; 0 has to be exact.
# 5. Few nodes have most of the error. Which ones is measured, node by node and then for the whole network.
#
# ## Five questions
#
# 1. What is 1,000 + 1 in bfloat16?
# 2. Which is better for values up to 1 that have to be exact to 0.1 %: bfloat16 or float16?
# 3. Why does an instruction for bytes add into 32 bits, and not into 16?
# 4. Weights [k, j] lie in rows. Which bytes does one lane of the instruction take, and how far are they apart?
# 5. All activations of a layer lie between 5 and 6. What does that do to their scale, if 0 has to be exact?

# %% answers [markdown] tags=["instructor"]
# **Answers.** 1: 1,000; neighbours are 4 apart there. 2: float16, one part in 2,048; a bfloat16 may be off by 0.4 %. 3: two
# products of 255 × 127 do not fit into 16 bits. 4: four neighbouring k of one j; a whole row apart, until B is packed. 5: the
# range is 0 to 6, so only a sixth of all steps is used.

# %% report
lab.report()
