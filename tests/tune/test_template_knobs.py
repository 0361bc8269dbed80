"""What knobs mean: which become holes, which variants, and what a template says when something is wrong with it."""

from __future__ import annotations

import numpy as np
import pytest

from workbench import workloads
from workbench.errors import ScheduleError, TemplateError, UsageError
from workbench.schedule import Hole
from workbench.space.space import make_space
from workbench.space.template import TEMPLATES, Mismatch, template
from workbench.target import Target

TARGET = Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v4 -l1=48K -l2=2M -l3=32M -threads=2")


@pytest.fixture
def declare():
    """Declare templates that are gone after the test."""
    made = []

    def declare_(function, matches="matmul", name="mine"):
        template(name, matches=matches)(function)
        made.append(name)
        return name

    yield declare_
    for name in dict.fromkeys(made):
        del TEMPLATES[name]


@pytest.fixture
def space_of(declare):
    """Space of a template over a product of matrices, 48 by 64 by 32."""

    def space(function, fixed=None, func=None):
        name = declare(function)
        return make_space(func or workloads.matmul(48, 64, 32), TARGET, template=name, fixed=fixed)

    return space


def values(space, knob):
    """What a knob is over all rows of a space."""
    out = set()
    for v in space.variants:
        for pick in v.sampler.draw(10_000, np.random.default_rng(0)):
            out.add(space.knobs().values(v.index, v.sampler.row(pick))[knob])
    return out


# ----- splits


