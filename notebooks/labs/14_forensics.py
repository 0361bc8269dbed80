# %% title [markdown] tags=["slide"]
# # Lab 14: Log forensics
#
# Somebody has tuned for a night on a machine that you do not have, and left a file. What is its best configuration? Why did so
# much fail? Is the winner worth anything on your GPU? And which of its numbers should you not believe? You answer with queries on
# a table, and with functions that are tried on logs that you have not seen.
#
# You need labs 11 and 12 and a little pandas. No GPU: the logs are real, of a convolution on two GPUs and of BERT on a CPU.

# %% teacher [markdown] tags=["instructor"]
# **For the lecturer.** 60 to 90 minutes, 10 to 15 per exercise. The logs: Kernel Tuner's exhaustive runs of a 15 x 15 convolution
# on an A100 and an A4000, and an excerpt of AutoTVM's log of BERT; origin and licence are in `notebooks/data/README.md`.
#
# Misconceptions: failures are dropped silently or count as fast; speed and time are mixed up; a best configuration is taken for
# a property of the kernel instead of the device. Exercise 5 has a rule on pairs of parameters: who looks at single columns
# only, fails.

# %% open
import pandas as pd

import workbench as wb
from workbench import labs
from workbench.labs.catalog.forensics.made_tables import failures

lab = labs.open("forensics")
a100, a4000 = (wb.logs.open(labs.sample_log(f"convolution-{gpu}.json.gz")) for gpu in ("A100", "A4000"))
bert = wb.logs.open(labs.sample_log("bert-excerpt.log.gz"))
tasks = pd.concat([log.tasks for log in (a100, a4000, bert)], ignore_index=True)
tasks.assign(task=tasks["task"].str.split("(").str[0])[["task", "device", "records", "ok", "best", "unit"]]

# %% record-text [markdown]
# Whatever tuner wrote it, a log becomes the same pandas table, `log.records`: a row per record, with its `task`, its `params` (a
# dict), its `status`, and `cost_s` in seconds. The status is one word for all tuners: `ok`, or where it failed: `compile` (it
# did not compile), `run` (it failed while it ran), `wrong-answer`, ... What the tuner itself said stands in `told`, and
# `log.raw(record)` is the line of the file.

# %% record
print(a100.raw(0)[:300] if isinstance(a100.raw(0), str) else str(a100.raw(0))[:300])
a100.records[["record", "params", "status", "cost_s", "value", "unit"]].head(4)

# %% explorer-text [markdown]
# **The explorer** shows all of it: drag along an axis to choose records, every other picture follows. Try the lower end of the
# axis *cost*: what do the fastest have in common?

# %% explorer
wb.LogExplorer(a100)

# %% fastest-text [markdown] tags=["slide"]
# ## 1. Exercise: the fastest that counts

# %% fastest-show
lab.fastest.show()

# %% fastest-look tags=["solution"]
a100.records["status"].value_counts()

# %% fastest-look tags=["stub"]
# your query on a100.records

# %% fastest-predict tags=["solution"]
failed = (a100.records["status"] != "ok").mean()
lab.fastest.predict(failed=f"{100 * failed:.3f} %")

# %% fastest-predict tags=["stub"]
lab.fastest.predict(failed=None)

# %% fastest-do tags=["solution"]
def fastest(records):
    """The number of the fastest record that counts."""
    ok = records[records["status"] == "ok"]
    return ok.loc[ok["cost_s"].idxmin(), "record"]

# %% fastest-do tags=["stub"]
def fastest(records):
    """The number of the fastest record that counts."""
    raise NotImplementedError

# %% fastest-check
lab.fastest.check()

# %% fastest-help [markdown]
# Stuck? `lab.fastest.hint()` gives one hint after the other; `lab.fastest.solution()` shows a solution (and its points are gone).

# %% late-text [markdown] tags=["slide"]
# ## 2. Exercise: when to stop
#
# The figure has both tasks of the log, `bert.tasks` their names. Small numbers are read better from `bert.records`.

# %% late-show
lab.late.show()

# %% late-figure
wb.logs.analysis.best_so_far_figure(bert)

# %% late-do tags=["solution"]
import numpy as np

def needed(costs, share):
    """Evaluations until the best so far is within a share of the best of all."""
    best = np.minimum.accumulate(np.asarray(costs, float))
    return int(np.argmax(best <= (1 + share) * best[-1])) + 1

# %% late-do tags=["stub"]
def needed(costs, share):
    """Evaluations until the best so far is within a share of the best of all."""
    raise NotImplementedError

# %% late-predict tags=["solution"]
first = bert.records[bert.records["task"] == bert.tasks["task"].iloc[0]]
costs = first["cost_s"].where(first["status"] == "ok", float("inf")).tolist()
lab.late.predict(trials=needed(costs, 0.05), all=len(costs))

# %% late-predict tags=["stub"]
lab.late.predict(trials=None, all=None)

# %% late-check
lab.late.check()

# %% transfer-text [markdown] tags=["slide"]
# ## 3. Exercise: a winner elsewhere

# %% transfer-show
lab.transfer.show()

# %% transfer-do tags=["solution"]
def carried(first, second):
    """Share of the second device's best speed that the first one's best configuration reaches."""
    mine = first.loc[first["record"] == fastest(first), "params"].iloc[0]
    ok = second[second["status"] == "ok"]
    there = ok[[params == mine for params in ok["params"]]]
    return ok["cost_s"].min() / there["cost_s"].iloc[0] if len(there) else 0

