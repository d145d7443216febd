"""Run the lines of the README on a Debian or Ubuntu that has nothing.

    sudo python tests/bare_machine.py trixie                run the program, then its tests
    sudo python tests/bare_machine.py noble --line program
    sudo python tests/bare_machine.py bookworm --keep roots

A bare root is made by debootstrap (``apt install debootstrap xvfb xdotool``), and this checkout is
copied there. The program is taken to run when its window is on a screen of its own.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
UBUNTU = ("jammy", "noble")
LINES = {"program": ".venv/bin/segapp", "tests": "-m pytest"}
HOME = "root/segapp"  # of the checkout, in the new root
_PATIENCE = 3600  # seconds, most of them to fetch packages
_MOUNTS = """
set -e
mount -t proc proc "$0/proc"
mount --rbind /dev "$0/dev"
mkdir -p "$0/tmp/.X11-unix"
mount --bind /tmp/.X11-unix "$0/tmp/.X11-unix"
exec chroot "$0" sh -c "cd /{home} && $1"
"""


def readme_line(end: str) -> str:
    """Return the line of the README that ends so."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    lines = re.findall(r"^```sh\n(.+)\n```$", text, re.MULTILINE)
    (found,) = (line for line in lines if end in line.rsplit("&&", 1)[1])
    return found


def make_root(suite: str, place: Path, extra: list[Path]) -> Path:
    """Return a bare root with this checkout in it."""
    root = place / suite
    if not (root / "bin").exists():
        words = ["debootstrap", "--variant=minbase"]
        if suite in UBUNTU:
            words += ["--no-check-gpg", "--components=main,universe", suite, str(root)]
            words += ["http://archive.ubuntu.com/ubuntu", "/usr/share/debootstrap/scripts/gutsy"]
        else:
            words += [suite, str(root)]
        subprocess.run(words, check=True)
    for path in extra:
        target = root / path.relative_to("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            shutil.rmtree(target, ignore_errors=True)  # links there lead out of the root
            shutil.copytree(path, target)
        else:
            shutil.copy(path, target)
    checkout = root / HOME
    shutil.rmtree(checkout, ignore_errors=True)
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    for name in filter(None, listed.split("\0")):
        target = checkout / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target)
    return root


def start(root: Path, line: str, display: str) -> subprocess.Popen[bytes]:
    """Start a line in a root, with mounts that end with it."""
    kept = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_"))}
    home = {"HOME": "/root", "LANG": "C.UTF-8", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
    environment = kept | home | {"DISPLAY": display, "DEBIAN_FRONTEND": "noninteractive"}
    mounts = _MOUNTS.replace("{home}", HOME)
    return subprocess.Popen(
        ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", mounts, root, line],
        env=environment,
    )


@contextmanager
def screen() -> Iterator[str]:
    """Start an X server and give its display."""
    reading, writing = os.pipe()
    words = ["Xvfb", "-displayfd", str(writing), "-screen", "0", "1280x800x24"]
    server = subprocess.Popen(words, pass_fds=[writing], stderr=subprocess.DEVNULL)
    os.close(writing)
    with os.fdopen(reading) as numbers:
        display = f":{numbers.readline().strip()}"
    try:
        yield display
    finally:
        server.terminate()
        server.wait()


def program_runs(root: Path, display: str) -> bool:
    """Tell whether the program's window comes up, and close it."""
    begun = start(root, readme_line(LINES["program"]), display)
    search = ["xdotool", "search", "--onlyvisible", "--name", "coffee.jpg"]
    end = time.monotonic() + _PATIENCE
    try:
        while begun.poll() is None and time.monotonic() < end:
            found = subprocess.run(
                search, env=os.environ | {"DISPLAY": display}, capture_output=True, check=False
            )
            if found.stdout:
                return True
            time.sleep(1)
        return False
    finally:
        begun.kill()  # with its children; what forks and waits does not heed SIGTERM
        begun.wait()


def tests_pass(root: Path, display: str) -> bool:
    """Tell whether the line with the tests succeeds."""
    return start(root, readme_line(LINES["tests"]), display).wait(4 * _PATIENCE) == 0


def main() -> int:
    """Run the lines and print a row for each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("suites", nargs="+", help="bookworm, trixie, noble …")
    parser.add_argument("--line", choices=LINES, help="one line only (default: both)")
    parser.add_argument("--keep", type=Path, help="folder for the roots, kept for another run")
    parser.add_argument(
        "--copy",
        type=Path,
        action="append",
        default=[],
        help="a file of this machine to take along",
    )
    options = parser.parse_args()
    checks = {"program": program_runs, "tests": tests_pass}
    rows = []
    with tempfile.TemporaryDirectory() as spare, screen() as display:
        for suite in options.suites:
            root = make_root(suite, (options.keep or Path(spare)).resolve(), options.copy)
            for name in [options.line] if options.line else LINES:
                rows.append((suite, name, checks[name](root, display)))
    for suite, name, passed in rows:
        print(f"{suite}: {name} {'runs' if passed else 'FAILS'}")
    return int(not all(passed for _, _, passed in rows))


if __name__ == "__main__":
    sys.exit(main())
