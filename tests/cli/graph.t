# Blocks of the built-in model, which is the default, and what goes between them.
$ pyrometer graph
Graph: resnet18
Granularity: module

Nodes (15):
  Id  Name      Type               Ops   Params  Param bytes  Passes  Median ms  P95 ms      FLOPs  Moved bytes  Output bytes
  ---------------------------------------------------------------------------------------------------------------------------
   0  x         input                -        -            -       -          -       -          -            -        602112
   1  conv1     Conv2d               1     9408        37632       -          -       -  236027904      3851008       3211264
   2  bn1       BatchNorm2d          1      128          512       -          -       -    1605632      6423552       3211264
   3  relu      ReLU                 1        0            0       -          -       -     802816      6422528       3211264
   4  maxpool   MaxPool2d            1        0            0       -          -       -    1806336      4014080        802816
   5  layer1.0  BasicBlock           7    73984       295936       -          -       -  463826944     12339200        802816
   6  layer1.1  BasicBlock           7    73984       295936       -          -       -  463826944     12339200        802816
   7  layer2.0  BasicBlock           9   230144       920576       -          -       -  360564736      9353216        401408
   8  layer2.1  BasicBlock           7   295424      1181696       -          -       -  463124480      7204864        401408
   9  layer3.0  BasicBlock           9   919040      3676160       -          -       -  360113152      7897088        200704
  10  layer3.1  BasicBlock           7  1180672      4722688       -          -       -  462773248      7737344        200704
  11  layer4.0  BasicBlock           9  3673088     14692352       -          -       -  359887360     16812032        100352
  12  layer4.1  BasicBlock           7  4720640     18882560       -          -       -  462597632     20396032        100352
  13  avgpool   AdaptiveAvgPool2d    1        0            0       -          -       -      25088       102400          2048
  14  fc        Linear               1   513000      2052000       -          -       -    1025000      2058048          4000

Edges (14):
  From      To    Bytes  Tensors               Names
  -----------------------------------------------------------------
     0  ->  1    602112  float32:1x3x224x224   x -> conv1
     1  ->  2   3211264  float32:1x64x112x112  conv1 -> bn1
     2  ->  3   3211264  float32:1x64x112x112  bn1 -> relu
     3  ->  4   3211264  float32:1x64x112x112  relu -> maxpool
     4  ->  5    802816  float32:1x64x56x56    maxpool -> layer1.0
     5  ->  6    802816  float32:1x64x56x56    layer1.0 -> layer1.1
     6  ->  7    802816  float32:1x64x56x56    layer1.1 -> layer2.0
     7  ->  8    401408  float32:1x128x28x28   layer2.0 -> layer2.1
     8  ->  9    401408  float32:1x128x28x28   layer2.1 -> layer3.0
     9  ->  10   200704  float32:1x256x14x14   layer3.0 -> layer3.1
    10  ->  11   200704  float32:1x256x14x14   layer3.1 -> layer4.0
    11  ->  12   100352  float32:1x512x7x7     layer4.0 -> layer4.1
    12  ->  13   100352  float32:1x512x7x7     layer4.1 -> avgpool
    13  ->  14     2048  float32:1x512         avgpool -> fc

Stats:
  Nodes:                 15
  Inputs among them:     1
  Edges:                 14
  Parameters:            11689512
  Parameter bytes:       46758048
  FLOPs:                 3638007272
  Moved bytes:           116950592
  Passes:                0
  Forward median:        -
  Forward p95:           -
  Sum over nodes:        -
  Mean of a node:        -
  Slowest node:          -

