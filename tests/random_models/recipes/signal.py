"""Windows in time, spectra, and text."""

from __future__ import annotations

import numpy as np

from random_models.recipes.base import recipe


@recipe("HannWindow HammingWindow BlackmanWindow")
def in_time(d, op):
    d.add(
        op,
        [d.ints(d.whole(1, 9), d.choice("int32", "int64"))],
        **d.maybe(periodic=d.whole(0, 1), output_datatype=d.choice(1, 11)),
    )


@recipe("MelWeightMatrix")
def mel(d, op):
    numbers = [d.ints(d.whole(2, 6)), d.ints(d.choice(16, 32)), d.ints(d.choice(8000, 8192))]
    edges = [d.fresh(np.float32(0.0), True), d.fresh(np.float32(d.choice(2000, 4000)), True)]
    d.add(op, [*numbers, *edges], **d.maybe(output_datatype=d.choice(1, 11)))


@recipe("DFT")
def spectrum(d, op):
    inverse = d.flip(0.3)
    n, parts = d.whole(1, 8), 2 if inverse else d.whole(1, 2)
    x = d.tensor(d.dtype(op), shape=(d.whole(1, 2), n, parts), kind="mild")
    attrs = {"inverse": 1} if inverse else d.maybe(onesided=1) if parts == 1 else {}
    if d.opset < 20:
        d.add(op, [x], **attrs, **d.maybe(axis=1))
    else:
        d.add(op, [x, "", *([d.ints(d.choice(1, -2))] if d.flip() else [])], **attrs)


@recipe("STFT")
def short_spectra(d, op):
    x = d.tensor(d.dtype(op), shape=(1, d.whole(12, 20), 1), kind="mild")
    frame = d.whole(4, 8)
    window = d.fresh(d.rng.random(frame).astype(d.dtype_of(x)), True)
    d.add(op, [x, d.ints(d.whole(2, 5)), d.choice("", window), d.ints(frame)], **d.maybe(onesided=d.whole(0, 1)))


def _text(d, *ranks):
    return d.tensor("string", rank=ranks)


@recipe("StringConcat")
def joined(d, op):
    x = _text(d, 0, 1, 2)
    d.add(op, [x, d.tensor("string", shape=d.choice(d.shape(x), (), (1,)))])


@recipe("StringNormalizer")
def normalized(d, op):
    x = d.tensor("string", shape=d.choice((3,), (1, 4), (0,)))
    attrs = d.maybe(
        case_change_action=d.choice("LOWER", "UPPER", "NONE"), is_case_sensitive=d.whole(0, 1), stopwords=["a", "the"]
    )
    d.add(op, [x], **attrs)


@recipe("StringSplit")
def divided(d, op):
    d.add(op, [_text(d, 1, 2)], outputs=2, **d.maybe(delimiter=d.choice(" ", "", "w"), maxsplit=d.whole(0, 2)))


@recipe("RegexFullMatch")
def matched(d, op):
    d.add(op, [_text(d, 0, 1, 2)], pattern=d.choice("a", ".*", "[a-z ]+", r"\d\.\d"))
