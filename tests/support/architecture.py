"""Rules about who imports whom, checked on the sources without importing them.

A *package* is a directory below `indextables`, or a single module at the top of it. Its public API is what its
`__init__` names.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = "indextables"

LAYERS: tuple[tuple[str, ...], ...] = (
    ("__main__",),
    ("cli",),
    ("ui",),
    ("demo",),
    ("spark",),
    ("streams",),
    ("table",),
    ("table.handle",),
    ("table.answers",),
    ("table.history",),
    ("table.writes",),
    ("table.scans",),
    ("table.grouping",),
    ("table.arguments",),
    ("maintenance",),
    ("log",),
    ("log.commits",),
    ("log.cleanup",),
    ("log.changes",),
    ("log.diffs",),
    ("log.snapshots",),
    ("log.versions",),
    ("log.actions",),
    ("split",),
    ("columns",),
    ("state",),
    ("rows",),
    ("stats",),
    ("predicates",),
    ("schema",),
    ("avro",),
    ("storage",),
    ("runtime",),
    ("progress", "notebook"),
    ("config",),
    ("errors",),
)
"""The packages from top to bottom. A package imports packages of lower layers only; its own subpackages share its layer
unless they are named here."""


PROCESS_STATE = ("indextables.config.settings._warned",)
"""State of a process outside of the runtime, each with its reason where it stands."""

WIDE = 6
MOST_POSITIONAL = 2
"""A call of a dataclass of `WIDE` fields or more passes at most so many of them without their names."""

_CONTAINERS = (
    "dict",
    "list",
    "set",
    "deque",
    "defaultdict",
    "OrderedDict",
    "Counter",
    "Lock",
    "RLock",
    "local",
)


@dataclass(frozen=True)
class Import:
    """One import of a name of this project: `name` is None where a whole module is imported."""

    importer: str
    line: int
    module: str
    name: str | None

    def __str__(self) -> str:
        return f"{self.importer}:{self.line} imports {self.name or 'the module'} from {self.module}"


def sources(directory: Path) -> dict[str, str]:
    """Return the text of every module below `directory`, the root package's, by its dotted name.

    A package stands under its own name, for its `__init__`.
    """
    modules = {}
    for file in sorted(directory.rglob("*.py")):
        parts = (ROOT, *file.relative_to(directory).with_suffix("").parts)
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file.read_text()
    return modules


def violations(modules: Mapping[str, str]) -> list[str]:
    """Return a line for each breach of a rule in these modules."""
    packages = {name.rpartition(".")[0] for name in modules} - {""}
    imports = [found for name, text in modules.items() for found in _imports(name, text, modules)]
    return [
        *_unknown_packages(modules, packages),
        *(f"upwards: {found}" for found in imports if _is_upward(found, modules, packages)),
        *(f"around the public API: {found}" for found in imports if _goes_around(found, modules, packages)),
        *(f"private: {found}" for found in imports if _is_private(found, modules, packages)),
        *_shadows(modules, packages),
        *(state for name, text in modules.items() for state in _process_state(name, text)),
        *_wide_calls(modules),
    ]


@cache
def _import_nodes(text: str) -> tuple[ast.Import | ast.ImportFrom, ...]:
    tree = _without_type_checking(ast.parse(text))
    return tuple(node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom))


@cache
def _parse(text: str) -> ast.Module:
    return ast.parse(text)


def names_of(file: Path) -> set[str]:
    """Return the names that a Python module defines or imports, with those of its classes. None for another file."""
    return set(_bound(_parse(file.read_text()).body)) if file.suffix == ".py" else set()


def _bound(body: Iterable[ast.stmt]) -> Iterator[str]:
    for node in body:
        match node:
            case ast.Import() | ast.ImportFrom():
                yield from ((alias.asname or alias.name).partition(".")[0] for alias in node.names)
            case ast.FunctionDef(name=name):
                yield name
            case ast.ClassDef(name=name):
                yield name
                yield from _bound(node.body)
            case ast.Assign(targets=targets):
                yield from (target.id for target in targets if isinstance(target, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case ast.If() | ast.Try():
                yield from _bound([*node.body, *node.orelse])


def _imports(importer: str, text: str, modules: Mapping[str, str]) -> Iterator[Import]:
    for node in _import_nodes(text):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == ROOT:
            for alias in node.names:
                module = f"{node.module}.{alias.name}"
                if module in modules:  # `from indextables.log import commits`: a module, not a name
                    yield Import(importer, node.lineno, module, None)
                else:
                    yield Import(importer, node.lineno, node.module, alias.name)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == ROOT:
                    yield Import(importer, node.lineno, alias.name, None)


def _without_type_checking(tree: ast.Module) -> ast.Module:
    """Leave out what only a type checker sees: it cannot be part of a cycle at run time."""

    class Pruning(ast.NodeTransformer):
        def visit_If(self, node: ast.If) -> ast.AST | None:
            is_guard = isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
            return None if is_guard else self.generic_visit(node)

    return Pruning().visit(tree)


def _package_of(module: str, modules: Mapping[str, str], packages: set[str]) -> str:
    """Return the package that owns a module: itself if it is one, or a single module at the top."""
    if module in packages or module.count(".") == 1:
        return module
    return module.rpartition(".")[0]


def _layer(package: str) -> int | None:
    """Return the layer of a package, that of the nearest ancestor which has one; None for the root."""
    name = package.removeprefix(f"{ROOT}.")
    while name and name != ROOT:
        for number, layer in enumerate(LAYERS):
            if name in layer:
                return number
        name = name.rpartition(".")[0]
    return None


def _is_ancestor(package: str, other: str) -> bool:
    return other == package or other.startswith(f"{package}.")


def _is_upward(found: Import, modules: Mapping[str, str], packages: set[str]) -> bool:
    mine, theirs = (_package_of(name, modules, packages) for name in (found.importer, found.module))
    if found.importer == ROOT or mine == theirs:
        return False
    if theirs == ROOT:
        return True  # the root re-exports everything, so nothing below may ask it
    my_layer, their_layer = _layer(mine), _layer(theirs)
    if my_layer is None or their_layer is None:
        return False  # reported by _unknown_packages
    if my_layer != their_layer:
        return their_layer < my_layer
    same_tree = mine.split(".")[1] == theirs.split(".")[1]
    return not same_tree


def _goes_around(found: Import, modules: Mapping[str, str], packages: set[str]) -> bool:
    mine, theirs = (_package_of(name, modules, packages) for name in (found.importer, found.module))
    if mine == theirs or found.module == theirs:
        return False
    if found.name is None and found.module.rpartition(".")[2] in _exports(modules.get(theirs, "")):
        return False  # a module that is itself part of the public API, such as the table of settings
    return not _is_ancestor(theirs, mine)  # a subpackage may use the modules of the package that it is in


def _exports(text: str) -> list[str]:
    """Return the names in a module's `__all__`."""
    for node in _parse(text).body:
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["__all__"]:
            return [str(name) for name in ast.literal_eval(node.value)]
    return []


