"""Rules as declarations: their order, a user's own, leaving some out, structures, and what a space says of itself."""

from __future__ import annotations

import functools
import re
import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import workbench
from workbench import workloads
from workbench.cost_model import RandomModel
from workbench.errors import ScheduleError, UsageError
from workbench.graph.tasks import Task
from workbench.ir import blocks
from workbench.ir.poly import hole
from workbench.ir.text.printer import to_text
from workbench.ir.verify import verify
from workbench.machine_model.machine_parameters import Machine
from workbench.schedule import Hole, Schedule
from workbench.search import EvolutionarySearch
from workbench.space.sketch import RULES, Structure, sketches
from workbench.space.sketch.rule_table import Rule, in_order
from workbench.space.space import join_spaces, make_space, space_from_schedule
from workbench.target import Target
from workbench.tune.options import TuneOptions
from workbench.tune.plan.tune_context import TuneContext

TARGET = Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v4 -l1=48K -l2=2M -l3=32M -threads=2")


def conv():
    return workloads.conv2d_nhwc(14, 14, 64, 64, bias=True, relu=True)


@pytest.fixture
def near():
    """A rule of a user: asks for the next block ahead."""

    @workbench.sketch_rule("near", after="tile", applies=lambda draft, machine: draft.main is not None or "no tile")
    def rule(draft, machine):
        """Ask for the next block."""
        s = draft.schedule.copy()
        s.annotate(draft.outer[-1], "prefetch", 1)
        return [draft.skip("near", "this form waits"), draft.change("near", "asked for", s, tag="near")]

    yield rule
    rule.forget()


# ----- structures


def levels(schedule, name):
    """The structure of a block's loops, as letters: adjacent ones of a kind and level are one; a batch is none."""
    block, path = schedule.func.block(name)
    reduced = {v for it, x in zip(block.iters, block.binds, strict=True) if it.kind == "R" for v in x.vars}
    out, last = "", None
    for lp in (lp for lp in path if lp.name in reduced or "." in lp.name):
        place = ("R", lp.name.split(".")[0]) if lp.name in reduced else ("S", lp.name.rpartition(".")[2])
        if place[0] == "R" and last is not None and last[0] == "R" and place[1] != last[1]:
            place = last  # another axis at the same level
        out += "" if place == last else place[0]
        last = place
    return out


@pytest.mark.parametrize("text", ["SRS", "SSRS", "SSRSRS", "SSSRRS", "SSRSRSRS", "SRSRS"])
def test_loops_stand_in_the_order_that_the_structure_says(text):
    for func, name in ((workloads.matmul(64, 96, 48), "C"), (workloads.batch_matmul(4, 32, 48, 60), "C")):
        variants = make_space(func, TARGET, structure=text).variants
        for v in variants:
            want = text.replace("RR", "R")  # parts of one axis that stand side by side look like one level
            assert levels(v.schedule, name).replace("RR", "R") == want
            assert v.label.startswith(text)
            depth = sum(lp.name.startswith("k") for lp in v.schedule.func.block(name)[1])
            assert depth == text.count("R")


def test_the_usual_forms_are_instances():
    def traces(**how):
        return [v.schedule.to_json() for v in make_space(workloads.matmul(64, 64, 128), TARGET, **how).variants]

    assert traces() == traces(structure="SSRS") + traces(structure="SSRSRS")


def test_a_reduction_that_cannot_be_cut_has_no_panels():
    (v,) = make_space(workloads.matmul(64, 64, 1), TARGET, structure="SSRSRS").variants
    assert v.label == "SSRS"
    assert Structure.parse("SSRSRSRS").without_panels().text == "SSRS"


@pytest.mark.parametrize("text", ["", "SSR", "RSS", "SRSX", "ssrs", "S", "SS", "SSSSSSRS", "SRRRRRRS", 3, None])
def test_structures_that_make_no_sense(text):
    with pytest.raises(UsageError) as e:
        Structure.parse(text)
    assert e.value.code == "space.structure"
    if text is not None:
        with pytest.raises(UsageError, match="structure"):
            make_space(workloads.matmul(8, 8, 8), TARGET, structure=text)


# ----- the table of rules


def test_custom_rules_stand_right_behind_the_one_they_name(near):
    names = [r.name for r in RULES]
    assert names[names.index("tile") : names.index("tile") + 3] == ["tile", "near", "pack"]
    usual = [r for r in RULES if not r.custom]
    assert [r.name for r in in_order(usual[::-1])] == [r.name for r in usual], "an order of declarations is no order"


