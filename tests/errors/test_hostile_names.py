"""Names come from models, logs and strangers. In what we write they stay names, whatever they look like."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from contextlib import closing
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from workbench import te
from workbench.codegen.backend import generate_func
from workbench.ir import Func
from workbench.ir.text.parser import parse
from workbench.ir.text.printer import to_text
from workbench.safe_text import escaped, legible, legible_line, python_literal
from workbench.schedule import Schedule
from workbench.widgets.export import made

CODE = '{0}\nopen("pwned", "w").close()\nx = {0}'
HOSTILE = [
    '"""',
    CODE.format('"""'),
    CODE.format('""")') + '("""',
    '"',
    "'''",
    "\\",
    '\\"""',
    "a\\",
    "\\u0022",
    "`\\`",
    "a\nb",
    "a\rb",
    "a\u2028b",
    "\n#",
    "*/ int main(void) { } /*",
    "a\\\nb",
    "??/",
    "#include <x>",
    "</script><script>alert(1)</script>",
    "<!--",
    "<img src=x onerror=alert(1)>",
    "\x1b[31mred\x1b]0;title\x07",
    "\x9b31m",
    "\u202egnp.exe",
    "{x} %s $(touch pwned) `touch pwned`",
    "é1 🙂 名前",
    "for",
    "",
]
#: What no text may hold that a person reads in a terminal.
ORDERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
names = st.lists(st.sampled_from(HOSTILE) | st.characters() | st.text(max_size=3), max_size=4).map("".join)


def named(name: str) -> Func:
    """Function, buffers, a loop, block, axis and a note called so."""
    a = te.placeholder((4, 6), name=f"A{name}")
    k = te.reduce_axis(6, f"k{name}")
    func = te.func(te.compute((4,), lambda i: te.sum(a[i, k], axis=k), name=f"B{name}"), name=name or "f")
    return Schedule(func).annotate("i", name or "key", name).func


def runs_only(script: str) -> str:
    """Text of the function in a script that does nothing but rebuild a schedule; that is what its syntax says."""
    allowed = {"wb", "parse", "s", "print", "target", "found", "__name__", "SystemExit", "Hole"}
    tree = ast.parse(script)
    assert {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)} <= allowed
    parsed = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and ast.unparse(n.func) == "parse"]
    return ast.literal_eval(parsed[0].args[0])


@given(names)
def test_a_printed_nest_keeps_any_name(name):
    func = named(name)
    text = to_text(func)
    assert parse(text) == func
    assert not ORDERS.search(text)


@given(names)
def test_a_script_is_nothing_but_the_rebuild(name):
    func = named(name)
    s = Schedule(func)
    s.split(f"k{name}", [None, 2])
    assert parse(runs_only(s.to_python())) == func


@given(st.text())
def test_a_literal_is_its_text(text):
    assert ast.literal_eval(python_literal(text)) == text
    assert not ORDERS.search(python_literal(text))
    assert "\n" not in escaped(text)


@given(st.text())
def test_legible_text_keeps_what_is_text(text):
    assert not ORDERS.search(legible(text))
    assert not set(legible_line(text)) & set("\n\t\r\x0b\x0c\x85\u2028\u2029")
    ordinary = "".join(c for c in text if c.isprintable())
    assert [c for c in legible(text) if c != "\ufffd" and c.isprintable()] == [c for c in ordinary if c != "\ufffd"]


def test_ordinary_unicode_stays():
    text = "é ü 名前 مرحبا 👩\u200d💻 a\u00a0b\u202fc ≈ µs ×2\n\ttabbed"
    assert legible(text) == text


def test_scripts_run_and_touch_nothing(tmp_path):
    """Every script in one process: each makes the schedule that it was written for, and no file."""
    scripts = []
    for name in HOSTILE:
        func = named(name)
        s = Schedule(func)
        s.split(f"k{name}", [None, 2])
        scripts.append((s.to_python(), to_text(s.func)))
    (tmp_path / "scripts.json").write_text(json.dumps(scripts))
    driver = """if True:
        import json, sys
        from workbench.ir.text.printer import to_text
        for text, nest in json.load(open("scripts.json")):
            space = {"__name__": "script"}
            exec(compile(text.encode(), "script.py", "exec"), space)
            assert to_text(space["s"].func) == nest, text
    """
    done = subprocess.run(
        [sys.executable, "-c", driver], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert os.listdir(tmp_path) == ["scripts.json"]


def exports(name: str) -> dict[str, str]:
    task = replace(wb.Task.of_func(named(name)), name=name)
    with closing(wb.Session(Schedule(task), auto_measure=False)) as session:
        return {what: made(session, {"what": what}).text for what in ("script", "html", "svg", "trace")}


@pytest.fixture(scope="module")
def plain() -> dict[str, str]:
    return exports("plain")


@pytest.mark.parametrize("name", HOSTILE)
def test_what_a_session_exports(name, plain):
    """Script, steps, drawing and page of a schedule whose task, function, loop and buffers are called so."""
    texts = exports(name)
    assert parse(runs_only(texts["script"])) == parse(json.loads(texts["trace"])["func"]) == named(name)
    assert elements(texts["html"]) <= elements(plain["html"]) | {"span []"}  # with the whole of a name that is cut
    assert {e.tag for e in ET.fromstring(texts["svg"]).iter()} <= {e.tag for e in ET.fromstring(plain["svg"]).iter()}
    assert not ORDERS.search(texts["script"] + texts["svg"])


def elements(page: str) -> set[str]:
    """Elements of a page with the names of their attributes; what text says is no matter."""
    found = set()

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attrs):
            found.add(f"{tag} {[a for a, _ in attrs if a != 'title']}")

        def handle_decl(self, decl):
            found.add(decl)

        def handle_comment(self, data):
            found.add("comment")

    Reader().feed(page)
    return found


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("target", ["c", "llvm"])
def test_generated_code(name, target):
    """C and LLVM text is the same for any name but for names: no line comes, goes or says something else."""
    assert shapes(code(named(name), target)) == shapes(code(named("plain"), target))


def code(func: Func, target: str) -> str:
    return generate_func(func, wb.Target(target, threads=1)).source


def shapes(text: str) -> list[str]:
    """Lines without names and comments: their punctuation."""
    return re.sub(r"[\w.]+", "x", re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)).splitlines()
