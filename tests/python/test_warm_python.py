"""The tests' warm interpreter runs programs as Python does."""

import subprocess
import sys

import pytest

PROGRAM = """
import atexit, os, sys
atexit.register(lambda: print("atexit"))
print(sys.argv[1:], os.getcwd(), os.environ["MINE"], __name__, sys.stdin.read())
import beside
sys.exit(int(sys.argv[1]))
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "beside.py").write_text("print('beside')")
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        ("program.py", "3", "-x"),
        ("-m", "program", "4"),
        ("-c", PROGRAM, "5"),
        ("-c", "import os; os.kill(os.getpid(), 9)"),
        ("-c", "def f():\n    raise ValueError('mine')\nf()"),
    ],
)
def test_a_program_is_as_in_python(warm_python, folder, words):
    def run(python):
        return subprocess.run(
            [python, *words], cwd=folder, env={"MINE": "a variable"}, input="input",
            capture_output=True, text=True, timeout=600,
        )  # fmt: skip

    warm, plain = run(warm_python), run(sys.executable)
    assert (warm.returncode, warm.stdout) == (plain.returncode, plain.stdout)
    assert warm.stderr.splitlines()[-2:] == plain.stderr.splitlines()[-2:]


def test_torch_is_imported_before(warm_python):
    program = "import sys; print('torch._dynamo' in sys.modules, 'pyrometer' in sys.modules)"
    done = subprocess.run([warm_python, "-c", program], capture_output=True, text=True)
    assert done.stdout == "True False\n", done.stderr