# %% transfer-do tags=["stub"]
def carried(first, second):
    """Share of the second device's best speed that the first one's best configuration reaches."""
    raise NotImplementedError

# %% transfer-predict tags=["solution"]
there, back = carried(a100.records, a4000.records), carried(a4000.records, a100.records)
lab.transfer.predict(there=f"{100 * there:.2f} %", back=f"{100 * back:.2f} %")

# %% transfer-predict tags=["stub"]
lab.transfer.predict(there=None, back=None)

# %% transfer-check
lab.transfer.check()

# %% units-text [markdown] tags=["slide"]
# ## 4. Exercise: the same column, other units

# %% units-show
lab.units.show()

# %% units-predict tags=["solution"]
lab.units.predict(fastest="850", times=1200 / 850)

# %% units-predict tags=["stub"]
lab.units.predict(fastest=None, times=None)

# %% units-do tags=["solution"]
def seconds(value, unit, status):
    """A time in seconds; infinite for a failure."""
    if status != "ok":
        return float("inf")
    return value * {"s": 1, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}[unit]

# %% units-do tags=["stub"]
def seconds(value, unit, status):
    """A time in seconds; infinite for a failure."""
    raise NotImplementedError

# %% units-check
lab.units.check()

# %% fails-text [markdown] tags=["slide"]
# ## 5. Exercise: what failures have in common

# %% fails-show
lab.fails.show()

# %% fails-table-text [markdown]
# One parameter at a time, here x, is where to begin. Group by two of them, or by a product, where that does not decide it.

# %% fails-table
table = failures()
table.groupby("x")["status"].value_counts().unstack(fill_value=0).rename(columns={"run": "run (failed)"})

# %% fails-look tags=["solution"]
print(table.groupby(["shared", "unroll"])["status"].value_counts().unstack(fill_value=0))
plain = table[table["shared"] == 0]
plain.assign(threads=plain["x"] * plain["y"]).groupby("threads")["status"].value_counts().unstack(fill_value=0)

# %% fails-look tags=["stub"]
# your query on table

# %% fails-predict tags=["solution"]
lab.fails.predict(share=f"{100 * (table['status'] != 'ok').mean():.2f} %", alone="no")

# %% fails-predict tags=["stub"]
lab.fails.predict(share=None, alone=None)

# %% fails-do tags=["solution"]
def fails(x, y, unroll, shared):
    """Whether a configuration fails."""
    return x * y > 512 or (shared == 1 and unroll >= 8)

# %% fails-do tags=["stub"]
def fails(x, y, unroll, shared):
    """Whether a configuration fails."""
    raise NotImplementedError

# %% fails-check
lab.fails.check()

# %% real-rule-text [markdown]
# In a real log the reasons are not so clean. This is the simplest rule that predicts the A100's failures, with how often it is
# right on records that it has not seen. Would you leave out configurations because of it?

# %% real-rule
print(wb.logs.analysis.failure_rule(a100).attrs["finding"])

# %% repair-text [markdown] tags=["slide"]
# ## 6. Exercise: repair

# %% repair-show
lab.repair.show()

# %% repair-broken
def typical(records, name):
    """Which value of a parameter is typically the fastest? There are two mistakes in it."""
    values = [params[name] for params in records["params"]]
    return records["cost_s"].fillna(0).groupby(values).mean().idxmin()

print(typical(a100.records, "block_size_x"))

# %% repair-predict tags=["solution"]
lab.repair.predict(median="2.1 ms")

# %% repair-predict tags=["stub"]
lab.repair.predict(median=None)

# %% repair-do tags=["solution"]
def better(records, name):
    """The value of a parameter whose valid records have the least median time."""
    ok = records[records["status"] == "ok"]
    return ok["cost_s"].groupby([params[name] for params in ok["params"]]).median().idxmin()

# %% repair-do tags=["stub"]
def better(records, name):
    """The value of a parameter whose valid records have the least median time."""
    raise NotImplementedError

# %% repair-check
lab.repair.check()

# %% remember [markdown] tags=["slide"]
# ## What to remember
#
# 1. A record counts if it **ran and was right**. Ask the status before the time.
# 2. The **unit** stands beside the number, or the number means nothing.
# 3. A best configuration belongs to a **device**. Measure what it is worth elsewhere.
# 4. Failures have **reasons on several parameters**; a rule is worth more than a list, if it holds on what it has not seen.
# 5. **Medians** of what is valid say what is typical; the minimum says what is possible.
#
# ## Five questions
#
# 1. A log has the best time 0.0 s. What happened?
# 2. A log of 1,000 trials found its best at trial 990. What would you do next?
# 3. Two tuners disagree about the best configuration of the same kernel on the same GPU. Name three reasons.
# 4. Why is the share of failures itself a result?
# 5. The rule for the A100's failures is right for 58 % of what it names. What does that tell, and what not?

# %% answers [markdown] tags=["instructor"]
# **Answers.** 1: a failure was written as a time; or a clock that is too coarse. 2: go on, the search was not done. 3: noise
# and how it was averaged (minimum, mean), another clock rate, other inputs or checks, spaces that differ. 4: it is time that
# the search has lost, and it says how well the space knows the device. 5: most of what it names fails, far more than elsewhere;
# but leaving all of it out would lose 42 % that run, perhaps the best.

# %% report
lab.report()
