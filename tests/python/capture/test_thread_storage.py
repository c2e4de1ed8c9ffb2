"""Thread-local variables of the extension and the observer, from ELF files of both
processors: glibc loads a library into a running process only while these are small and, on AArch64,
aligned to 16 bytes at most ("cannot allocate memory in static TLS block")."""

import pathlib
import platform
import re
import shutil
import struct
import subprocess
import sysconfig

import pytest

pytest.importorskip("torch")

from pyrometer._testing import observer_build

ROOT = pathlib.Path(__file__).resolve().parents[3]
MOST_ALIGNMENT = 16
MOST_BYTES = 256
PT_TLS = 7
MACHINES = {"x86_64": 62, "aarch64": 183}  # e_machine


def compiler_for(processor, language):
    """A compiler for that processor: the native one, or Debian's cross compiler."""
    name = f"{processor}-linux-gnu-{language}"
    if shutil.which(name):
        return name
    native = subprocess.run(["cc", "-dumpmachine"], capture_output=True, text=True).stdout
    if native.startswith(processor):
        return {"gcc": "cc", "g++": "c++"}[language]
    pytest.skip(f"{name} is missing (Debian: {name.replace('_', '-')})")


def thread_storage(path, processor):
    """(bytes, alignment) of the thread-local segment of an ELF file."""
    image = path.read_bytes()
    assert image[:6] == b"\x7fELF\x02\x01"
    assert struct.unpack_from("<H", image, 18)[0] == MACHINES[processor]
    (table,) = struct.unpack_from("<Q", image, 32)
    size, count = struct.unpack_from("<HH", image, 54)
    for index in range(count):
        kind, _, _, _, _, _, memory, alignment = struct.unpack_from(
            "<IIQQQQQQ", image, table + index * size
        )
        if kind == PT_TLS:
            return memory, alignment
    return 0, 1


def link(compiler, objects, target, *flags):
    """Links a shared library whose missing symbols the running process would provide."""
    command = [compiler, "-shared", "-Wl,--unresolved-symbols=ignore-all", *flags]
    subprocess.run([*command, *map(str, objects), "-o", str(target)], check=True)


def build_observer(processor, folder, monkeypatch):
    if processor == platform.machine():
        observer_build.load()  # the native compiler
        return observer_build.library_path()
    monkeypatch.setenv("CXX", compiler_for(processor, "g++"))
    command = observer_build.compile_command(
        pathlib.Path(observer_build._SOURCE),
        folder / "observer.o",
        "-DPYROMETER_READS_PRIVATE_FIELDS",
    )
    # torch's libraries are for one processor, so the observer is linked without them; variables are
    # laid out the same without optimization, which takes a third of the time.
    kept = [part for part in command if not part.startswith(("-L", "-l")) and part != "-shared"]
    subprocess.run([*kept, "-O0", "-c"], check=True)
    link(compiler_for(processor, "g++"), [folder / "observer.o"], folder / "observer.so")
    return folder / "observer.so"


def build_extension(processor, folder):
    """The files of the extension and of the library in it that have thread-local variables.

    And those whose variables are hidden, without which the others cannot be linked.
    """
    compiler = compiler_for(processor, "gcc")
    sources = [
        path
        for room in ("src", "python")
        for path in sorted((ROOT / room).rglob("*.c"))
        if re.search(r"\b(_Thread_local|__thread|thread_local)\b", path.read_text())
        or (
            path.with_suffix(".h").exists()
            and 'visibility("hidden")' in path.with_suffix(".h").read_text()
        )
    ]
    assert len(sources) >= 3
    objects = [folder / f"{number}.o" for number in range(len(sources))]
    include = [f"-I{ROOT / 'include'}", f"-I{ROOT / 'src'}", f"-I{ROOT / 'python/extension'}"]
    include.append(f"-I{sysconfig.get_path('include')}")
    for source, target in zip(sources, objects, strict=True):
        subprocess.run(
            [compiler, "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-fPIC", "-w", *include,
             "-c", str(source), "-o", str(target)],
            check=True,
        )  # fmt: skip
    link(compiler, objects, folder / "extension.so")
    return folder / "extension.so"


@pytest.mark.parametrize("processor", sorted(MACHINES))
def test_the_observer_loads_into_a_running_process(processor, tmp_path, monkeypatch):
    observer = thread_storage(build_observer(processor, tmp_path, monkeypatch), processor)
    extension = thread_storage(build_extension(processor, tmp_path), processor)
    assert observer[0] > 0 and extension[0] > 0
    assert max(observer[1], extension[1]) <= MOST_ALIGNMENT
    assert observer[0] + extension[0] <= MOST_BYTES
