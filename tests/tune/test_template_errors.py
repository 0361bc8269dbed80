"""What a template says when something is wrong with it, with its name or with the values of its knobs."""

from __future__ import annotations

import pytest
from tune.made_templates import TARGET, in_an_if, numeric

from workbench import workloads
from workbench.errors import ScheduleError, TemplateError, UsageError
from workbench.space.space import make_space
from workbench.space.template import TEMPLATES, Mismatch, template


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


def split_in_an_if(cfg, s):
    if cfg.define_split("tile", "i"):
        s.unroll("k")


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
        (fails, "template.failed", r"`return rows\[3\]` \(test_template_errors.py, line \d+\): IndexError"),
        (wrong_arguments, "template.failed", "primitive.argument"),
        (unknown_knob, "template.knob", "did you mean 'tile_x'"),
        (defined_twice, "template.knob", "already"),
        (no_candidate, "template.knob", "no candidate"),
        (odd_policy, "template.knob", "did you mean 'power2'"),
        (split_in_an_if, "template.knob", "neither true nor false"),
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
