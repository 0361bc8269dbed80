"""The simplest rule that predicts failures: a few conditions on parameters, judged on records it was not made from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.figures.style import axis, colours
from workbench.analysis.figures.subplot import Part
from workbench.logs.analysis.charts import above, figure, hue, keys, nothing, percent, wrapped
from workbench.logs.analysis.model import held_out
from workbench.logs.analysis.parameters import Features, Parameters, said
from workbench.logs.analysis.selection import MOST, Source, noted, records_of, sample

if TYPE_CHECKING:
    import pandas
    import plotly.graph_objects as go

Mask = NDArray[np.bool_]

TERMS, CONDITIONS, FACTORS = 3, 3, 4
"""Terms of a rule, conditions of a term, parameters that a condition multiplies: at most. Chosen to be read."""

GAIN = 0.03
"""How much better (F1) each further part of a rule has to make it. Chosen: less is not worth reading."""

FIRST = 8
"""Parameters that are tried as factors of a product: those that say most by themselves. Chosen for speed."""

FEWEST = 8
"""Failures and successes that a rule is made from, at least. Chosen."""

OFTEN = ((0.9, "fails"), (0.5, "often fails"), (0.0, "fails more often"))
"""What is said of a rule, by its precision at least. Chosen: half of those that a rule names may be fine, and a reader
takes "fails" for all of them."""

COLUMNS = ["term", "rule", "conditions", "records", "failed", "precision", "recall", "f1"]


@dataclass(frozen=True, slots=True)
class Condition:
    """A comparison of a parameter, or of a product of some, with a number.

    Attributes
    ----------
    columns : tuple of int
        Columns of the features that are multiplied.
    sign : str
        ``<=``, ``>=`` or ``==``.
    value : float
        What the product is compared with.
    """

    columns: tuple[int, ...]
    sign: str
    value: float

    def holds(self, x: NDArray[np.float64]) -> Mask:
        """For which records ``[N, F]`` it holds; not where one of the parameters is missing."""
        with np.errstate(invalid="ignore"):
            product = x[:, list(self.columns)].astype(np.float64).prod(axis=1)
            if self.sign == "==":
                return np.asarray(product == self.value)
            return np.asarray(product <= self.value if self.sign == "<=" else product >= self.value)

    def text(self, features: Features) -> str:
        """Return it as a person writes it."""
        first = self.columns[0]
        value: Any = self.value
        if features.categorical[first]:
            value = said(features.levels[first][int(value)])
        else:
            value = f"{value:.10g}"
        sign = {"<=": "≤", ">=": "≥", "==": "="}[self.sign]
        return f"{' × '.join(features.names[k] for k in sorted(self.columns))} {sign} {value}"


Term = tuple[Condition, ...]


def failure_rule(source: Source, task: str | None = None, kind: str | None = None) -> pandas.DataFrame:
    """Return a rule that predicts failures, with its precision and recall on records it was not made from.

    It is a disjunction of at most three terms, each a conjunction of at most three comparisons of a parameter (or of a
    product of parameters) with a number. It grows greedily by F1 on 70 % of the configurations, as long as each part
    makes it better by 0.03; the numbers are those of the other 30 %.

    Parameters
    ----------
    source : TuningLog or DataFrame
    task : str, optional
        This task only.
    kind : str, optional
        One kind of failure (a status); else any.

    Returns
    -------
    DataFrame
        One row per term, then one for the whole (`term` 0):
        ``term rule conditions records failed precision recall f1``. `records` and `failed` count the held-out records
        for which it holds. Empty where no rule predicts better than calling every configuration a failure;
        ``attrs["finding"]`` says so.

    Raises
    ------
    UsageError
        ``usage.task``
    """
    import pandas

    records = records_of(source, task)
    status = records["status"].astype(str).to_numpy()
    fails = status == kind if kind else status != "ok"
    rows = sample(len(records), MOST)
    empty = pandas.DataFrame(columns=COLUMNS)
    if min(fails.sum(), (~fails).sum()) < FEWEST:
        text = f"{int(fails.sum()):,} of {len(records):,} configurations failed: too few of one sort for a rule."
        return noted(empty, text)
    parameters = Parameters.of(list(records["params"].iloc[rows]))
    features, fails = parameters.features, fails[rows]
    test = held_out(parameters.configuration, 0.3)
    terms = _rule(features, ~test, fails) if features.names else ()
    if not terms:
        return noted(empty, "No simple rule predicts which configurations fail.")
    frame = _judged(features, terms, test, fails)
    return noted(frame, _finding(frame, int(fails[test].sum()), int(test.sum())), sampled=len(rows))


def _rule(features: Features, train: Mask, fails: Mask) -> tuple[Term, ...]:
    terms: list[Term] = []
    covered = np.zeros(len(fails), np.bool_)
    score = _f1(train, fails & train)  # of calling everything a failure
    for _ in range(TERMS):
        term = _grown(features, train & ~covered, fails)
        holds = covered | _all_hold(features, term)
        better = _f1(holds & train, fails & train)
        if not term or better < score + GAIN:
            break
        terms.append(term)
        covered, score = holds, better
    return tuple(terms)


def _grown(features: Features, rows: Mask, fails: Mask) -> Term:
    """Return the conjunction that a greedy search finds among some rows."""
    term: list[Condition] = []
    inside, of, score = rows, int((fails & rows).sum()), 0.0
    for _ in range(CONDITIONS):
        found, better = _best_condition(features, inside, fails, of)
        if found is None or better < score + GAIN:
            break
        term.append(found)
        inside, score = inside & found.holds(features.x), better
    return tuple(term)


def _best_condition(features: Features, inside: Mask, fails: Mask, of: int) -> tuple[Condition | None, float]:
    """Return the best comparison of one parameter, or of a product that is worth its length."""
    x, bad = features.x[inside], fails[inside]
    single = [_scan((k,), x[:, k], bad, of, bool(features.categorical[k])) for k in range(x.shape[1])]
    best = max(single, key=lambda one: one[1], default=(None, 0.0))
    order = sorted(range(len(single)), key=lambda k: -single[k][1])
    able = [k for k in order if not features.categorical[k] and np.nanmin(features.x[:, k]) > 0][:FIRST]
    grown: list[tuple[tuple[int, ...], NDArray[Any]]] = [((k,), x[:, k].astype(np.float64)) for k in able]
    for _ in range(FACTORS - 1):
        longer = [(_scan((*c, k), p * x[:, k], bad, of, False), p * x[:, k])
                  for c, p in grown for k in able if k > max(c) or (len(grown) == 1 and k not in c)]  # fmt: skip
        top = max(longer, key=lambda one: one[0][1], default=None)
        if top is None or top[0][0] is None or top[0][1] < best[1] + GAIN:
            break
        best = top[0]
        grown = [(top[0][0].columns, top[1])]
    return best


def _scan(
    columns: tuple[int, ...], x: NDArray[Any], bad: Mask, of: int, is_name: bool
) -> tuple[Condition | None, float]:
    """Return the comparison with the highest F1 among all numbers that occur."""
    known = ~np.isnan(x)
    if not known.any():
        return None, 0.0
    values, place = np.unique(x[known].astype(np.float64), return_inverse=True)
    total = np.bincount(place, minlength=len(values))
    hits = np.bincount(place, weights=bad[known], minlength=len(values))
    ways = {"==": (hits, total)} if len(columns) == 1 else {}  # a product that is equal to a number explains nothing
    if not is_name:
        ways[">="] = (hits[::-1].cumsum()[::-1], total[::-1].cumsum()[::-1])
        ways["<="] = (hits.cumsum(), total.cumsum())
    best: tuple[Condition | None, float] = (None, 0.0)
    for sign, (good, count) in ways.items():
        f1 = 2 * good / (count + of)
        k = int(f1.argmax())
        if f1[k] > best[1]:
            best = Condition(columns, sign, float(values[k])), float(f1[k])
    return best


def _all_hold(features: Features, term: Term) -> Mask:
    holds = np.full(len(features.x), bool(term))
    for condition in term:
        holds &= condition.holds(features.x)
    return holds


def _f1(predicted: Mask, fails: Mask) -> float:
    return 2 * int((predicted & fails).sum()) / max(int(predicted.sum()) + int(fails.sum()), 1)


def _judged(features: Features, terms: tuple[Term, ...], test: Mask, fails: Mask) -> pandas.DataFrame:
    import pandas

    holds = [_all_hold(features, term) for term in terms]
    texts = [" and ".join(c.text(features) for c in term) for term in terms]
    whole = " or ".join(f"({t})" if len(term) > 1 < len(terms) else t for t, term in zip(texts, terms, strict=True))
    rows = []
    for number, (text, mask, size) in enumerate(
        [*zip(texts, holds, map(len, terms), strict=True), (whole, np.any(holds, axis=0), sum(map(len, terms)))], 1
    ):
        count, hits = int((mask & test).sum()), int((mask & test & fails).sum())
        recall = hits / max(int((fails & test).sum()), 1)
        f1 = _f1(mask & test, fails & test)
        rows.append([number, text, size, count, hits, hits / count if count else np.nan, recall, f1])
    rows[-1][0] = 0
    return pandas.DataFrame(rows, columns=COLUMNS)


def _finding(frame: pandas.DataFrame, failed: int, of: int) -> str:
    whole = frame.iloc[-1]
    calls, hits = int(whole["records"]), int(whole["failed"])
    if not hits:
        text = f"of {of:,} held-out records it calls {calls:,} failures, of which 0 are"
        return f"No rule holds: the best found, {whole['rule']}, is wrong beyond the records it was made from; {text}."
    often = next(words for least, words in OFTEN if whole["precision"] >= least)
    text = (
        f"A configuration {often} if {whole['rule']}: of {of:,} held-out records, {hits:,} of the {calls:,} where it "
    )
    text += f"holds failed (precision {percent(whole['precision'])}) and {failed - hits:,} of the other {of - calls:,}"
    doubt = f"; {failed:,} failures are too few to trust this" if failed < FEWEST else ""
    return f"{text}; it finds {hits:,} of all {failed:,} failures (recall {percent(whole['recall'])}){doubt}."


def failure_rule_figure(
    source: Source, task: str | None = None, kind: str | None = None, theme: str = "auto"
) -> go.Figure:
    """Plot `failure_rule`: precision and recall of each term and of the whole."""
    frame = failure_rule(source, task, kind)
    c = colours(theme)
    if frame.empty:
        return nothing("Rule for failures", "No rule", frame, theme)
    labels = [
        wrapped(rule, 46) if term else "together" for rule, term in zip(frame["rule"], frame["term"], strict=True)
    ]
    shown = frame if len(frame) > 2 else frame.iloc[:1]
    places = list(range(len(shown)))[::-1]
    count = np.stack([shown["failed"], shown["records"]], axis=1)
    traces = [
        {"type": "bar", "orientation": "h", "name": column, "x": shown[column].to_numpy(), "y": places,
         "marker": {"color": (hue(0), c.point)[k]}, "customdata": count,
         "hovertemplate": "%{x:.1%}: %{customdata[0]:,} failures of %{customdata[1]:,}<extra>%{fullData.name}</extra>"}
        for k, column in enumerate(("precision", "recall"))
    ]  # fmt: skip
    y = axis(c, "", tickvals=places, ticktext=labels[: len(shown)], showgrid=False)
    part = Part(traces, axis(c, "", tickformat=".0%", range=[0, 1]), y, title="Rule for failures",
                aside=above(keys([(hue(0), "precision"), (c.point, "recall")]), "held out"))  # fmt: skip
    return figure(part, frame, theme, 110 + 52 * len(shown), left=310)
