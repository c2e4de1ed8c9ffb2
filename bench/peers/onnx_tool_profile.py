"""onnx-tool's count of an ONNX file, as its users run it: onnx_tool_profile.py FILE."""

import sys

import onnx_tool

model = onnx_tool.Model(sys.argv[1])
model.graph.shape_infer()
model.graph.profile()
model.graph.print_node_map()
