"""The link to the kernel: gaps, waiting, silence, restarts, two versions; and views that come and go."""

from __future__ import annotations

import pytest

from .conftest import HOST, Bench

RESTARTED = "The kernel was restarted. Run the cell again to bring this panel back to life."


def test_a_gap_asks_for_the_state_once(bench: Bench) -> None:
    page = bench.open().page
    assert len(bench.sent("hello")) == 1
    page.evaluate("""() => {
      kernel.later = () => {};  // the answer takes its time
      for (const base of [7, 8, 9]) model.receive({ t: 'patch', base, rev: base + 1, ops: {}, done: [], failed: [] });
    }""")
    assert len(bench.sent("hello")) == 2
    page.evaluate(
        "const head = { ...kernel.slices.head, step: 'v99' };"
        "model.receive({ t: 'state', v: 2, rev: 10, slices: { ...kernel.slices, head } })"
    )
    page.evaluate("model.receive({ t: 'patch', base: 10, rev: 11, ops: {}, done: [], failed: [] })")
    assert len(bench.sent("hello")) == 2
    bench.wait_for("document.querySelector('.swb-figure.is-main').innerText.startsWith('v99')")


def test_rows_of_a_patch_replace_only_what_changed(bench: Bench) -> None:
    page = bench.open().page
    page.evaluate("""() => {
      window.before = [...document.querySelectorAll('[data-row]')];
      const row = { ...kernel.slices.nest.rows.find(r => r.id === 'kh'), extent: 5 };
      const order = kernel.slices.nest.rows.map(r => r.id).filter(id => id !== 'stmt:relu');
      const ops = { nest: { '~': { set: [row], order, rest: { statements: 2 } } } };
      model.receive({ t: 'patch', base: 1, rev: 2, ops, done: [], failed: [] });
    }""")
    bench.wait_for("document.querySelectorAll('[data-row]').length === 15")
    assert "5 36.3 k" in bench.text("[data-row='kh']")
    assert "2 statements" in bench.text(".swb-nest .swb-panel-head")
    assert page.evaluate("[...document.querySelectorAll('[data-row]')].every(e => before.includes(e))")


def test_what_does_not_travel_is_worked_out(bench: Bench) -> None:
    """The name that is selected, how deep rows lie, and of a slice what did not change."""
    page = bench.open().page
    page.evaluate("""() => {
      const { palette, nest } = kernel.slices;
      const refused = { legal: false, reason: "Loop '$' is taken.", where: ['$'] };
      const rows = palette.rows.map(row => (row.id === 'split' ? { ...row, ...refused } : row));
      const bare = nest.rows.map(({ depth, ...row }) => row);
      const ops = {
        palette: { '=': { ...palette, name: 'c', rows } }, nest: { '=': { ...nest, rows: bare } },
        head: { '~': { rest: { step: 'v42' } } }
      };
      model.receive({ t: 'patch', base: 1, rev: 2, ops, done: [], failed: [] });
    }""")
    bench.wait_for("document.querySelector('.swb-illegals').innerText.includes(\"Loop 'c' is taken.\")")
    bench.click("[data-swb-show=split]")
    assert page.locator("[data-row='c'].is-marked").count() == 1
    assert page.locator("[data-row='o.1']").get_attribute("aria-level") == "9"
    assert bench.text(".swb-figure.is-main").startswith("v42 1.34 ms")


def test_the_keyboard_stays_in_the_nest_when_its_row_goes_away(bench: Bench) -> None:
    page = bench.open().page
    page.evaluate("document.querySelector('[data-row=c]').focus()")
    page.evaluate("""() => {
      const rows = kernel.slices.nest.rows.filter(r => r.id !== 'c');
      const ops = { nest: { '=': { ...kernel.slices.nest, rows } }, selection: { '=': { id: 'kw' } } };
      model.receive({ t: 'patch', base: 1, rev: 2, ops, done: [], failed: [] });
    }""")
    bench.wait_for("document.querySelectorAll('[data-row]').length === 15")
    assert bench.focused("data-row") == "kw"


def test_a_row_that_nobody_knows_asks_for_the_state(bench: Bench) -> None:
    bench.open().page.evaluate(
        "const ops = { nest: { '~': { order: ['no'] } } };"
        "model.receive({ t: 'patch', base: 1, rev: 2, ops, done: [], failed: [] })"
    )
    assert len(bench.sent("hello")) == 2


def test_a_busy_workbench_queues_and_says_what(bench: Bench) -> None:
    page = bench.open("busy", wait=False).page
    page.wait_for_selector(".swb-foot-link:has-text('queued')")
    assert bench.text(".swb-foot-link") == "queued: the kernel is busy (undo, measure)"
    figure = bench.text(".swb-figure.is-main")
    assert figure == "v7 1.34 ms ± 0.78 cannot tell from v6, 13.3× as fast as v0 not in a log"
    page.wait_for_selector(".swb-note.is-busy")
    assert bench.text(".swb-note") == "The kernel is busy. 2 actions are queued and run in order: undo, measure."
    page.evaluate("model.status('idle')")
    bench.wait_for("!document.querySelector('.swb-note').textContent.includes('kernel')")
    assert bench.text(".swb-note") == "The workbench is busy. 2 actions are queued and run in order: undo, measure."


