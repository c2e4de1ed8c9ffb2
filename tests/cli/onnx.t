# ONNX files, and files that are only weights.
$ pyrometer cost onnx/good-1-layers.onnx
================================================================================
GRAPH PROFILE: good-1-layers
================================================================================

Model Summary:
  Model:                good-1-layers (onnx IR 10, opset 20, test 1.0)
  File Size:            2.09 KiB
  Inputs:               x float32 [1, 3, 32, 32]
  Open Sizes:           dim 0 of x
  Data Type:            float32
  Total Operators:      6
  Total MACs:           55.38 k (55,376)
  Total FLOPs:          119.0 k (118,954)
                        convention full: FLOPs = 2 x MACs + elementwise, norm,
                        pooling and activation work
  Parameters:           322, 1.26 KiB; buffers 16
  Traffic:              61.4 KiB moved (read and written)
    Activations read:   36.0 KiB
    Weights read:       1.32 KiB
    Written:            24.1 KiB
  Arithmetic Intensity: 1.9 FLOPs/byte (total FLOPs / traffic)
  Footprint:            1.26 KiB held (weights, no activations)

Operation Breakdown:
  Type               FLOPs %  Ops    FLOPs     MACs   Traffic  Traffic %
  ----------------------------------------------------------------------
  Conv2D               93.0%    1  110.6 k  55.30 k  20.8 KiB      33.9%
  BatchNorm             3.4%    1   4.10 k        0  16.1 KiB      26.3%
  ReLU                  1.7%    1   2.05 k        0  16.0 KiB      26.0%
  AdaptiveAvgPool2D     1.7%    1   2.05 k        0  8.03 KiB      13.1%
  Linear                0.1%    1      170       80     432 B       0.7%
  Reshape               0.0%    1        0        0       0 B       0.0%

Bottleneck Analysis:
  Compute-bound:    0.0% of FLOPs,   0.0% of traffic, 0 layers (AI > 50)
  Memory-bound:   100.0% of FLOPs, 100.0% of traffic, 5 layers (AI <= 50)
  Neither:        1 layer that moves nothing

  AI (FLOPs/byte)  Band                    Layers  FLOPs %  Traffic %
  -------------------------------------------------------------------
  < 10             memory-bound                 5   100.0%     100.0%
  10-50            balanced                     0     0.0%       0.0%
  50-100           compute-bound                0     0.0%       0.0%
  > 100            strongly compute-bound       0     0.0%       0.0%

Layer Details (all 6 by FLOPs):
  Layer      Class                FLOPs     MACs   Traffic   AI  Bound
  ---------------------------------------------------------------------
  stem.conv  conv2d             110.6 k  55.30 k  20.8 KiB  5.2  memory
  stem.bn    batchnorm           4.10 k        0  16.1 KiB  0.2  memory
  stem.act   relu                2.05 k        0  16.0 KiB  0.1  memory
  pool       adaptiveavgpool2d   2.05 k        0  8.03 KiB  0.2  memory
  head       Linear                 170       80     432 B  0.4  memory
  (model)    Net                      0        0       0 B  0.0  -

Coverage:
  all 6 operators priced

Notes:
  - the file stores 338 values; 322 of them are parameters, the others
    statistics and constants
  - sizes that the file leaves open: batch = 1 (set them with --input-shape or
    --size)

Advice:
  - convolution-heavy (93.0% of the FLOPs, more than 70%): the elementwise work
    around convolutions can be fused into them, and they lose little accuracy in
    int8
  - memory-bound as a whole (1.9 FLOPs per byte, ridge 50): bandwidth matters
    more than FLOP/s, and a smaller element type moves fewer bytes; weights are
    2% of the traffic

Next:
  pyrometer cost onnx/good-1-layers.onnx --verbose
  pyrometer cost onnx/good-1-layers.onnx --batch 32
  pyrometer cost onnx/good-1-layers.onnx --dtype float16
  pyrometer cost onnx/good-1-layers.onnx -o cost.json

