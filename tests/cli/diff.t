# Two models: totals, then the layers that changed.
$ pyrometer diff good-10-static.pt2 good-8-cond.pt2
================================================================================
GRAPH DIFF: good-10-static -> good-8-cond
================================================================================

  Total         Before     After   Change
  ------------------------------------------------
  MACs             384    1.02 k     +640  +166.7%
  FLOPs            840    2.18 k  +1.34 k  +159.2%
  Traffic     1.42 KiB  1.82 KiB   +409 B   +28.1%
  Parameters       212       272      +60   +28.3%
  Operators          3         4       +1   +33.3%
  FLOPs/byte       0.6       1.2     +0.6  +102.3%

Layers: 1 changed, 1 added, 2 removed, 0 identical:
  FLOPs before and after; change of FLOPs, traffic and parameters

  Layer             Before   After   Change    Traffic  Params
  ------------------------------------------------------------
  inner    added         -  2.11 k  +2.11 k  +1.56 KiB    +272
  first    removed     544       -     -544     -768 B    -144
  second   removed     264       -     -264     -432 B     -68
  (model)  changed      32      65      +33       +9 B       0

Convention full: FLOPs = 2 x MACs + elementwise, norm, pooling and activation
work.

$ pyrometer diff good-10-static.pt2 good-10-static.pt2
================================================================================
GRAPH DIFF: good-10-static -> good-10-static
================================================================================

  Total         Before     After  Change
  ------------------------------------------
  MACs             384       384       0  0%
  FLOPs            840       840       0  0%
  Traffic     1.42 KiB  1.42 KiB     0 B  0%
  Parameters       212       212       0  0%
  Operators          3         3       0  0%
  FLOPs/byte       0.6       0.6    +0.0  0%

No layer changed: all 3 are identical.

Convention full: FLOPs = 2 x MACs + elementwise, norm, pooling and activation
work.

$ pyrometer diff -q resnet18 good-10-static.pt2 --top 3
================================================================================
GRAPH DIFF: ResNet-18 -> good-10-static
================================================================================

  Total          Before     After      Change
  ----------------------------------------------------
  MACs           1.81 G       384     -1.81 G  -100.0%
  FLOPs          3.64 G       840     -3.64 G  -100.0%
  Traffic     111.5 MiB  1.42 KiB  -111.5 MiB  -100.0%
  Parameters    11.69 M       212     -11.7 M  -100.0%
  Operators          69         3         -66   -95.7%
  FLOPs/byte       31.1       0.6       -30.5   -98.1%

Layers: 1 changed, 2 added, 60 removed, 0 identical (top 3 of 63):
  FLOPs before and after; change of FLOPs, traffic and parameters

  Layer                     Before  After    Change    Traffic   Params
  ---------------------------------------------------------------------
  conv1           removed  236.0 M      -  -236.0 M  -3.67 MiB  -9.41 k
  layer4.0.conv2  removed  231.2 M      -  -231.2 M  -9.19 MiB  -2.36 M
  layer4.1.conv1  removed  231.2 M      -  -231.2 M  -9.19 MiB  -2.36 M

$ pyrometer diff -q resnet18 good-10-static.pt2 --depth 1 --top 0 | tail -16

  Layer              Before  After    Change     Traffic    Params
  ----------------------------------------------------------------
  layer1   removed  927.7 M      -  -927.7 M   -23.5 MiB  -148.0 k
  layer2   removed  823.7 M      -  -823.7 M   -15.8 MiB  -525.6 k
  layer3   removed  822.9 M      -  -822.9 M   -14.9 MiB   -2.10 M
  layer4   removed  822.5 M      -  -822.5 M   -35.5 MiB   -8.39 M
  conv1    removed  236.0 M      -  -236.0 M   -3.67 MiB   -9.41 k
  maxpool  removed   1.81 M      -   -1.81 M   -3.83 MiB         0
  bn1      removed   1.61 M      -   -1.61 M   -6.13 MiB      -128
  fc       removed   1.03 M      -   -1.03 M   -1.96 MiB  -513.0 k
  relu     removed  802.8 k      -  -802.8 k   -6.13 MiB         0
  avgpool  removed  25.09 k      -   -25.1 k  -100.0 KiB         0
  first    added          -    544      +544      +768 B      +144
  second   added          -    264      +264      +432 B       +68
  (model)  changed        0     32       +32      +256 B         0

$ pyrometer diff resnet18 good-10-static.pt2 --convention torchvision | tail -4
  and 53 more; --top 0 shows all

Convention torchvision: FLOPs as torchvision publishes: MACs of convolutions and
matrix products.

$ pyrometer diff --format csv good-10-static.pt2 good-8-cond.pt2
name,change,class_before,class_after,macs_before,macs_after,macs_change,flops_before,flops_after,flops_change,memory_before,memory_after,memory_change,params_before,params_after,params_change,operators_before,operators_after,operators_change
inner,added,,Linear,0,1024,1024,0,2112,2112,0,1600,1600,0,272,272,0,1,1
first,removed,Linear,,256,0,-256,544,0,-544,768,0,-768,144,0,-144,1,0,-1
second,removed,Linear,,128,0,-128,264,0,-264,432,0,-432,68,0,-68,1,0,-1
(model),changed,TwoLayers,Branches,0,0,0,32,65,33,256,265,9,0,0,0,1,3,2

$ pyrometer diff --format json good-10-static.pt2 good-8-cond.pt2 > $TMP/diff.json; python3 -c '
> import json, os
> data = json.load(open(os.environ["TMP"] + "/diff.json"))
> print(data["schema"], data["before"]["model"], data["after"]["model"], data["layer_counts"])
> total = data["total"]
> for key in ("macs", "flops", "memory", "params", "operators"):
>     change = sum(row[key + "_change"] for row in data["layers"])
>     assert change == total[key + "_change"] == total[key + "_after"] - total[key + "_before"]'
pyrometer.diff/1 good-10-static good-8-cond {'changed': 1, 'added': 1, 'removed': 2, 'identical': 0}

$ pyrometer diff resnet18 none.pt2
pyrometer: none.pt2: no such file or model (pyrometer models lists the * built-in ones) (glob)
[2]

$ pyrometer diff resnet18 good-10-static.pt2 --batch 4
pyrometer: good-10-static.pt2: input 'x': dim 0 is fixed at 2 in the file, not 4 (first used by aten.linear.default in first); export the model with dynamic_shapes to change it
[2]
