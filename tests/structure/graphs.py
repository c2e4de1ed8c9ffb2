"""Reads which file of the repository uses which: includes, calls between C files, Python imports.

An edge goes from a file to one that it uses and holds the kind of use, so that a message can say
why it is there. A C source uses the headers that it includes and the sources whose symbols it links
with; a header uses the headers that it includes.
"""

import ast
import collections
import pathlib
import re
import subprocess

C_SUFFIXES = (".c", ".h", ".def", ".cpp", ".hpp")
INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<(pyrometer/[^>]+)>)', re.MULTILINE)
# A function or a variable that other files see, as the style writes them: from the first column.
DEFINITION = re.compile(
    r"^(?!static|typedef|extern|#|//|/\*|\}| )[\w *]*?\b(\w+)(?:\([^;{]*\)\n\{|(?:\[\w*\])* = )",
    re.MULTILINE,
)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
WORD = re.compile(r"\b[A-Za-z_]\w*\b")


def files_below(root, folders, suffixes):
    """Paths relative to root, sorted."""
    found = []
    for folder in folders:
        for path in (root / folder).rglob("*"):
            if path.suffix in suffixes and path.is_file() and "__pycache__" not in path.parts:
                found.append(path.relative_to(root))
    return sorted(found)


def include_edges(root, files, include_folders):
    known = set(files)
    for path in files:
        text = (root / path).read_text()
        for quoted, public in INCLUDE.findall(text):
            candidates = [pathlib.Path(folder) / (quoted or public) for folder in include_folders]
            if quoted:
                candidates.insert(0, path.parent / quoted)
            for candidate in candidates:
                candidate = pathlib.Path(*_normal(candidate.parts))
                if candidate in known:
                    yield path, candidate, "includes"
                    break


def _normal(parts):
    result = []
    for part in parts:
        if part == "..":
            result.pop()
        elif part != ".":
            result.append(part)
    return result


def objects_of(build):
    """The object files of a build folder of CMake, by the source's path in the repository."""
    found = {}
    for folder in (build / "CMakeFiles").glob("*.dir"):
        for obj in folder.rglob("*.c.o"):
            found[obj.relative_to(folder).with_suffix("")] = obj
    return found


def symbols_of_objects(objects, nm="nm"):
    """For each object file: the names it defines for others, and those it uses."""
    symbols = {str(obj): (set(), set()) for obj in objects}
    if not objects:
        return symbols
    listing = subprocess.run(
        [nm, "--extern-only", "--format=posix", "--print-file-name", *symbols],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    for line in listing.splitlines():
        obj, name, kind = line.split()[:3]
        defined, used = symbols[obj.rstrip(":")]
        (used if kind in "Uwv" else defined).add(name)
    return symbols


def symbols_of_text(text):
    """The same from a source's text, if this build does not compile it."""
    code = COMMENT.sub("", text)
    return set(DEFINITION.findall(code)), set(WORD.findall(code))


def call_edges(root, build, sources):
    """Edges between sources by linking: from the user of a symbol to its definition."""
    built = objects_of(build)
    objects = {path: built.get(path) for path in sources}
    compiled = symbols_of_objects([obj for obj in objects.values() if obj])
    symbols = {
        path: compiled[str(obj)] if obj else symbols_of_text((root / path).read_text())
        for path, obj in objects.items()
    }
    homes = {}
    for path, (defined, _) in symbols.items():
        for name in defined:
            # Each program may have a main; the topmost folder distinguishes
            # the programs of the repository.
            homes.setdefault(name, []).append(path)
    for path, (defined, used) in symbols.items():
        for name in sorted(used - defined):
            for home in homes.get(name, ()):
                if len(homes[name]) == 1 or home.parts[0] == path.parts[0]:
                    yield path, home, f"calls {name} of"


def import_edges(root, files, package_folders):
    """Edges between Python files, including imports inside functions, without type-only imports.

    Files ending in .pyi stand for extensions, which import nothing.
    """
    known = set(files)
    for path in files:
        tree = ast.parse((root / path).read_text())
        for node in _runtime_nodes(tree):
            for target in _import_targets(node, path, package_folders):
                found = _find_module(target, known)
                if found and found != path and found.suffix == ".py":
                    yield path, found, "imports"


def _runtime_nodes(tree):
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        yield node
        yield from _runtime_nodes(node)


def _import_targets(node, path, package_folders):
    """Paths without suffix that an import may refer to, most exact first."""
    if isinstance(node, ast.Import):
        for name in node.names:
            for folder in package_folders:
                yield [pathlib.Path(folder, *name.name.split("."))]
    elif isinstance(node, ast.ImportFrom):
        parts = node.module.split(".") if node.module else []
        if node.level:
            bases = [path.parents[node.level - 1]]
        else:
            bases = [pathlib.Path(folder) for folder in package_folders]
        for base in bases:
            for name in node.names:
                yield [base.joinpath(*parts, name.name), base.joinpath(*parts)]


def _find_module(candidates, known):
    for place in candidates:
        beside = [place.with_name(place.name + suffix) for suffix in (".py", ".pyi")]
        for path in (*beside, place / "__init__.py"):
            if path in known:
                return path
    return None


class Graph:
    """Files, the files that each uses, and one reason per edge."""

    def __init__(self):
        self.uses = collections.defaultdict(set)
        self.reasons = {}

    def add(self, source, target, kind):
        start, end = str(source), str(target)
        if start == end:
            return
        self.uses[start].add(end)
        self.uses[end]
        self.reasons.setdefault((start, end), f"{start} {kind} {end}")

    def cycles(self):
        """Groups of two or more files that can all reach each other, sorted."""
        return sorted(sorted(part) for part in strong_components(self.uses) if len(part) > 1)


def strong_components(uses):
    """Tarjan's algorithm, without recursion."""
    index, low, on_stack, stack, parts = {}, {}, set(), [], []
    for start in sorted(uses):
        if start in index:
            continue
        work = [(start, iter(sorted(uses[start])))]
        index[start] = low[start] = len(index)
        stack.append(start)
        on_stack.add(start)
        while work:
            node, rest = work[-1]
            for other in rest:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    on_stack.add(other)
                    work.append((other, iter(sorted(uses[other]))))
                    break
                if other in on_stack:
                    low[node] = min(low[node], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    part = set()
                    while node not in part:
                        part.add(stack.pop())
                    on_stack -= part
                    parts.append(part)
    return parts


def read_graph(root, build):
    """The graph of the library, the tool, the extension, the package and the catalog."""
    graph = Graph()
    c_files = files_below(root, ["include", "src", "cli", "python"], C_SUFFIXES)
    python_files = files_below(root, ["python", "catalog"], (".py", ".pyi"))
    extension = sorted({str(path.parent) for path in c_files if path.parts[0] == "python"})
    folders = ["include", "src", "cli", *extension]
    for edge in include_edges(root, c_files, folders):
        graph.add(*edge)
    for edge in call_edges(root, build, [path for path in c_files if path.suffix == ".c"]):
        graph.add(*edge)
    for edge in import_edges(root, python_files, ["python", "."]):
        graph.add(*edge)
    return graph