$ pyrometer cost onnx/good-1-layers.onnx --batch 4 | grep -E "Inputs|MACs"
  Inputs:               x float32 [4, 3, 32, 32]
  Total MACs:           221.5 k (221,504)
                        convention full: FLOPs = 2 x MACs + elementwise, norm,
  Type               FLOPs %  Ops    FLOPs     MACs   Traffic  Traffic %
  Layer      Class                FLOPs     MACs   Traffic   AI  Bound

$ pyrometer cost onnx/good-2-computed-shapes.onnx --input-shape 7,6,4 --format csv
name,type,class,operators,macs,flops,memory,activation_read_bytes,weight_read_bytes,written_bytes,params,arithmetic_intensity,bottleneck,band
(model),matmul,,6,840,1680,1348,688,496,164,120,1.24629,memory-bound,memory-bound

$ pyrometer cost onnx/good-2-computed-shapes.onnx
pyrometer: onnx/good-2-computed-shapes.onnx: 'y' (onnx.MatMul): the inputs do not match: [1, 4], [24, 5]; set the sizes that the file leaves open with --input-shape or --size (at byte 200)
[2]

$ pyrometer cost onnx/good-3-functions.onnx onnx/good-4-control.onnx onnx/good-5-quantized.onnx onnx/good-6-external.onnx onnx/good-7-oldest.onnx
================================================================================
MODEL COMPARISON
================================================================================

  Model             Params     MACs    FLOPs    vs 1st   Traffic   AI  Bound
  ---------------------------------------------------------------------------
  good-3-functions       0      432   1.01 k     1.00x  1.41 KiB  0.7  memory
  good-4-control        16      832   1.78 k     1.76x  3.42 KiB  0.5  memory
  good-5-quantized     128      512   1.31 k     1.30x     613 B  2.1  memory
  good-6-external   1.00 M   1.00 M   2.00 M  1984.13x  3.82 MiB  0.5  memory
  good-7-oldest        322  55.38 k  119.0 k   118.01x  61.4 KiB  1.9  memory

Inputs:
  good-3-functions:     x float32 [6, 6]
  good-4-control:       x float32 [4, 4], flag bool [], items float32 [7, 4]
  good-5-quantized:     x float32 [4, 16]
  good-6-external:      x float32 [1, 1000]
  good-7-oldest:        x float32 [1, 3, 32, 32]

Coverage:
  all operators of all models priced

Convention full: FLOPs = 2 x MACs + elementwise, norm, pooling and activation
work. Traffic is bytes read and written; AI is FLOPs per byte of it,
compute-bound above 50.

$ pyrometer diff onnx/good-1-layers.onnx onnx/good-7-oldest.onnx
================================================================================
GRAPH DIFF: good-1-layers -> good-7-oldest
================================================================================

  Total         Before     After  Change
  ------------------------------------------
  MACs         55.38 k   55.38 k       0  0%
  FLOPs        119.0 k   119.0 k       0  0%
  Traffic     61.4 KiB  61.4 KiB     0 B  0%
  Parameters       322       322       0  0%
  Operators          6         6       0  0%
  FLOPs/byte       1.9       1.9    +0.0  0%

No layer changed: all 6 are identical.

Convention full: FLOPs = 2 x MACs + elementwise, norm, pooling and activation
work.

