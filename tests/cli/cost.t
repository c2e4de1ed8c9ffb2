# One model: the built-in one is the default.
$ pyrometer cost
================================================================================
GRAPH PROFILE: ResNet-18
================================================================================

Model Summary:
  Model:                resnet18 (pt2 8.20, torch 2.13.0)
  Inputs:               x float32 [1, 3, 224, 224]
  Open Sizes:           batch, height, width
  Data Type:            float32
  Total Operators:      69
  Total MACs:           1.81 G (1,814,073,344)
  Total FLOPs:          3.64 G (3,638,007,272)
                        convention full: FLOPs = 2 x MACs + elementwise, norm,
                        pooling and activation work
  Parameters:           11.69 M (11,689,512), 44.6 MiB; buffers 9.62 k
  Traffic:              111.5 MiB moved (read and written)
    Activations read:   35.5 MiB
    Weights read:       44.6 MiB
    Written:            31.4 MiB
  Arithmetic Intensity: 31.1 FLOPs/byte (total FLOPs / traffic)
  Footprint:            44.6 MiB held (weights, no activations)

Operation Breakdown:
  Type               FLOPs %  Ops    FLOPs     MACs    Traffic  Traffic %
  -----------------------------------------------------------------------
  Conv2D               99.7%   20   3.63 G   1.81 G   60.4 MiB      54.2%
  BatchNorm             0.1%   20   4.97 M        0   19.0 MiB      17.1%
  ReLU                 <0.1%   17   2.31 M        0   17.6 MiB      15.8%
  MaxPool2D            <0.1%    1   1.81 M        0   3.83 MiB       3.4%
  Linear               <0.1%    1   1.03 M  512.0 k   1.96 MiB       1.8%
  Add                  <0.1%    8  752.6 k        0   8.61 MiB       7.7%
  AdaptiveAvgPool2D    <0.1%    1  25.09 k        0  100.0 KiB      <0.1%
  Reshape               0.0%    1        0        0        0 B       0.0%

Bottleneck Analysis:
  Compute-bound:   76.4% of FLOPs,  22.7% of traffic, 13 layers (AI > 50)
  Memory-bound:    23.6% of FLOPs,  77.3% of traffic, 47 layers (AI <= 50)
  Neither:        1 layer that moves nothing

  AI (FLOPs/byte)  Band                    Layers  FLOPs %  Traffic %
  -------------------------------------------------------------------
  < 10             memory-bound                40     0.3%      45.8%
  10-50            balanced                     7    23.3%      31.4%
  50-100           compute-bound                6    31.9%      13.2%
  > 100            strongly compute-bound       7    44.5%       9.6%

Layer Details (Top 10 of 61 by FLOPs):
  Layer           Class     FLOPs     MACs   Traffic     AI  Bound
  ------------------------------------------------------------------
  conv1           Conv2d  236.0 M  118.0 M  3.67 MiB   61.3  compute
  layer1.0.conv1  Conv2d  231.2 M  115.6 M  1.67 MiB  131.9  compute
  layer1.0.conv2  Conv2d  231.2 M  115.6 M  1.67 MiB  131.9  compute
  layer1.1.conv1  Conv2d  231.2 M  115.6 M  1.67 MiB  131.9  compute
  layer1.1.conv2  Conv2d  231.2 M  115.6 M  1.67 MiB  131.9  compute
  layer2.0.conv2  Conv2d  231.2 M  115.6 M  1.33 MiB  166.0  compute
  layer2.1.conv1  Conv2d  231.2 M  115.6 M  1.33 MiB  166.0  compute
  layer2.1.conv2  Conv2d  231.2 M  115.6 M  1.33 MiB  166.0  compute
  layer3.0.conv2  Conv2d  231.2 M  115.6 M  2.63 MiB   83.8  compute
  layer3.1.conv1  Conv2d  231.2 M  115.6 M  2.63 MiB   83.8  compute

Coverage:
  all 69 operators priced

Advice:
  - convolution-heavy (99.7% of the FLOPs, more than 70%): the elementwise work
    around convolutions can be fused into them, and they lose little accuracy in
    int8
  - memory-bound as a whole (31.1 FLOPs per byte, ridge 50): bandwidth matters
    more than FLOP/s, and a smaller element type moves fewer bytes; weights are
    40% of the traffic

Next:
  pyrometer cost resnet18 --verbose        # every module and layer
  pyrometer cost resnet18 --batch 32       # another batch size
  pyrometer cost resnet18 --dtype float16  # the same in half precision
  pyrometer cost resnet18 -o cost.json     # all numbers, for programs

