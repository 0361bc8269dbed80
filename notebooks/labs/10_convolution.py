# %% title [markdown] tags=["slide"]
# # Lab 10: Three ways to convolve
#
# A layer of an image network can be computed directly, as a matrix product of copied patches (im2col), or with Winograd's
# algorithm, which does with a quarter of the multiplications. All three are in use: each pays with something else. You count
# multiplications and bytes, build all three, and compare their rounding with a result in float64.
#
# You need labs 3, 4 and 7: vectors, registers, and where a stage is computed. Afterwards you can say what each way costs for a
# given layer, before you measure.

# %% teacher [markdown] tags=["instructor"]
# **For the lecturer.** 75 to 90 minutes: 15 each for sections 1, 2 and 3, 10 for the repair, 15 for the four multiplications,
# 15 for tiles and rounding. Whoever is short of time leaves out section 5 and believes the number four.
#
# Misconceptions: im2col saves work (it saves none); the matrix has to exist as a whole; Winograd's quarter is a quarter of
# everything (weights grow, transforms cost, tiles at the edge are whole); fewer multiplications mean less rounding, or more of
# it (m = 2 is about as exact as the direct sum, m = 4 is not). Reading: A. Lavin and S. Gray, *Fast Algorithms for
# Convolutional Neural Networks*.

# %% machine
import numpy as np
import pandas as pd

import workbench as wb
from workbench import analysis, labs
from workbench.labs.catalog.convolution.columns import im2col
from workbench.labs.catalog.convolution.direct import IN, OUT
from workbench.workloads import conv2d_nhwc

target = wb.Target.host(threads=1)
lab = labs.open("convolution", target)
n = lab.direct.setting["n"]
lanes = target.lanes("float32")
tried = {}
pd.set_option("display.max_colwidth", 120)
print(f"your image: {n} x {n} pixels, {IN} channels, {OUT} output channels; {lanes} lanes; one core of {target.cpu}")

# %% nest-text [markdown] tags=["slide"]
# ## 1. Exercise: seven loops
#
# The first stage puts a frame of zeros around the image, the second one is the convolution.

# %% nest
print(wb.Schedule(conv2d_nhwc(n, n, IN, OUT), target).nest())

# %% direct-show
lab.direct.show()

# %% direct-predict tags=["solution"]
lab.direct.predict(multiplications=n * n * OUT * 9 * IN, uses=9 * OUT, loop="o")

# %% direct-predict tags=["stub"]
lab.direct.predict(multiplications=None, uses=None, loop=None)

# %% direct-do tags=["solution"]
s = lab.direct.reset().schedule
w0, w1 = s.split("w", [None, 4])
o0, o1 = s.split("o", [None, lanes])
s.reorder("h", w0, o0, "kh", "kw", "c", w1, o1)
s.unroll(w1)
s.vectorize(o1)

wb.Workbench(s)

# %% direct-do tags=["stub"]
s = lab.direct.reset().schedule
# your steps

wb.Workbench(s)

# %% direct-check
lab.direct.check()

# %% direct-help [markdown]
# Stuck? `lab.direct.hint()` gives one hint after the other; `lab.direct.solution()` shows a solution (and its points are gone).

# %% asm-text [markdown]
# Which loops may become vectors, and what does the machine get? The first line is a refusal with its reason; below it are the
# instructions of the loop over the input channels, first as written, then in your nest. Count loads and multiply-adds in one
# turn of it: from the label to the jump back, which may be several iterations.

# %% asm
def code(schedule, loop):
    """The machine code that a loop repeats: from its last label on."""
    lines = analysis.listing(schedule, "asm", target)
    found = lines.of(loop)
    text = [line.text for line in lines.lines[found[0]:found[-1] + 1]] if found else [f"no code of loop {loop}"]
    labels = [k for k, line in enumerate(text) if line.startswith(".L")]
    return "\n".join(text[labels[-1]:] if labels else text)

written = wb.Schedule(conv2d_nhwc(n, n, IN, OUT), target)
try:
    written.copy().vectorize("c")
except wb.WorkbenchError as refused:
    print(refused, "\n")

print("as written:", code(written, "c"), "", "your nest:", code(s, "c"), sep="\n")

# %% table-text [markdown]
# The next cell makes a table of all ways: multiplications of the product, numbers that are copied, room that temporaries take,
# and the time (≥ where something else disturbed it).

