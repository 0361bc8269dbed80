"""What the kernel says to a figure before its view is there is not lost, however long the module takes to load."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "extensions"

ENTRY = """
import { mountView } from %r;
const seen: string[] = [];
class Usual { _handle_comm_msg(message: string) { seen.push(message); return Promise.resolve(); } }
class Anywidget extends Usual {
  loaded = false;
  // The module took too long: what comes is dropped, as anywidget does it.
  override _handle_comm_msg(message: string) {
    return this.loaded ? super._handle_comm_msg(message) : Promise.reject(new Error('late'));
  }
}
let say = (_: string): unknown => undefined;
const model = Object.assign(new Anywidget(), { comm: { on_msg: (f: typeof say) => { say = f; } } });
let show = (_: unknown): void => undefined;
const manager = { get_model: async () => model, create_view: () => new Promise(done => { show = done; }) };
const el = { remove: () => undefined };
const pause = () => new Promise(done => setTimeout(done, 5));
const place = { append: () => undefined } as never;
const mounted = mountView({ widget_manager: manager } as never, 'figure', place, () => true);
await pause();
say('before the view');
await pause();
model.loaded = true;
show({ el, remove: () => undefined });
await mounted;
say('after it');
await pause();
console.log(JSON.stringify(seen));
"""


def test_messages_before_the_view_are_heard(tmp_path: Path) -> None:
    node, esbuild = shutil.which("node"), SOURCES / "node_modules" / ".bin" / "esbuild"
    if node is None or not esbuild.exists():
        pytest.skip("Node or extensions/node_modules is missing")
    (tmp_path / "entry.ts").write_text(ENTRY % str(SOURCES / "src/widget/kernel/hosted-view"))
    made = tmp_path / "entry.mjs"
    command = [esbuild, tmp_path / "entry.ts", "--bundle", "--platform=node", "--format=esm", f"--outfile={made}"]
    subprocess.run(command, check=True, capture_output=True)
    told = subprocess.run([node, made], check=True, capture_output=True, timeout=60).stdout
    assert json.loads(told) == ["before the view", "after it"]