# Leaves and the operators between them; the residual is an edge.
$ pyrometer graph resnet18 -g layer --no-stats | grep 'layer1.0'
   5  layer1.0.conv1         Conv2d               1    36864       147456       -          -       -  231211008      1753088        802816
   6  layer1.0.bn1           BatchNorm2d          1      128          512       -          -       -     401408      1606656        802816
   7  layer1.0.relu          ReLU                 1        0            0       -          -       -     200704      1605632        802816
   8  layer1.0.conv2         Conv2d               1    36864       147456       -          -       -  231211008      1753088        802816
   9  layer1.0.bn2           BatchNorm2d          1      128          512       -          -       -     401408      1606656        802816
  10  layer1.0/add_          aten.add_            1        0            0       -          -       -     200704      2408448        802816
  11  layer1.0.relu@1        ReLU                 1        0            0       -          -       -     200704      1605632        802816
     4  ->  5    802816  float32:1x64x56x56    maxpool -> layer1.0.conv1
     5  ->  6    802816  float32:1x64x56x56    layer1.0.conv1 -> layer1.0.bn1
     6  ->  7    802816  float32:1x64x56x56    layer1.0.bn1 -> layer1.0.relu
     7  ->  8    802816  float32:1x64x56x56    layer1.0.relu -> layer1.0.conv2
     8  ->  9    802816  float32:1x64x56x56    layer1.0.conv2 -> layer1.0.bn2
     4  ->  10   802816  float32:1x64x56x56    maxpool -> layer1.0/add_
     9  ->  10   802816  float32:1x64x56x56    layer1.0.bn2 -> layer1.0/add_
    10  ->  11   802816  float32:1x64x56x56    layer1.0/add_ -> layer1.0.relu@1
    11  ->  12   802816  float32:1x64x56x56    layer1.0.relu@1 -> layer1.1.conv1
    11  ->  17   802816  float32:1x64x56x56    layer1.0.relu@1 -> layer1.1/add_

# The batch follows where the file leaves it open.
$ pyrometer graph resnet18 --batch 4 --format json | grep -m3 '"conv1"\|"from": 0'
    {"id": 1, "name": "conv1", "kind": "module", "path": "conv1", "type": "Conv2d", "operators": 1, "parameters": 9408, "parameter_bytes": 37632, "passes": 0, "median_ns": null, "p95_ns": null, "total_ns": null, "device_ns": null, "flops": 944111616, "moved_bytes": 15291136, "output_bytes": 12845056},
    {"from": 0, "to": 1, "bytes": 2408448, "assumed": false, "tensors": [{"dtype": "float32", "shape": [4, 3, 224, 224], "bytes": 2408448, "assumed": false}]},

# Where to cut.
$ pyrometer graph resnet18 --cuts 3 --no-edges --no-stats
Graph: resnet18
Granularity: module

Nodes (15):
  Id  Name      Type               Ops   Params  Param bytes  Passes  Median ms  P95 ms      FLOPs  Moved bytes  Output bytes
  ---------------------------------------------------------------------------------------------------------------------------
   0  x         input                -        -            -       -          -       -          -            -        602112
   1  conv1     Conv2d               1     9408        37632       -          -       -  236027904      3851008       3211264
   2  bn1       BatchNorm2d          1      128          512       -          -       -    1605632      6423552       3211264
   3  relu      ReLU                 1        0            0       -          -       -     802816      6422528       3211264
   4  maxpool   MaxPool2d            1        0            0       -          -       -    1806336      4014080        802816
   5  layer1.0  BasicBlock           7    73984       295936       -          -       -  463826944     12339200        802816
   6  layer1.1  BasicBlock           7    73984       295936       -          -       -  463826944     12339200        802816
   7  layer2.0  BasicBlock           9   230144       920576       -          -       -  360564736      9353216        401408
   8  layer2.1  BasicBlock           7   295424      1181696       -          -       -  463124480      7204864        401408
   9  layer3.0  BasicBlock           9   919040      3676160       -          -       -  360113152      7897088        200704
  10  layer3.1  BasicBlock           7  1180672      4722688       -          -       -  462773248      7737344        200704
  11  layer4.0  BasicBlock           9  3673088     14692352       -          -       -  359887360     16812032        100352
  12  layer4.1  BasicBlock           7  4720640     18882560       -          -       -  462597632     20396032        100352
  13  avgpool   AdaptiveAvgPool2d    1        0            0       -          -       -      25088       102400          2048
  14  fc        Linear               1   513000      2052000       -          -       -    1025000      2058048          4000

