"""Networks of words: LSTM, BERT, GPT. A sequence has the length of the input's shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from workbench.zoo.builder import BATCH, SMALL, Builder, Value

#: Score of what a mask hides: nothing is left of it, and no type overflows.
HIDDEN = -1e4


def lstm(b: Builder, shape: Sequence[int], vocabulary: int) -> None:
    """The small language model of Zaremba et al. 2014: which word comes next, at every place."""
    ids = b.input("data", (BATCH, *shape), "int64")
    x = b.embedding(ids, b.table(vocabulary, 200), 200)
    for _ in range(2):
        x = b.lstm(x, 200)
    b.scores(x, vocabulary)


@dataclass(frozen=True, slots=True)
class Stack:
    """Sizes of a transformer."""

    layers: int
    width: int
    heads: int
    vocabulary: int
    places: int
    bias: bool = True


def bert(b: Builder, shape: Sequence[int], classes: int, sizes: Stack) -> None:
    """Devlin et al. 2018: the vectors of all words, and that of the text; `classes` is not used."""
    ids, mask, kinds = (b.input(n, (BATCH, *shape), "int64") for n in ("input_ids", "attention_mask", "token_type_ids"))
    x = b.embedding(ids, b.table(sizes.vocabulary, sizes.width), sizes.width)
    x = b.add(x, b.embedding(kinds, b.table(2, sizes.width, SMALL), sizes.width, SMALL))
    x = b.layer_norm(b.add(x, _places(b, shape[0], sizes)), 1e-12)
    hidden = _hidden(b, mask, shape[0])
    for _ in range(sizes.layers):
        x = b.layer_norm(b.add(x, _attention(b, x, sizes, hidden)), 1e-12)
        x = b.layer_norm(b.add(x, _wide(b, x, sizes)), 1e-12)
    first = b.weight(np.array(0, np.int64), "first", trained=False)
    text = b.op("Gather", [x, first], (x.shape[0], sizes.width), axis=1)
    b.output(x, "last_hidden_state")
    b.output(b.activation(b.dense(text, sizes.width), "tanh"), "pooler_output")


def gpt(b: Builder, shape: Sequence[int], classes: int, sizes: Stack) -> None:
    """Radford et al. 2019: scores of the next word, at every place; the table of words serves twice."""
    ids = b.input("input_ids", (BATCH, *shape), "int64")
    words = b.table(sizes.vocabulary, sizes.width)
    x = b.add(b.embedding(ids, words, sizes.width), _places(b, shape[0], sizes))
    later = np.triu(np.full((shape[0], shape[0]), HIDDEN, np.float32), 1)
    hidden = Value(b.weight(later, "later", trained=False), later.shape, 0.0, 0.0)
    for _ in range(sizes.layers):
        x = b.add(x, _attention(b, b.layer_norm(x, bias=sizes.bias), sizes, hidden))
        x = b.add(x, _wide(b, b.layer_norm(x, bias=sizes.bias), sizes))
    x = b.times(b.layer_norm(x, bias=sizes.bias), sizes.width**-0.5)
    table = b.op("Transpose", [words], (sizes.width, sizes.vocabulary), mean=0.0, var=1.0, perm=(1, 0))
    b.output(b.matmul(x, table), "logits")


def _places(b: Builder, length: int, sizes: Stack) -> Value:
    """Vectors of the places; there are more than the sequence needs."""
    name = b.weight(np.arange(length, dtype=np.int64), "places", trained=False)
    return b.embedding(Value(name, (length,)), b.table(sizes.places, sizes.width, SMALL), sizes.width, SMALL)


def _hidden(b: Builder, mask: Value, length: int) -> Value:
    """What a mask of ones and zeros adds to scores: nothing, or a number that leaves nothing of them."""
    from onnx import helper

    numbers = b.op("Cast", [mask], mask.shape, mean=1.0, var=0.0, to=helper.np_dtype_to_tensor_dtype(b.dtype))
    factor = b.weight(np.asarray(-HIDDEN, np.float32), "factor", trained=False)
    shift = b.weight(np.asarray(HIDDEN, np.float32), "shift", trained=False)
    scores = b.op("Mul", [numbers, factor], mask.shape, mean=0.0, var=0.0)
    return b.reshape(b.op("Add", [scores, shift], mask.shape), (1, 1, length))


def _attention(b: Builder, x: Value, sizes: Stack, hidden: Value) -> Value:
    """Every place asks all places that it sees."""
    length, part = x.size(1), sizes.width // sizes.heads
    q, k, v = (b.reshape(b.dense(x, sizes.width, sizes.bias), (length, sizes.heads, part)) for _ in range(3))
    scores = b.matmul(b.transpose(q, (0, 2, 1, 3)), b.transpose(k, (0, 2, 3, 1)))
    shares = b.softmax(b.add(b.times(scores, part**-0.5), hidden))
    found = b.matmul(shares, b.transpose(v, (0, 2, 1, 3)), var=0.3)
    return b.dense(b.reshape(b.transpose(found, (0, 2, 1, 3)), (length, sizes.width)), sizes.width, sizes.bias)


def _wide(b: Builder, x: Value, sizes: Stack) -> Value:
    y = b.activation(b.dense(x, 4 * sizes.width, sizes.bias), "gelu")
    return b.dense(y, sizes.width, sizes.bias)
