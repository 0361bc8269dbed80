"""`tune` with real spaces and kernels: what it starts from, what it is held to, what it refuses."""

from __future__ import annotations

import dataclasses
import inspect
import re

import numpy as np
import pytest
from tune.random_logs import ranked

import workbench as wb
from workbench import Target, workloads
from workbench.errors import UsageError, WorkbenchError
from workbench.graph.tasks import Task
from workbench.log import load_log
from workbench.log.replay import schedule_of
from workbench.space.default_schedule import default_schedule
from workbench.space.space import make_space
from workbench.space.template import TEMPLATES
from workbench.tune.options import TuneOptions
from workbench.tune.plan.run_plan import RunArguments
from workbench.tune.plan.tune_context import TuneContext
from workbench.tune.run.start import tune

TARGET = Target.host(threads=1)


def matmul(n=32):
    return Task.of_func(workloads.matmul(n, 32, n), TARGET)


def run(what, **kwargs):
    """A finished session and its events."""
    kwargs.setdefault("options", TuneOptions(model="analytic", repeat=3, min_repeat_ms=0.01))
    session = wb.tune(what, target=TARGET, start=False, **kwargs)
    events = []
    session.events.subscribe(events.append)
    session.start().wait(120)
    return session, events


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    log = tmp_path_factory.mktemp("first") / "a.jsonl"
    session, _ = run([matmul()], trials=10, log=log)
    return session, log


def test_a_log_of_the_same_task_is_where_the_search_starts(first, tmp_path):
    session, log = first
    valid = [r for r in session.records if r.ok and r.variant >= 0]
    best = ranked(valid, session.comparisons)[0].record
    again, events = run([matmul()], trials=8, log=tmp_path / "b.jsonl", seeds=log)
    seeds = [e.message for e in events if e.kind == "seed"]
    assert seeds
    taken = [r for r in again.records if r.origin in ("seed", "transfer")]
    assert taken
    assert all(r.mutation for r in taken)
    assert best.key in {r.key for r in taken}
    assert {r.mutation for r in taken} <= set(seeds)


@pytest.mark.slow
def test_a_similar_task_gives_seeds_that_say_what_was_adapted(first):
    _, log = first
    session, events = run([matmul(48)], trials=6, seeds=[log])
    assert [e for e in events if e.kind == "seed"]
    assert [r for r in session.records if r.origin in ("seed", "transfer") and r.ok]


def test_a_schedule_by_hand_and_a_record_are_seeds_too(first):
    earlier, _ = first
    task = matmul()
    record = next(r for r in earlier.records if r.variant >= 0 and r.ok)
    variant = make_space(task, TARGET).variants[0]
    rows = variant.sampler.draw(8, np.random.default_rng(1))
    number = next(k for k in range(8) if f"{int(variant.keys(rows)[k]):016x}" != record.key)
    hand = variant.schedule.fill(variant.sampler.row(rows[number]))
    other = default_schedule(matmul(64), TARGET)  # of another task: nothing is taken from it
    session, _ = run([task], trials=6, seeds=[hand, other, record], options=TuneOptions(model="random", baseline=False))
    taken = [r for r in session.records if r.origin in ("seed", "transfer")]
    assert record.key in {r.key for r in taken}
    assert f"{int(variant.keys(rows)[number]):016x}" in {r.key for r in taken}


@pytest.mark.slow
def test_a_template_takes_the_place_of_the_rules():
    session, _ = run([matmul()], trials=6, template="matmul")
    space = session.space(0)
    assert space.id == make_space(matmul(), TARGET, template="matmul").id
    assert all(r.space == space.id for r in session.records if r.variant >= 0)
    both, _ = run([matmul()], trials=4, options=TuneOptions(space="both", model="analytic"))
    sketches = make_space(matmul(), TARGET)
    assert len(both.space(0).variants) == len(space.variants) + len(sketches.variants)


@pytest.mark.slow
def test_where_no_template_fits_the_rules_stand_in_and_it_is_said():
    softmax = Task.of_func(workloads.softmax(8, 16), TARGET)
    session, events = run([softmax], trials=3, options=TuneOptions(space="template", model="analytic"))
    assert [e.message for e in events if e.kind == "warning" and "no template fits" in e.message]
    assert session.space(0).id == make_space(softmax, TARGET).id


