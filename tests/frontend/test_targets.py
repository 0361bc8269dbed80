"""The dialog with other targets: what there is, what would add it, by keyboard alone, busy and refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from .conftest import Bench

ARM = "llvm -mtriple=aarch64-linux-gnu -mcpu=…"
FLOATS = {"code": "target.tasks", "message": "'vta' multiplies bytes", "where": [], "hint": "wb.quantize first"}
ROWS = [
    ("llvm", "A processor (2 threads, vectors of 64 bytes)", "runs", "", "", True),
    ("cpu-simt", "CUDA C run by this CPU, thread by thread.", "runs", "", "", False),
    ("vta", "An accelerator like VTA, simulated", "runs", "", "", False, FLOATS),
    (ARM, "64-bit ARM through LLVM", "compiles", "on a board: wb.BoardRunner, or emulated by qemu", "", False),
    ("cuda", "An NVIDIA GPU, through CUDA C", "prints", "NVRTC is not installed. " * 3, "pip install nvrtc", False),
    ("opencl", "A GPU or processor", "missing", "pyopencl is not installed.", "pip install pyopencl", False),
]
NAMES = ("target", "title", "state", "note", "install", "now", "refused")
NOW = {"text": "llvm -mcpu=skylake-avx512 -threads=2", "step": "", "at": 0, "of": 0, "error": None}
DIALOG = "dialog.swb-targets"


def show(bench: Bench, **slices: Any) -> None:
    """Let the kernel say something."""
    bench.page.evaluate(
        """slices => {
            for (const [name, value] of Object.entries(slices)) kernel.put(name, value);
            kernel.patch(model, kernel.changed);
        }""",
        slices,
    )


def opened(bench: Bench, state: str = "normal", answer: Any = None, **options: str) -> Bench:
    bench.open(state, **options)
    rows = [{"refused": None, **dict(zip(NAMES, row, strict=False))} for row in ROWS]
    said = answer or {"ok": True, "value": {"rows": rows}}
    bench.page.evaluate("answer => kernel.answers.push({ q: 'devices', args: {}, answer })", said)
    show(bench, target=NOW)
    return bench


def asked(bench: Bench) -> list[dict[str, Any]]:
    return [args for cmd, args in bench.commands() if cmd == "retarget"]


def rows(bench: Bench) -> list[str]:
    bench.page.wait_for_selector(".swb-device")
    return [" ".join(text.split()) for text in bench.page.locator(".swb-device").all_inner_texts()]


def test_the_header_says_what_it_is_for(bench: Bench) -> None:
    opened(bench)
    assert bench.text("[data-swb-do=targets]") == "for x86-64"
    assert NOW["text"] in bench.page.get_attribute("[data-swb-do=targets]", "title")
    bench.click("[data-swb-do=targets]")
    told = rows(bench)
    assert told[0].startswith("Now llvm runs here")
    assert told[2].endswith("'vta' multiplies bytes. wb.quantize first.")
    assert bench.page.get_attribute("[data-swb-device=vta] button", "title").startswith("Not now: what is open cannot")
    assert told[4].endswith("pip install nvrtc")
    why = bench.page.get_attribute("[data-swb-device=opencl] button", "title")
    assert why == "Not now: it is missing here"
    for refused in ("opencl", "vta"):
        bench.press(f"[data-swb-device={refused}] button")
    bench.press("[data-swb-device=llvm] button")
    assert not asked(bench)
    bench.click("[data-swb-device=cuda] button")
    assert asked(bench) == [{"target": "cuda"}]


def test_by_keyboard_alone(bench: Bench) -> None:
    """O opens, arrows walk, Enter takes one; the dialog closes when the other one is there, and the focus is back."""
    opened(bench)
    bench.page.focus("[data-swb-do=targets]")
    bench.page.keyboard.press("o")
    rows(bench)
    bench.wait_for("document.activeElement.closest('dialog')")
    bench.page.focus("[data-swb-device=llvm] button")
    bench.page.keyboard.press("ArrowDown")
    assert bench.focused("aria-label") == "Use cpu-simt"
    bench.page.keyboard.press("Enter")
    bench.wait_for("model.sent.some(m => m.cmd === 'retarget')")
    assert asked(bench) == [{"target": "cpu-simt"}]
    show(bench, target={**NOW, "text": "cpu-simt"})
    bench.page.wait_for_selector(DIALOG, state="detached")
    bench.wait_for(
        "document.querySelector('.swb-aside').textContent === 'Kernels are made for x86-64 · 2 threads · AVX-512'"
    )
    assert bench.focused("data-swb-do") == "targets"
    bench.page.keyboard.press("o")
    rows(bench)
    bench.page.keyboard.press("Escape")
    bench.page.wait_for_selector(DIALOG, state="detached")


def test_what_is_left_open_is_filled_in(bench: Bench) -> None:
    opened(bench)
    bench.click("[data-swb-do=targets]")
    rows(bench)
    bench.click(f"[data-swb-device='{ARM}'] button")
    bench.wait_for("document.activeElement.matches('.swb-device-own input')")
    bench.page.keyboard.type("neoverse-n1")
    bench.page.keyboard.press("Enter")
    bench.wait_for("model.sent.some(m => m.cmd === 'retarget')")
    assert asked(bench) == [{"target": ARM.replace("…", "neoverse-n1")}]


def test_a_refusal_stands_where_it_was_asked(bench: Bench) -> None:
    opened(bench)
    bench.page.evaluate(
        """error => {
            const run = kernel.run;
            kernel.run = (cmd, args) => (cmd === 'retarget' ? error : run.call(kernel, cmd, args));
        }""",
        {"code": "target.kind", "message": "There is no kind 'cudda'", "where": [], "hint": "did you mean 'cuda'?"},
    )
    bench.click("[data-swb-do=targets]")
    rows(bench)
    bench.page.fill(".swb-device-own input", "cudda")
    bench.page.keyboard.press("Enter")
    alert = f"{DIALOG} [role=alert]"
    bench.page.wait_for_selector(alert)
    assert bench.text(alert) == "It stays as it is. There is no kind 'cudda'. Did you mean 'cuda'?"
    assert bench.page.get_attribute(".swb-device-own input", "aria-invalid") == "true"


@pytest.mark.parametrize(
    ("slices", "why"),
    [
        ({"target": {**NOW, "step": "Making the tasks for cuda"}}, "Not now: another one is being made"),
        ({"target": {**NOW, "error": {"code": "x", "message": "No", "where": [], "hint": "do"}}}, None),
    ],
    ids=["busy", "failed"],
)
def test_busy_and_failed(bench: Bench, slices: dict[str, Any], why: str | None) -> None:
    opened(bench)
    show(bench, **slices)
    bench.click("[data-swb-do=targets]")
    rows(bench)
    assert bench.page.get_attribute("[data-swb-device=cuda] button", "title") == why
    text = bench.text(DIALOG)
    assert ("Making the tasks for cuda …" in text) == (why is not None)
    assert ("It stays as it is. No. Do." in text) == (why is None)


def test_while_tuning_runs_it_says_what_to_do(bench: Bench) -> None:
    opened(bench, "tuning")
    bench.click("[data-swb-do=targets]")
    rows(bench)
    why = bench.page.get_attribute("[data-swb-device=cuda] button", "title")
    assert why == "Not now: tuning is under way: stop it first, or wait for its end"
    bench.press("[data-swb-device=cuda] button")
    assert not asked(bench)


def test_devices_that_cannot_be_listed(bench: Bench) -> None:
    error = {"code": "x.y", "message": "The driver hangs", "where": [], "hint": "restart it"}
    opened(bench, answer={"ok": False, "error": error})
    bench.click("[data-swb-do=targets]")
    bench.page.wait_for_selector(f"{DIALOG} [role=alert]")
    assert "The driver hangs. Restart it." in bench.text(DIALOG)
    bench.page.fill(".swb-device-own input", "cuda")
    bench.page.keyboard.press("Enter")
    bench.wait_for("model.sent.some(m => m.cmd === 'retarget')")


@pytest.mark.parametrize("width", [360, 700, 1280])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_is_cut(bench: Bench, width: int, theme: str) -> None:
    opened(bench, width=str(width), theme=theme)
    before = bench.page.viewport_size
    bench.page.set_viewport_size({"width": max(width, 400), "height": 900})
    bench.click("[data-swb-do=targets]")
    rows(bench)
    wide = f"(() => {{ const d = document.querySelector('{DIALOG}'); return d.scrollWidth - d.clientWidth }})()"
    assert bench.page.evaluate(wide) <= 0
    bench.page.set_viewport_size(before)


def test_answers_of_another_target_are_asked_for_again(bench: Bench) -> None:
    opened(bench)
    bench.page.keyboard.press("Escape")
    bench.page.focus(".swb-nest [role=row][tabindex='0']")
    bench.page.keyboard.press("c")
    codes = "model.sent.filter(m => m.q === 'code').length"
    bench.wait_for(f"{codes} > 0")
    bench.page.wait_for_selector(".swb-lines")
    before = bench.page.evaluate(codes)
    show(bench, target={**NOW, "text": "cpu-simt"})
    bench.wait_for(f"{codes} > {json.dumps(before)}")