def test_a_custom_rule_takes_part_in_every_space_and_says_why(near):
    space = make_space(conv(), TARGET, rules=["-winograd", "-fetch"])
    usual = make_space(conv(), TARGET, rules=["-winograd", "-fetch", "-near"])
    assert len(space.variants) == 2 * len(usual.variants)
    assert sum("near" in v.label for v in space.variants) == len(usual.variants)
    for v in space.variants:
        fetched = any(lp.note("prefetch") for lp in v.schedule.loops)
        assert fetched == ("near" in v.label)
    said = {(r.fired, r.reason) for r in space.rules() if r.rule == "near" and r.block == "conv"}
    assert said == {(True, "asked for"), (False, "this form waits")}
    (reason,) = {r.reason for r in make_space(workloads.elementwise(64, 64), TARGET).rules() if r.rule == "near"}
    assert reason == "no tile"


def test_a_custom_rule_is_replaced_by_one_of_its_name_and_goes_when_it_is_forgotten(near):
    again = workbench.sketch_rule("near", after="fuse")(lambda draft, machine: draft.skip("near", "nothing"))
    names = [r.name for r in RULES]
    assert names.count("near") == 1
    assert names[names.index("near") - 1] == "fuse"
    again.forget()
    assert "near" not in [r.name for r in RULES]


def test_rules_that_would_stand_behind_each_other_are_refused(near):
    further = workbench.sketch_rule("further", after="near")(lambda draft, machine: draft.skip("further", "no"))
    try:
        for after in ("further", "near"):
            with pytest.raises(UsageError, match="would stand behind") as e:
                workbench.sketch_rule("near", after=after)(lambda draft, machine: draft)
            assert e.value.code == "space.rules"
        with pytest.raises(UsageError, match="would stand behind"):
            make_space(conv(), TARGET, rules=[Rule("alone", "", refuse, after="alone", custom=True)])
        assert RULES["near"] is near
        names = [r.name for r in RULES]
        assert names[names.index("tile") + 1 :][:2] == ["near", "further"]
    finally:
        further.forget()


def test_a_rule_need_not_be_in_the_table():
    extra = Rule("extra", "", lambda d, m: d.skip("extra", "only here"), after="mark", custom=True)
    space = make_space(workloads.matmul(8, 16, 8), TARGET, rules=[extra])
    assert space.asked[space.asked.index("mark") + 1] == "extra"
    assert len(space.asked) == len([r for r in RULES if r.on in ("cpu", "any")]) + 1
    assert make_space(workloads.matmul(8, 16, 8), TARGET, rules=["tile", extra, "mark"]).asked == (
        "tile",
        "mark",
        "extra",
    )


def test_rules_left_out_and_rules_alone():
    every = make_space(conv(), TARGET)
    without = make_space(conv(), TARGET, rules=["-winograd", "-pad"])
    assert [v.label for v in without.variants] == ["SSRS", "SSRSRS"]
    assert any("winograd" in v.label for v in every.variants)
    alone = make_space(conv(), TARGET, rules=["tile"])
    assert all({n.rule for n in v.notes} == {"tile"} for v in alone.variants)
    assert alone.asked == ("tile",)
    assert len(make_space(conv(), TARGET, rules=[]).variants) == 1


@pytest.mark.parametrize(
    ("rules", "code"),
    [
        (["tyle"], "space.rules"),
        (["-tyle"], "space.rules"),
        (["tile", "-mark"], "space.rules"),
        ([3], "space.rules"),
        (3, "space.rules"),
    ],
)
def test_rules_that_do_not_exist(rules, code):
    with pytest.raises(UsageError) as e:
        make_space(conv(), TARGET, rules=rules)
    assert e.value.code == code


@pytest.mark.parametrize("name", ["tile", "", "-x", 4, " "])
def test_names_that_a_rule_cannot_have(name):
    with pytest.raises(UsageError) as e:
        workbench.sketch_rule(name)(lambda d, m: d)
    assert e.value.code == "space.rule_name"
    assert not RULES["tile"].custom


def test_a_rule_behind_one_that_does_not_exist():
    with pytest.raises(UsageError) as e:
        workbench.sketch_rule("late", after="tyle")(lambda d, m: d)
    assert e.value.code == "space.rules"
    assert "'tile'" in e.value.hint