@pytest.mark.parametrize(
    ("options", "good", "many"),
    [
        ({}, lambda f: True, 1),
        ({"num_outputs": 3}, lambda f: len(f) == 3, 1),
        ({"max_factor": 8}, lambda f: f[1] <= 8, 1),
        ({"num_outputs": 3, "max_factor": 4}, lambda f: max(f[1:]) <= 4, 1),
        ({"policy": "power2"}, lambda f: f[1] in (1, 2, 4, 8, 16), 1),
        ({"policy": "verbose"}, lambda f: True, 1),
        ({"policy": "candidate", "candidate": [[-1, 8], [4, -1]]}, lambda f: f in [(6, 8), (4, 12)], 1),
        ({"filter": lambda e: e.size[-1] in (2, 3)}, lambda f: f[1] in (2, 3), 1),
        ({"num_outputs": 3, "filter": lambda e: e.size[1] * e.size[2] <= 12}, lambda f: f[1] * f[2] <= 12, 1),
        ({"num_outputs": 3, "filter": lambda e: e.size[1] == e.size[2]}, lambda f: f[1] == f[2], 3),
    ],
)
def test_a_split_offers_what_its_options_allow_and_all_of_that(space_of, options, good, many):
    def rows(cfg, s):
        cfg.define_split("tile", "i", **options)
        cfg["tile"].apply(s)

    space = space_of(rows)
    parts = options.get("num_outputs", 2)
    every = [(a, b) for a in range(1, 49) for b in range(1, 49) if a * b == 48] if parts == 2 else [
        (48 // a // b, a, b) for a in range(1, 49) for b in range(1, 49) if 48 % (a * b) == 0
    ]  # fmt: skip
    want = {f for f in every if good(f)}
    assert values(space, "tile") == want
    assert set(space.knobs()["tile"].candidates) == want
    assert len(space.variants) == many, "only what couples factors otherwise makes variants"


def test_an_inequality_of_products_is_a_limit_and_no_variants(space_of):
    def rows(cfg, s):
        cfg.define_split("tile", "i", num_outputs=4, filter=lambda e: e.size[2] * e.size[3] <= 5)
        cfg["tile"].apply(s)

    (variant,) = space_of(rows).variants
    assert [c.label for c in variant.limits] == ["filter of tile"]


def test_the_same_split_fits_a_stage_behind(space_of):
    def rows(cfg, s):
        tile = cfg.define_split("tile", "i", num_outputs=2)
        tile.apply(s)
        tile.apply(s, "relu_i")

    (variant,) = space_of(rows, func=workloads.matmul(48, 64, 32, relu=True)).variants
    assert [h.name for h in variant.schedule.holes] == ["tile_0", "tile_1"]


def test_a_loop_that_another_knob_cut_off_may_be_cut_again(space_of):
    def rows(cfg, s):
        outer, _ = cfg.define_split("tile", "i").apply(s)
        cfg.limit("few blocks", cfg["tile"].size[0] <= 12)
        cfg.define_split("again", outer).apply(s)

    space = space_of(rows)
    assert max(tile[0] for tile in values_of(space, "tile")) == 12
    assert {a * b * c[1] for (a, b), c in zip(values_of(space, "again"), values_of(space, "tile"), strict=True)} == {48}
    assert "factors of tile_0" in repr(space.knobs())


def values_of(space, knob):
    (v,) = space.variants
    rows = [v.sampler.row(p) for p in v.sampler.draw(10_000, np.random.default_rng(0))]
    return [space.knobs().values(0, row)[knob] for row in rows]


# ----- choices: holes where a number goes into steps, variants where a value is needed


def numeric(cfg, s):
    s.split("k", [None, cfg.define_knob("step", [2, 4, 5]).val])


def in_an_if(cfg, s):
    if cfg.define_knob("step", [2, 4, 5]).val > 2:
        s.unroll("k")


def printed(cfg, s):
    print("step", cfg.define_knob("step", [2, 4, 5]).val)


def where_no_hole_goes(cfg, s):
    s.annotate("k", "prefetch", cfg.define_knob("step", [2, 4, 5]).val)


def twice(cfg, s):
    """The same number for two loops: no hole can be proved to divide both."""
    step = cfg.define_knob("step", [2, 4, 8]).val
    s.split("i", [None, step])
    s.split("j", [None, step])


def in_a_limit_alone(cfg, s):
    cfg.define_split("tile", "i").apply(s)
    cfg.limit("short", cfg["tile"].size[1] <= cfg.define_knob("step", [2, 4, 5]).val)


def words(cfg, s):
    s.unroll(cfg.define_knob("step", ["i", "k"]).val)


@pytest.mark.parametrize(
    ("function", "variants", "becomes"),
    [(numeric, 1, "1 hole"), (in_an_if, 3, "variants"), (printed, 3, "variants"), (where_no_hole_goes, 3, "variants"),
     (twice, 3, "variants"), (in_a_limit_alone, 3, "variants"), (words, 2, "variants")],
)  # fmt: skip
def test_numbers_become_holes_and_what_is_looked_at_variants(space_of, function, variants, becomes):
    space = space_of(function)
    assert len(space.variants) == variants
    assert space.knobs()["step"].becomes == becomes


def test_a_choice_that_does_not_divide_is_no_row(space_of):
    assert values(space_of(numeric), "step") == {2, 4}


def test_combinations_that_are_not_legal_are_left_out_with_the_reason(space_of):
    def unfitting(cfg, s):
        s.split("k", [None, 5]) if cfg.define_knob("odd", [True, False]).val else s.split("k", [None, 8])

    space = space_of(unfitting)
    assert len(space.variants) == 1
    ((gone, reason),) = space.knobs().left_out
    assert gone == {"odd": True}
    assert "5 does not divide the extent 32" in reason
    assert "odd = True" in repr(space.knobs())


def test_a_knob_that_exists_in_one_branch_only(space_of):
    def branch(cfg, s):
        if cfg.define_knob("cut", [False, True]).val:
            cfg.define_split("tile", "k").apply(s)

    knobs = space_of(branch).knobs()
    assert knobs["tile"].variants == (1,)
    assert knobs["cut"].variants == (0, 1)


def test_limits_are_sentences_numbers_or_truths(space_of):
    def limited(cfg, s):
        a, b = cfg.define_split("a", "i").size, cfg.define_split("b", "j").size
        cfg["a"].apply(s)
        cfg["b"].apply(s)
        cfg.limit("small", 16 - a[1] * b[1])
        cfg.limit("not too small", (a[1] >= 2) & (b[1] > 1))
        cfg.limit("less", a[1] < 8)
        cfg.limit("a truth", True)
        cfg.limit("wished", b[1] >= 1000, wish=True)

    space = space_of(limited)
    rows = [(a[1], b[1]) for a, b in zip(values_of(space, "a"), values_of(space, "b"), strict=True)]
    every = [(a, b) for a in (2, 3, 4, 6) for b in (2, 4, 8) if a * b <= 16]
    assert sorted(rows) == every


def test_orders_and_marks(space_of):
    def ordered(cfg, s):
        order = cfg.define_reorder("order", ["i", "j", "k"], policy="candidate", candidate=[["k", "i", "j"], [0, 2, 1]])
        loops = order.apply(s)
        cfg.define_annotate("marks", loops, policy="try_unroll_vec").apply(s, loops)

    space = space_of(ordered)
    orders = {tuple(lp.name for lp in v.schedule.loops) for v in space.variants}
    assert orders == {("k", "i", "j"), ("i", "k", "j")}
    marks = {tuple(lp.kind for lp in v.schedule.loops) for v in space.variants}
    assert ("serial", "serial", "vectorize") in marks
    assert ("unroll", "serial", "serial") in marks
    assert not any(k[0] == "vectorize" for k in marks)


@pytest.mark.parametrize(("policy", "many"), [("identity", 1), ("all", 6), ("interval_all", 2)])
def test_policies_of_orders(space_of, policy, many):
    def ordered(cfg, s):
        cfg.define_reorder("order", ["i", "j", "k"], policy=policy, interval=(1, 3)).apply(s)

    assert len(space_of(ordered).variants) == many


def test_fixed_knobs_are_no_longer_open(space_of):
    def both(cfg, s):
        cfg.define_split("tile", "i", num_outputs=3).apply(s)
        numeric(cfg, s)
        cfg.define_reorder("order", ["k.0", "k.1"], "identity").apply(s)

    space = space_of(both, fixed={"tile": (-1, 4, 2), "step": 4, "order": ["k.0", "k.1"]})
    assert space.size == 1
    assert [lp.extent for lp in space.variants[0].schedule.loops][:3] == [6, 4, 2]
    assert {row.becomes for row in space.knobs()} == {"fixed"}
    short = make_space(workloads.matmul(48, 64, 32), TARGET, template="mine", fixed={"tile": (4, 2)})
    assert values(short, "tile") == {(6, 4, 2)}


def test_steps_may_have_holes_of_their_own(space_of):
    def plain(cfg, s):
        s.split("i", [None, Hole("rows", choices=[2, 3])])

    assert space_of(plain).size == 2


def test_open_numbers_are_good_for_one_run_only(space_of):
    kept = []

    def leak(cfg, s):
        kept.append(cfg.define_knob("step", [2, 4]).val)
        s.split("k", [None, kept[-1]])

    space_of(leak)
    with pytest.raises(UsageError, match="has ended") as caught:
        bool(kept[0] > 3)
    assert caught.value.code == "template.knob"


# ----- errors


def fails(cfg, s):
    rows = []
    return rows[3]


def unknown_knob(cfg, s):
    cfg.define_knob("tile_x", [1, 2])
    cfg["tile_y"]


def defined_twice(cfg, s):
    cfg.define_knob("tile", [1])
    cfg.define_knob("tile", [2])


def no_candidate(cfg, s):
    cfg.define_knob("tile", [])


def odd_policy(cfg, s):
    cfg.define_split("tile", "i", policy="powers2")


def too_many(cfg, s):
    order = cfg.define_knob("a", list(range(0, 9)))
    if order.val + cfg.define_knob("b", list(range(0, 9))).val:
        pass


def never_legal(cfg, s):
    s.split("k", [None, 5])


def no_rows(cfg, s):
    cfg.define_split("tile", "i").apply(s)
    cfg.limit("impossible", cfg["tile"].size[0] >= 1000)


def wrong_arguments(cfg, s):
    s.split("i")


def open_extent(cfg, s):
    inner = cfg.define_split("tile", "i").apply(s)[1]
    cfg.define_split("more", inner, max_factor=2)


@pytest.mark.parametrize(
    ("function", "code", "says"),
    [
        (fails, "template.failed", r"`return rows\[3\]` \(test_template_knobs.py, line \d+\): IndexError"),
        (wrong_arguments, "template.failed", "primitive.argument"),
        (unknown_knob, "template.knob", "did you mean 'tile_x'"),
        (defined_twice, "template.knob", "already"),
        (no_candidate, "template.knob", "no candidate"),
        (odd_policy, "template.knob", "did you mean 'power2'"),
        (open_extent, "template.knob", "open extent, tile_1"),
        (too_many, "template.variants", "more than 64 variants"),
        (never_legal, "template.empty", "5 does not divide the extent 32"),
        (no_rows, "template.empty", "no numbers fulfil"),
    ],
)
def test_what_is_wrong_with_a_template_is_said(space_of, function, code, says):
    with pytest.raises(TemplateError, match=says) as caught:
        space_of(function)
    assert caught.value.code == code
    if code == "template.failed":
        assert isinstance(caught.value.__cause__, IndexError | UsageError)
    if code == "template.empty" and function is never_legal:
        assert isinstance(caught.value.__cause__, ScheduleError)


def test_a_line_of_a_cell_is_named_without_a_file(space_of):
    names = {}
    source = "def cell(cfg, s):\n    rows = 3\n    rows.split()\n"
    exec(compile(source, "<cell 7>", "exec"), names)
    with pytest.raises(TemplateError, match=r"fails \(line 3\): AttributeError") as caught:
        space_of(names["cell"])
    assert caught.value.where == ("mine", "line 3")


def test_a_name_belongs_to_one_function(declare):
    declare(numeric)
    declare(numeric)  # a cell that runs again
    with pytest.raises(TemplateError, match="already") as caught:
        declare(in_an_if)
    assert caught.value.code == "template.exists"
    with pytest.raises(TemplateError) as caught:
        declare(numeric, name="matmul")
    assert caught.value.code == "template.exists"


def test_unknown_names_propose_known_ones(declare):
    func = workloads.matmul(8, 8, 8)
    for make, word in (
        (lambda: make_space(func, TARGET, template="matmull"), "'matmul'"),
        (lambda: declare(numeric, matches="conv2d_nwhc"), "'conv2d_nhwc'"),
        (lambda: template(""), "my_matmul"),
    ):
        with pytest.raises(TemplateError, match=word) as caught:
            make()
        assert caught.value.code == "template.unknown"


@pytest.mark.parametrize(
    ("name", "make", "says"),
    [
        ("matmul", lambda: workloads.softmax(8, 8), "1 axes of its result and 1 of its sum"),
        ("matmul", lambda: workloads.elementwise(8, 8), "there is no reduction"),
        ("conv2d_nhwc", lambda: workloads.conv2d_nhwc(8, 8, 8, 8, groups=2), "takes axes apart"),
        ("conv2d_nhwc", lambda: workloads.depthwise_conv2d_nhwc(8, 8, 8), "3 and 3|4 and 3"),
        ("depthwise_conv2d_nhwc", lambda: workloads.pool2d(8, 8, 8, "avg"), "does not sum up products"),
    ],
)
def test_a_template_that_does_not_fit_says_in_which_respect(name, make, says):
    with pytest.raises(TemplateError, match=says) as caught:
        make_space(make(), TARGET, template=name)
    assert caught.value.code == "template.mismatch"


def test_patterns_of_ones_own(declare):
    func = workloads.matmul(8, 8, 8)
    seen = []

    def own(cfg, s):
        seen.append(cfg.match)

    def pattern(func):
        if func.name != "matmul":
            raise Mismatch("it is no product")
        return {"rows": "i"}

    declare(own, matches=pattern, name="own")
    declare(own, matches=lambda f: f.name == "softmax", name="never")
    declare(own, matches=None, name="any")
    make_space(func, TARGET, template="own")
    assert seen == [{"rows": "i"}]
    with pytest.raises(TemplateError, match="it is no product"):
        make_space(workloads.softmax(4, 4), TARGET, template="own")
    with pytest.raises(TemplateError, match="its pattern says so"):
        make_space(func, TARGET, template="never")
    make_space(workloads.softmax(4, 4), TARGET, template="any")
    assert not TEMPLATES["never"].fits(func)
    assert TEMPLATES["any"].fits(func)


@pytest.mark.parametrize(
    ("fixed", "says"),
    [({"stepp": 2}, "no knob 'stepp'"), ({"step": 3}, "it may be 2, 4, 5"), ({"step": [2]}, "it may be")],
)
def test_fixed_values_that_do_not_fit(space_of, fixed, says):
    with pytest.raises(TemplateError, match=says) as caught:
        space_of(numeric, fixed=fixed)
    assert caught.value.code == "template.fixed"


def test_only_a_template_has_knobs(space_of):
    func = workloads.matmul(8, 8, 8)
    with pytest.raises(UsageError) as caught:
        make_space(func, TARGET).knobs()
    assert caught.value.code == "space.knobs"
    with pytest.raises(UsageError) as caught:
        make_space(func, TARGET, fixed={"step": 2})
    assert caught.value.code == "space.template"
    with pytest.raises(TemplateError, match="did you mean 'step'"):
        space_of(numeric).knobs()["stop"]


def test_the_table_is_readable_as_text_and_html(space_of):
    def html(cfg, s):
        numeric(cfg, s)
        if cfg.define_knob("<b>", ["<script>", "&"]).val == "&":
            s.split("i", [None, 7])

    table = space_of(html).knobs()
    assert repr(table).splitlines()[0] == "template mine: 2 knobs, 1 variant"
    page = table._repr_html_()
    assert "&lt;script&gt;" in page
    assert "<script>" not in page
    assert "left out" in page


def test_a_template_that_catches_everything_is_run_again_all_the_same(space_of):
    def greedy(cfg, s):
        try:
            if cfg.define_knob("step", [2, 4]).val > 2:
                s.unroll("k")
        except:  # noqa: E722
            pass

    assert [v.label for v in space_of(greedy).variants] == ["mine · step=2", "mine · step=4"]


def test_a_branch_may_be_given_back_and_steps_may_choose_loops(space_of):
    def branch(cfg, s):
        other = s.copy()
        other.split("i", [None, cfg.define_knob("step", [2, 4]).val])
        other.unroll(Hole("which", choices=["j", "k"]))
        return other

    space = space_of(branch)
    assert len(space.variants) == 2
    assert {lp.name for v in space.variants for lp in v.schedule.loops if lp.kind == "unroll"} == {"j", "k"}


def test_extents_of_loops_may_stand_in_limits(space_of):
    def extents(cfg, s):
        (_, inner) = cfg.define_split("tile", "i").apply(s)
        _, other = s.split("j", [Hole(), Hole()])
        size = s.func.loop(other)[0].extent
        cfg.limit("both", 12 - cfg["tile"].size[1] * size)
        cfg.limit("the other", 8 - size)
        s.unroll(inner)

    rows = space_of(extents).variants[0].sampler.draw(1000, np.random.default_rng(0))
    sampler = space_of(extents).variants[0].sampler
    found = {(r["tile_1"], r["j_1"]) for r in map(sampler.row, rows)}
    assert found == {(a, b) for a in (1, 2, 3, 4, 6, 8, 12, 16, 24, 48) for b in (1, 2, 4, 8) if a * b <= 12}