$ for file in onnx/bad-*; do pyrometer cost $file; test $? = 2 || echo "wrong exit code"; done
pyrometer: onnx/bad-1-truncated.onnx: the file ends inside a field of 2104 bytes: it is truncated or damaged (at byte 13)
pyrometer: onnx/bad-10-mismatch.onnx: 'y' (onnx.MatMul): the inputs do not match: [2, 2], [3, 2] (at byte 17)
pyrometer: onnx/bad-11-no-graph.onnx: an ONNX file without a graph (at byte 0)
pyrometer: onnx/bad-12-block.onnx: 'y' (onnx.DepthToSpace): 'blocksize' must be 1 or more: [1, 4, 8, 8] (at byte 17)
pyrometer: onnx/bad-12-dilation.onnx: 'y' (onnx.Conv.2d): 'dilation' has -1, which must be 1 or more: [1, 4, 8, 8], [4, 4, 3, 3] (at byte 18)
pyrometer: onnx/bad-12-groups.onnx: 'y' (onnx.ConvTranspose.2d): 'groups' must be 1 or more: [1, 4, 8, 8], [4, 4, 3, 3] (at byte 18)
pyrometer: onnx/bad-12-kernel.onnx: 'y' (onnx.AveragePool.2d): 'kernel_size' has 0, which must be 1 or more: [1, 4, 8, 8] (at byte 17)
pyrometer: onnx/bad-12-loop.onnx: 'y' (onnx.Loop): its body runs 4611686018427387904 times, more than 2^32: [], [], [2, 2] (at byte 19)
pyrometer: onnx/bad-12-padding.onnx: 'y' (onnx.Conv.2d): the padding is negative or too large: [1, 4, 8, 8], [4, 4, 3, 3] (at byte 18)
pyrometer: onnx/bad-12-pool.onnx: 'y' (onnx.MaxPool.2d): 'stride' has 0, which must be 1 or more: [1, 4, 8, 8] (at byte 17)
pyrometer: onnx/bad-12-reshape.onnx: 'y' (onnx.Reshape): a size of its output is negative or does not fit in 64 bits: [2, 2], [2] (at byte 17)
pyrometer: onnx/bad-12-shape.onnx: 'r' (onnx.RandomNormal): a size of its output is negative or does not fit in 64 bits (at byte 17)
pyrometer: onnx/bad-12-stride.onnx: 'y' (onnx.Conv.2d): 'stride' has 0, which must be 1 or more: [1, 4, 8, 8], [4, 4, 3, 3] (at byte 18)
pyrometer: onnx/bad-12-tile.onnx: 'y' (onnx.Tile): a size of its output is negative or does not fit in 64 bits: [2, 2], [2] (at byte 17)
pyrometer: onnx/bad-2-cycle.onnx: 'b' is used before it is made: the graph is cyclic or damaged (at byte 20)
pyrometer: onnx/bad-3-made-twice.onnx: 'y' is made twice (at byte 36)
pyrometer: onnx/bad-4-recursive-function.onnx: function 'Again' calls itself (at byte 108)
pyrometer: onnx/bad-5-exponential-functions.onnx: more than 131072 calls of functions (at byte 2866)
pyrometer: onnx/bad-6-outside.onnx: external data at '../secrets.bin' is outside the folder of the file (at byte 72)
pyrometer: onnx/bad-7-absurd-dims.onnx: a tensor is too large: its elements do not fit in 64 bits (at byte 44)
pyrometer: onnx/bad-8-deep.onnx: bodies and functions are nested more than 48 deep (at byte 1826)
pyrometer: onnx/bad-9-old.onnx: an ONNX file of IR version 3 and opset 6; the oldest that can be read are 3 and 7 (onnx.version_converter.convert_version makes newer ones)

$ pyrometer models add mine onnx/good-1-layers.onnx
pyrometer: onnx/good-1-layers.onnx: an ONNX model cannot be added to the registry: it has no exported program; export the model with torch.export.save(torch.export.export(model, inputs), "model.pt2")
[2]

$ pyrometer cost weights/good-1.safetensors
================================================================================
GRAPH PROFILE: good-1
================================================================================

Model Summary:
  Model:                good-1 (safetensors)
  File Size:            472 B
  Inputs:               none
  Data Type:            bfloat16
  Total Operators:      0
  Total MACs:           0
  Total FLOPs:          0
                        convention full: FLOPs = 2 x MACs + elementwise, norm,
                        pooling and activation work
  Parameters:           68, 144 B
  Traffic:              0 B moved (read and written)
    Activations read:   0 B
    Weights read:       0 B
    Written:            0 B
  Arithmetic Intensity: 0.0 FLOPs/byte (total FLOPs / traffic)
  Footprint:            144 B held (weights, no activations)

Operation Breakdown:
  Type  FLOPs %  Ops  FLOPs  MACs  Traffic  Traffic %
  ---------------------------------------------------

Bottleneck Analysis:
  Compute-bound:       - of FLOPs,      - of traffic, 0 layers (AI > 50)
  Memory-bound:        - of FLOPs,      - of traffic, 0 layers (AI <= 50)
  Neither:        3 layers that move nothing

  AI (FLOPs/byte)  Band                    Layers  FLOPs %  Traffic %
  -------------------------------------------------------------------
  < 10             memory-bound                 0        -          -
  10-50            balanced                     0        -          -
  50-100           compute-bound                0        -          -
  > 100            strongly compute-bound       0        -          -