def refuse(draft, machine):
    draft.schedule.annotate(draft.outer[0], "seen", 1)  # of a copy: nobody else sees it
    draft.schedule.copy().unroll("no such loop")


def later(draft, machine):
    yield draft.skip("mine", "first")
    raise ValueError("second")


def twice(draft, machine):
    s = draft.schedule.copy()
    s.unroll("i")
    return [draft.change("mine", "once", s), draft.change("mine", "again", s.copy())]


def in_place(draft, machine):
    draft.schedule.unroll("i")
    return [draft.skip("mine", "as it was"), draft.change("mine", "changed", draft.schedule)]


def endless(draft, machine):
    while True:
        yield draft.skip("mine", "once more")


def of_another(draft, machine):
    return draft.change("mine", "another", Schedule(workloads.matmul(4, 4, 4), TARGET))


def without_rows(draft, machine):
    return [draft.limit("never", -1), draft.skip("mine", "as it was")]


def limit_of_nothing(draft, machine):
    return draft.limit("more of it", hole("nobody") - 2)


def not_even_main(draft, machine):
    return replace(draft, main="nobody")


@pytest.mark.parametrize(
    ("function", "applies", "told"),
    [
        (lambda d, m: 3, None, "gives back int and no draft"),
        (lambda d, m: [None], None, "gives back NoneType and no draft"),
        (lambda d, m: 1 / 0, None, "fails: ZeroDivisionError: division by zero"),
        (lambda d: d, None, "fails: TypeError: "),
        (lambda d, m: d, lambda d, m: 1 / 0, "fails: ZeroDivisionError"),
        (later, None, "fails: ValueError: second"),
        (twice, None, "makes the same sketch twice"),
        (in_place, None, "makes the same sketch twice"),
        (endless, None, "makes the same sketch twice"),
        (of_another, None, "its schedule is none of this computation"),
        (without_rows, None, "no numbers fulfil its limits (never)"),
        (limit_of_nothing, None, "its limits are about nobody, and there is no such hole"),
    ],
)
def test_what_goes_wrong_with_a_rule_is_told_with_its_name_and_costs_that_sketch_alone(function, applies, told):
    rule = Rule("mine", "", function, "inline", applies, custom=True)
    said = []
    usual = make_space(workloads.matmul(8, 16, 8), TARGET)
    space = make_space(workloads.matmul(8, 16, 8), TARGET, rules=[rule], tell=said.append)
    assert any(told in text for text in said)
    assert all("'mine'" in text for text in said)
    assert len(set(said)) == len(said)
    assert said == [str(t) for t in space.troubles]
    assert all(f"  ! {text}" in space.explain() for text in said)
    assert "the sketch rule" in space._repr_html_()
    if function not in (twice, in_place):
        assert space.id == usual.id
    assert len(space.variants) == len(usual.variants)


def test_what_a_rule_has_made_is_not_changed_by_what_it_does_next():
    """A generator may hand out its draft, go on with the same schedule in place, and hand that out as well."""

    def one_after_the_other(draft, machine):
        yield draft.skip("mine", "as it was")
        for loop in ("i", "j"):
            draft.schedule.annotate(loop, "prefetch", 1)
            yield draft.change("mine", f"next {loop}", draft.schedule, tag=loop)

    said = []
    rule = Rule("mine", "", one_after_the_other, None, custom=True)
    start = Schedule(workloads.matmul(8, 16, 8), TARGET)
    drafts = sketches(start, Machine.of(TARGET), rules=(rule,), tell=said.append)
    fetched = [[lp.name for lp in d.schedule.loops if lp.note("prefetch")] for d in drafts]
    assert fetched == [[], ["i"], ["i", "j"]]
    assert drafts[0].schedule.to_json() == start.to_json() == []
    assert not said


@pytest.mark.parametrize("also", [True, False])
def test_a_sketch_that_later_rules_cannot_go_on_with_ends_there(also):
    def lost(draft, machine):
        gone = replace(draft, main="nobody")
        return [gone, draft.skip("mine", "as it was")] if also else gone

    said = []
    rule = Rule("mine", "", lost, "tile", custom=True)
    space = make_space(workloads.matmul(8, 16, 8), TARGET, rules=[rule], tell=said.append)
    assert space.id == make_space(workloads.matmul(8, 16, 8), TARGET).id
    (told,) = said
    assert told.startswith("the sketch rule 'mine' makes a sketch that the rule 'pack' cannot go on with: ")