$ test "$(pyrometer cost)" = "$(pyrometer cost --model resnet18)" && test "$(pyrometer cost)" = "$(pyrometer cost resnet18)" && echo same
same

$ pyrometer cost good-3-short-expressions.pt2
================================================================================
GRAPH PROFILE: good-3-short-expressions
================================================================================

Model Summary:
  Model:                good-3-short-expressions (pt2 8.20, torch 2.13.0)
  File Size:            1.25 KiB
  Inputs:               x float32 [2, 3, 32, 16]
  Open Sizes:           dim 0, 2 of x
  Data Type:            float32
  Total Operators:      1
  Total MACs:           55.30 k (55,296)
  Total FLOPs:          110.6 k (110,592)
                        convention full: FLOPs = 2 x MACs + elementwise, norm,
                        pooling and activation work
  Parameters:           216, 864 B
  Traffic:              20.8 KiB moved (read and written)
    Activations read:   12.0 KiB
    Weights read:       864 B
    Written:            8.00 KiB
  Arithmetic Intensity: 5.2 FLOPs/byte (total FLOPs / traffic)
  Footprint:            864 B held (weights, no activations)

Operation Breakdown:
  Type    FLOPs %  Ops    FLOPs     MACs   Traffic  Traffic %
  -----------------------------------------------------------
  Conv2D   100.0%    1  110.6 k  55.30 k  20.8 KiB     100.0%

Bottleneck Analysis:
  Compute-bound:    0.0% of FLOPs,   0.0% of traffic, 0 layers (AI > 50)
  Memory-bound:   100.0% of FLOPs, 100.0% of traffic, 1 layer (AI <= 50)

  AI (FLOPs/byte)  Band                    Layers  FLOPs %  Traffic %
  -------------------------------------------------------------------
  < 10             memory-bound                 1   100.0%     100.0%
  10-50            balanced                     0     0.0%       0.0%
  50-100           compute-bound                0     0.0%       0.0%
  > 100            strongly compute-bound       0     0.0%       0.0%

Layer Details:
  Layer  Class     FLOPs     MACs   Traffic   AI  Bound
  ------------------------------------------------------
  conv   Conv2d  110.6 k  55.30 k  20.8 KiB  5.2  memory

Coverage:
  all 1 operator priced

Advice:
  - convolution-heavy (100.0% of the FLOPs, more than 70%): the elementwise work
    around convolutions can be fused into them, and they lose little accuracy in
    int8
  - memory-bound as a whole (5.2 FLOPs per byte, ridge 50): bandwidth matters
    more than FLOP/s, and a smaller element type moves fewer bytes; weights are
    4% of the traffic

Next:
  pyrometer cost good-3-short-expressions.pt2 --verbose
  pyrometer cost good-3-short-expressions.pt2 --batch 32
  pyrometer cost good-3-short-expressions.pt2 --dtype float16
  pyrometer cost good-3-short-expressions.pt2 -o cost.json

$ pyrometer cost -q good-8-cond.pt2 | tail -3

Coverage:
  all 4 operators priced

$ pyrometer cost good-8-cond.pt2 | sed -n '/^Notes/,/^$/p'
Notes:
  - cond: only the branch with more FLOPs is counted

$ pyrometer cost good-9-wrong-extension.onnx | sed -n 2p
GRAPH PROFILE: good-9-wrong-extension

$ pyrometer cost good-4-two-models.pt2:decoder | sed -n 2p
GRAPH PROFILE: decoder

# Verbose: the module tree, then every layer in the order of the graph.
$ pyrometer cost -v good-5-root-folder.pt2
================================================================================
GRAPH PROFILE: good-5-root-folder
================================================================================

Model Summary:
  Model:                good-5-root-folder (pt2 8.20, torch 2.13.0)
  File Size:            3.57 KiB
  Inputs:               x float32 [2, 8]
  Open Sizes:           dim 0 of x
  Data Type:            float32
  Total Operators:      3
  Total MACs:           384
  Total FLOPs:          840
                        convention full: FLOPs = 2 x MACs + elementwise, norm,
                        pooling and activation work
  Parameters:           212, 848 B
  Traffic:              1.42 KiB moved (read and written)
    Activations read:   320 B
    Weights read:       848 B
    Written:            288 B
  Arithmetic Intensity: 0.6 FLOPs/byte (total FLOPs / traffic)
  Footprint:            848 B held (weights, no activations)