Layer Details (all 3 by FLOPs):
  Layer                         Class  FLOPs  MACs  Traffic   AI  Bound
  ---------------------------------------------------------------------
  model.layers.0.mlp.up_proj               0     0      0 B  0.0  -
  model.layers.0.mlp.down_proj             0     0      0 B  0.0  -
  model.norm                               0     0      0 B  0.0  -

Coverage:
  all 0 operators priced

Notes:
  - stored as BF16: 2 tensors, 64 values, 128 B (16 bits per value)
  - stored as F32: 1 tensors, 4 values, 16 B (32 bits per value)
  - the file has weights but no graph: parameters and bytes are known, MACs and
    FLOPs are not

Next:
  pyrometer cost weights/good-1.safetensors --verbose
  pyrometer cost weights/good-1.safetensors --dtype float16
  pyrometer cost weights/good-1.safetensors -o cost.json

$ pyrometer cost weights/good-2.gguf | grep -A9 "Notes"
Notes:
  - stored as Q4_K: 1 tensors, 2048 values, 1.13 KiB (4.5 bits per value)
  - stored as Q6_K: 1 tensors, 4096 values, 3.28 KiB (6.562 bits per value)
  - stored as F32: 1 tensors, 256 values, 1.00 KiB (32 bits per value)
  - the file has weights but no graph: parameters and bytes are known, MACs and
    FLOPs are not

Next:
  pyrometer cost weights/good-2.gguf --verbose
  pyrometer cost weights/good-2.gguf --dtype float16

$ pyrometer cost weights/good-3-graph.gguf --seq 16 | grep -E "Model:|MACs:|Parameters:"
  Model:                good-3-graph (gguf, llama)
  Total MACs:           725.0 k (724,992)
  Parameters:           49.86 k (49,856), 36.2 KiB

$ for file in weights/bad-*; do pyrometer cost $file; test $? = 2 || echo "wrong exit code"; done
pyrometer: weights/bad-1-truncated.safetensors: tensor 'model.layers.0.mlp.down_proj.weight' ends behind the end of the file: it is truncated
pyrometer: weights/bad-10-storage.pth:m/data.pkl: a tensor of an unknown type (at byte 224)
pyrometer: weights/bad-11-sizes.pth:m/data.pkl: tensor 'w' is too large
pyrometer: weights/bad-12-data.gguf: tensor 'output_norm.weight' ends behind the end of the file, which has 4952 bytes: it is truncated
pyrometer: weights/bad-13-overlap.gguf: tensors overlap (at byte 400)
pyrometer: weights/bad-14-alignment.gguf: the alignment is not a power of two (at byte 400)
pyrometer: weights/bad-2-header.safetensors: a safetensors header of 1048576 bytes, in a file of 32 bytes
pyrometer: weights/bad-3-offsets.safetensors: tensor 'a': its offsets do not match its shape
pyrometer: weights/bad-4-overlap.safetensors: tensors overlap
pyrometer: weights/bad-5-type.safetensors: expected a known type of a tensor, got string "F5" (at byte 16)
pyrometer: weights/bad-6-truncated.gguf: the file ends inside its header: it is truncated or damaged (at byte 200)
pyrometer: weights/bad-7-unknown-type.gguf: tensor 'w' has the unknown type 99 of ggml
pyrometer: weights/bad-8-version.gguf: a GGUF file of version 9; versions 2 and 3 can be read
pyrometer: weights/bad-9-blocks.gguf: a tensor whose rows are not whole blocks (at byte 267)

# A folder with a configuration: no Python is started.
$ cd $TMP && mkdir tiny && echo '{"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 96, "vocab_size": 100, "torch_dtype": "bfloat16"}' > tiny/config.json && PATH=/none $(command -v pyrometer) cost tiny --seq 16 --format csv | head -4
name,type,class,operators,macs,flops,memory,activation_read_bytes,weight_read_bytes,written_bytes,params,arithmetic_intensity,bottleneck,band
model.embed_tokens,embedding,,1,0,0,4224,128,2048,2048,6400,0,memory-bound,memory-bound
model.layers.0.input_layernorm,rmsnorm,,1,0,4096,4224,2048,128,2048,64,0.969697,memory-bound,memory-bound
model.layers.0.self_attn.q_proj,linear,,1,65536,131072,12288,2048,8192,2048,4096,10.6667,memory-bound,balanced

