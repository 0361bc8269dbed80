"""What is sent: selecting, forms, legality, undo, and the whole flow by keyboard alone."""

from __future__ import annotations

import pytest

from .conftest import Bench

SPLIT = "[data-swb-legal][data-swb-item=split]"


def test_a_click_on_a_row_selects_it_at_once_and_the_palette_follows(bench: Bench) -> None:
    page = bench.open().page
    bench.click("[data-row='kh'] .swb-loop")
    assert page.locator("[data-row='kh'][aria-selected='true']").count() == 1
    bench.wait_for("document.querySelector('.swb-pal-head').innerText.startsWith('kh')")
    assert bench.commands() == [("select", {"id": "kh"})]


def test_selecting_a_statement_opens_its_block_in_the_palette(bench: Bench) -> None:
    bench.open()
    bench.click("[data-row='stmt:conv'] .swb-code")
    bench.wait_for("document.querySelector('.swb-pal-head').innerText.startsWith('conv')")
    assert bench.commands() == [("select", {"id": "stmt:conv"})]


def test_a_buffer_can_be_selected(bench: Bench) -> None:
    page = bench.open(fixture="matmul").page
    bench.click("[data-buffer='A']")
    bench.wait_for("document.querySelector('.swb-pal-head').innerText.includes('input float32[512, 512]')")
    assert page.locator("[data-buffer='A']").get_attribute("aria-pressed") == "true"
    assert bench.commands() == [("select", {"id": "A"})]


def test_while_the_kernel_is_busy_only_the_newest_selection_waits(bench: Bench) -> None:
    page = bench.open("busy").page
    for row in ("kh", "kw", "n", "w"):
        bench.click(f"[data-row='{row}'] .swb-loop")
    assert page.locator("[data-row='w'][aria-selected='true']").count() == 1
    assert [args["id"] for cmd, args in bench.commands() if cmd == "select"] == ["kh"]


def test_the_form_of_a_split_is_made_from_the_fields_and_applies(bench: Bench) -> None:
    page = bench.open().page
    bench.click(SPLIT)
    assert bench.text(".swb-equation") == "c → c.0 4 × c.1 4"  # the first suggestion
    bench.click(".swb-factor [role=radio][data-value='8']")
    assert bench.text(".swb-equation") == "c → c.0 2 × c.1 8"
    bench.click("[data-swb-apply]")
    bench.wait_for("document.querySelector('[aria-current=step]').dataset.step === '8'")
    assert bench.commands()[-1] == (
        "apply",
        {"step": {"primitive": "split", "args": {"loop": "c", "factors": [None, 8]}}},
    )
    assert page.locator(".swb-form").count() == 0


def test_leave_open_makes_a_hole(bench: Bench) -> None:
    bench.open()
    bench.click(SPLIT)
    bench.click("[data-swb-open]")
    assert bench.text(".swb-equation") == "c → c.0 ? × c.1 ?"
    bench.click("[data-swb-apply]")
    bench.wait_for("model.sent.some(m => m.cmd === 'apply')")
    step = bench.commands()[-1][1]["step"]
    assert step == {"primitive": "split", "args": {"loop": "c", "factors": [None, {"hole": None}]}}


def test_of_a_peeled_rest_the_form_says_what_the_nest_will_show(bench: Bench) -> None:
    page = bench.open().page
    bench.click(SPLIT)
    page.locator(".swb-factor .swb-size").fill("3")
    tail = page.locator(".swb-form").get_by_label("where the factors do not divide").locator("select")
    for choice, said in (("guard", "c.0 6 × c.1 3"), ("peel", "c.0 5 × c.1 3 + c.rest 1")):
        tail.select_option(choice)
        bench.wait_for(f"document.querySelector('.swb-equation').innerText === 'c → {said}'")