@pytest.mark.slow
def test_a_structure_is_handed_on():
    session, _ = run([matmul()], trials=3, options=TuneOptions(structure="SSRS", model="analytic"))
    assert session.space(0).id == make_space(matmul(), TARGET, structure="SSRS").id


@pytest.mark.parametrize(
    ("kwargs", "code"),
    [
        ({"options": TuneOptions(structure="XYZ")}, "space.structure"),
        ({"template": "fft"}, "template.unknown"),
        ({"template": "conv2d_nhwc"}, "usage.template"),
        ({"seeds": 3}, "usage.type"),
        ({"seeds": [3]}, "usage.type"),
        ({"seeds": "missing.jsonl"}, "log.missing"),
        ({"objective": lambda ms: ms["nobody"]}, "usage.objective"),
    ],
)
def test_what_makes_no_sense_is_refused_before_a_log_is_made(tmp_path, kwargs, code):
    log = tmp_path / "a.jsonl"
    with pytest.raises(WorkbenchError) as caught:
        wb.tune([matmul()], trials=4, log=log, target=TARGET, **kwargs)
    assert caught.value.code == code
    assert not log.exists()


def test_a_name_that_is_not_declared_is_one_error():
    for name, code in (("search", "usage.search"), ("model", "usage.cost_model"), ("scheduler", "usage.scheduler")):
        with pytest.raises(WorkbenchError, match="There is no") as caught:
            TuneOptions(**{name: "oracle"})
        assert caught.value.code == code


def test_a_pattern_that_fails_is_told_where_its_template_was_asked_for():
    """It does not say that the template does not fit: nobody knows that."""
    wb.template("broken", matches=lambda func: 1 / 0)(lambda cfg, s: None)
    try:
        with pytest.raises(WorkbenchError, match="ZeroDivisionError: division by zero") as caught:
            wb.tune([matmul()], trials=4, target=TARGET, template="broken")
        assert caught.value.code == "template.failed"
        context = TuneContext(TARGET, TuneOptions(space="template", template="broken", model="analytic"))
        with pytest.raises(WorkbenchError) as caught:
            context.space(matmul())
        assert caught.value.code == "template.failed"
        usual = TuneContext(TARGET, TuneOptions(space="template", model="analytic"))
        assert usual.space(matmul()).id == make_space(matmul(), TARGET, template="matmul").id
    finally:
        del TEMPLATES["broken"]


# ---- steering a real space ----


@pytest.fixture
def idle(tmp_path):
    options = TuneOptions(model="analytic", repeat=3, min_repeat_ms=0.01, baseline=False, batch=4)
    session = wb.tune([matmul(64)], trials=12, log=tmp_path / "a.jsonl", target=TARGET, start=False, options=options)
    yield session
    session.cancel()


def a_hole(session):
    """A hole of the first variant that may have several values, with two of them."""
    variant = session.space(0).variants[0]
    group = next(g for g in variant.sampler.domain.groups if len(set(g.table[:, 0].tolist())) > 2)
    return group.holes[0], sorted(set(group.table[:, 0].tolist()))


def test_pins_and_forbids_hold_for_real_proposals(idle):
    hole, values = a_hole(idle)
    idle.forbid(0, variant=1)
    idle.pin(0, hole, values[1])
    idle.start().wait(120)
    rows = [r for r in idle.records if r.variant >= 0]
    assert rows
    assert all(r.row[hole] == values[1] for r in rows if hole in r.row)
    assert all(r.variant != 1 for r in rows)


def test_real_refusals_name_the_reason(idle):
    hole, _ = a_hole(idle)
    for args, code in (
        ({"hole": "nothing", "value": 1}, "steer.hole"),
        ({"hole": hole, "value": 7919}, "steer.value"),
        ({"hole": hole, "value": 10**30}, "steer.argument"),
        ({"hole": hole, "value": -1}, "steer.value"),
    ):
        with pytest.raises(WorkbenchError) as caught:
            idle.pin(0, **args)
        assert caught.value.code == code
    for k in range(len(idle.space(0).variants) - 1):
        idle.forbid(0, variant=k)
    with pytest.raises(WorkbenchError) as caught:
        idle.forbid(0, variant=len(idle.space(0).variants) - 1)
    assert caught.value.code == "steer.empty"
    with pytest.raises(WorkbenchError) as caught:
        idle.forbid(0, variant=99)
    assert caught.value.code == "steer.variant"