# A decoding step has the cache as inputs; that of a sliding window is shorter.
$ cd $TMP && sed -i 's/"llama"/"mistral", "sliding_window": 8/' tiny/config.json && PATH=/none $(command -v pyrometer) cost tiny --decode --past 100 | sed -n '/Inputs/,/Total MACs/p'
  Inputs:               input_ids int64 [1, 1], past_key_values.0.key bfloat16
                        [1, 2, 7, 16], past_key_values.0.value bfloat16 [1, 2,
                        7, 16], past_key_values.1.key bfloat16 [1, 2, 7, 16],
                        past_key_values.1.value bfloat16 [1, 2, 7, 16],
                        past_tokens int64 [1, 100]
  Open Sizes:           batch, past
  Data Type:            bfloat16
  Total Operators:      55
  Total MACs:           69.89 k (69,888)

$ cd $TMP && sed -i 's/"mistral"/"bert"/; s/}/, "max_position_embeddings": 32, "type_vocab_size": 2}/' tiny/config.json && PATH=/none $(command -v pyrometer) cost tiny --decode
pyrometer: tiny: the model type 'bert' has no decoding step with a cache
[2]

$ cd $TMP && echo '{"model_type": "blip-2", "text_config": {"model_type": "llama", "hidden_size": 64}}' > tiny/config.json && PATH=/none $(command -v pyrometer) cost tiny
pyrometer: tiny: the model type 'blip-2' is not one whose graph follows from its configuration; Python has to build it, and python3: no such program; install Python 3.11 or newer, or name one with --python
[2]

$ cd $TMP && echo '{"model_type": "qwen3", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 96, "vocab_size": 100}' > tiny/config.json && pyrometer cost tiny
pyrometer: tiny: the configuration lacks a valid 'head_dim', which the model type 'qwen3' needs
[2]

$ cd $TMP && echo '{"model_type": "llama", "hidden_size": 64}' > tiny/config.json && pyrometer cost tiny
pyrometer: tiny: the configuration lacks a valid 'num_hidden_layers', which the model type 'llama' needs
[2]

# Fields of experts that are missing, 0 or absurd.
$ cd $TMP && for experts in '"moe_intermediate_size": 32' '"num_experts": 0' '"num_experts": 1099511627776' '"num_experts": 4, "num_experts_per_tok": 0' '"num_experts": 4, "num_experts_per_tok": 5, "moe_intermediate_size": 32' '"num_experts": 4, "num_experts_per_tok": 2' '"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 0'; do echo "{\"model_type\": \"qwen3_moe\", \"hidden_size\": 64, \"num_hidden_layers\": 2, \"num_attention_heads\": 4, \"num_key_value_heads\": 2, \"head_dim\": 16, \"intermediate_size\": 96, \"vocab_size\": 100, $experts}" > tiny/config.json; pyrometer cost tiny; test $? = 2 || echo "wrong exit code"; done
pyrometer: tiny: the configuration lacks a valid 'num_local_experts', which the model type 'qwen3_moe' needs
pyrometer: tiny: 'num_experts' of the configuration is 0; the model type 'qwen3_moe' needs a number from 1 to 2^31 - 2
pyrometer: tiny: 'num_experts' of the configuration is 1099511627776; the model type 'qwen3_moe' needs a number from 1 to 2^31 - 2
pyrometer: tiny: 'num_experts_per_tok' of the configuration is 0; the model type 'qwen3_moe' needs a number from 1 to 2^31 - 2
pyrometer: tiny: the configuration has 4 experts, of which 5 are chosen
pyrometer: tiny: the configuration lacks a valid 'moe_intermediate_size', which the model type 'qwen3_moe' needs
pyrometer: tiny: 'moe_intermediate_size' of the configuration is 0; the model type 'qwen3_moe' needs a number from 1 to 2^31 - 2