def test_ten_seconds_without_an_answer_are_told(alone: Bench) -> None:
    page = alone.page
    page.clock.install()
    page.goto(f"{HOST}extensions/dev/index.html?bare=1&state=silent")
    page.wait_for_function("() => window.model && window.unmount")
    page.clock.run_for(1000)
    assert alone.text(".swb-foot-link").startswith("queued")
    page.clock.run_for(9500)
    assert alone.text(".swb-foot-link") == "silent: no answer from the kernel"
    assert "waiting: measure" in alone.text(".swb-note")
    page.evaluate(
        "model.receive({ t: 'patch', base: 1, rev: 2, ops: {}, done: model.sent.map(m => m.id), failed: [] })"
    )
    page.clock.run_for(100)
    assert alone.text(".swb-foot-link") == "kernel idle"


def test_a_restart_ends_the_link_and_says_what_to_do(bench: Bench) -> None:
    page = bench.open("dead").page
    assert bench.text(".swb-note") == RESTARTED
    assert bench.text(".swb-figure.is-main b") == "1.34"  # still readable
    before = len(page.evaluate("model.sent"))
    for name in ("undo", "measure"):
        button = page.locator(f"[data-swb-do={name}]")
        assert button.get_attribute("aria-disabled") == "true"
        assert button.get_attribute("title") == "Not now: The kernel was restarted: run the cell again"
        button.click(force=True)
    bench.click("[data-swb-legal][data-swb-item=split]")
    bench.press("[data-swb-apply]")
    bench.click("[data-row='kh'] .swb-loop")
    bench.click("[data-step='2']")
    assert len(page.evaluate("model.sent")) == before
    assert page.locator("[data-row='kh'][aria-selected='true']").count() == 1


def test_what_was_asked_fails_when_the_kernel_dies(bench: Bench) -> None:
    page = bench.open("busy").page
    page.evaluate("model.status('dead')")
    page.wait_for_selector(".swb-note.is-error")
    assert bench.text(".swb-note") == "The kernel has stopped. Start it again, then run the cell again."
    assert bench.text(".swb-foot-link") == "kernel stopped"


@pytest.mark.parametrize("manager", ["undefined", "{}", "{ get kernel() { throw new Error('disposed'); } }"])
def test_a_host_that_knows_no_kernel_is_no_error(bench: Bench, manager: str) -> None:
    page = bench.open().page
    page.evaluate(f"""async () => {{
      const {{ fakeModel }} = await import('./fake.js');
      const other = fakeModel({{ panel: 'nest', key: 'other' }}, kernel.answer);
      other.widget_manager = {manager};
      const el = document.body.appendChild(document.createElement('div'));
      el.id = 'other';
      window.forgetOther = widget.initialize({{ model: other }});
      widget.render({{ model: other, el }});
    }}""")
    page.wait_for_selector("#other [data-row]")


def test_two_versions_are_told_in_one_line(bench: Bench) -> None:
    bench.open("versions")
    assert "The Python part is 0.0.9, the part in the browser 0.1.0." in bench.text(".swb-note")


def test_the_theme_follows_the_host_and_is_told(bench: Bench) -> None:
    page = bench.open().page
    assert page.locator(".swb").get_attribute("data-swb-theme") == "light"
    page.evaluate("document.body.setAttribute('data-jp-theme-light', 'false')")
    page.wait_for_selector(".swb[data-swb-theme=dark]")
    assert [m["args"] for m in bench.sent() if m["cmd"] == "theme"] == [{"theme": "dark"}]


def test_views_of_one_model_share_it_and_nothing_stays_behind(bench: Bench) -> None:
    page = bench.open(panel="nest").page
    page.evaluate("""async () => {
      const root = globalThis[Symbol.for('schedule-workbench')];
      const panel = (await import('/workbench/widgets/static/panel.js')).default;
      const { fakeModel } = await import('./fake.js');
      const el = document.body.appendChild(document.createElement('div'));
      el.id = 'second';
      const place = fakeModel({ panel: 'palette', key: 'dev', root: 'IPY_MODEL_x' });
      window.unmountSecond = panel.render({ model: place, el });
      window.roots = root;
    }""")
    page.wait_for_selector("#second .swb-pal")
    assert len(bench.sent("hello")) == 1
    bench.click("[data-row='kh'] .swb-loop")
    bench.wait_for("document.querySelector('#second .swb-pal-head').innerText.startsWith('kh')")
    page.evaluate("unmountSecond(); unmount(); forget();")
    left = page.evaluate("""() => ({
      roots: roots.size, html: document.getElementById('place').innerHTML + document.getElementById('second').innerHTML,
      listeners: attached.map(([type]) => type), observers: observing.size,
      model: Object.values(model.handlers).flat().length,
      kernel: model.kernel.statusChanged.slots.size + model.kernel.disposed.slots.size,
    })""")
    assert left == {"roots": 0, "html": "", "listeners": [], "observers": 0, "model": 0, "kernel": 0}


def test_a_panel_waits_for_its_workbench(bench: Bench) -> None:
    page = bench.open(panel="nest").page
    page.evaluate("""async () => {
      const panel = (await import('/workbench/widgets/static/panel.js')).default;
      const { fakeModel } = await import('./fake.js');
      const el = document.body.appendChild(document.createElement('div'));
      el.id = 'early';
      panel.render({ model: fakeModel({ panel: 'nest', key: 'late', root: '' }), el });
      window.start = () => widget.initialize({ model: fakeModel({ panel: 'all', key: 'late' }, kernel.answer) });
    }""")
    page.wait_for_selector("#early:has-text('run the cell that makes the workbench')")
    page.evaluate("void (window.end = start())")
    page.wait_for_selector("#early [data-row]")
    page.evaluate("end()")
    assert page.locator("#early [data-row]").count() == 0
