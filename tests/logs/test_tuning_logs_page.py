"""What the page about logs says of the sample logs is what the functions say."""

import re
from pathlib import Path

import workbench as wb
from workbench.labs import sample_log
from workbench.logs import analysis

PAGE = Path(__file__).parents[2] / "docs" / "tuning-logs.md"


def test_the_findings_on_the_page():
    names = {f"a{n}": wb.logs.open(sample_log(f"convolution-A{n}.json.gz")) for n in (100, 4000)}
    said = re.findall(r"^(analysis\.\w+\(.*\)|a100\..*|len\(.*)\n# (.*)$", PAGE.read_text(encoding="utf-8"), re.M)
    for call, text in said:
        found = eval(call, {"analysis": analysis, **names})  # the page is ours
        finding = getattr(found, "attrs", {}).get("finding", str(found))
        assert finding.startswith(text.removesuffix("…")), call
    shown = {call.split("(")[0].removeprefix("analysis.") for call, _ in said}
    asked = {name for name in analysis.__all__ if not name.endswith("_figure")}
    assert asked - shown == {"winners", "most_portable", "untried"}, "an example of each but the variants of another"