# %% table
def add(name, schedule):
    """Count and measure a schedule, and put it into the table."""
    counted, m = labs.stages(schedule.func), schedule.measure()
    tried[name] = {
        "multiplications": counted["conv"].runs,
        "copied to cols": counted["cols"].runs if "cols" in counted else 0,
        "temporaries, KiB": round(sum(stage.kept for stage in counted.values() if stage.temporary) / 1024, 1),
        "ms": f"{m.ms:.3g}" if m.clean else f"≥ {m.at_least_ms:.3g}",
    }
    return pd.DataFrame.from_dict(tried, orient="index")

add("direct, as written", written)
add("direct, yours", s)

# %% patch-text [markdown] tags=["slide"]
# ## 2. Exercise: a matrix of patches

# %% patch-show
lab.patch.show()

# %% patch-predict tags=["solution"]
lab.patch.predict(matrix=f"{n * n * 9 * IN * 4} B", times=9, work="as many")

# %% patch-predict tags=["stub"]
lab.patch.predict(matrix=None, times=None, work=None)

# %% patch-do tags=["solution"]
def patch(y, x, q, channels):
    """Row, column and channel in the framed image of number q of the patch of pixel (y, x)."""
    pixel, channel = q // channels, q % channels
    return y + pixel // 3, x + pixel % 3, channel

# %% patch-do tags=["stub"]
def patch(y, x, q, channels):
    """Row, column and channel in the framed image of number q of the patch of pixel (y, x)."""
    raise NotImplementedError("return row, column, channel")

# %% patch-check
lab.patch.check()

# %% patch-nest-text [markdown]
# The matrix product with its copies. (Where your function works already, try `im2col(n, where=patch)`: it is called once, with
# the loops y, x and q in place of numbers, and its //, % and + become the indices of `pad`.)

# %% patch-nest
s = wb.Schedule(im2col(n), target)
print(s.nest())
add("im2col, as written", s)

# %% rows-text [markdown] tags=["slide"]
# ## 3. Exercise: a matrix that is never there

# %% rows-show
lab.rows.show()