Operation Breakdown:
  Type    FLOPs %  Ops  FLOPs  MACs   Traffic  Traffic %
  ------------------------------------------------------
  Linear    96.2%    2    808   384  1.17 KiB      82.4%
  ReLU       3.8%    1     32     0     256 B      17.6%

Bottleneck Analysis:
  Compute-bound:    0.0% of FLOPs,   0.0% of traffic, 0 layers (AI > 50)
  Memory-bound:   100.0% of FLOPs, 100.0% of traffic, 3 layers (AI <= 50)

  AI (FLOPs/byte)  Band                    Layers  FLOPs %  Traffic %
  -------------------------------------------------------------------
  < 10             memory-bound                 3   100.0%     100.0%
  10-50            balanced                     0     0.0%       0.0%
  50-100           compute-bound                0     0.0%       0.0%
  > 100            strongly compute-bound       0     0.0%       0.0%

Module Tree (rows include submodules):
  Module    Params  MACs  FLOPs   Traffic   AI  Class
  -------------------------------------------------------
  (model)      212   384    840  1.42 KiB  0.6  TwoLayers
    first      144   256    544     768 B  0.7  Linear
    second      68   128    264     432 B  0.6  Linear

Layer Details (all 3, in the order of the graph):
  Layer    Class      FLOPs  MACs  Traffic   AI  Bound
  -----------------------------------------------------
  first    Linear       544   256    768 B  0.7  memory
  (model)  TwoLayers     32     0    256 B  0.1  memory
  second   Linear       264   128    432 B  0.6  memory

Coverage:
  all 3 operators priced

Advice:
  - transformer-like (matrix products are 96.2% of the FLOPs, more than 50%;
    fused attention 0.0%)
  - memory-bound as a whole (0.6 FLOPs per byte, ridge 50): bandwidth matters
    more than FLOP/s, and a smaller element type moves fewer bytes; weights are
    58% of the traffic; a larger batch shares them among more samples

Next:
  pyrometer cost good-5-root-folder.pt2 --batch 32
  pyrometer cost good-5-root-folder.pt2 --dtype float16
  pyrometer cost good-5-root-folder.pt2 -o cost.json

$ pyrometer cost -v --depth 1 | sed -n '/^Module/,/^Coverage/p'
Module Tree (rows include submodules):
  Module      Params     MACs    FLOPs    Traffic    AI  Class
  ------------------------------------------------------------------------
  (model)    11.69 M   1.81 G   3.64 G  111.5 MiB  31.1  ResNet
    conv1     9.41 k  118.0 M  236.0 M   3.67 MiB  61.3  Conv2d
    bn1          128        0   1.61 M   6.13 MiB   0.2  BatchNorm2d
    relu           0        0  802.8 k   6.13 MiB   0.1  ReLU
    maxpool        0        0   1.81 M   3.83 MiB   0.5  MaxPool2d
    layer1   148.0 k  462.4 M  927.7 M   23.5 MiB  37.6  Sequential
    layer2   525.6 k  411.0 M  823.7 M   15.8 MiB  49.7  Sequential
    layer3    2.10 M  411.0 M  822.9 M   14.9 MiB  52.6  Sequential
    layer4    8.39 M  411.0 M  822.5 M   35.5 MiB  22.1  Sequential
    avgpool        0        0  25.09 k  100.0 KiB   0.2  AdaptiveAvgPool2d
    fc       513.0 k  512.0 k   1.03 M   1.96 MiB   0.5  Linear

Layer Details (all 11, in the order of the graph):
  Layer    Class                FLOPs     MACs    Traffic    AI  Bound
  ----------------------------------------------------------------------
  conv1    Conv2d             236.0 M  118.0 M   3.67 MiB  61.3  compute
  bn1      BatchNorm2d         1.61 M        0   6.13 MiB   0.2  memory
  relu     ReLU               802.8 k        0   6.13 MiB   0.1  memory
  maxpool  MaxPool2d           1.81 M        0   3.83 MiB   0.5  memory
  layer1   Sequential         927.7 M  462.4 M   23.5 MiB  37.6  memory
  layer2   Sequential         823.7 M  411.0 M   15.8 MiB  49.7  memory
  layer3   Sequential         822.9 M  411.0 M   14.9 MiB  52.6  compute
  layer4   Sequential         822.5 M  411.0 M   35.5 MiB  22.1  memory
  avgpool  AdaptiveAvgPool2d  25.09 k        0  100.0 KiB   0.2  memory
  (model)  ResNet                   0        0        0 B   0.0  -
  fc       Linear              1.03 M  512.0 k   1.96 MiB   0.5  memory

Coverage:

