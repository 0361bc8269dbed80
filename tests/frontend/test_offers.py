"""Offers belong to the variant on show; the best time leads to its schedule; what matters is never cut or covered."""

from __future__ import annotations

from .conftest import Bench


def put(bench: Bench, name: str, value: str) -> None:
    change = f"kernel.put('{name}', {{ ...kernel.slices.{name}, {value} }});"
    bench.page.evaluate(f"() => {{ {change} kernel.patch(model, kernel.changed); }}")


def test_offers_of_the_variant_before_are_gone_at_once(bench: Bench) -> None:
    page = bench.open(fixture="matmul").page
    page.wait_for_selector("[data-reason=scalar] button")
    page.evaluate("kernel.answers.splice(0)")  # nothing is known of the next variant yet
    put(bench, "history", "at: 0")
    page.wait_for_function("() => !document.querySelector('.swb-reasons .swb-mini')")


def test_the_spills_of_the_code_are_a_reason(bench: Bench) -> None:
    page = bench.open(fixture="matmul").page
    page.evaluate("""() => { for (const { id } of kernel.slices.history.rows) kernel.answers.unshift({ q: 'spills',
        args: { node: id }, answer: { ok: true, value: { text: '22 spills in the machine code' } } });
        kernel.put('history', { ...kernel.slices.history, at: 0 }); kernel.patch(model, kernel.changed); }""")
    page.wait_for_selector("[data-reason=spills]")
    assert "22 spills" in bench.text("[data-reason=spills]")


def test_the_best_time_leads_to_its_schedule(bench: Bench) -> None:
    page = bench.open(fixture="matmul").page
    put(bench, "tuning", "best_ready: true, best_why: ''")
    put(bench, "head", "best_ms: 0.0858, best_by: 'tuner', best_sure: 'sure', task: 0")
    page.click("[data-swb-do=best]")
    assert ("adopt", {"task": 0}) in [tuple(one) for one in bench.commands()]
    put(bench, "tuning", "best_ready: false")
    page.wait_for_selector("[data-swb-do=best]", state="detached")


def test_in_a_narrow_panel_the_time_is_whole(bench: Bench) -> None:
    for width in (280, 380, 478):
        page = bench.open(fixture="matmul", width=str(width)).page
        put(bench, "head", "step: 'v4', ms: 0.00132, spread: 0.04, gflops: 68.5, peak_share: 0.66")
        put(bench, "status", "load: { text: '96 % busy', whose: ': python', about: '' }")
        page.wait_for_selector("[data-swb-value=ms]")
        assert page.evaluate("""() => {
            const box = document.querySelector('.swb-figures').getBoundingClientRect();
            return ['[data-swb-value=ms]', '.swb-spread'].every(s => {
                const own = document.querySelector(s).getBoundingClientRect();
                return own.left >= box.left - 1 && own.right <= box.right + 1 && own.bottom <= box.bottom + 6;
            });
        }"""), width


def test_keys_of_the_whole_page_go_through(bench: Bench) -> None:
    page = bench.open(fixture="matmul").page
    page.evaluate("""() => { window.heard = [];
        addEventListener('keydown', e => heard.push([e.key, !!e.target.closest('[data-lm-suppress-shortcuts]')])); }""")
    page.focus(".swb-nest [role=row][tabindex='0']")
    page.keyboard.press("Control+Shift+D")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Control+d")
    heard = dict(tuple(one) for one in page.evaluate("heard") if one[0] in "Dd")
    assert heard == {"D": False, "d": True}
