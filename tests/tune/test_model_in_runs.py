"""The cost model within runs: made once, named in records by the version that predicted, judged by what it had not
seen, handed on to other runs and tasks.
"""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
from tune.fakes import FakeContext, FakeMeasurer, tasks

from workbench import cost_model, workloads
from workbench.cost_model import AnalyticModel, HeldOut, XGBoostModel, spearman
from workbench.errors import CostModelError, UsageError, WorkbenchError
from workbench.machine_model.features import INDEX
from workbench.search import make_search
from workbench.search.seeds import Seed
from workbench.space.space import make_space
from workbench.target import Target
from workbench.tune.options import TuneOptions
from workbench.tune.plan.run_plan import RunPlan
from workbench.tune.plan.tune_context import TuneContext
from workbench.tune.run.start import tune
from workbench.tune.run.tuning_session import TuningSession

TARGET = Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v4 -l1=48K -l2=2M -l3=32M -threads=2")


def task(size):
    func = workloads.matmul(size, size, size, constant_b=True)
    return SimpleNamespace(key=f"matmul {size}", name=f"matmul {size}", flops=2 * size**3, func=func, target=TARGET)


@pytest.fixture(scope="module")
def space():
    return make_space(task(64).func, TARGET)


def speed_of(x):
    """A made-up machine that likes many accumulators more than the estimate does; log2 of operations per cycle."""
    return x[:, INDEX["speed"]] + 0.8 * x[:, INDEX["main.accumulators"]] - 0.5 * x[:, INDEX["main.reloads"]]


def measured(of, candidates, space):
    """Measurements of candidates on that machine."""
    out = []
    for c in candidates:
        variant = space.variants[c.variant]
        speed = float(speed_of(variant.features(variant.sampler.find(c.row)[None]))[0])
        out.append((c, SimpleNamespace(status="ok", ms=of.flops / 2.0**speed / 1e6)))
    return out