def test_several_factors(bench: Bench) -> None:
    page = bench.open().page
    bench.click(SPLIT)
    bench.click("[data-swb-more]")
    page.locator(".swb-factor").nth(1).locator("[role=radio][data-value='2']").click()
    assert bench.text(".swb-equation") == "c → c.0 2 × c.1 4 × c.2 2"
    # On a slow machine the first click is asked about on its own.
    asked = "JSON.stringify(model.sent.findLast(m => m.q === 'preview')?.args.step.args.factors)"
    bench.wait_for(f"{asked} === '[null,4,2]'")


def test_what_is_typed_is_judged_and_the_reason_is_shown(bench: Bench) -> None:
    page = bench.open().page
    bench.click(SPLIT)
    box = page.locator("input.swb-size")
    box.fill("")
    box.press_sequentially("11", delay=20)
    page.wait_for_selector(".swb-opinion.is-not")
    assert "The factors 11 do not divide the extent 16 of loop 'c'. Choose a divisor." in bench.text(".swb-opinion")
    assert bench.sent("ask")[-1]["args"]["step"]["args"]["factors"] == [None, 11]
    assert page.locator("[data-swb-apply]").get_attribute("aria-disabled") == "true"
    bench.press("[data-swb-apply]")
    assert not [c for c, _ in bench.commands() if c == "apply"]
    bench.click(".swb-opinion >> text=Show me")
    assert page.locator("[data-row='c'].is-marked").count() == 1


@pytest.mark.parametrize(
    ("hint", "told"),
    [
        ("try less", "Try less."),
        ("a unit is whole", "A unit is whole."),
        ("w and W are two things", "w and W are two things."),
        ("relu_w, not w", "relu_w, not w."),
        ("j.0 first", "j.0 first."),
        ("h0 first", "h0 first."),
        ("split(w, 2)", "split(w, 2)."),
    ],
)
def test_a_refused_step_keeps_the_form_and_says_why(bench: Bench, hint: str, told: str) -> None:
    page = bench.open().page
    page.evaluate("hint => { kernel.run = () => ({ code: 'x', message: 'It was refused.', where: [], hint }); }", hint)
    bench.click(SPLIT)
    bench.click("[data-swb-apply]")
    page.wait_for_selector(".swb-form [role=alert]")
    assert bench.text(".swb-form [role=alert]") == f"Not applied. It was refused. {told}"


def test_lists_of_loops_keep_an_order(bench: Bench) -> None:
    page = bench.open().page
    bench.click("[data-swb-legal][data-swb-item=reorder]")
    page.locator(".swb-several [title=Later]").first.click()
    page.locator(".swb-form select").last.select_option("kh")
    bench.click("[data-swb-apply]")
    bench.wait_for("model.sent.some(m => m.cmd === 'apply')")
    assert bench.commands()[-1][1]["step"]["args"] == {"loops": ["kw", "c", "kh"]}  # it began with c, kw


def test_what_is_not_legal_stays_focusable_with_its_reason_and_shows_the_conflict(bench: Bench) -> None:
    page = bench.open(fixture="matmul").page
    bench.click("[data-row='k'] .swb-loop")
    page.wait_for_selector("[data-swb-show=parallel]")
    name = page.locator("[data-swb-item=parallel]")
    assert name.get_attribute("aria-disabled") == "true"
    assert "carries the reduction of block 'C'" in (name.get_attribute("aria-label") or "")
    name.focus()
    assert bench.focused("data-swb-item") == "parallel"
    page.keyboard.press("Enter")
    page.wait_for_selector(".swb-pop")
    assert page.locator(".is-marked").evaluate_all("all => all.map(e => e.dataset.row)") == ["k", "stmt:C"]
    box = bench.text(".swb-pop")
    assert "parallel(k) would change the result" in box
    assert "iteration A k = 0 i = 0 j = 0 iteration B k = 1 i = 0 j = 0 C[0, 0]" in box
    page.keyboard.press("Escape")
    page.wait_for_selector(".swb-pop", state="detached")
    assert page.locator(".is-marked").count() == 0
    assert bench.focused("data-swb-item") == "parallel"
    page.keyboard.press("Enter")
    page.wait_for_selector(".swb-pop")
    page.get_by_role("tab", name="Tuning").click()
    page.wait_for_selector(".swb-pop", state="detached")  # it is about what is not in sight any more


