"""Imports on every operating system, and without Qt where no window is wanted."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FILES = sorted(path for name in ("segapp", "shlcore") for path in (ROOT / name).rglob("*.py"))
# Modules of Python's own library that one system lacks.
UNIX = {"fcntl", "grp", "posix", "pty", "pwd", "readline", "resource", "termios", "tty"}
WINDOWS = {"_winapi", "msvcrt", "winreg", "winsound", "nt"}
# Names in modules that all systems have, which some of them lack.
PARTIAL = {
    "os": {"fork", "getuid", "geteuid", "killpg", "sched_getaffinity", "setsid", "uname"},
    "signal": {"SIGALRM", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGUSR1", "alarm", "pause"},
    "time": {"tzset"},
}  # fmt: skip


def at_import(tree):
    """Yield the nodes that run when a module is imported."""
    waiting = list(tree.body)
    while waiting:
        node = waiting.pop()
        guard = ast.unparse(node.test) if isinstance(node, ast.If) else ""
        if "TYPE_CHECKING" in guard or "sys.platform" in guard:
            continue
        if isinstance(node, ast.Try | ast.Lambda):  # an error is caught, or nothing runs yet
            continue
        yield node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            waiting += [*node.decorator_list, *node.args.defaults]
        else:
            waiting += ast.iter_child_nodes(node)


def bound_to_a_system(source):
    found = []
    for node in at_import(ast.parse(source)):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name.split(".")[0] for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module.split(".")[0]]
            partial = PARTIAL.get(node.module, set())
            found += [alias.name for alias in node.names if alias.name in partial]
        elif isinstance(node, ast.Attribute):
            module = ast.unparse(node.value)
            found += [f"{module}.{node.attr}"] * (node.attr in PARTIAL.get(module, ()))
        found += [name for name in names if name in UNIX | WINDOWS]
    return found


def test_no_module_needs_one_system_when_it_is_imported():
    found = {
        path.relative_to(ROOT).as_posix(): names
        for path in FILES
        if (names := bound_to_a_system(path.read_text(encoding="utf-8")))
    }
    assert found == {}


@pytest.mark.parametrize("module", ["shlcore", "segapp", "segapp.__main__", "segapp.cli.batch"])
def test_importing_loads_no_qt(module):
    code = f"import sys, {module}; sys.exit(any(m.startswith('PySide6') for m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_window_paints_before_the_learner_is_loaded():
    code = (
        "import sys, segapp.qt.window.startup\n"
        "heavy = {'sklearn', 'skimage', 'scipy.ndimage', 'scipy.sparse', 'matplotlib'}\n"
        "sys.exit(', '.join(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.stderr.decode().strip() == ""


def test_the_search_finds_what_it_looks_for():
    assert bound_to_a_system("import fcntl") == ["fcntl"]
    assert bound_to_a_system("if x:\n    from pwd import getpwuid") == ["pwd"]
    assert bound_to_a_system("import os\nN = os.getuid()") == ["os.getuid"]
    assert bound_to_a_system("class A:\n    import resource") == ["resource"]
    assert bound_to_a_system("if sys.platform == 'win32':\n    import msvcrt") == []
    assert bound_to_a_system("def f():\n    import fcntl") == []
    assert bound_to_a_system("try:\n    import fcntl\nexcept ImportError: pass") == []


@pytest.mark.slow
def test_all_modules_are_imported_on_a_system_that_calls_itself_windows():
    """Import all as here, to load libraries; then ours again, without what Windows lacks."""
    modules = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in FILES
        if path.name not in ("__main__.py", "__init__.py") and "experiments" not in path.parts
    ]
    script = f"""
import importlib, sys, types
for name in {modules!r}:
    importlib.import_module(name)
for name in [name for name in sys.modules if name.split(".")[0] in ("segapp", "shlcore")]:
    del sys.modules[name]
for name in {sorted(UNIX - {"posix"})!r}:
    sys.modules[name] = None
sys.modules["msvcrt"] = types.ModuleType("msvcrt")
sys.platform = "win32"
for name in {modules!r}:
    importlib.import_module(name)
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"PYTHONPATH": str(ROOT), "QT_QPA_PLATFORM": "offscreen"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