Cuts (13):
  After  Name      Crossing bytes  Tensors  FLOPs before  FLOPs behind
  --------------------------------------------------------------------
      1  conv1            3211264        1     236027904    3401979368
      2  bn1              3211264        1     237633536    3400373736
      3  relu             3211264        1     238436352    3399570920
      4  maxpool           802816        1     240242688    3397764584
      5  layer1.0          802816        1     704069632    2933937640
      6  layer1.1          802816        1    1167896576    2470110696
      7  layer2.0          401408        1    1528461312    2109545960
      8  layer2.1          401408        1    1991585792    1646421480
      9  layer3.0          200704        1    2351698944    1286308328
     10  layer3.1          200704        1    2814472192     823535080
     11  layer4.0          100352        1    3174359552     463647720
     12  layer4.1          100352        1    3636957184       1050088
     13  avgpool             2048        1    3636982272       1025000

Split into 3 parts, balanced by FLOPs (nothing was timed):
  Part  First     Last           FLOPs  Share    Params  Memory bytes  Received bytes
  -----------------------------------------------------------------------------------
     1  conv1     layer1.1  1167896576  32.1%    157504       7055104               0
     2  layer2.0  layer3.0  1183802368  32.5%   1444608       7395328          802816
     3  layer3.1  fc        1286308328  35.4%  10087400      40976288          200704

$ pyrometer graph resnet18 --cuts 3 --memory-limit 40M --no-edges --no-stats | tail -6
Split into 3 parts, balanced by FLOPs (nothing was timed), at most 41943040 bytes each:
  Part  First     Last           FLOPs  Share    Params  Memory bytes  Received bytes
  -----------------------------------------------------------------------------------
     1  conv1     layer1.1  1167896576  32.1%    157504       7055104               0
     2  layer2.0  layer3.0  1183802368  32.5%   1444608       7395328          802816
     3  layer3.1  fc        1286308328  35.4%  10087400      40976288          200704

$ pyrometer graph resnet18 --cuts 2 --memory-limit 16M
pyrometer: no split fits: 'layer4.1' alone needs 18.3 MiB, more than the memory limit of 16.0 MiB
[2]

$ pyrometer graph resnet18 --cuts 2 --memory-limit 22M
pyrometer: no split into 2 parts fits the memory limit; 3 parts would
[2]

$ pyrometer graph resnet18 --cuts 200
pyrometer: the graph has 14 blocks, too few for 200 parts
[2]

$ pyrometer graph resnet18 --memory-limit 1G
pyrometer: --memory-limit requires --cuts, the number of parts
[2]

$ pyrometer graph resnet18 --cuts 2 --memory-limit lots
pyrometer: --memory-limit: "lots" is not a size; write 500M or 8G
[2]

# Other forms; a file appears whole, and its extension says the form.
$ pyrometer graph good-1-flat-layout.pt2 -g op --format dot
digraph "good-1-flat-layout" {
  graph [fontname="sans-serif" fontsize=10 style=rounded color="#999999" labeljust=l
    label="Colour: share of FLOPs, from 1%, 3%, 8%, 20% and 50% on"]
  node [fontname="sans-serif" fontsize=10 style="rounded,filled" fillcolor=white color="#555555"]
  edge [fontname="sans-serif" fontsize=8 color="#333333"]
  n0 [shape=ellipse label="x"]
  n1 [shape=box label="conv/conv2d\naten.conv2d\n216 params\n110.6 k FLOPs, 100.0%" fillcolor="#b9400f" fontcolor="#ffffff" style=filled]
  n0 -> n1 [label="2x3x32x16"]
}

