"""Tests of check.py on small generated trees: what it must find, and must not."""

import pathlib
import subprocess
import tempfile
import unittest
from typing import ClassVar

import check
import graphs
import packages
import paths
import rooms

TABLE = """# Architecture
## Rooms
| folder | what | may use |
|---|---|---|
| `include/pyrometer/` | public | |
| `src/base/` | below | libc |
| `src/graph/` | middle | base (arena) |
| `src/report/` | above | graph |
| `cli/` | tool | all above |

## Next
| `src/other/` | planned | cli |
"""


class Tree(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.root = pathlib.Path(holder.name)
        for folder in ("include/pyrometer", "src", "cli", "python", "catalog"):
            (self.root / folder).mkdir(parents=True)

    def write(self, path, text=""):
        path = self.root / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def compile(self, path):
        target = self.root / "build" / "CMakeFiles" / "all.dir" / (path + ".o")
        target.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cc", "-c", self.root / path, "-o", target], check=True)

    def graph(self):
        return graphs.read_graph(self.root, self.root / "build")


class Cycles(Tree):
    def test_headers_that_include_each_other(self):
        self.write("src/base/a.h", '#include "base/sub/b.h"\n')
        self.write("src/base/sub/b.h", '#include "../a.h"\n')
        self.assertEqual(self.graph().cycles(), [["src/base/a.h", "src/base/sub/b.h"]])

    def test_calls_are_read_from_objects_and_from_text(self):
        self.write("src/base/a.c", "int b(void);\nint a(void)\n{\n    return b();\n}\n")
        self.write("src/base/b.c", "int a(void);\nint b(void)\n{\n    return a();\n}\n")
        expected = [["src/base/a.c", "src/base/b.c"]]
        self.assertEqual(self.graph().cycles(), expected)
        self.compile("src/base/a.c")
        self.compile("src/base/b.c")
        self.assertEqual(self.graph().cycles(), expected)

    def test_macros_hide_nothing_from_objects(self):
        define = "#define MAKE(name, other) int other(void); int name(void) { return other(); }\n"
        self.write("src/base/a.c", define + "MAKE(a, b)\n")
        self.write("src/base/b.c", define + "MAKE(b, a)\n")
        self.compile("src/base/a.c")
        self.compile("src/base/b.c")
        self.assertEqual(self.graph().cycles(), [["src/base/a.c", "src/base/b.c"]])

    def test_calls_in_one_direction_are_none(self):
        self.write("src/base/a.c", "int b(void);\nint a(void)\n{\n    return b();\n}\n")
        self.write("src/base/b.c", "/* a() calls this */\nint b(void)\n{\n    return 1;\n}\n")
        self.assertEqual(self.graph().cycles(), [])

    def test_imports(self):
        self.write("python/pyrometer/__init__.py", "from ._a import f\n")
        self.write("python/pyrometer/_a.py", "def f():\n    from ._sub import b\n")
        self.write("python/pyrometer/_sub/__init__.py")
        self.write("python/pyrometer/_sub/b.py", "from .. import _a\nfrom .. import _core\n")
        self.write("python/pyrometer/_core.pyi")
        self.assertEqual(
            self.graph().cycles(), [["python/pyrometer/_a.py", "python/pyrometer/_sub/b.py"]]
        )

    def test_imports_for_types_only_are_none(self):
        self.write("python/pyrometer/_a.py", "from . import _b\n")
        self.write("python/pyrometer/_b.py", "if TYPE_CHECKING:\n    from . import _a\n")
        self.assertEqual(self.graph().cycles(), [])

    def test_listed_ones_pass_and_stale_ones_fail(self):
        self.write("src/base/a.h", '#include "base/b.h"\n')
        self.write("src/base/b.h", '#include "base/a.h"\n')
        cycle = {"files": ["src/base/a.h", "src/base/b.h"], "reason": "why"}
        graph = self.graph()
        self.assertEqual(check.check_cycles(graph, [cycle]), [])
        self.assertIn("includes", check.check_cycles(graph, [])[0])
        wider = {"files": [*cycle["files"], "src/base/c.h"], "reason": "why"}
        self.assertEqual(len(check.check_cycles(graph, [wider])), 2)
        self.assertEqual(check.check_cycles(graph, [{**wider, "temporary": True}]), [])


class Rooms(Tree):
    def messages(self):
        return check.check_rooms(self.graph(), rooms.parse(TABLE))

    def test_what_the_table_allows(self):
        self.write("include/pyrometer/p.h")
        self.write("src/base/deep/a.h", "#include <pyrometer/p.h>\n")
        self.write("src/report/sub/r.c", '#include "base/deep/a.h"\n')
        self.write("cli/c.c", '#include "report/x.h"\n#include "base/deep/a.h"\n')
        self.write("src/report/x.h")
        self.assertEqual(self.messages(), [])

    def test_includes_against_it(self):
        self.write("src/base/a.c", '#include "graph/g.h"\n')
        self.write("src/graph/g.h")
        self.assertEqual(
            self.messages(),
            ["src/base/ may not use src/graph/, but src/base/a.c includes src/graph/g.h"],
        )

    def test_calls_against_it(self):
        self.write("src/base/a.c", "int g(void);\nint a(void)\n{\n    return g();\n}\n")
        self.write("src/graph/g.c", "int g(void)\n{\n    return 1;\n}\n")
        self.assertIn("calls g of src/graph/g.c", self.messages()[0])

    def test_files_without_a_room(self):
        self.write("src/other/a.c", "#include <pyrometer/p.h>\n")
        self.write("include/pyrometer/p.h")
        self.assertEqual(
            self.messages(), ["src/other/a.c lies in no room of ARCHITECTURE.md's table"]
        )


class Folders(Tree):
    def test_many_files(self):
        for i in range(check.MOST_FILES + 1):
            self.write(f"src/base/file{i}.c")
        self.assertEqual(
            check.check_folders(self.root, []),
            ["src/base/ has 31 files of code, more than 30"],
        )
        listed = [{"path": "src/base", "reason": "why"}]
        self.assertEqual(check.check_folders(self.root, listed), [])
        (self.root / "src/base/file0.c").unlink()
        self.assertEqual(len(check.check_folders(self.root, listed)), 1)


class Paths(Tree):
    def messages(self, architecture="", contributing=""):
        self.write("ARCHITECTURE.md", architecture)
        self.write("CONTRIBUTING.md", contributing)
        return paths.check_documents(self.root, check.all_files(self.root))

    def test_what_exists(self):
        self.write("src/base/deep/checked.h")
        self.write("fuzz/fuzz_zip.c")
        text = "`src/base/`, `base/deep/checked.h`, `checked.h`, `deep/`, `fuzz/fuzz_<a name>.c`"
        self.assertEqual(self.messages(text), [])

    def test_what_does_not(self):
        self.write("src/base/a.c")
        found = self.messages("`src/base/b.c` `c.h`", "`src/gone/` and `src/base/<name>.h`")
        self.assertEqual(
            found,
            [
                "ARCHITECTURE.md names c.h, which does not exist",
                "ARCHITECTURE.md names src/base/b.c, which does not exist",
                "CONTRIBUTING.md names src/base/*.h, which does not exist",
                "CONTRIBUTING.md names src/gone/, which does not exist",
            ],
        )

    def test_what_is_no_path(self):
        text = "`a/b` `build/site/` `/tmp/x.json` `pyro_a` `MACs/s`\n```sh\n`x/y.c`\n```\n"
        self.assertEqual(self.messages(text + "\n## Plan\n`src/planned/`\n"), [])


class UnitTests(Tree):
    def messages(self, listed=()):
        return paths.check_unit_tests(self.root, [{"path": path} for path in listed])

    def test_mirrors(self):
        self.write("src/base/zip/zip.c")
        self.write("cli/options/given.c")
        for name in ("base/zip/test_zip.c", "cli/options/test_given.c"):
            self.write(f"tests/unit/{name}")
        self.assertEqual(self.messages(), [])

    def test_a_folder_as_a_whole(self):
        self.write("src/graph/rules/sums.c")
        self.write("tests/unit/graph/rules/test_rules.c")
        self.assertEqual(self.messages(), [])

    def test_without_a_source(self):
        self.write("src/base/zip/zip.c")
        self.write("tests/unit/base/zip/test_damage.c")
        self.assertIn("test_damage.c mirrors no source", self.messages()[0])
        self.assertEqual(self.messages(["tests/unit/base/zip/test_damage.c"]), [])
        self.write("src/base/zip/damage.c")
        self.assertEqual(len(self.messages(["tests/unit/base/zip/test_damage.c"])), 1)


class Packages(unittest.TestCase):
    RULES: ClassVar = {"sdist": {"exclude": ["/tests"], "include": ["catalog/*.pt2"]}}
    TRACKED: ClassVar = {"src/tests/a.c", "tests/b.c", "catalog/m.pt2", "catalog/m.log"}

    def test_what_is_packed(self):
        packed = packages.packed_files(self.RULES, self.TRACKED, {"catalog/m.pt2", "catalog/m.log"})
        self.assertEqual(packed, {"src/tests/a.c", "catalog/m.pt2"})
        self.assertEqual(
            packages.check_sdist(self.TRACKED, packed),
            ["the source distribution lacks catalog/m.log"],
        )

    def test_new_folders_need_a_decision(self):
        found = packages.check_sdist({"garden/index.html"}, {"garden/index.html"})
        self.assertIn("garden: say in", found[0])

    def test_rules_that_match_nothing_or_too_much(self):
        self.assertEqual(packages.check_rules(self.RULES, self.TRACKED), [])
        rules = {"sdist": {"exclude": ["tests", "/gone"], "include": ["catalog/*.bin"]}}
        self.assertEqual(len(packages.check_rules(rules, self.TRACKED)), 3)


if __name__ == "__main__":
    unittest.main()
