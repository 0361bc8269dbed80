# %% title [markdown] tags=["slide"]
# # Lab 12: Search
#
# A tuner is given a matrix product and 64 measurements. There are more than a hundred thousand programs to choose from. Where do
# they come from, who decides which ones exist, and how does anybody find a good one with so few measurements? You read a space,
# mend a rule that leaves something out, and write a search that is scored on an A100 that is not here.
#
# You need labs 2, 4 and 11: tiles, registers, knobs. No GPU: two of them have left complete logs. Afterwards you can read a space
# and the reasons of its rules, and say whether a search is better than chance.

# %% teacher [markdown] tags=["instructor"]
# **For the lecturer.** 70 to 90 minutes: 10 to 15 for each exercise, 25 for the last. The words are Ansor's: a sketch is a
# structure with open numbers, its sizes are filled in afterwards. The logs are Kernel Tuner's exhaustive runs of a 15 x 15
# convolution on an A100 and an A4000 (`notebooks/data/README.md`).
#
# Misconceptions: levels are counted for loops; a search is blamed for what the rules left out; a model with a good rank
# correlation is believed to know the best. A search is judged with 25 seeds that are not the notebook's, on both GPUs: what was
# fitted to the notebook's seeds loses there.

# %% open
import math

import numpy as np
import pandas as pd

import workbench as wb
from workbench import labs

pd.set_option("display.max_colwidth", 120)
lab = labs.open("search")
target = lab.sketch.setting.target
n = lab.sketch.setting["n"]
whole = wb.make_space(wb.workloads.matmul(n, n, n), target)
pd.DataFrame({"sketch": v.label, "programs": v.sampler.size} for v in whole.variants)

# %% one-text [markdown] tags=["slide"]
# **A space** is a few sketches (also called variants), and for each of them the numbers that fit. The letters say how the loops
# are cut: SSRS is two levels of tiles (S, S), the sum (R), and the register tile (S). Here is that one alone.

# %% one
space = wb.make_space(wb.workloads.matmul(n, n, n), target, structure="SSRS", rules=["tile", "mark"])
print(space.variants[0].schedule.nest())

# %% explain-text [markdown]
# What stands behind `?` is open. A *row* of numbers fills it. `explain` says which rules made the sketch, and which limits a row
# has to keep. The limit on the registers counts float32 elements: `lanes` of them are one vector.

# %% explain
print(f"{target.vector_registers} vector registers of {target.lanes('float32')} lanes")
print(space.explain())

# %% sketch-text [markdown] tags=["slide"]
# ## 1. Exercise: what one sketch stands for

# %% sketch-show
lab.sketch.show()