$ pyrometer cost -v --sort params | grep '^Layer Details'
Layer Details (all 61 by parameters):

$ pyrometer cost -v --top 2 | sed -n '/^Layer Details/,/^$/p'
Layer Details (Top 2 of 61 by FLOPs):
  Layer           Class     FLOPs     MACs   Traffic     AI  Bound
  ------------------------------------------------------------------
  conv1           Conv2d  236.0 M  118.0 M  3.67 MiB   61.3  compute
  layer1.0.conv1  Conv2d  231.2 M  115.6 M  1.67 MiB  131.9  compute

# The layer table.
$ pyrometer cost --top 3 --sort bytes | sed -n '/^Layer Details/,/^$/p'
Layer Details (Top 3 of 61 by memory):
  Layer           Class     FLOPs     MACs   Traffic    AI  Bound
  ----------------------------------------------------------------
  layer4.0.conv2  Conv2d  231.2 M  115.6 M  9.19 MiB  24.0  memory
  layer4.1.conv1  Conv2d  231.2 M  115.6 M  9.19 MiB  24.0  memory
  layer4.1.conv2  Conv2d  231.2 M  115.6 M  9.19 MiB  24.0  memory

$ pyrometer cost --top 3 --sort params | sed -n '/^Layer Details/,/^$/p'
Layer Details (Top 3 of 61 by parameters):
  Layer           Class     FLOPs     MACs   Traffic    AI  Bound
  ----------------------------------------------------------------
  layer4.0.conv2  Conv2d  231.2 M  115.6 M  9.19 MiB  24.0  memory
  layer4.1.conv1  Conv2d  231.2 M  115.6 M  9.19 MiB  24.0  memory
  layer4.1.conv2  Conv2d  231.2 M  115.6 M  9.19 MiB  24.0  memory

$ pyrometer cost --top 3 --sort ai | sed -n '/^Layer Details/,/^$/p'
Layer Details (Top 3 of 61 by arithmetic intensity):
  Layer           Class     FLOPs     MACs   Traffic     AI  Bound
  ------------------------------------------------------------------
  layer2.0.conv2  Conv2d  231.2 M  115.6 M  1.33 MiB  166.0  compute
  layer2.1.conv1  Conv2d  231.2 M  115.6 M  1.33 MiB  166.0  compute
  layer2.1.conv2  Conv2d  231.2 M  115.6 M  1.33 MiB  166.0  compute

$ pyrometer cost --top 3 --sort macs | sed -n '/^Layer Details/,/^$/p'
Layer Details (Top 3 of 61 by MACs):
  Layer           Class     FLOPs     MACs   Traffic     AI  Bound
  ------------------------------------------------------------------
  conv1           Conv2d  236.0 M  118.0 M  3.67 MiB   61.3  compute
  layer1.0.conv1  Conv2d  231.2 M  115.6 M  1.67 MiB  131.9  compute
  layer1.0.conv2  Conv2d  231.2 M  115.6 M  1.67 MiB  131.9  compute

$ pyrometer cost --top 0 | grep '^Layer Details'
Layer Details (all 61 by FLOPs):

$ pyrometer cost --depth 1 --top 3 | sed -n '/^Layer Details/,/^$/p'
Layer Details (Top 3 of 11 by FLOPs):
  Layer   Class         FLOPs     MACs   Traffic    AI  Bound
  -------------------------------------------------------------
  layer1  Sequential  927.7 M  462.4 M  23.5 MiB  37.6  memory
  layer2  Sequential  823.7 M  411.0 M  15.8 MiB  49.7  memory
  layer3  Sequential  822.9 M  411.0 M  14.9 MiB  52.6  compute

$ pyrometer cost --ridge 100 | grep -- '-bound:'
  Compute-bound:   44.5% of FLOPs,   9.6% of traffic, 7 layers (AI > 100)
  Memory-bound:    55.5% of FLOPs,  90.4% of traffic, 53 layers (AI <= 100)

$ COLUMNS=60 pyrometer cost --depth 1 --top 2 | sed -n '/^Layer Details/,/^$/p'
Layer Details (Top 2 of 11 by FLOPs):
  Layer     FLOPs     MACs   Traffic    AI  Bound
  ------------------------------------------------
  layer1  927.7 M  462.4 M  23.5 MiB  37.6  memory
  layer2  823.7 M  411.0 M  15.8 MiB  49.7  memory