def test_a_rule_that_fails_is_told_in_a_warning_and_by_a_session():
    @workbench.sketch_rule("mine", after="tile")
    def rule(draft, machine):
        raise KeyError("wide")

    func = workloads.matmul(8, 16, 8)
    task = Task.of_func(func, TARGET)
    try:
        with pytest.warns(RuntimeWarning, match="the sketch rule 'mine' fails: KeyError: 'wide'") as seen:
            make_space(func, TARGET)
        assert seen[0].filename == __file__
        context = TuneContext(TARGET, TuneOptions(model="random"))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert context.space(task).variants
        assert context.remark(task) == "the sketch rule 'mine' fails: KeyError: 'wide'"
    finally:
        rule.forget()


@pytest.mark.parametrize(
    ("function", "applies", "reason"),
    [
        (refuse, None, "There is no loop 'no such loop'."),
        (lambda d, m: d, None, "it gave the draft back as it was, without a reason"),
        (lambda d, m: d, lambda d, m: False, "its condition does not hold here"),
        (lambda d, m: d, lambda d, m: "it is Sunday", "it is Sunday"),
        (lambda d, m: d.skip("mine", "not today"), None, "not today"),
        (lambda d, m: d.skip("mine", "not today"), lambda d, m: np.bool_(True), "not today"),
    ],
)
def test_a_rule_that_does_nothing_says_why(function, applies, reason):
    rule = Rule("mine", "", function, "mark", applies, custom=True)
    space = make_space(workloads.matmul(8, 16, 8), TARGET, rules=[rule])
    assert {(r.fired, r.reason) for r in space.rules() if r.rule == "mine"} == {(False, reason)}
    assert space.id == make_space(workloads.matmul(8, 16, 8), TARGET).id


# ----- what a space says


@functools.cache
def spaces():
    """Spaces of computations of all kinds."""
    return [make_space(make(), TARGET) for make in workloads.ALL.values()]


def test_every_rule_speaks_of_every_block():
    for space in spaces():
        func = space.variants[0].schedule.base
        records = space.rules()
        names = [b.name for b, _ in blocks(func.body)]
        said = {(r.block, r.rule) for r in records}
        assert said >= {(b, r.name) for b in names for r in RULES if r.on in ("cpu", "any")}
        assert all(r.reason and "no reason" not in r.reason for r in records)
        assert list(dict.fromkeys(r.block for r in records))[: len(names)] == names
        for r in records:
            for k in r.variants:
                noted = {n.rule for n in space.variants[k].notes if r.block in n.blocks}
                assert r.fired == (r.rule in noted) or (not r.fired and r.variants != (k,)) or r.rule == "fetch"


def test_the_explanation_says_which_rule_fired_and_which_did_not():
    text = make_space(conv(), TARGET).explain()
    body = text.split("\n  conv\n")[1].split("\n  bias_add\n")[0]
    assert re.search(r"\+ tile \[\d-\d\]: conv: every operand is reused along another axis; SSRS", body)
    assert re.search(r"\+ winograd \[\d\]: .* 4x4", body)
    assert re.search(r"- tensorize: no instruction|- tensorize: the machine has no instruction", body)
    assert "- lengthen" in body
    assert "+ inline: bias_add is pointwise" in text
    frame = pd.DataFrame(make_space(conv(), TARGET).rules())
    assert list(frame.columns) == ["block", "rule", "fired", "reason", "variants"]


def test_a_notebook_shows_variants_and_rules():
    space = make_space(conv(), TARGET)
    html = space._repr_html_()
    for text in ("SSRSRS · pad in blocks", "winograd 4x4, data first", "<details", "bias_add", "it is a reduction"):
        assert text in html
    assert repr(space.variants[0]) == "<variant 0: SSRS · pad in blocks>"
    assert repr(space).startswith(f"<space {space.id}: 6 variants, ")


def test_labels_tell_variants_apart():
    for space in spaces():
        labels = [v.label for v in space.variants]
        assert len(set(labels)) == len(labels)


# ----- spaces of schedules, and several together


