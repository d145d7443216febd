"""Ctrl-C while the program still loads its libraries."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
# As numpy and scipy do it now and then: the interrupt comes out as something else.
SLOW = """
import os, signal, time
try:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(5)
except BaseException as error:
    raise ImportError("a part is missing") from error
"""


@pytest.mark.usefixtures("heeds_ctrl_c")
@pytest.mark.skipif(sys.platform == "win32", reason="signals of another kind")
@pytest.mark.parametrize(
    ("module", "words"),
    [("threadpoolctl", ["batch"]), ("tqdm", ["apply"]), ("numpy", ["segment"]), ("PySide6", [])],
)
def test_ctrl_c_during_the_imports_is_one_line(tmp_path, module, words):
    (tmp_path / f"{module}.py").write_text(SLOW)
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)]),
        "QT_QPA_PLATFORM": "offscreen",
    }
    done = subprocess.run(
        [sys.executable, "-m", "segapp", *words],
        capture_output=True,
        text=True,
        env=environment,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 130
    assert done.stderr == "segapp: stopped\n"
    assert done.stdout == ""


def test_the_program_itself_loads_little_before_it_listens():
    """What is loaded before ``main`` can still be interrupted with a traceback."""
    code = (
        "import sys; before = set(sys.modules); import segapp.__main__;"
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    )
    heavy = {"argparse", "json", "logging", "importlib.metadata", "numpy", "typing", "pathlib"}
    assert not heavy & set(done.stdout.split())