# Conventions change FLOPs, never MACs; dtypes change bytes.
$ for name in full torch fvcore torchvision; do pyrometer cost --convention $name | grep -A1 'Total MACs\|Total FLOPs' | grep -v -- --; done
  Total MACs:           1.81 G (1,814,073,344)
  Total FLOPs:          3.64 G (3,638,007,272)
                        convention full: FLOPs = 2 x MACs + elementwise, norm,
  Total MACs:           1.81 G (1,814,073,344)
  Total FLOPs:          3.63 G (3,628,146,688)
                        convention torch: FLOPs = 2 x MACs, of the operators
  Total MACs:           1.81 G (1,814,073,344)
  Total FLOPs:          1.82 G (1,819,065,856)
                        convention fvcore: FLOPs as fvcore counts: MACs plus its
  Total MACs:           1.81 G (1,814,073,344)
  Total FLOPs:          1.81 G (1,814,073,344)
                        convention torchvision: FLOPs as torchvision publishes:

$ pyrometer cost --dtype float16 | grep 'Data Type\|Parameters\|Traffic:\|Footprint'
  Data Type:            float16
  Parameters:           11.69 M (11,689,512), 22.3 MiB; buffers 9.62 k
  Traffic:              55.8 MiB moved (read and written)
  Footprint:            22.3 MiB held (weights, no activations)

$ pyrometer cost --dtype float17
pyrometer: resnet18: unknown element type 'float17'; try float32, float16, bfloat16, float8_e4m3fn or int8
[2]

# Sizes: what the file leaves open follows, what it fixes is an error.
$ pyrometer cost --input-shape 2,3,384,384 | grep 'Inputs\|Total MACs'
  Inputs:               x float32 [2, 3, 384, 384]
  Total MACs:           10.66 G (10,660,323,328)

$ pyrometer cost --input-shape 2x3x384x384 | grep 'Total MACs'
  Total MACs:           10.66 G (10,660,323,328)

$ pyrometer cost --batch 8 good-1-flat-layout.pt2 | grep 'Inputs\|Total MACs'
  Inputs:               x float32 [8, 3, 32, 16]
  Total MACs:           221.2 k (221,184)

$ pyrometer cost --input x=1,3,64,16 good-1-flat-layout.pt2 | grep 'Inputs\|Total MACs'
  Inputs:               x float32 [1, 3, 64, 16]
  Total MACs:           55.30 k (55,296)

$ pyrometer cost --size s1=64 --size=s0=1 good-1-flat-layout.pt2 | grep 'Inputs\|Total MACs'
  Inputs:               x float32 [1, 3, 64, 16]
  Total MACs:           55.30 k (55,296)

$ pyrometer cost --batch 4 good-10-static.pt2
pyrometer: good-10-static.pt2: input 'x': dim 0 is fixed at 2 in the file, not 4 (first used by aten.linear.default in first); export the model with dynamic_shapes to change it
[2]

$ pyrometer cost --input-shape 1,4,32,16 good-1-flat-layout.pt2
pyrometer: good-1-flat-layout.pt2: input 'x': dim 1 is fixed at 3 in the file, not 4 (first used by aten.conv2d.default in conv); export the model with dynamic_shapes to change it
[2]

$ pyrometer cost --input-shape 1,3,32 good-1-flat-layout.pt2
pyrometer: good-1-flat-layout.pt2: input 'x' has 4 dims in the file, not 3
[2]

$ pyrometer cost --input y=1 good-1-flat-layout.pt2
pyrometer: good-1-flat-layout.pt2: unknown input 'y'; the model has x
[2]

$ pyrometer cost --size s9=1 good-1-flat-layout.pt2
pyrometer: good-1-flat-layout.pt2: unknown size 's9'; the model has: s0, s1
[2]

# Several models: one table.
$ pyrometer cost resnet18 good-1-flat-layout.pt2
================================================================================
MODEL COMPARISON
================================================================================

  Model                Params     MACs    FLOPs  vs 1st    Traffic    AI  Bound
  ------------------------------------------------------------------------------
  resnet18            11.69 M   1.81 G   3.64 G   1.00x  111.5 MiB  31.1  memory
  good-1-flat-layout      216  55.30 k  110.6 k  <0.01x   20.8 KiB   5.2  memory

Inputs:
  resnet18:             x float32 [1, 3, 224, 224]
  good-1-flat-layout:   x float32 [2, 3, 32, 16]

Coverage:
  all operators of all models priced

Convention full: FLOPs = 2 x MACs + elementwise, norm, pooling and activation
work. Traffic is bytes read and written; AI is FLOPs per byte of it,
compute-bound above 50.

