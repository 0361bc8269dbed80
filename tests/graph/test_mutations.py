"""Deliberate bugs in the graph passes: each has to be noticed (see `graph.mutation`)."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from graph import small
from graph.checks import kept
from graph.mutation import Mutation, Net, assert_noticed
from graph.nets import residual_net
from graph.test_combine import attention, branches
from graph.test_factors import block, node, scores
from graph.test_sparse_products import messages

from workbench.graph import Graph
from workbench.graph.passes import list_passes


def branches_with_other_ends() -> Graph:
    return branches(tails=("Relu", "Sigmoid", ""))


def scaled_columns() -> Graph:
    return scores(node("Mul", "x", "k", "q"))


def sums_on_ones() -> Graph:
    return messages(np.random.default_rng(1), zeros=1.0)[0]


def weighed_edges() -> Graph:
    return messages(np.random.default_rng(1), weigh="right")[0]


def only(*names: str):
    """Check with some of the passes, so that no other one hides the bug."""
    return partial(kept, order=names)


def bug(unit: str, where: str, what: str, old: str, new: str, *on: Net, order: tuple[str, ...] = ()) -> Mutation:
    check = only(*order) if order else kept
    module = where if where.startswith("workbench") else f"workbench.graph.passes.{where}"
    return Mutation(unit, module, what, old, new, on, check)


ALONE = {name: (name,) for name in ("canonicalize", "simplify", "fold_pads", "fold_scale", "fold_batch_norm")}

MUTATIONS = (
    bug(
        "dead_code",
        "common_subexpressions:dead_code",
        "an output counts as dead",
        "GraphEditor(graph).finish()",
        "graph.with_outputs(graph.outputs[:1])",
        small.parts_of_a_split,
    ),
    bug(
        "fold_constants",
        "fold_constants:fold_constants",
        "one constant input is enough",
        "or all(",
        "or any(",
        residual_net,
    ),
    bug(
        "drop_identities",
        "workbench.graph.ops.arrays.movement:Slice.idle",
        "a slice that turns an axis round counts as idle",
        "step > 0",
        "step",
        small.mirrored,
        order=("drop_identities",),
    ),
    bug(
        "simplify_views",
        "rules.views:_double_transpose",
        "permutations joined in the wrong order",
        "joined = tuple(first[p] for p in permutation(s, node))",
        "joined = tuple(permutation(s, node)[p] for p in first)",
        small.chain_of_moves,
        order=("simplify_views",),
    ),
    bug(
        "simplify_views",
        "rules.views:_transpose_through_units",
        "dimensions of one element moved to the front",
        "dims[p] for p in perm if now[p] != 1",
        "dims[p] for p in sorted(perm) if now[p] != 1",
        small.moves_around_units,
        order=("simplify_views",),
    ),
    bug(
        "simplify",
        "rules.algebra:_neutral_element",
        "0 - x taken for x",
        "op.commutative and s.scalar(a)",
        "s.scalar(a)",
        small.negated,
        order=ALONE["simplify"],
    ),
    bug(
        "simplify",
        "rules.algebra:_reciprocal_factor",
        "a quotient taken for a product",
        "inverse = (1 / v).astype(v.dtype)",
        "inverse = v",
        small.halves,
        order=ALONE["simplify"],
    ),
    bug(
        "simplify",
        "rules.algebra:_joined_limits",
        "the outer limits are forgotten",
        "low, high = (min(max(v, outer[1]), outer[2]) for v in inner[1:])",
        "low, high = inner[1:]",
        small.two_limits,
        order=ALONE["simplify"],
    ),
    bug(
        "simplify",
        "rules.algebra:_double_cast",
        "a conversion that loses digits is left out",
        '"safe"',
        '"unsafe"',
        small.narrowing,
        order=ALONE["simplify"],
    ),
    bug(
        "simplify",
        "rules.views:_reshape_of_slice",
        "the slice begins at the first row",
        "start, base = cuts[-1][0] // inner,",
        "start, base = 0,",
        attention,
    ),
    bug(
        "common_subexpressions",
        "common_subexpressions:_key",
        "attributes are ignored",
        "used, attrs",
        "used",
        small.twins_but_for_an_attribute,
        order=("common_subexpressions",),
    ),
    bug(
        "common_subexpressions",
        "common_subexpressions:_key",
        "the order of inputs is ignored",
        "node.inputs, used",
        "frozenset(node.inputs), used",
        small.operands_in_both_orders,
        order=("common_subexpressions",),
    ),
    bug(
        "common_subexpressions",
        "common_subexpressions:_equal_constants",
        "constants of one shape count as equal",
        ", array.tobytes()",
        "",
        small.nearly_equal_constants,
        order=("common_subexpressions",),
    ),
    bug(
        "canonicalize",
        "canonicalize:_gemm",
        "alpha is forgotten",
        "else k_n * alpha",
        "else k_n",
        small.gemm_with_everything,
    ),
    bug(
        "canonicalize",
        "canonicalize:_gemm",
        "weights are not transposed",
        '_turned(w) if call.get_int("transB", 0) else w',
        "w",
        small.gemm_with_everything,
    ),
    bug(
        "canonicalize",
        "canonicalize:_gemm",
        "a column as long as a row counts as one",
        "bias.ndim < 2 or len(bias) == 1",
        "bias.size in (1, k_n.shape[1])",
        small.gemm_with_a_column,
    ),
    bug(
        "canonicalize",
        "canonicalize:_softmax",
        "rows along the wrong axis",
        '{"axis": 1}',
        '{"axis": 0}',
        small.softmax_of_several_axes,
    ),
    bug(
        "canonicalize",
        "canonicalize:_split",
        "parts overlap",
        "start = end",
        "start = end - 1",
        small.parts_of_a_split,
        order=ALONE["canonicalize"],
    ),
    bug(
        "canonicalize",
        "canonicalize:_average_pool",
        "a window counts as the whole image",
        "win.kernel == win.size and",
        "",
        small.average_of_a_part,
    ),
    bug(
        "fold_pads",
        "fold_pads:_with_pads",
        "begin and end swapped",
        "(*begin, *end)",
        "(*end, *begin)",
        small.pads_of_all_sides,
    ),
    bug(
        "fold_pads",
        "fold_pads:_pad_before_conv",
        "any number counts as zero",
        "found[2] != 0",
        "False",
        small.padding_with_ones,
    ),
    bug(
        "fold_pads",
        "fold_pads:_pad_before_average_pool",
        "the padding does not count",
        "count_include_pad=1",
        "count_include_pad=0",
        small.averages_of_padding,
    ),
    bug(
        "fold_batch_norm",
        "fold_batch_norm:channel_affine",
        "the mean is not scaled",
        "bias - mean * k",
        "bias - mean",
        residual_net,
    ),
    bug(
        "fold_batch_norm",
        "fold_batch_norm:channel_affine",
        "another epsilon",
        'call.get_float("epsilon", 1e-5)',
        "1e-5",
        small.small_variances,
    ),
    bug(
        "fold_batch_norm",
        "fold_batch_norm:channel_affine",
        "a constant with the wrong sign",
        "affine(v)",
        "affine(-v)",
        small.differences,
    ),
    bug(
        "fold_batch_norm",
        "fold_batch_norm:_per_channel",
        "a factor of rows taken for one of channels",
        "if d != 1",
        "if d > 2",
        small.by_rows,
    ),
    bug(
        "fold_batch_norm",
        "fold_batch_norm:_into_conv",
        "the old bias is not scaled",
        "old * f.scale",
        "old",
        residual_net,
        lambda: small.net(
            [small.conv("c", "x", "w", "t", "b"), small.Node("m", "Mul", ("t", "k"), ("y",))],
            {"w": small.weights(5, 4, 1, 1), "b": small.weights(5), "k": small.weights(5, 1, 1, seed=1)},
        ),
    ),
    bug(
        "fold_scale",
        "fold_scale:_Folder.before",
        "a shift before padding is folded",
        "_pads(s.call(node)) or",
        "",
        small.scaled_before_padding,
        order=ALONE["fold_scale"],
    ),
    bug(
        "fold_scale",
        "fold_scale:_Folder._rewrite",
        "the bias is not scaled",
        "before * scale + shift",
        "before + shift",
        small.columns_of_transposed_weights,
        order=ALONE["fold_scale"],
    ),
    bug(
        "fold_scale",
        "fold_scale:product",
        "rows and columns of the weights mixed up",
        "*axes)",
        "*axes[::-1])",
        small.columns_of_transposed_weights,
        order=ALONE["fold_scale"],
    ),
    bug(
        "fold_scale",
        "workbench.graph.passes.rules.rewriting:Site.only",
        "what others read is changed, too",
        "len(self.readers(x)) == 1",
        "self.readers(x)",
        small.factor_read_twice,
        order=ALONE["fold_scale"],
    ),
    bug(
        "fold_scale",
        "fold_scale:_Folder._through",
        "factors of columns count as one number",
        "or not (value == value.reshape(-1)[:1]).all()",
        "",
        scaled_columns,
    ),
    bug(
        "flatten_products",
        "flatten_products:_operand",
        "operands that broadcast over rows are repeated",
        "if kind.shape != out.shape:\n        return None",
        "pass",
        small.factor_of_batches,
    ),
    bug(
        "flatten_products",
        "flatten_products:_rows_of_rows",
        "the first axis in place of the last",
        '"axis": 1}',
        '"axis": 0}',
        block,
    ),
    bug(
        "sparse_products",
        "sparse_products:_added",
        "what is added to counts as zeros",
        " or s.scalar(node.inputs[0]) != 0",
        "",
        sums_on_ones,
    ),
    bug(
        "sparse_products",
        "sparse_products:_weighed",
        "weights of edges are left out",
        "return rows, by",
        'return rows, ""',
        weighed_edges,
    ),
    bug(
        "combine_parallel",
        "combine_parallel:_slices",
        "parts in the wrong order",
        "zip(nodes, widths, strict=True)",
        "zip(nodes[::-1], widths[::-1], strict=True)",
        attention,
    ),
    bug(
        "combine_parallel",
        "combine_parallel:family",
        "nodes of different inputs are combined",
        "node.op, node.inputs[0], w.dtype.str",
        "node.op, w.dtype.str",
        small.products_of_two_inputs,
    ),
    bug(
        "combine_parallel",
        "combine_parallel:_combined",
        "the first bias for all",
        "s.constants[n.inputs[2]] for n in nodes",
        "s.constants[n.inputs[2]] for n in nodes[:1] * len(nodes)",
        attention,
    ),
    bug(
        "combine_parallel",
        "combine_parallel:family",
        "what follows is not looked at",
        "() if tail is None else",
        "() if True else",
        branches_with_other_ends,
    ),
    bug(
        "fuse",
        "fuse:_Fuser._post_dominators",
        "an output counts as unused",
        "any(o in self.graph.outputs for o in node.outputs) or",
        "",
        small.inner_value_is_an_output,
    ),
    bug(
        "fuse",
        "fuse:_Fuser._only_reader",
        "a product swallows what others read, too",
        "len(readers) == 1 and",
        "readers and",
        attention,
        lambda: small.net(
            [
                small.Node("t", "Transpose", ("x",), ("t",), {"perm": (1, 0)}),
                small.Node("m", "MatMul", ("t", "x"), ("u",)),
                small.Node("r", "Relu", ("t",), ("z",)),
            ],
            shape=(4, 6),
            outputs=("u", "z"),
        ),
    ),
    bug(
        "fuse",
        "workbench.graph.ops.arrays.movement:Slice.places",
        "a slice is read from its beginning",
        "v * k + s",
        "v * k",
        small.transposed_product,
    ),
    bug(
        "fuse",
        "workbench.graph.ops.arrays.movement:Transpose.places",
        "a transposition is read the other way round",
        "inverse(self.perm(c))",
        "self.perm(c)",
        small.transposed_product,
        lambda: small.net(
            [
                small.Node("t", "Transpose", ("x",), ("a",), {"perm": (1, 2, 0)}),
                small.Node("m", "MatMul", ("a", "z"), ("y",)),
            ],
            shape=(3, 3, 3),
            z=(3, 3, 3),
        ),
    ),
    bug(
        "fuse",
        "workbench.graph.memory.operand_views:written_in_order",
        "a product is written in its own order",
        "tuple(stage.index[p] for p in perm)",
        "stage.index",
        small.transposed_product,
        lambda: small.net(
            [
                small.Node("m", "MatMul", ("x", "z"), ("t",)),
                small.Node("t", "Transpose", ("t",), ("y",), {"perm": (1, 0)}),
            ],
            shape=(3, 3),
            z=(3, 3),
        ),
    ),
    bug(
        "fuse",
        "workbench.graph.tasks:_Lowering._lower",
        "operands of a difference are sorted, too",
        "op.commutative:",
        'op.commutative or node.op == "Sub":',
        small.differences,
        lambda: small.net(
            [small.Node("m", "MatMul", ("x", "w"), ("t",)), small.Node("s", "Sub", ("x", "t"), ("y",))],
            {"w": small.weights(4, 4)},
            (4, 4),
        ),
    ),
)

#: Passes whose mutations, or whose tests, stand in files of their own.
_TAPS = {"unfold_bytes", "unfold_taps"}
_HALVES = {"bfloat16", "bfloat16_in_float32"}
ELSEWHERE = {"decompose", "layout", "integer_products", "qdq_to_integer", "part_statistics"} | _HALVES | _TAPS


def test_every_pass_has_a_mutation():
    assert {p.name for p in list_passes()} - ELSEWHERE <= {m.unit for m in MUTATIONS}


@pytest.mark.checks
@pytest.mark.parametrize("mutation", MUTATIONS, ids=str)
def test_the_mutation_is_noticed(mutation):
    assert_noticed(mutation)


def test_a_bug_that_changes_nothing_is_reported():
    nothing = bug("fuse", "fuse:unfused", "another sentence", "switched off", "off", residual_net)
    with pytest.raises(AssertionError, match="nobody noticed"):
        assert_noticed(nothing)


def test_the_function_is_as_before_afterwards():
    mutation = MUTATIONS[0]
    before = mutation.function().__code__
    with mutation.active():
        assert mutation.function().__code__ is not before
    assert mutation.function().__code__ is before