def test_choices_of_a_schedule_become_variants_that_a_search_can_use():
    s = Schedule(workloads.matmul(32, 32, 32, bias=True, relu=True), TARGET)
    s.compute_inline("bias_add")
    s.split("j", [None, Hole(choices=[8, 16])])
    s.split("i", [None, Hole()])
    s.reorder("i.0", "j.0", "i.1", "k", "j.1")
    s.vectorize("j.1")
    s.reverse_compute_at("relu", Hole(choices=["i.0", "j.0", "i.1"]))
    space = space_from_schedule(s)
    assert [v.label for v in space.variants] == [f"reverse_compute_at(loop={n})" for n in ("i.0", "j.0", "i.1")]
    at = [v.schedule.func.block("relu")[1] for v in space.variants]
    assert len({tuple(lp.name for lp in path) for path in at}) == 3
    assert len({v.notes[0].reason for v in space.variants}) == 3
    rng = np.random.default_rng(0)
    keys = [set(v.keys(v.sampler.draw(100, rng)).tolist()) for v in space.variants]
    assert all(len(k) > 4 for k in keys)
    for v in space.variants:
        assert np.isfinite(v.features(v.sampler.draw(8, rng))).all()
    assert {r.rule for r in space.rules()} == {"schedule"}


def test_one_search_goes_over_all_choices_of_a_schedule():
    """Structure and numbers together: what is proposed is concrete, legal, and of every variant."""
    func = workloads.matmul(16, 32, 8, relu=True)
    s = Schedule(func, TARGET)
    s.split("j", [None, Hole(choices=[8, 16])])
    s.split("i", [None, Hole()])
    s.reorder("i.0", "j.0", "i.1", "k", "j.1")
    s.vectorize("j.1")
    s.reverse_compute_at("relu", Hole(choices=["i.0", "j.0"]))
    space = space_from_schedule(s)
    search = EvolutionarySearch(SimpleNamespace(key="m", flops=8192), space, RandomModel(0), 0)
    found = search.ask(64)
    assert {c.variant for c in found} == {0, 1}
    assert len(found) >= 8
    for c in found:
        schedule = space.schedule(c)
        assert schedule.is_concrete
        verify(schedule.func)
        again = Schedule.from_json(func, schedule.to_json(), TARGET)
        assert to_text(again.func) == to_text(schedule.func)


def test_spaces_of_one_computation_are_joined():
    func = workloads.matmul(32, 64, 96)
    sketched = make_space(func, TARGET)
    s = Schedule(func, TARGET)
    s.split("j", [None, Hole(choices=[16, 32])])
    joined = join_spaces(sketched, space_from_schedule(s))
    assert [v.index for v in joined.variants] == list(range(len(sketched.variants) + 1))
    assert joined.variants[-1].schedule.to_json() == s.to_json()
    assert joined.id not in (sketched.id, space_from_schedule(s).id)
    assert {r.rule for r in joined.rules()} >= {"tile", "schedule"}
    for spaces in ((), (sketched, make_space(workloads.matmul(8, 8, 8), TARGET))):
        with pytest.raises(UsageError) as e:
            join_spaces(*spaces)
        assert e.value.code == "space.join"


def test_a_template_takes_the_place_of_rules():
    space = make_space(conv(), TARGET, template="conv2d_nhwc")
    assert space.asked == ("template",)
    assert {r.block for r in space.rules()} >= {"pad", "conv", "bias_add", "relu"}
    labels = [v.label for v in space.variants]
    assert len(set(labels)) == len(labels), "knobs tell variants apart"
    for how in ({"structure": "SSRS"}, {"rules": ["tile"]}, {"fixed": ["pad"]}):
        with pytest.raises(UsageError) as e:
            make_space(conv(), TARGET, template="conv2d_nhwc", **how)
        assert e.value.code == "space.template"


def test_a_schedule_without_a_legal_choice():
    s = Schedule(workloads.matmul(8, 8, 8), TARGET)
    s.split("j", [None, Hole(choices=[2, 4])])
    assert len(space_from_schedule(s).variants) == 1
    with pytest.raises(ScheduleError):
        s.reverse_compute_at("C", Hole(choices=["i"]))


def test_a_rule_that_gives_no_draft_leaves_the_space_as_it_is():
    func = workbench.workloads.matmul(64, 64, 64)
    before = make_space(func)
    empty = workbench.sketch_rule("empty", after="tile")(lambda draft, machine: [])
    try:
        space = make_space(func)
    finally:
        empty.forget()
    assert len(space.variants) == len(before.variants) > 0
    assert "it gave back no draft" in space.explain()
