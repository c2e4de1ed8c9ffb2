# Kernels and bytes before and after, kinds of groups, and the groups that save most.
$ pyrometer fuse resnet18 --top 3
================================================================================
Fusion of resnet18 (float32), strategy max
================================================================================
                             Before     After  Change
  ---------------------------------------------------
  Kernels                        68        23  -66.2%
  Bytes read and written  111.5 MiB  69.2 MiB  -37.9%
  FLOPs per byte               31.1      50.1  +61.1%

Groups by kind:
  Kind         Groups  Operators  Bytes before  Bytes after  Saved
  ----------------------------------------------------------------
  convolution      20         65     105.6 MiB     63.3 MiB  40.0%
  single            3          3      5.89 MiB     5.89 MiB   0.0%

Fused groups (3 of 20 by bytes saved):
  Layer     Kind         Bytes saved  Operators
  ----------------------------------------------------------------
  (model)   convolution     12.3 MiB  Conv2D, BatchNorm, ReLU
  layer1.0  convolution     4.59 MiB  Conv2D, BatchNorm, Add, ReLU
  layer1.1  convolution     4.59 MiB  Conv2D, BatchNorm, Add, ReLU

# Every operator by itself.
$ pyrometer fuse resnet18 --strategy none
================================================================================
Fusion of resnet18 (float32), strategy none
================================================================================
                             Before      After  Change
  ----------------------------------------------------
  Kernels                        68         68   +0.0%
  Bytes read and written  111.5 MiB  111.5 MiB   +0.0%
  FLOPs per byte               31.1       31.1   +0.0%

Groups by kind:
  Kind    Groups  Operators  Bytes before  Bytes after  Saved
  -----------------------------------------------------------
  single      68         68     111.5 MiB    111.5 MiB   0.0%

$ pyrometer fuse resnet18 --strategy vertical --format csv | head -4
group,kind,layer,times,flops,bytes_before,bytes_after,operators,members
1,convolution,,1,238436352,16697088,3852032,3,conv2d batch_norm relu_
2,single,maxpool,1,1806336,4014080,4014080,1,max_pool2d
3,convolution,layer1.0,1,231813120,4965376,1754112,3,conv2d_1 batch_norm_1 relu__1

$ pyrometer fuse resnet18 --format json | sed -n 1,14p
{
  "schema": "pyrometer.fuse/1",
  "model": "resnet18",
  "dtype": "float32",
  "convention": "full",
  "strategy": "max",
  "before": {
    "kernels": 68,
    "flops": 3638007272,
    "bytes": 116950592,
    "arithmetic_intensity": 31.107215532521632
  },
  "after": {
    "kernels": 23,

$ pyrometer fuse good-8-cond.pt2 -q | head -8
================================================================================
Fusion of good-8-cond (float32), strategy max
================================================================================
                            Before     After  Change
  --------------------------------------------------
  Kernels                        3         2  -33.3%
  Bytes read and written  1.82 KiB  1.81 KiB   -0.4%
  FLOPs per byte               1.2       1.2   +0.4%

$ pyrometer fuse
pyrometer: fuse needs one model, such as pyrometer fuse resnet50 (see pyrometer fuse --help)
[2]

$ pyrometer fuse resnet18 --strategy all
pyrometer: --strategy: unknown value "all" (one of: none, vertical, horizontal, max) (see pyrometer fuse --help)
[2]

$ pyrometer fuse no-such-model
pyrometer: no-such-model: no such file or model (pyrometer models lists the * built-in ones) (glob)
[2]
