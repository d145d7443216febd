"""Reading maps: which files a Markdown text links, and which names it tells of them."""

import ast
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_NAMES = r"(?:`[^`\n]+`(?:,\s+(?:and\s+)?|\s+and\s+)?)+"
_FILE = r"\[[^\]]+\]\(([\w./]+\.py)\)"


@cache
def names_in(path):
    """All classes, functions, methods, fields and constants that a module defines or uses."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            found.add(node.name)
            if isinstance(node, ast.ClassDef):
                found |= {f"{node.name}.{name}" for name in _members(node)}
            else:
                found |= {a.arg for a in (*node.args.args, *node.args.kwonlyargs)}
        elif isinstance(node, ast.Name | ast.Attribute):
            found.add(node.id if isinstance(node, ast.Name) else node.attr)
    return frozenset(found)


def _members(node):
    for part in node.body:
        if isinstance(part, ast.FunctionDef):
            yield part.name
        elif isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
            yield part.target.id
        elif isinstance(part, ast.Assign):
            yield from (target.id for target in part.targets if isinstance(target, ast.Name))


@cache
def definitions_in(path):
    """Only what a module defines itself, so that an import does not count."""
    found = set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                found |= {part.id for part in ast.walk(target) if isinstance(part, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{name}" for name in _members(node)}
            found |= set(_members(node))
    return frozenset(found)


@dataclass(frozen=True)
class Map:
    """A Markdown file that names files and what is in them."""

    path: Path

    @property
    def text(self):
        return self.path.read_text(encoding="utf-8")

    @property
    def links(self):
        """Relative links, without those to headings and to other sites."""
        found = set(re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", self.text))
        return sorted(link for link in found if "://" not in link)

    def missing_links(self):
        return [link for link in self.links if not (self.path.parent / link).exists()]

    @property
    def headings(self):
        return {
            re.sub(r"[^\w\- ]", "", line.lstrip("# ").lower()).strip().replace(" ", "-")
            for line in self.text.splitlines()
            if line.startswith("#")
        }

    def missing_headings(self):
        """Return the headings that are linked and do not exist, in this file or in another."""
        return {
            heading
            for file, heading in re.findall(r"\]\(([^)#\s:]*)#([^)]+)\)", self.text)
            if heading not in Map(self.path.parent / file if file else self.path).headings
        }

    def named(self):
        """Yield ``(file, names)`` wherever names stand straight before or behind a link."""
        after = re.findall(rf"{_FILE}\s+({_NAMES})(?=\s*[|.;\n])", self.text)
        before = [
            (file, names)
            for names, file in re.findall(
                rf"({_NAMES})(?:\s+in\s+|,?\s*\(|[^`()|]{{0,40}}\s\(){_FILE}", self.text
            )
        ]
        for file, names in (*after, *before):
            yield file, set(re.findall(r"`([^`]+)`", names))

    def wrong_names(self):
        """Return what is said to be in a file and is not."""
        return {
            (file, name)
            for file, names in self.named()
            for name in names
            if re.fullmatch(r"[A-Za-z_][\w.]*", name)
            and name not in definitions_in((self.path.parent / file).resolve())
        }

    def unlinked(self, folder):
        """Return the modules of a folder, and below it, that no link leads to."""
        linked = {(self.path.parent / link).resolve() for link in self.links}
        return sorted(
            path.relative_to(folder).as_posix()
            for path in folder.rglob("*.py")
            if path.name != "__init__.py" and path.resolve() not in linked
        )