def test_rows_and_schedules_by_hand_are_the_programs_that_they_say(idle, tmp_path):
    variant = idle.space(0).variants[0]
    first, second = variant.sampler.draw(2, np.random.default_rng(0))
    row = variant.sampler.row(first)
    schedule = variant.schedule.fill(variant.sampler.row(second))
    idle.add(0, variant=0, row=row)
    line = idle.add(0, schedule)
    assert line.args["key"] == f"{int(variant.keys(second[None])[0]):016x}"  # the same program, the same key
    with pytest.raises(WorkbenchError, match="waits"):
        idle.add(0, variant=0, row=variant.sampler.row(second))
    idle.start().wait(120)
    by_hand = [r for r in idle.records if r.origin == "manual"]
    assert [r.variant for r in by_hand] == [0, -1]
    assert all(r.ok for r in by_hand)
    assert by_hand[0].row == row
    assert schedule_of(matmul(64), by_hand[1]).func == schedule.func
    assert len({r.key for r in idle.records}) == len(idle.records)
    assert load_log(idle.log).commands[1].name == "add"


def test_hands_that_slip_are_told(idle):
    variant = idle.space(0).variants[0]
    open_, wrong = variant.schedule, [{"primitive": "split", "args": {"loop": "nothing", "factors": [2, 2]}}]
    for args, code in (
        ({"schedule": open_}, "steer.trace"),
        ({"schedule": wrong}, "steer.trace"),
        ({"schedule": [{"primitive": "__import__", "args": {"name": "os"}}]}, "steer.trace"),
        ({"variant": 99, "row": {}}, "steer.variant"),
        ({"variant": 0, "row": {}}, "steer.row"),
        ({"variant": 0, "row": {h: 7919 for g in variant.sampler.domain.groups for h in g.holes}}, "steer.row"),
    ):
        with pytest.raises(WorkbenchError) as caught:
            idle.add(0, **args)
        assert caught.value.code == code, args


def test_the_signature_names_every_argument_and_the_documentation_explains_it():
    found = inspect.signature(wb.tune).parameters
    names = [f.name for form in (RunArguments, TuneOptions) for f in dataclasses.fields(form)]
    assert list(found) == ["what", "target", "options", "seeds", "start", "precision", *names]
    assert (found["trials"].default, found["batch"].annotation) == (None, int | None)
    documented = re.findall(r"^(\w+(?:, \w+)*)(?= :|$)", inspect.getdoc(tune) or "", re.MULTILINE)
    assert set(found) <= {name for line in documented for name in line.split(", ")}


def test_an_option_that_does_not_exist_is_told_with_the_nearest_name():
    for call in (TuneOptions, lambda **given: tune(matmul(), **given)):
        with pytest.raises(UsageError) as caught:
            call(batchh=1)
        assert caught.value.code == "usage.option"
        assert "batch" in caught.value.hint
    assert "batch" in inspect.signature(TuneOptions).parameters


def holed():
    s = wb.Schedule(workloads.matmul(32, 32, 32), TARGET)
    s.split("i", [None, wb.Hole("tile")])
    return s


@pytest.mark.parametrize("what", [workloads.matmul(8, 8, 8), [matmul()], holed()], ids=["func", "tasks", "schedule"])
def test_every_option_can_be_given_by_its_name(what):
    for field in dataclasses.fields(TuneOptions):
        session = tune(what, target=TARGET, start=False, **{field.name: field.default})
        assert session.state == "idle", field.name
    for given, found in (({"constants": "memory"}, "memory"), ({"options": TuneOptions(constants="shared")}, "shared")):
        assert tune(what, target=TARGET, start=False, **given)._plan.options.constants == found
    for given in ({"baseline": False}, {"options": TuneOptions(baseline=False)}):
        assert not tune(what, target=TARGET, start=False, **given)._plan.options.baseline
    with pytest.raises(UsageError, match="constants cannot be 'far'") as caught:
        tune(what, target=TARGET, start=False, constants="far")
    assert caught.value.code == "usage.constants"
