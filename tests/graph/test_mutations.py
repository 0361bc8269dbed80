"""Deliberate bugs in the graph passes: each has to be noticed (see `graph.mutation`)."""

from __future__ import annotations

import pytest
from graph import small
from graph.mutation import Mutation, assert_noticed
from graph.nets import residual_net

PASSES = "workbench.graph.passes"

MUTATIONS = (
    Mutation(
        "fold_batch_norm",
        f"{PASSES}.scale:channel_affine",
        "the mean is not scaled",
        "bias - mean * k",
        "bias - mean",
        (residual_net,),
    ),
    Mutation(
        "fuse",
        f"{PASSES}.fuse:_Fuser._post_dominators",
        "an output counts as unused",
        "any(o in self.graph.outputs for o in node.outputs) or",
        "",
        (small.inner_value_is_an_output,),
    ),
)


@pytest.mark.parametrize("mutation", MUTATIONS, ids=str)
def test_the_text_to_change_is_there(mutation):
    mutation.code()


@pytest.mark.parametrize("mutation", MUTATIONS, ids=str)
def test_the_mutation_is_noticed(mutation):
    assert_noticed(mutation)
