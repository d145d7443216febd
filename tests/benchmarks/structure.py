"""Size, names and call depth of the source tree, and of an earlier one beside it.

    python tests/benchmarks/structure.py [TREE] [--against TREE] [--hits] [--static]

Files and functions per stroke are those of ``segapp`` and ``shlcore`` that run from the press of
the mouse for a picture's second stroke to its answer on the screen, in all threads; lambdas and
comprehensions count as functions. They are counted with the help of ``speed_case.py`` and
``speed_window.py`` of the tree in question, so that any version can be measured.
"""

import argparse
import ast
import json
import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("segapp", "shlcore")
MEGAPIXELS = 0.02
DELAYED = 500  # milliseconds: timers from this length on, as that of the saving, do not count
LONGEST_FIRST_LINE = 80
CLAUSE = re.compile(r"(What|Which|Where|How|That|Whoever)\b")
DIALECT = re.compile(
    r"\b(somebody|nobody|whoever|anybody|no one|at which is|is learnt at)\b", re.IGNORECASE
)
# Names of modules that were participles, and said nothing about what is in them.
PARTICIPLES = {
    *("staying", "keeping", "seeing", "overlaid", "examined", "narrowed", "shortened", "enlarged"),
    *("enlarging", "dividing", "checked", "showing", "encoding", "running", "fitting", "wiring"),
    *("pasting", "enabling", "copying", "wording", "drawing", "gathering", "fitted"),
}


@dataclass(frozen=True)
class Module:
    """One file of a package; ``path`` is relative to the tree."""

    path: str
    text: str

    @cached_property
    def tree(self):
        return ast.parse(self.text)

    @cached_property
    def nodes(self):
        return list(ast.walk(self.tree))

    @property
    def n_lines(self):
        return len(self.text.splitlines())

    @property
    def n_import_lines(self):
        return sum(
            node.end_lineno - node.lineno + 1
            for node in self.nodes
            if isinstance(node, ast.Import | ast.ImportFrom)
        )

    @property
    def public_names(self):
        """Classes and functions of the module without a leading underscore."""
        kinds = ast.ClassDef | ast.FunctionDef
        return [
            n.name for n in self.tree.body if isinstance(n, kinds) and not n.name.startswith("_")
        ]

    @property
    def class_names(self):
        return [node.name for node in self.nodes if isinstance(node, ast.ClassDef)]

    def functions(self):
        """Yield length, name and line of each function."""
        for node in self.nodes:
            if isinstance(node, ast.FunctionDef):
                yield node.end_lineno - node.lineno + 1, node.name, f"{self.path}:{node.lineno}"

    def docstrings(self):
        """Yield the line and the text of each docstring."""
        kinds = ast.Module | ast.ClassDef | ast.FunctionDef
        for node in self.nodes:
            if isinstance(node, kinds) and (text := ast.get_docstring(node)):
                yield node.body[0].lineno, text

    def word_hits(self):
        """Yield violations of the rules of words: ``path:line: reason``."""
        for line, text in self.docstrings():
            first = text.splitlines()[0]
            if CLAUSE.match(first):
                yield f"{self.path}:{line}: begins with a relative clause: {first}"
            if len(first) > LONGEST_FIRST_LINE:
                yield f"{self.path}:{line}: first line of {len(first)} characters: {first}"
        for number, line in enumerate(self.text.splitlines(), 1):
            for match in DIALECT.finditer(line):
                yield f"{self.path}:{number}: {match.group().lower()!r}: {line.strip()}"
        if Path(self.path).stem in PARTICIPLES:
            yield f"{self.path}:1: a participle for a name"


def modules_of(package, root=ROOT):
    """Return all modules of a package, in the order of their paths."""
    return [
        Module(path.relative_to(root).as_posix(), path.read_text(encoding="utf-8"))
        for path in sorted((root / package).rglob("*.py"))
    ]


def duplicate_classes(modules):
    """Return the names of classes that are defined more than once."""
    counts = Counter(name for module in modules for name in module.class_names)
    return sorted(name for name, count in counts.items() if count > 1)


def static_rows(root):
    """Count what the source says, as ``{row: value}``."""
    rows = {}
    for package in PACKAGES:
        modules = modules_of(package, root)
        inner = [module for module in modules if not module.path.endswith("__init__.py")]
        rows |= {
            f"{package}: files": len(modules),
            f"{package}: lines": sum(module.n_lines for module in modules),
            f"{package}: files with at most one public name": sum(
                len(module.public_names) <= 1 for module in modules
            ),
            f"{package}: files of at most 60 lines (without `__init__`)": sum(
                module.n_lines <= 60 for module in inner
            ),
            f"{package}: lines of imports": sum(module.n_import_lines for module in modules),
            f"{package}: duplicate class names": len(duplicate_classes(modules)),
            f"{package}: hits of the word list": sum(
                len(list(module.word_hits())) for module in modules
            ),
        }
        longest = sorted((f for module in modules for f in module.functions()), reverse=True)[:3]
        rows[f"{package}: longest functions"] = ", ".join(
            f"`{name}` {length}" for length, name, _ in longest
        )
    return rows