def test_history_buttons_send_their_commands(bench: Bench) -> None:
    page = bench.open("mixed").page
    bench.click("[data-step='2']")
    bench.click("text=Use the best")
    bench.click("text=Measure every step")
    assert bench.commands() == [
        ("goto", {"step": 2}),
        ("adopt", {"task": 5}),
        ("auto_measure", {"on": False}),
    ]
    bench.wait_for("document.querySelector('[aria-current=step]').dataset.step === '2'")
    assert page.locator("[data-step='2']").get_attribute("aria-current") == "step"


def test_the_whole_flow_by_keyboard_alone(bench: Bench) -> None:
    page = bench.open().page
    press = page.keyboard.press
    page.evaluate("document.querySelector('.swb-grid [tabindex=\"0\"]').focus()")
    press("ArrowUp")
    press("ArrowUp")
    assert bench.focused("data-row") == "kh"
    press("ArrowLeft")
    assert page.locator("[data-row='kw']").count() == 0
    press("ArrowRight")
    press("ArrowRight")
    press("ArrowDown")
    assert bench.focused("data-row") == "c"
    bench.wait_for("document.querySelector('.swb-pal-head').innerText.startsWith('c')")
    press("Enter")  # to the palette
    assert bench.focused("data-swb-item") == "split", "what is used most comes first"
    press("ArrowDown")
    press("ArrowUp")
    press("Enter")  # opens the form of split
    page.wait_for_selector(".swb-form")
    bench.wait_for("document.activeElement.matches('.swb-form .swb-size')")
    press("ArrowUp")
    assert bench.text(".swb-equation") == "c → c.0 2 × c.1 8"
    press("Enter")
    bench.wait_for("document.querySelector('[aria-current=step]').dataset.step === '8'")
    assert bench.commands()[-1][0] == "apply"
    bench.wait_for("document.activeElement.matches('[data-row]')")
    press("Control+z")
    bench.wait_for("document.querySelector('[aria-current=step]').dataset.step === '7'")
    press("Control+Shift+z")
    bench.wait_for("document.querySelector('[aria-current=step]').dataset.step === '8'")
    press("[")
    press("r")
    bench.wait_for("model.sent.some(m => m.cmd === 'measure')")
    assert [c for c, _ in bench.commands()][-4:] == ["undo", "redo", "undo", "measure"]
    press("t")
    bench.wait_for("document.activeElement.dataset.action === 'start'")
    press("?")
    page.wait_for_selector("dialog[open]")
    press("Escape")
    page.wait_for_selector("dialog[open]", state="hidden")
    press("Escape")
    press("Escape")
    assert page.evaluate("document.activeElement.matches('.swb')"), "the view has it, not the notebook around it"
    press("Shift+Tab")
    assert not page.evaluate("document.activeElement.closest('.swb')"), "so it is left"


def test_keys_stay_with_the_widget_and_typing_is_left_alone(bench: Bench) -> None:
    page = bench.open().page
    assert page.locator(".swb").get_attribute("data-lm-suppress-shortcuts") == "true"
    page.evaluate("window.heard = []; document.addEventListener('keydown', e => heard.push(e.key))")
    page.evaluate("document.querySelector('.swb-grid [tabindex=\"0\"]').focus()")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Control+z")
    assert page.evaluate("heard") == ["Control"]
    bench.click(SPLIT)
    page.locator("input.swb-size").focus()
    before = len(bench.commands())
    for key in ("2", "r", "t", "p"):
        page.keyboard.press(key)
    assert len(bench.commands()) == before
    assert bench.focused("class") == "swb-size"