# %% sketch-do tags=["solution"]
def ways(extent, parts):
    """In how many ways an extent is a product of so many factors."""
    if parts == 1:
        return 1
    divisors = [d for d in range(1, extent + 1) if extent % d == 0]
    return sum(ways(extent // d, parts - 1) for d in divisors)

# %% sketch-do tags=["stub"]
def ways(extent, parts):
    """In how many ways an extent is a product of so many factors."""
    raise NotImplementedError

# %% sketch-predict tags=["solution"]
spare = (target.vector_registers - 1) * target.lanes("float32")
j_2 = 2 * target.lanes("float32")
lab.sketch.predict(loops=4 * 2 + 2 * 1, ways=ways(n, 3), tall=(spare - j_2) // j_2)

# %% sketch-predict tags=["stub"]
lab.sketch.predict(loops=None, ways=None, tall=None)

# %% sketch-check
lab.sketch.check()

# %% sketch-help [markdown]
# Stuck? `lab.sketch.hint()` gives one hint after the other; `lab.sketch.solution()` shows a solution (and its points are gone).

# %% filled-text [markdown]
# One row of that sketch, drawn at random, is a schedule like any that you wrote by hand: the widget shows its steps, why they are
# legal, what it loads, and its machine code. Draw another one with another seed.

# %% filled
variant = space.variants[0]
drawn = variant.sampler.draw(1, np.random.default_rng(1))[0]
wb.Workbench(variant.schedule.fill(variant.sampler.row(drawn)))

# %% rules-text [markdown] tags=["slide"]
# ## 2. Exercise: which rules have made it

# %% rules-show
lab.rules.show()

# %% rules-predict tags=["solution"]
lab.rules.predict(bias="inline", relu="fuse")

# %% rules-predict tags=["stub"]
lab.rules.predict(bias=None, relu=None)

# %% rules-table
followed = wb.make_space(wb.workloads.matmul(192, 192, 192, bias=True, relu=True), target)
pd.DataFrame(followed.rules()).query("rule in ['inline', 'tile', 'fuse', 'pointwise', 'rfactor']")

# %% rules-do tags=["solution"]
def fired(space):
    """Rule -> number of variants in which it did something."""
    found = {}
    for record in space.rules():
        if record.fired:
            found.setdefault(record.rule, set()).update(record.variants)
    return {rule: len(variants) for rule, variants in found.items()}

# %% rules-do tags=["stub"]
def fired(space):
    """Rule -> number of variants in which it did something."""
    raise NotImplementedError

# %% rules-check
lab.rules.check()

# %% repair-text [markdown] tags=["slide"]
# ## 3. Exercise: repair
#
# A rule gets a *draft* (a schedule in the making, with what was said of it) and gives back a draft, or a list of several:
#
# - `draft.change(name, reason, schedule, tag=...)` is a draft with another schedule,
# - `draft.skip(name, reason)` is the draft as it was, with the reason why.
#
# A step takes an open number, `wb.Hole(choices=[...])`, in the place of a number.

# %% repair-show
lab.repair.show()

# %% repair-broken
def four_steps(draft, machine):
    """Four steps of the sum at a time. It forgets two things."""
    s = draft.schedule.copy()
    outer, inner = s.split("k", [None, 4])
    s.unroll(inner)
    return draft.change("four_steps", "four steps of the sum at a time", s, tag="sum in fours")

# %% repair-predict tags=["solution"]
lab.repair.predict(variants=1, odd="the rule is left out")

# %% repair-predict tags=["stub"]
lab.repair.predict(variants=None, odd=None)

# %% repair-try
def space_with(function, k):
    """The space of a product whose sum has k terms, with one more rule."""
    rule = wb.sketch_rule(function.__name__, after="tile")(function)
    try:
        func = wb.workloads.matmul(192, 192, k)
        return wb.make_space(func, target, structure="SSRS", rules=["tile", "mark", rule])
    finally:
        rule.forget()

for k in (192, 62):
    print(space_with(four_steps, k).explain(), "\n")

# %% repair-do tags=["solution"]
def unroll_sum(draft, machine):
    """Some steps of the sum at a time, beside the form as it is."""
    s = draft.schedule.copy()
    outer, inner = s.split("k", [None, wb.Hole(choices=[2, 4, 8])])
    s.unroll(inner)
    return [
        draft.skip("unroll_sum", "this form keeps the sum as it is"),
        draft.change("unroll_sum", "some steps of the sum at a time", s, tag="sum in steps"),
    ]

for k in (192, 62):
    made = space_with(unroll_sum, k)
    print(k, [(v.label, v.sampler.size) for v in made.variants])

# %% repair-do tags=["stub"]
def unroll_sum(draft, machine):
    """Some steps of the sum at a time, beside the form as it is."""
    raise NotImplementedError

# print(space_with(unroll_sum, 62).explain())

# %% repair-check
lab.repair.check()

# %% chance-text [markdown] tags=["slide"]
# ## 4. Exercise: how far chance gets
#
# Now a space on which everything was measured: a convolution on an A100, by Kernel Tuner. `a100.records` has a row for each
# configuration: `params` (a dict, which the next cell spreads over columns), `status`, and the time `cost_s` in seconds.

# %% chance-log
a100, a4000 = (wb.logs.open(labs.sample_log(f"convolution-{gpu}.json.gz")) for gpu in ("A100", "A4000"))
pd.DataFrame(list(a100.records["params"])).assign(status=a100.records["status"], cost_s=a100.records["cost_s"]).head(4).T

# %% chance-show
lab.chance.show()

# %% chance-do tags=["solution"]
def chance(good, total, draws):
    """Probability that at least one of the draws is good; none is drawn twice."""
    return 1 - math.comb(total - good, draws) / math.comb(total, draws)

# %% chance-do tags=["stub"]
def chance(good, total, draws):
    """Probability that at least one of the draws is good; none is drawn twice."""
    raise NotImplementedError

# %% chance-predict tags=["solution"]
costs = a100.records.query("status == 'ok'")["cost_s"]
near = int((costs <= (1 + lab.chance.setting["percent"] / 100) * costs.min()).sum())
total = len(a100.records)
half = next(k for k in range(total) if chance(near, total, k) >= 0.5)
lab.chance.predict(near=near, found=f"{100 * chance(near, total, 60):.2f} %", half=half)

# %% chance-predict tags=["stub"]
lab.chance.predict(near=None, found=None, half=None)

# %% chance-check
lab.chance.check()

# %% rank-text [markdown] tags=["slide"]
# ## 5. Exercise: a model only has to rank

# %% rank-show
lab.rank.show()

# %% rank-model
def model(params):
    """Shared memory first, then as much work for a thread as possible."""
    return 100 * params["use_shmem"] + params["tile_size_x"] * params["tile_size_y"]

ok = a100.records.query("status == 'ok'").copy()
ok["score"] = [model(params) for params in ok["params"]]
shown = pd.DataFrame(list(ok["params"]))[["use_shmem", "tile_size_x", "tile_size_y"]]
shown.assign(cost_s=ok["cost_s"].values, score=ok["score"].values).head(4)

# %% rank-do tags=["solution"]
def kendall(scores, times):
    """Share of pairs in the right order minus share in the wrong one."""
    good = bad = 0
    for i in range(len(scores)):
        for j in range(i):
            sign = (scores[i] - scores[j]) * (times[j] - times[i])
            good += sign > 0
            bad += sign < 0
    return (good - bad) / (good + bad)

some = ok.iloc[::20]
print(f"the model on {len(some)} of the A100's: {kendall(list(some['score']), list(some['cost_s'])):.2f}")

# %% rank-do tags=["stub"]
def kendall(scores, times):
    """Share of pairs in the right order minus share in the wrong one."""
    raise NotImplementedError

# %% rank-predict tags=["solution"]
top = ok.sort_values("score", ascending=False, kind="stable").head(60)
among = "yes" if top["cost_s"].min() == ok["cost_s"].min() else "no"
tau = kendall([0.3, 0.9, 0.5, 0.8, 0.1], [4, 2, 5, 1, 3])
lab.rank.predict(tau=tau, among=among)

# %% rank-predict tags=["stub"]
lab.rank.predict(tau=None, among=None)

# %% rank-check
lab.rank.check()

# %% search-text [markdown] tags=["slide"]
# ## 6. Exercise: a search that beats chance
#
# A search asks for configurations, and the log answers. The **score** of a run compares its best so far, after each evaluation,
# with what so many draws at random are expected to give: 0 is chance, 1 is the optimum at once, worse than chance is negative.

# %% search-show
lab.search.show()

# %% search-slow-text [markdown]
# Three searches. *evolutionary* comes with the workbench: it learns a model from what was measured and proposes four
# configurations at a time (`batch`). That takes time, so it runs twice only. Is *random* at 0?

# %% search-slow
def climb(space, measure, rng):
    """From anywhere to the best neighbour, until none is better; then from anywhere else."""
    while True:
        here, cost = space.draw(rng), float("inf")
        while (found := measure(here)) < cost:
            cost = found
            here = min(space.neighbours(here), key=measure)

searches = {"climb": (climb, 25), "random": ("random", 25), "evolutionary": ("evolutionary", 2)}
runs = {
    name: wb.logs.simulate(a100, strategy=one, budget=60, seeds=seeds, batch=4) for name, (one, seeds) in searches.items()
}
print({name: round(wb.logs.score(run, a100), 2) for name, run in runs.items()})
wb.logs.simulation_figure(runs, a100)

# %% search-predict tags=["solution"]
around = labs.recorded("a100-convolution").space
around = len(around.neighbours(around[lab.search.setting["start"]]))
lab.search.predict(around=around, spent=f"{100 * (around + 1) / 60:.2f} %")

# %% search-predict tags=["stub"]
machine = labs.recorded("a100-convolution")  # machine.space[k], machine.space.neighbours(params)
lab.search.predict(around=None, spent=None)

# %% search-do tags=["solution"]
def search(space, measure, rng):
    """From the best of eight to the first neighbour that is faster."""
    while True:
        drawn = [space.draw(rng) for _ in range(8)]
        costs = [measure(params) for params in drawn]
        here, cost, better = drawn[int(np.argmin(costs))], min(costs), True
        while better:
            better = False
            near = space.neighbours(here)
            for k in rng.permutation(len(near)):
                if (found := measure(near[k])) < cost:
                    here, cost, better = near[k], found, True
                    break

# %% search-do tags=["stub"]
def search(space, measure, rng):
    """Yours; it goes on until it is ended."""
    raise NotImplementedError

# %% search-luck-text [markdown]
# Was it luck? Twenty-five runs of one search differ; the mean of so many is uncertain by about their spread divided by 5.

# %% search-luck tags=["solution"]
for gpu, log in (("A100", a100), ("A4000", a4000)):
    each = wb.logs.scores(wb.logs.simulate(log, strategy=search, budget=60, seeds=25), log)
    print(f"{gpu}: {each.mean():.2f} ± {each.std() / 5:.2f}, from {each.min():.2f} to {each.max():.2f}")

# %% search-luck tags=["stub"]
for gpu, log in (("A100", a100), ("A4000", a4000)):
    each = wb.logs.scores(wb.logs.simulate(log, strategy=climb, budget=60, seeds=25), log)  # later: strategy=search
    print(f"{gpu}: {each.mean():.2f} ± {each.std() / 5:.2f}, from {each.min():.2f} to {each.max():.2f}")

# %% search-check
lab.search.check()

# %% remember [markdown] tags=["slide"]
# ## What to remember
#
# 1. A **sketch** is a structure with open numbers; a few letters stand for thousands of programs.
# 2. **Rules** make the sketches and say why. What they leave out, no search finds.
# 3. **Chance** is the yardstick: compute what it finds before you praise a search.
# 4. A cost model only has to **rank**, and a good rank correlation says little about the top.
# 5. Judge a search with **several seeds**, and on something that it was not fitted to.
#
# ## Five questions
#
# 1. A space has one sketch and 10,000 rows, another five sketches and 10,000 rows. Which one would you search? What decides?
# 2. Why does a rule return the draft as it was beside the one that it changed?
# 3. One configuration in a hundred is good. How many draws find one with a probability of at least 90 %?
# 4. A model has a rank correlation of 0 with the times of a round. Name two reasons, one of which is not the model's fault.
# 5. A search scores 0.4 with one seed, and chance 0.1. What do you say about it?

# %% answers [markdown] tags=["instructor"]
# **Answers.** 1: the size says nothing; what counts is whether good structures are among the sketches, and how many rows of
# each are good. 2: so that the search can compare; whether the change pays, only a measurement says. 3: about 230, since 0.99
# to the power of 230 is about 0.1 (a little fewer where none is drawn twice). 4: it has learned from other programs; or all
# candidates of the round are equally fast, so that noise decides their order. 5: nothing yet: ask for the spread over many
# seeds, and for another space.

# %% report
lab.report()