def stroke_rows(root):
    """Count the files and functions that run for a second stroke."""
    rows = {}
    for way, title in (("trainer", "trainer alone"), ("window", "in the window")):
        environment = os.environ | {
            "PYTHONPATH": str(root),
            "QT_QPA_PLATFORM": "offscreen",
            "OMP_NUM_THREADS": "1",
        }
        command = [sys.executable, __file__, str(root), "--count", way]
        done = subprocess.run(
            command, env=environment, cwd=root, capture_output=True, text=True, check=False
        )
        if done.returncode:
            print(done.stderr[-2000:], file=sys.stderr)
        found = json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else {}
        for what in ("files", "functions"):
            rows[f"{what} per stroke, {title}"] = found.get(what, "failed")
    return rows


class CallRecorder:
    """Recorder of the functions of a tree that are called, in any thread."""

    def __init__(self, root):
        self._folders = tuple(f"{root / package}{os.sep}" for package in PACKAGES)
        self._codes = set()
        self.active = False

    def install(self):
        import threading

        threading.setprofile(self._record)
        sys.setprofile(self._record)

    def _record(self, frame, event, _argument):
        if self.active and event == "call" and frame.f_code.co_filename.startswith(self._folders):
            self._codes.add(frame.f_code)

    def counts(self):
        return {
            "files": len({code.co_filename for code in self._codes}),
            "functions": len(self._codes),
        }


def count_stroke(root, way):
    """Run two strokes, one after the other, and print what ran for the second."""
    recorder = CallRecorder(root)
    recorder.install()  # before any thread is started
    sys.path[0] = str(root / "tests" / "benchmarks")  # of that tree, instead of this one's
    import speed_pictures

    documents = speed_pictures.documents

    def one_by_one(*arguments, **options):
        from dataclasses import replace

        _, document = next(iter(documents(*arguments, **options)))
        yield "first", replace(document, strokes=document.strokes[:1])
        recorder.active = True
        yield "second", document
        recorder.active = False

    if way == "trainer":
        import speed_case

        settings = speed_case.PRESETS["best"]
        trainer = speed_case.Trainer(speed_pictures.picture(MEGAPIXELS))
        trainer.prepare(settings)
        for _, document in one_by_one(MEGAPIXELS):
            for _ in trainer.updates(document, settings):
                pass
    else:
        from PySide6.QtCore import QTimer

        speed_pictures.documents = one_by_one
        import speed_window

        spend, start = speed_window.Watch.while_, QTimer.start

        def until_answered(watch, place, work):
            recorder.active = recorder.active and place != "afterwards"
            spend(watch, place, work)

        def start_unless_delayed(timer, *milliseconds):
            if (sum(milliseconds) or timer.interval()) < DELAYED:
                start(timer, *milliseconds)

        speed_window.Watch.while_, QTimer.start = until_answered, start_unless_delayed
        speed_window.pauses(MEGAPIXELS, 1, "coffee")
    print(json.dumps(recorder.counts()), flush=True)
    os._exit(0)  # the window's threads need no farewell


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tree", type=Path, nargs="?", default=ROOT)
    parser.add_argument("--against", metavar="TREE", type=Path, help="an earlier tree")
    parser.add_argument("--hits", action="store_true", help="list the hits of the word list")
    parser.add_argument("--static", action="store_true", help="count nothing that has to run")
    parser.add_argument("--count", choices=("trainer", "window"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    tree = options.tree.resolve()
    if options.count:
        count_stroke(tree, options.count)
    if options.hits:
        for package in PACKAGES:
            modules = modules_of(package, tree)
            print(*(hit for module in modules for hit in module.word_hits()), sep="\n")
            print(
                *(f"{package}: class {name} twice" for name in duplicate_classes(modules)),
                sep="\n",
            )
        return
    trees = [path.resolve() for path in (options.against, tree) if path is not None]
    tables = [static_rows(root) | ({} if options.static else stroke_rows(root)) for root in trees]
    heads = ["before", "after"] if options.against else ["count"]
    print(f"| | {' | '.join(heads)} |\n|---|{'---|' * len(trees)}")
    for row in tables[0]:
        print(f"| {row} | {' | '.join(str(table[row]) for table in tables)} |")


if __name__ == "__main__":
    main()