$ pyrometer cost -q --model resnet18,good-10-static.pt2 resnet18 --batch 2
================================================================================
MODEL COMPARISON
================================================================================

  Model            Params    MACs   FLOPs  vs 1st    Traffic    AI  Bound
  ------------------------------------------------------------------------
  resnet18 (1)    11.69 M  3.63 G  7.28 G   1.00x  178.4 MiB  38.9  memory
  good-10-static      212     384     840  <0.01x   1.42 KiB   0.6  memory
  resnet18 (3)    11.69 M  3.63 G  7.28 G   1.00x  178.4 MiB  38.9  memory

Inputs:
  resnet18 (1):         x float32 [2, 3, 224, 224]
  good-10-static:       x float32 [2, 8]
  resnet18 (3):         x float32 [2, 3, 224, 224]

Coverage:
  all operators of all models priced

$ pyrometer cost --format csv resnet18 good-1-flat-layout.pt2
model,source,convention,dtype,operators,params,param_bytes,total_macs,total_flops,total_memory,activation_read_bytes,weight_read_bytes,written_bytes,arithmetic_intensity,bottleneck,band,coverage,past_tokens,kv_cache_read_bytes_per_token
resnet18,"pt2 8.20, torch 2.13.0",full,float32,69,11689512,46758048,1814073344,3638007272,116950592,37232640,46796448,32921504,31.1072,memory-bound,balanced,1,,
good-1-flat-layout,"pt2 8.7, torch 2.7.0",full,float32,1,216,864,55296,110592,21344,12288,864,8192,5.18141,memory-bound,memory-bound,1,,

$ pyrometer cost --format json resnet18 good-1-flat-layout.pt2 > $TMP/two.json; python3 -c '
> import json, os
> data = json.load(open(os.environ["TMP"] + "/two.json"))
> print(data["schema"], [(model["model"], model["total_macs"]) for model in data["models"]])'
pyrometer.cost.compare/1 [('resnet18', 1814073344), ('good-1-flat-layout', 55296)]

$ pyrometer cost resnet18 bad-4-cycle.pt2
pyrometer: bad-4-cycle.pt2:models/model.json: 'second' is used by 'first' (aten.linear.default) before it is made: the graph is cyclic or damaged (at byte 275)
[2]

