"""Which row of a nest is selected first."""

from __future__ import annotations

from workbench.session.view import starting_row


def row(id, kind, parent=None, **values):
    return {"id": id, "kind": kind, "parent": parent, "extent": 8, "flops": 0, "bytes": 0, **values}


def test_the_outermost_loop_with_iterations_around_the_most_arithmetic():
    rows = [
        row("a", "loop"),
        row("stmt:pad", "stmt", "a", flops=10, bytes=900),
        row("n", "loop", extent=1),
        row("h", "loop", "n"),
        row("w", "loop", "h"),
        row("stmt:conv", "stmt", "w", flops=1000),
    ]
    assert starting_row({"rows": rows}) == "h"


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