$ pyrometer graph good-1-flat-layout.pt2 -g op -o "$TMP/g.graphml" && cat "$TMP/g.graphml"
wrote $TMP/g.graphml (graphml)
<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="name" for="node" attr.name="name" attr.type="string"/>
  <key id="path" for="node" attr.name="path" attr.type="string"/>
  <key id="type" for="node" attr.name="type" attr.type="string"/>
  <key id="parameters" for="node" attr.name="parameters" attr.type="long"/>
  <key id="parameter_bytes" for="node" attr.name="parameter_bytes" attr.type="long"/>
  <key id="median_ns" for="node" attr.name="median_ns" attr.type="long"/>
  <key id="p95_ns" for="node" attr.name="p95_ns" attr.type="long"/>
  <key id="device_ns" for="node" attr.name="device_ns" attr.type="long"/>
  <key id="flops" for="node" attr.name="flops" attr.type="long"/>
  <key id="moved_bytes" for="node" attr.name="moved_bytes" attr.type="long"/>
  <key id="output_bytes" for="node" attr.name="output_bytes" attr.type="long"/>
  <key id="bytes" for="edge" attr.name="bytes" attr.type="long"/>
  <key id="tensors" for="edge" attr.name="tensors" attr.type="string"/>
  <key id="assumed" for="edge" attr.name="assumed" attr.type="boolean"/>
  <graph edgedefault="directed">
    <node id="n0"><data key="name">x</data><data key="path"></data><data key="type">input</data><data key="parameters">0</data><data key="parameter_bytes">0</data><data key="output_bytes">12288</data></node>
    <node id="n1"><data key="name">conv/conv2d</data><data key="path">conv</data><data key="type">aten.conv2d</data><data key="parameters">216</data><data key="parameter_bytes">864</data><data key="flops">110592</data><data key="moved_bytes">21344</data><data key="output_bytes">8192</data></node>
    <edge source="n0" target="n1"><data key="bytes">12288</data><data key="tensors">float32:2x3x32x16</data></edge>
  </graph>
</graphml>

$ pyrometer graph good-1-flat-layout.pt2 -o "$TMP/g.json" -q && head -4 "$TMP/g.json"
{
  "schema": "pyrometer.graph/1",
  "name": "good-1-flat-layout",
  "granularity": "module",

# Pictures have blocks that are alike once; --depth opens them.
$ pyrometer graph llama3_8b --format dot | grep 'layers\|subgraph'
  subgraph cluster_0 {
    n3 [shape=box label="model.layers.0 ... model.layers.31 (x32)\nLlamaDecoderLayer\n218.1 M params\n56.12 G FLOPs, 93.0%" fillcolor="#b9400f" fontcolor="#ffffff"]

$ pyrometer graph llama3_8b --format dot --depth 3 | grep -c 'label="model.layers'
32

$ pyrometer graph llama3_8b -g layer --depth 3 --format svg
pyrometer: the picture would have * nodes and * edges, more than can be drawn or read (300 and 1200): choose a coarser granularity (module), leave out depth or make it smaller, or write dot, graphml or json for programs that lay out large graphs (glob)
[2]

$ pyrometer graph resnet18 --depth 2
pyrometer: --depth is for drawings: use it with --format svg or dot
[2]

$ pyrometer graph good-1-flat-layout.pt2 -o "$TMP/g.png"
pyrometer: --output $TMP/g.png: unknown extension .png; use .dot, .json, .graphml, .html, .svg or .txt, or give --format (see pyrometer graph --help)
[2]

$ tool=$(command -v pyrometer); PATH=/nowhere "$tool" graph good-1-flat-layout.pt2 --format svg
pyrometer: svg needs Graphviz, which is not installed (Debian package: graphviz); --format dot writes its input
[2]

# What cannot be read.
$ pyrometer graph nothing.pt2
pyrometer: nothing.pt2: no such file or model (pyrometer models lists the * built-in ones) (glob)
[2]

$ pyrometer graph resnet18 resnet18
pyrometer: graph takes one model or recording, not 2 (see pyrometer graph --help)
[2]

$ printf 'PYROREC1' > "$TMP/short.pyro"; pyrometer graph "$TMP/short.pyro"
pyrometer: $TMP/short.pyro: truncated recording: the file ends inside its header
[2]
