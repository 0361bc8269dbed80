from __future__ import annotations

import subprocess
import sys


def test_the_graph_package_does_not_load_onnx():
    code = "import sys, workbench.graph, workbench.graph.seeded_weights; sys.exit('onnx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
