"""What must not be loaded is not loaded."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["shlcore", "segapp.__main__", "segapp.cli.batch"])
def test_importing_loads_no_qt(module):
    code = f"import sys, {module}; sys.exit(any(m.startswith('PySide6') for m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
