"""What the house rules look at: the modules of a package as text and as trees."""

import ast
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parents[1]
MOST_LINES, MOST_METHODS = 300, 20


@dataclass(frozen=True)
class Module:
    """One file of a package; ``name`` is its path within the package."""

    name: str
    text: str

    @cached_property
    def tree(self):
        return ast.parse(self.text)

    def imported(self):
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield node.module or ""

    def uses_of(self, name):
        """Yield the lines in which a bare name is used."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Name) and node.id == name:
                yield node.lineno

    def excused(self, rule):
        """Yield the functions whose definition is excused from a rule of ruff."""
        lines = self.text.splitlines()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef):
                head = lines[node.lineno - 1 : node.body[0].lineno]
                if any("noqa" in line and rule in line for line in head):
                    yield node.name

    def too_large(self):
        """Yield what is longer than it should be, in words."""
        count = len(self.text.splitlines())
        if count > MOST_LINES:
            yield f"{self.name} has {count} lines"
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ClassDef):
                methods = sum(isinstance(part, ast.FunctionDef) for part in node.body)
                if methods > MOST_METHODS:
                    yield f"{node.name} in {self.name} has {methods} methods"


def modules_of(package):
    """Return all modules of a package, in the order of their names."""
    folder = ROOT / package
    return [
        Module(path.relative_to(folder).as_posix(), path.read_text(encoding="utf-8"))
        for path in sorted(folder.rglob("*.py"))
    ]