# JSON: the keys, and that rows add up.
$ pyrometer cost --format json good-10-static.pt2
{
  "schema": "pyrometer.cost/1",
  "model": "good-10-static",
  "display_name": "good-10-static",
  "source": "pt2 8.20, torch 2.13.0",
  "file_bytes": 1304,
  "convention": "full",
  "convention_summary": "FLOPs = 2 x MACs + elementwise, norm, pooling and activation work",
  "dtype": "float32",
  "ridge": 50,
  "inputs": [
    {"name": "x", "dtype": "float32", "shape": [2, 8], "symbols": [null, null]}
  ],
  "operators": 3,
  "total_macs": 384,
  "total_flops": 840,
  "total_memory": 1456,
  "params": 212,
  "param_bytes": 848,
  "buffers": 0,
  "memory": {"activation_read_bytes": 320, "weight_read_bytes": 848, "written_bytes": 288},
  "arithmetic_intensity": 0.5769230769230769,
  "bottleneck": "memory-bound",
  "band": "memory-bound",
  "footprint": {"total_bytes": 848, "weight_bytes": 848, "kv_cache_bytes": null},
  "peak_memory": {"total_bytes": 1168, "activation_bytes": 256, "input_bytes": 64, "node": "relu", "layer": ""},
  "decode": null,
  "coverage": {
    "share": 1,
    "uncounted": []
  },
  "advice": [
    "transformer-like (matrix products are 96.2% of the FLOPs, more than 50%; fused attention 0.0%)",
    "memory-bound as a whole (0.6 FLOPs per byte, ridge 50): bandwidth matters more than FLOP/s, and a smaller element type moves fewer bytes; weights are 58% of the traffic; a larger batch shares them among more samples"
  ],
  "notes": [],
  "layers": [
    {"name": "first", "type": "linear", "class": "Linear", "operators": 1, "macs": 256, "flops": 544, "memory": 768, "activation_read_bytes": 64, "weight_read_bytes": 576, "written_bytes": 128, "params": 144, "arithmetic_intensity": 0.7083333333333334, "bottleneck": "memory-bound", "band": "memory-bound"},
    {"name": "(model)", "type": "relu", "class": "TwoLayers", "operators": 1, "macs": 0, "flops": 32, "memory": 256, "activation_read_bytes": 128, "weight_read_bytes": 0, "written_bytes": 128, "params": 0, "arithmetic_intensity": 0.125, "bottleneck": "memory-bound", "band": "memory-bound"},
    {"name": "second", "type": "linear", "class": "Linear", "operators": 1, "macs": 128, "flops": 264, "memory": 432, "activation_read_bytes": 128, "weight_read_bytes": 272, "written_bytes": 32, "params": 68, "arithmetic_intensity": 0.6111111111111112, "bottleneck": "memory-bound", "band": "memory-bound"}
  ],
  "modules": [
    {"name": "(model)", "type": "linear", "class": "TwoLayers", "depth": 0, "operators": 3, "macs": 384, "flops": 840, "memory": 1456, "activation_read_bytes": 320, "weight_read_bytes": 848, "written_bytes": 288, "params": 212, "arithmetic_intensity": 0.5769230769230769, "bottleneck": "memory-bound", "band": "memory-bound"},
    {"name": "first", "type": "linear", "class": "Linear", "depth": 1, "operators": 1, "macs": 256, "flops": 544, "memory": 768, "activation_read_bytes": 64, "weight_read_bytes": 576, "written_bytes": 128, "params": 144, "arithmetic_intensity": 0.7083333333333334, "bottleneck": "memory-bound", "band": "memory-bound"},
    {"name": "second", "type": "linear", "class": "Linear", "depth": 1, "operators": 1, "macs": 128, "flops": 264, "memory": 432, "activation_read_bytes": 128, "weight_read_bytes": 272, "written_bytes": 32, "params": 68, "arithmetic_intensity": 0.6111111111111112, "bottleneck": "memory-bound", "band": "memory-bound"}
  ],
  "operators_by_type": [
    {"name": "Linear", "type": "linear", "class": "", "operators": 2, "macs": 384, "flops": 808, "memory": 1200, "activation_read_bytes": 192, "weight_read_bytes": 848, "written_bytes": 160, "params": 0, "arithmetic_intensity": 0.6733333333333333, "bottleneck": "memory-bound", "band": "memory-bound"},
    {"name": "ReLU", "type": "relu", "class": "", "operators": 1, "macs": 0, "flops": 32, "memory": 256, "activation_read_bytes": 128, "weight_read_bytes": 0, "written_bytes": 128, "params": 0, "arithmetic_intensity": 0.125, "bottleneck": "memory-bound", "band": "memory-bound"}
  ],
  "nodes": [
    {"name": "first", "op": "aten.linear.default", "type": "Linear", "category": "matmul", "layer": "first", "shape": "2x16", "times": 1, "macs": 256, "flops": 544, "memory": 768, "activation_read_bytes": 64, "weight_read_bytes": 576, "written_bytes": 128},
    {"name": "relu", "op": "aten.relu.default", "type": "ReLU", "category": "activation", "layer": "(model)", "shape": "2x16", "times": 1, "macs": 0, "flops": 32, "memory": 256, "activation_read_bytes": 128, "weight_read_bytes": 0, "written_bytes": 128},
    {"name": "second", "op": "aten.linear.default", "type": "Linear", "category": "matmul", "layer": "second", "shape": "2x4", "times": 1, "macs": 128, "flops": 264, "memory": 432, "activation_read_bytes": 128, "weight_read_bytes": 272, "written_bytes": 32}
  ],
  "memory_curve": [128, 256, 160],
  "alive_at_peak": [
    {"what": "activation", "name": "first", "layer": "first", "bytes": 128},
    {"what": "activation", "name": "relu", "layer": "", "bytes": 128}
  ]
}

$ pyrometer cost -o $TMP/cost.json; python3 -c '
> import json, os
> data = json.load(open(os.environ["TMP"] + "/cost.json"))
> for key in ("flops", "memory", "macs"):
>     total = data["total_" + key]
>     assert all(total == sum(row[key] for row in data[rows]) for rows in ("layers", "nodes", "operators_by_type"))
>     assert data["modules"][0][key] == total
> assert data["params"] == sum(row["params"] for row in data["layers"])
> assert data["total_memory"] == sum(data["memory"].values())
> assert data["operators"] == len(data["nodes"]) == sum(row["operators"] for row in data["layers"])
> assert data["file_bytes"] is None
> print(data["model"], data["total_macs"], data["total_flops"], data["params"])'
wrote $TMP/cost.json (json)
resnet18 1814073344 3638007272 11689512

