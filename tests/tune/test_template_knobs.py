"""What knobs mean: which become holes, which variants, and which values they have."""

from __future__ import annotations

import numpy as np
import pytest
from tune.made_templates import TARGET, in_an_if, numeric

from workbench import workloads
from workbench.errors import UsageError
from workbench.schedule import Hole
from workbench.space.space import make_space


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


def test_an_if_on_a_choice_asks_for_its_value(space_of):
    def truth(cfg, s):
        cfg.define_knob("marked", [False, True])
        cfg.define_knob("order", ["rows", "columns"])
        if cfg["marked"]:
            s.unroll("k")
        if cfg["order"] == "columns":
            s.reorder("j", "i")

    space = space_of(truth)
    nests = {v.schedule.nest() for v in space.variants}
    assert len(space.variants) == len(nests) == 4
    assert space.knobs()["marked"].becomes == space.knobs()["order"].becomes == "variants"


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


def test_an_order_is_that_of_the_list_even_where_the_nest_has_another_one(space_of):
    def ordered(cfg, s):
        cfg.define_reorder("order", ["k", "i", "j"], "all").apply(s)

    found = {v.label.split(" · ")[-1]: [lp.name for lp in v.schedule.loops] for v in space_of(ordered).variants}
    assert found["order=(0, 1, 2)"] == ["k", "i", "j"]
    assert found["order=(1, 2, 0)"] == ["i", "j", "k"]
    assert len({*map(tuple, found.values())}) == 6


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
