"""Commands that do not wait for the running cell: a thread of their own takes them, where the kernel has one."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import Bench

# A kernel that can make threads; what is sent to it directly is kept, and answered as the widget's comm would.
OFFERS = """(works) => {
  const { kernel: bare } = model;
  const made = [];
  Object.assign(bare, {
    clientId: 'client', supportsSubshells: true, made, direct: [], deleted: [],
    requestCreateSubshell(content) {
      made.push(content);
      const reply = { content: { subshell_id: `thread ${made.length}` } };
      return { done: works ? Promise.resolve(reply) : Promise.reject(new Error('no more threads')) };
    },
    requestDeleteSubshell(content) { bare.deleted.push(content); },
    sendShellMessage(message, expects) {
      bare.direct.push({ ...structuredClone(message), expects });
      kernel.answer(message.content.data.content, model);
    }
  });
}"""


def opened(bench: Bench, works: bool = True) -> Any:
    page = bench.open("tuning").page
    page.evaluate(OFFERS, works)
    bench.click("[data-swb-tab=tuning]")
    return page


def test_pause_goes_to_a_thread_of_its_own(bench: Bench) -> None:
    page = opened(bench)
    bench.click("[data-action=pause]")
    page.wait_for_function("model.kernel.direct.length === 1")
    message = page.evaluate("model.kernel.direct[0]")
    header = message["header"]
    assert (header["msg_type"], header["subshell_id"], header["session"]) == ("comm_msg", "thread 1", "client")
    assert (message["channel"], message["expects"]) == ("shell", False)
    assert message["content"]["comm_id"] == "dev", "the key of the widget is the id of its comm"
    content = message["content"]["data"]
    assert content["method"] == "custom"
    assert (content["content"]["t"], content["content"]["cmd"]) == ("do", "pause")
    assert "pause" not in [cmd for cmd, _ in bench.commands()], "nothing is sent twice"
    page.wait_for_function("document.querySelector('.swb-foot-link').textContent !== 'queued'")


def test_one_thread_serves_all_urgent_commands_and_ends_with_the_widget(bench: Bench) -> None:
    page = opened(bench)
    for n, name in enumerate(("pause", "stop", "cancel"), start=1):
        bench.click(f"[data-action={name}]")
        page.wait_for_function("n => model.kernel.direct.length === n", arg=n)
    sent = page.evaluate("model.kernel.direct.map(m => m.header)")
    assert len({header["msg_id"] for header in sent}) == 3
    assert {header["subshell_id"] for header in sent} == {"thread 1"}
    assert page.evaluate("model.kernel.made.length") == 1
    page.evaluate("forget()")
    page.wait_for_function("model.kernel.deleted.length === 1")
    assert page.evaluate("model.kernel.deleted[0].subshell_id") == "thread 1"


def test_other_commands_keep_their_order(bench: Bench) -> None:
    page = opened(bench)
    bench.click("[data-swb-tab=schedule]")
    bench.click("[data-row='c']")
    assert ("select", {"id": "c"}) in bench.commands()
    assert page.evaluate("[model.kernel.made.length, model.kernel.direct.length]") == [0, 0]


@pytest.mark.parametrize("kernel", ["without threads", "out of threads"])
def test_a_kernel_that_has_no_thread_is_asked_the_usual_way(bench: Bench, kernel: str) -> None:
    page = opened(bench, works=False)
    if kernel == "without threads":
        page.evaluate("model.kernel.supportsSubshells = false")
    bench.click("[data-action=pause]")
    bench.wait_for("model.sent.some(m => m.cmd === 'pause')")
    assert page.evaluate("model.kernel.direct.length") == 0
    assert page.evaluate("model.kernel.made.length") == (0 if kernel == "without threads" else 1)