def _is_private(found: Import, modules: Mapping[str, str], packages: set[str]) -> bool:
    mine, theirs = (_package_of(name, modules, packages) for name in (found.importer, found.module))
    last = found.name or found.module.rpartition(".")[2]
    is_private = last.startswith("_") and not last.startswith("__")
    return is_private and mine != theirs


def _unknown_packages(modules: Mapping[str, str], packages: set[str]) -> Iterator[str]:
    for package in sorted({_package_of(name, modules, packages) for name in modules} - {ROOT}):
        if _layer(package) is None:
            yield f"without a layer: {package}"


def _shadows(modules: Mapping[str, str], packages: set[str]) -> Iterator[str]:
    """Name what a package's `__init__` binds, other than the module, under the name of one of its modules."""
    for package in sorted(packages & modules.keys()):
        for node in _parse(modules[package]).body:
            if isinstance(node, ast.ImportFrom):
                bound = [
                    alias.asname or alias.name
                    for alias in node.names
                    if f"{node.module}.{alias.name}" not in modules
                ]
            elif isinstance(node, ast.FunctionDef | ast.ClassDef):
                bound = [node.name]
            else:
                continue
            for name in bound:
                if f"{package}.{name}" in modules:
                    yield f"shadowed: {package}.{name} is a module and a name of {package}"


def _process_state(module: str, text: str) -> Iterator[str]:
    """Name what a module keeps between calls: containers that begin empty, locks, and names that functions rebind."""
    if module.startswith(f"{ROOT}.runtime"):
        return
    for node in _parse(text).body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if isinstance(target, ast.Name) and _begins_empty(getattr(node, "value", None)):
            name = f"{module}.{target.id}"
            if name not in PROCESS_STATE:
                yield f"process state outside of the runtime: {name}"
    for rebound in ast.walk(_parse(text)):
        if isinstance(rebound, ast.Global):
            yield f"process state outside of the runtime: {module} rebinds {', '.join(rebound.names)}"


def _wide_calls(modules: Mapping[str, str]) -> Iterator[str]:
    """Name the calls that build a dataclass of many fields from values without their names."""
    widths = {name: dict(_dataclass_widths(text)) for name, text in modules.items()}
    definitions = Counter(cls for classes in widths.values() for cls in classes)
    shared = {cls: n for classes in widths.values() for cls, n in classes.items() if definitions[cls] == 1}
    for module, text in modules.items():
        wide = {cls for cls, n in (shared | widths[module]).items() if n >= WIDE}
        for call, name in _calls(_parse(text)):
            is_wide = len(call.args) > MOST_POSITIONAL or any(
                isinstance(arg, ast.Starred) for arg in call.args
            )
            if name in wide and is_wide:
                yield f"by position: {module}:{call.lineno} calls {name}, which has {WIDE} fields or more"


def _dataclass_widths(text: str) -> Iterator[tuple[str, int]]:
    """Yield the dataclasses of a module, each with the number of its public fields."""
    for node in ast.walk(_parse(text)):
        if isinstance(node, ast.ClassDef) and any(
            "dataclass" in ast.unparse(each) for each in node.decorator_list
        ):
            fields = [each for each in node.body if isinstance(each, ast.AnnAssign)]
            yield (
                node.name,
                sum(
                    "ClassVar" not in ast.unparse(each.annotation)
                    and not ast.unparse(each.target).startswith("_")
                    for each in fields
                ),
            )


def _calls(node: ast.AST, owner: str = "") -> Iterator[tuple[ast.Call, str]]:
    """Yield the calls in functions, each with the name of what is called: `cls` is the class around it.

    A table that is written out at the top of a module is read by its columns.
    """
    for child in ast.iter_child_nodes(node):
        if isinstance(node, ast.Module) and isinstance(child, ast.Assign | ast.AnnAssign):
            continue
        if isinstance(child, ast.Call):
            name = ast.unparse(child.func).rpartition(".")[2]
            yield child, owner if name == "cls" else name
        yield from _calls(child, child.name if isinstance(child, ast.ClassDef) else owner)


def _begins_empty(value: ast.expr | None) -> bool:
    if isinstance(value, ast.Dict):
        return not value.keys
    if isinstance(value, ast.List | ast.Set):
        return not value.elts
    return (
        isinstance(value, ast.Call)
        and ast.unparse(value.func).rpartition(".")[2] in _CONTAINERS
        and not value.args
    )
