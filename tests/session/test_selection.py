"""What is selected: at first, by the name of a block, and after a step that another cell took."""

from __future__ import annotations

from workbench.ir.text.parser import parse
from workbench.session.schedule_view.nest_listing import starting_row


def row(id, kind, parent=None, **values):
    return {"id": id, "kind": kind, "parent": parent, "extent": 8, "flops": 0, "bytes": 0, **values}


def test_the_innermost_loop_with_iterations_around_the_most_arithmetic():
    rows = [
        row("a", "loop"),
        row("stmt:pad", "stmt", "a", flops=10, bytes=900),
        row("h", "loop"),
        row("w", "loop", "h"),
        row("n", "loop", "w", extent=1),
        row("stmt:conv", "stmt", "n", flops=1000),
    ]
    assert starting_row({"rows": rows}) == "w"


def test_without_arithmetic_the_most_bytes_decide():
    rows = [
        row("a", "loop"),
        row("stmt:x", "stmt", "a", bytes=8),
        row("b", "loop"),
        row("stmt:y", "stmt", "b", bytes=9),
    ]
    assert starting_row({"rows": rows}) == "b"


def test_a_statement_where_no_loop_iterates():
    assert starting_row({"rows": [row("n", "loop", extent=1), row("stmt:x", "stmt", "n", flops=1)]}) == "stmt:x"
    assert starting_row({"rows": []}) == ""


PROGRAM = """twice(X: input float32[16], Y: output float32[16]):
  for i in 16:
    block double(i: 16 = i):
      Y[i] = X[i] + X[i]
"""


def test_a_block_is_selected_by_its_name(session):
    s = session(parse(PROGRAM))
    s.run("select", id="double")
    assert s.snapshot().slices["selection"]["id"] == "stmt:double"


def test_a_loop_that_another_cell_splits_hands_the_selection_to_its_outer_part(session):
    s = session()
    s.run("select", id="j")
    s.schedule.split("j", [None, 8])
    assert s.flush(100)
    assert s.snapshot().slices["selection"]["id"] == "j.0"
    s.schedule.undo()
    assert s.flush(100)
    assert s.snapshot().slices["selection"]["id"] == "j"