def test_a_model_is_made_once_however_many_ask_for_it(monkeypatch):
    made = []

    def make(name, seed, machine):
        time.sleep(0.01)
        made.append(AnalyticModel(seed, machine))
        return made[-1]

    monkeypatch.setattr("workbench.tune.plan.tune_context.make_model", make)
    context = TuneContext(TARGET, TuneOptions(model="analytic"))
    threads = [threading.Thread(target=context.prepare) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(made) == 1


# ---- records


class Doubtful(FakeContext):
    """Its model fails for one program."""

    def predicted(self, task, schedule):
        if schedule.x == 5:
            raise ZeroDivisionError
        return super().predicted(task, schedule)


def run(context, **options):
    session = TuningSession(
        RunPlan(tasks(1), context=context, measurer=FakeMeasurer(), trials=6, options=TuneOptions(batch=3, **options))
    )
    warnings = []
    session.events.subscribe(lambda e: warnings.append(e.message) if e.kind == "warning" else None)
    session.add(0, variant=0, row={"x": 5})
    session.add(0, variant=0, row={"x": 6})
    session.start().wait(30)
    return session, warnings


def test_every_record_has_what_the_model_said_of_it():
    session, _ = run(FakeContext())
    assert {r.origin for r in session.records} == {"default", "manual", "random"}
    assert all(r.predicted is not None and r.model == "fake-1" for r in session.records)
    assert [r.predicted for r in session.records if r.origin == "manual"] == [-5.0, -6.0]


def test_a_model_that_fails_for_a_candidate_by_hand_costs_the_prediction_only():
    session, warnings = run(Doubtful())
    five, six = (r for r in session.records if r.origin == "manual")
    assert (five.status, five.predicted, five.model) == ("ok", None, None)
    assert six.predicted == -6.0
    assert any("no prediction" in w and "ZeroDivisionError" in w for w in warnings)


def test_schedules_by_hand_are_judged_by_their_features(space):
    context = TuneContext(TARGET, TuneOptions(model="analytic"))
    variant = space.variants[0]
    picks = variant.sampler.draw(1, np.random.default_rng(0))
    schedule = variant.schedule.fill(variant.sampler.row(picks[0]))
    assert context.predicted(task(64), schedule) == float(variant.features(picks)[0, INDEX["speed"]])
    assert TuneContext(TARGET, TuneOptions(search="random", model="analytic")).predicted(task(64), schedule) is None


def test_a_candidate_names_the_version_that_predicted(space):
    """It may be asked for ahead and be measured when the model knows more."""
    model, of = XGBoostModel(), task(64)
    search = make_search("evolutionary", of, space, model, 0)
    first = search.ask(12)
    before = model.version
    ahead = search.ask(2)
    search.tell(measured(of, first, space))
    assert model.version != before
    assert {c.model for c in (*first, *ahead)} == {before}
    assert {c.model for c in search.ask(2)} == {model.version}
    assert {c.model for c in make_search("random", of, space, model, 0).ask(2)} == {None}


# ---- quality


def test_quality_is_judged_by_what_the_model_was_not_taught(space):
    """Neither seeds nor programs that another run has measured, live and after a resume."""
    of, model = task(64), XGBoostModel()
    search = make_search("evolutionary", of, space, model, 0)
    batch = search.ask(8)
    results = measured(of, batch, space)
    known, new = results[:4], results[4:]
    x = np.stack([space.variants[c.variant].features(space.variants[c.variant].sampler.find(c.row)[None])[0]
                  for c, _ in known])  # fmt: skip
    model.warm_start({"elsewhere": (x, np.arange(4.0))})
    search.tell(results)
    assert search.quality.pairs == HeldOut().observe([c.predicted for c, _ in new], [-m.ms for _, m in new]).pairs
    records = [
        SimpleNamespace(
            key=c.key, variant=c.variant, row=dict(c.row), ok=True, status="ok", latency_ms=m.ms, round=0,
            predicted=c.predicted, origin=c.origin,
        )
        for c, m in results
    ]  # fmt: skip
    resumed = make_search("evolutionary", of, space, model, 0)
    resumed.restore(records)
    assert resumed.quality == search.quality


def test_seeds_prove_nothing(space):
    of, model = task(64), XGBoostModel()
    search = make_search("evolutionary", of, space, model, 0)
    variant = space.variants[0]
    picks = variant.sampler.draw(6, np.random.default_rng(1))
    keys = [f"{int(k):016x}" for k in variant.keys(picks)]
    rows = [variant.sampler.row(p) for p in picks]
    search.seed([Seed(0, row, k, x, "") for row, k, x in zip(rows, keys, variant.features(picks), strict=True)])
    batch = search.ask(6)
    assert {c.origin for c in batch} == {"seed"}
    search.tell(measured(of, batch, space))
    assert search.quality.pairs == 0


# ---- from run to run


def test_a_run_starts_from_what_another_has_learned_of_another_task(space, tmp_path):
    """Save, start from the file: round 0 of a new task ranks better than the estimate alone."""
    first = TuneContext(TARGET, TuneOptions(model="xgboost"))
    search = first.search(task(64), space, 0)
    for _ in range(4):
        search.tell(measured(task(64), search.ask(16), space))
    first.save_model(tmp_path / "learned.json")

    other, path = task(96), tmp_path / "learned.json"
    variant = make_space(other.func, TARGET).variants[0]
    x = variant.features(variant.sampler.draw(200, np.random.default_rng(3)))
    second = TuneContext(TARGET, TuneOptions(model=path), 7)
    model = second._shared_model()
    assert model.trained
    assert second.model_version().startswith("xgboost-")
    cold = spearman(AnalyticModel().predict(x), speed_of(x))
    assert spearman(model.predict(x), speed_of(x)) > cold + 0.02


def test_a_session_saves_its_model(tmp_path):
    session, _ = run(FakeContext())
    session.save_model(tmp_path / "m.json")
    assert (tmp_path / "m.json").read_text(encoding="utf-8") == "fake-1"


def test_files_of_models_are_read_before_anything_is_measured(tmp_path):
    AnalyticModel().save(tmp_path / "m.json")
    assert cost_model.make_model(tmp_path / "m.json").version == AnalyticModel().version
    TuneOptions(model=str(tmp_path / "m.json"))
    for model, error in ((tmp_path / "none.json", CostModelError), ("magic", UsageError)):
        with pytest.raises(error):
            tune(task(64).func, target=Target.host(), trials=1, options=TuneOptions(model=model), start=False)
    with pytest.raises(WorkbenchError):
        TuneOptions(model=3)
