from collections.abc import Callable, Sequence
from os import PathLike

version: str

_Tensors = tuple[tuple[str, str, tuple[int, ...], bool], ...]

class Model:
    def set_shape(self, input: str | None, dims: Sequence[int], /) -> None: ...
    def set_batch(self, size: int, /) -> None: ...
    def set_size(self, symbol: str, size: int, /) -> None: ...
    def report(
        self,
        as_json: bool,
        convention: str,
        dtype: str | None,
        ridge: float,
        depth: int,
        rule: Callable[[str, _Tensors, _Tensors], tuple[int, int] | None] | None,
        top: int,
        /,
    ) -> str: ...

def open(spec: str | PathLike[str], /) -> Model: ...
def open_memory(data: bytes, label: str, /) -> Model: ...

class Trace:
    def tables(self) -> dict[str, dict[str, bool]]: ...
    def column(self, table: str, column: str, /) -> memoryview | list[str]: ...
    def report(self, as_json: bool, /) -> str: ...
    def layer_ops(self) -> list[tuple[str, str, str, int, int, bool]]: ...

def open_trace(
    path: str | PathLike[str],
    model: Model | None,
    layers_from: str | None,
    step: int,
    phase: str | None,
    filter: str | None,
    threads: int,
    /,
) -> Trace: ...

class Program:
    name: str
    passes: int
    def write(
        self,
        granularity: int,
        level: int,
        format: int,
        edges: bool,
        stats: bool,
        parts: int,
        memory_limit: int,
        /,
    ) -> str: ...

def program_of_recording(path: str | PathLike[str], /) -> Program: ...
def program_of_model(model: Model, /) -> Program: ...
def recorder_weight(
    name: str, kind: int, tensor: int, storage: int, begin: int, values: int, bytes: int, /
) -> None: ...
def mark_begin(name: str, /) -> None: ...
def mark_end() -> None: ...
