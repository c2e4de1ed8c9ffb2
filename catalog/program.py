"""Builds exported programs (schema 8) without torch, for test files and generated graphs."""

from typing import Any

FLOAT = 7
LONG = 5

# A size is a number, or an expression of symbols with its value at export.
Size = int | tuple[str, int]


def _size(size: Size) -> dict:
    if isinstance(size, int):
        return {"as_int": size}
    expression, hint = size
    return {"as_expr": {"expr_str": expression, "hint": {"as_int": hint}}}


def symbol(name: str) -> str:
    """A symbolic size as sympy's srepr writes it."""
    return f"Symbol('{name}', positive=True, integer=True)"


def argument(value: Any) -> dict:
    """An argument of a node; a str is the name of a tensor."""
    if value is None:
        return {"as_none": True}
    if isinstance(value, bool):
        return {"as_bool": value}
    if isinstance(value, int):
        return {"as_int": value}
    if isinstance(value, float):
        return {"as_float": value}
    if isinstance(value, str):
        return {"as_tensor": {"name": value}}
    if isinstance(value, list) and value and isinstance(value[0], str):
        return {"as_tensors": [{"name": name} for name in value]}
    if isinstance(value, list):
        return {"as_ints": value}
    return value


class Program:
    """Builder of a program; `document` returns its JSON."""

    def __init__(self, root_class: str = "test.Model"):
        self.root_class = root_class
        self.inputs: list[dict] = []
        self.outputs: list[dict] = []
        self.nodes: list[dict] = []
        self.tensor_values: dict[str, dict] = {}
        self.input_specs: list[dict] = []
        self.range_constraints: dict[str, dict] = {}

    def tensor(self, name: str, sizes: list[Size], dtype: int = FLOAT) -> str:
        """Declares a value; returns its name."""
        self.tensor_values[name] = {"dtype": dtype, "sizes": [_size(size) for size in sizes]}
        return name

    def _placeholder(self, name: str, sizes: list[Size], dtype: int, spec: dict) -> str:
        self.inputs.append({"as_tensor": {"name": name}})
        self.input_specs.append(spec)
        return self.tensor(name, sizes, dtype)

    def parameter(self, path: str, sizes: list[Size], dtype: int = FLOAT) -> str:
        """Declares a parameter by its dotted path."""
        name = "p_" + path.replace(".", "_")
        spec = {"parameter": {"arg": {"name": name}, "parameter_name": path}}
        return self._placeholder(name, sizes, dtype, spec)

    def user_input(self, name: str, sizes: list[Size], dtype: int = FLOAT) -> str:
        """Declares an input of the model."""
        spec = {"user_input": {"arg": {"as_tensor": {"name": name}}}}
        return self._placeholder(name, sizes, dtype, spec)

    def node(
        self,
        operator: str,
        inputs: dict[str, Any],
        output: str,
        sizes: list[Size],
        layer: tuple[str, str] | None = None,
    ) -> str:
        """Adds a node with one output in a layer (path, class); returns the output's name."""
        stack = f"L__self__,,{self.root_class}"
        if layer:
            stack += f";L__self__{layer[0]},{layer[0]},{layer[1]}"
        self.nodes.append(
            {
                "target": f"torch.ops.aten.{operator}",
                "inputs": [
                    {"name": name, "arg": argument(value), "kind": 1}
                    for name, value in inputs.items()
                ],
                "outputs": [{"as_tensor": {"name": output}}],
                "metadata": {"nn_module_stack": stack},
            }
        )
        return self.tensor(output, sizes)

    def linear(self, layer: str, given: str, rows: Size, width: int, outputs: int) -> str:
        """Adds a linear layer with its parameters; names its output after the layer."""
        weight = self.parameter(f"{layer}.weight", [outputs, width])
        bias = self.parameter(f"{layer}.bias", [outputs])
        return self.node(
            "linear.default",
            {"input": given, "weight": weight, "bias": bias},
            layer.replace(".", "_"),
            [rows, outputs],
            (layer, "torch.nn.modules.linear.Linear"),
        )

    def output(self, name: str) -> None:
        """Marks a value as an output of the model."""
        self.outputs.append({"as_tensor": {"name": name}})

    def document(self, torch_version: str = "2.13.0", minor: int = 20) -> dict:
        """The JSON document of the program."""
        outputs = [{"user_output": {"arg": output}} for output in self.outputs]
        return {
            "graph_module": {
                "graph": {
                    "inputs": self.inputs,
                    "outputs": self.outputs,
                    "nodes": self.nodes,
                    "tensor_values": self.tensor_values,
                    "sym_int_values": {},
                    "sym_bool_values": {},
                    "is_single_tensor_return": False,
                    "custom_obj_values": {},
                },
                "signature": {"input_specs": self.input_specs, "output_specs": outputs},
                "module_call_graph": [],
            },
            "opset_version": {"aten": 10},
            "range_constraints": self.range_constraints,
            "schema_version": {"major": 8, "minor": minor},
            "verifiers": ["TRAINING"],
            "torch_version": torch_version,
        }