# CSV: one record a layer, with --verbose one a node.
$ pyrometer cost --format csv good-10-static.pt2
name,type,class,operators,macs,flops,memory,activation_read_bytes,weight_read_bytes,written_bytes,params,arithmetic_intensity,bottleneck,band
first,linear,Linear,1,256,544,768,64,576,128,144,0.708333,memory-bound,memory-bound
(model),relu,TwoLayers,1,0,32,256,128,0,128,0,0.125,memory-bound,memory-bound
second,linear,Linear,1,128,264,432,128,272,32,68,0.611111,memory-bound,memory-bound

$ pyrometer cost --format csv -v good-10-static.pt2
name,op,type,category,layer,shape,times,macs,flops,memory,activation_read_bytes,weight_read_bytes,written_bytes
first,aten.linear.default,Linear,matmul,first,2x16,1,256,544,768,64,576,128
relu,aten.relu.default,ReLU,activation,(model),2x16,1,0,32,256,128,0,128
second,aten.linear.default,Linear,matmul,second,2x4,1,128,264,432,128,272,32

$ pyrometer cost -qo $TMP/cost.csv; python3 -c '
> import csv, os
> rows = list(csv.DictReader(open(os.environ["TMP"] + "/cost.csv", newline="")))
> print(len(rows), sum(int(row["macs"]) for row in rows))'
61 1814073344

# Strict: what was not counted is an error, and the result is written all the same.
$ pyrometer cost --strict -q | tail -1
  all 69 operators priced

$ cat > $TMP/change.py <<'END'
> """change.py FROM TO OLD NEW...: a model file with texts of its graph replaced."""
> import sys, zipfile
> source, target, *texts = sys.argv[1:]
> with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
>     for name in old.namelist():
>         data = old.read(name)
>         for before, after in zip(texts[::2], texts[1::2]):
>             data = data.replace(before.encode(), after.encode())
>         new.writestr(name, data)
> END
$ python3 $TMP/change.py good-10-static.pt2 $TMP/unknown.pt2 aten.relu my.op
$ pyrometer cost -q $TMP/unknown.pt2 | sed -n '/^Coverage/,$p'
Coverage:
  2 of 3 operators priced (66.7%); NOT COUNTED, so totals are too low:
  Operator  Count  Why
  ------------------------
  my.op         1  no rule

$ pyrometer cost --strict -qo $TMP/unknown.json $TMP/unknown.pt2
pyrometer: unknown: 1 of 3 operators not counted: my.op x1 (no rule)
[1]

$ python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["coverage"])' $TMP/unknown.json
{'share': 0.6666666666666667, 'uncounted': [{'op': 'my.op', 'count': 1, 'reason': 'no rule'}]}

$ pyrometer cost -q $TMP/unknown.pt2 resnet18 | sed -n '/^Coverage/,$p'
Coverage:
  unknown:
  2 of 3 operators priced (66.7%); NOT COUNTED, so totals are too low:
  Operator  Count  Why
  ------------------------
  my.op         1  no rule

$ pyrometer cost --strict --format csv $TMP/unknown.pt2 resnet18 > $TMP/two.csv
pyrometer: unknown: 1 of 3 operators not counted: my.op x1 (no rule)
[1]

$ pyrometer diff -q good-10-static.pt2 $TMP/unknown.pt2 | sed -n '/^Layers/,$p'
Layers: 1 changed, 0 added, 0 removed, 2 identical:
  FLOPs before and after; change of FLOPs, traffic and parameters

  Layer             Before  After  Change  Traffic  Params
  --------------------------------------------------------
  (model)  changed      32      0     -32      0 B       0

Coverage after:
  2 of 3 operators priced (66.7%); NOT COUNTED, so totals are too low:
  Operator  Count  Why
  ------------------------
  my.op         1  no rule

# What a terminal would obey never reaches it, and what a spreadsheet would run never reaches that.
$ python3 $TMP/change.py good-10-static.pt2 $TMP/hostile.pt2 second '=1+1\u001b[31m'
$ pyrometer cost -v $TMP/hostile.pt2 | grep -c "$(printf '\033')"
0
[1]

$ pyrometer cost $TMP/hostile.pt2 | grep '1+1'
  =1+1?[31m  Linear       264   128    432 B  0.6  memory

$ pyrometer cost --format csv $TMP/hostile.pt2 | grep '1+1' | tr '\033' '^'
'=1+1?[31m,linear,Linear,1,128,264,432,128,272,32,68,0.611111,memory-bound,memory-bound

$ pyrometer cost --format json $TMP/hostile.pt2 | python3 -c 'import json, sys; print([row["name"] for row in json.load(sys.stdin)["layers"]])'
['first', '(model)', '=1+1\x1b[31m']