# %% rows-predict tags=["solution"]
lab.rows.predict(kept=f"{n * 9 * IN * 4} B", copied=1, pixels=4096 // (9 * IN * 4))

# %% rows-predict tags=["stub"]
lab.rows.predict(kept=None, copied=None, pixels=None)

# %% rows-do tags=["solution"]
s = lab.rows.reset().schedule
x0, x1 = s.split("x", [None, 4])
o0, o1 = s.split("o", [None, lanes])
s.reorder("y", x0, o0, "q", x1, o1)
s.unroll(x1)
s.vectorize(o1)
s.compute_at("cols", x0)
print(s.nest())

# %% rows-do tags=["stub"]
s = lab.rows.reset().schedule
# your steps

print(s.nest())

# %% rows-check
lab.rows.check()

# %% rows-compare
add("im2col, yours", s)

# %% rows-read [markdown]
# As many multiplications as the direct way, and yet it takes longer: the rest is the copy. It moves one number at a time, and
# each one costs the divisions in the index of `pad`. In which loop would the copy have to stand so that four pixels share the
# divisions of one q? Try it, and look at the clock.

# %% repair-text [markdown] tags=["slide"]
# ## 4. Exercise: repair

# %% repair-show
lab.repair.show()

# %% repair-nest
s = lab.repair.reset().schedule
broken = s.copy()
print(s.nest())

# %% repair-predict tags=["solution"]
lab.repair.predict(copied=OUT // lanes, serves=1)

# %% repair-predict tags=["stub"]
lab.repair.predict(copied=None, serves=None)

# %% repair-do tags=["solution"]
s = lab.repair.reset().schedule
s.undo(1)
s.compute_at("cols", "x.0")
print(s.nest())

# %% repair-do tags=["stub"]
s = lab.repair.reset().schedule
# your steps: s.undo(n) takes back the last n

print(s)

# %% repair-check
lab.repair.check()

# %% repair-compare
add("im2col, to repair", broken)

# %% four-text [markdown] tags=["slide"]
# ## 5. Exercise: four multiplications instead of six
#
# Up to here every way had the same multiplications. Now some of them go.

# %% four-show
lab.four.show()

# %% four-predict tags=["solution"]
lab.four.predict(direct=2 * 3, square=4 * 4, factor=36 / 16)

# %% four-predict tags=["stub"]
lab.four.predict(direct=None, square=None, factor=None)

# %% four-do tags=["solution"]
def two(d, g):
    """Two results of a filter of three weights over four numbers, with four multiplications."""
    first, last = (d[0] - d[2]) * g[0], (d[1] - d[3]) * g[2]
    plus = (d[1] + d[2]) * ((g[0] + g[1] + g[2]) / 2)
    minus = (d[2] - d[1]) * ((g[0] - g[1] + g[2]) / 2)
    return first + plus + minus, plus - minus - last

# %% four-do tags=["stub"]
def two(d, g):
    """Two results of a filter of three weights over four numbers, with four multiplications."""
    raise NotImplementedError("directly: d[0] * g[0] + d[1] * g[1] + d[2] * g[2], and so on")

# %% four-check
lab.four.check()

# %% tiles-text [markdown] tags=["slide"]
# ## 6. Exercise: whole tiles
#
# The step `winograd` replaces the convolution by five stages: two transforms of the image (T, V), the product, two transforms
# back (Y, out). Where tiles reach beyond the image, a sixth one (crop) takes the image out. The weights are transformed before
# the program runs. Another image, which tiles of 4 x 4 do not divide:

# %% tiles-show
lab.tiles.show()

# %% tiles-predict tags=["solution"]
edge = lab.tiles.setting["edge"]
pairs, tiles = IN * OUT, -(-edge // 4)
lab.tiles.predict(two=(edge // 2)**2 * 16 * pairs, four=tiles**2 * 36 * pairs, weights=36 / 9)

# %% tiles-predict tags=["stub"]
lab.tiles.predict(two=None, four=None, weights=None)

# %% tiles-outline-text [markdown]
# The nest of so many stages is long, since each transform is a sum with a case for every row of a tile. So the next cell makes a
# short form: the loops around each stage, how often it runs and would have to, and the room for its result.

# %% tiles-outline
def outline(schedule):
    """A row for each stage, in the order in which they run."""
    return pd.DataFrame([
        {
            "stage": name,
            "loops around it": ", ".join(loop.name for loop in schedule.func.block(name)[1]),
            "runs": stage.runs,
            "needed": stage.needed,
            "kept, KiB": round(stage.kept / 1024, 2),
        }
        for name, stage in labs.stages(schedule.func).items()
    ])

# %% tiles-do tags=["solution"]
s = lab.tiles.reset().schedule
s.winograd("conv", 4)
s.compute_at("conv.T", "conv.V_ty")
s.compute_at("conv.Y", "conv.out_h")

outline(s)

# %% tiles-do tags=["stub"]
s = lab.tiles.reset().schedule
# your steps

outline(s)

# %% tiles-check
lab.tiles.check()

# %% tiles-compare-text [markdown]
# Now your first image again, with all loops in a good order: vectors and sums in registers in the product, vectors in the
# transforms. The product has 4/9 or less of the multiplications. Is the time less by as much? What takes the rest?

# %% tiles-compare
def winograd(m):
    """Your first image in tiles of m x m."""
    s = wb.Schedule(conv2d_nhwc(n, n, IN, OUT), target)
    s.winograd("conv", m)
    x0, x1 = s.split("tx", [None, next(d for d in (4, 5, 3, 2, 1) if -(-n // m) % d == 0)])
    o0, o1 = s.split("o", [None, lanes])
    s.reorder(x0, o0, "c", x1, o1)
    s.unroll(x1)
    for loop in (o1, "conv.T_c", "conv.V_c", "conv.Y_o", "conv.out_o"):
        s.vectorize(loop)
    return s

add("Winograd, m = 2", winograd(2))
add("Winograd, m = 4", winograd(4))

# %% refused-text [markdown]
# The transforms are those of a kernel of 3 x 3 in steps of one pixel. Other layers are refused, with the reason:

# %% refused
for other in ({"stride": 2}, {"kernel": 5, "padding": 2}):
    try:
        wb.Schedule(conv2d_nhwc(n, n, IN, OUT, **other), target).winograd("conv", 4)
    except wb.WorkbenchError as refused:
        print(refused, "\n")

# %% exact-text [markdown] tags=["slide"]
# ## 7. Exercise: which results are exact

# %% exact-show
lab.exact.show()

# %% exact-predict tags=["solution"]
lab.exact.predict(direct="no", two="no", four="yes", largest="m = 4")

# %% exact-predict tags=["stub"]
lab.exact.predict(direct=None, two=None, four=None, largest=None)

# %% exact-check
lab.exact.check()

# %% reference-text [markdown]
# The next cell has the convolution in float64 as the measure, and runs the three ways on integers and on normally distributed
# numbers. The error is the largest difference, divided by the largest result.

# %% reference
def reference(x, w):
    """The convolution in float64."""
    framed = np.pad(x.astype(np.float64), ((0, 0), (1, 1), (1, 1), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(framed, (3, 3), axis=(1, 2))
    return np.einsum("nhwcab,abco->nhwo", windows, w)

rng = np.random.default_rng(0)
shapes = (1, n, n, IN), (3, 3, IN, OUT)
data = {
    "integers": [rng.integers(-8, 9, shape).astype(np.float32) for shape in shapes],
    "normal": [rng.standard_normal(shape, np.float32) for shape in shapes],
}

# %% errors
errors = {}
for name, m in (("direct", 0), ("m = 2", 2), ("m = 4", 4)):
    s = wb.Schedule(conv2d_nhwc(n, n, IN, OUT), target)
    if m:
        s.winograd("conv", m)
    kernel = s.build()
    for kind, (x, w) in data.items():
        right = reference(x, w)
        errors[name, kind] = abs(kernel(x, w) - right).max() / abs(right).max()
pd.Series(errors).unstack().map("{:.1e}".format)

# %% errors-read [markdown]
# Does m = 2 round more than the direct sum? The direct sum is one chain of additions, 9 for each input channel; in the product
# of tiles a chain has one for each channel (lab 8: shorter chains round less). So the transforms add to the error, and the
# shorter chain takes from it. With m = 4 the factors of the transforms win.

# %% layers-text [markdown] tags=["slide"]
# ## 8. Which way for which layer?
#
# Four layers of a residual network. Counted: millions of multiplications, and MiB of weights and of temporaries (all first,
# nothing fused; im2col with its whole matrix). Before you run the cell: for which images do tiles of 4 x 4 lose some of their
# advantage, and why? Where do the weights take more room than the temporaries?

# %% layers
rows = {}
for size, channels in ((56, 64), (28, 128), (14, 256), (7, 512)):
    for way, m in (("direct", 0), ("im2col", 0), ("m = 2", 2), ("m = 4", 4)):
        made = im2col(size, channels, channels) if way == "im2col" else conv2d_nhwc(size, size, channels, channels)
        s = wb.Schedule(made, target)
        if m:
            s.winograd("conv", m)
        counted = labs.stages(s.func)
        rows[f"{size} x {size} x {channels}", way] = {
            "multiplications, millions": counted["conv"].runs / 1e6,
            "weights, MiB": ((m + 2) ** 2 if m else 9) * channels**2 * 4 / 2**20,
            "temporaries, MiB": sum(stage.kept for stage in counted.values() if stage.temporary) / 2**20,
        }
pd.DataFrame.from_dict(rows, orient="index").round(1)

# %% remember [markdown] tags=["slide"]
# ## What to remember
#
# 1. **Direct**: every number is used 9 times the output channels; with the right order it is a product in registers, without a
#    copy.
# 2. **im2col**: the same multiplications in the form of a matrix product, for nine times the image. Cut it between pixels, and
#    only a few patches exist at a time.
# 3. A copy belongs into the innermost loop that **changes what it holds**; further in, it is copied again.
# 4. **Winograd**: 4 (m = 2) or 2.25 (m = 4) multiplications per result and channel where the direct way needs 9; weights,
#    transforms and whole tiles at the edge are the price.
# 5. **Rounding**: m = 2 rounds about as the direct sum does, m = 4 more. Another algorithm is another result: say which error
#    you accept.
#
# ## Five questions
#
# 1. A kernel of 1 x 1: what does im2col copy, and what is the convolution?
# 2. A kernel of 5 x 5 with stride 2: how many times as large as the image is the matrix of patches, about?
# 3. F(6, 3) has tiles of 6 x 6 results: how many multiplications per result? Why do people hesitate to use it?
# 4. An image of 7 x 7 with m = 4: which share of the direct multiplications is left? Which one would be left without edges?
# 5. A layer has three input channels and 64 output channels. Which transforms are cheap, which are dear, and does Winograd's
#    algorithm pay?

# %% answers [markdown] tags=["instructor"]
# **Answers.** 1: nothing that is not there already: the image is the matrix, the convolution a matrix product. 2: a patch has
# 25 numbers per channel, and there is one for each 4 pixels: about 6.25 times. 3: 64 / 36 = 1.78 instead of 9; the factors of
# its transforms are larger, and so is the error. 4: 4 tiles of 36 are 144, of 441: 33 %; without edges 25 %. 5: those of the
# image are cheap (three channels); those of the result are made for 64 channels and have only three multiplications per element
# of the tile to pay for them. It hardly pays: the transforms are shared by few channels.

# %% report
lab.report()
