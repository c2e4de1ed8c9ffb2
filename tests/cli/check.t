# Against what torchvision publishes: no Python.
$ pyrometer check --against torchvision
================================================================================
FLOP COMPARISON: Our Estimator vs torchvision
================================================================================

Model                   Our FLOPs  torchvision FLOPs  Difference  Accuracy
----------------------------------------------------------------------------
resnet18 IMAGENET1K_V1     3.63 G             3.63 G    +146.7 k    >99.9%

Reasons for differences:
  1 equal to the published value, which has three decimals of GMACs

FLOPs here are 2 x MACs on both sides. Tolerance: 10%.

$ pyrometer check --models resnet50,vit_b_16 --against torchvision -q
================================================================================
FLOP COMPARISON: Our Estimator vs torchvision
================================================================================

Model                       Our FLOPs  torchvision FLOPs  Difference  Accuracy
--------------------------------------------------------------------------------
resnet50 IMAGENET1K_V1         8.18 G             8.18 G    +368.5 k    >99.9%
resnet50 IMAGENET1K_V2         8.18 G             8.18 G    +368.5 k    >99.9%
vit_b_16 IMAGENET1K_V1        35.13 G            35.13 G    -343.6 k    >99.9%
vit_b_16 IMA…K_SWAG_E2E_V1    111.0 G            111.0 G    +700.9 k    >99.9%
vit_b_16 IMA…WAG_LINEAR_V1    35.13 G            35.13 G    -343.6 k    >99.9%

$ pyrometer check --models "resnet18, resnet50" --against torchvision --format csv
model,counter,weights,our_flops,their_flops,difference,accuracy,within_tolerance,error
resnet18,torchvision,ResNet18_Weights.IMAGENET1K_V1,3628146688,3628000000,146688,0.99996,yes,
resnet50,torchvision,ResNet50_Weights.IMAGENET1K_V1,8178368512,8178000000,368512,0.999955,yes,
resnet50,torchvision,ResNet50_Weights.IMAGENET1K_V2,8178368512,8178000000,368512,0.999955,yes,

$ pyrometer check resnet18 --against torchvision --format json
{
  "schema": "pyrometer.check/1",
  "tolerance": 0.1,
  "rows": [
    {
      "model": "resnet18",
      "counter": "torchvision",
      "weights": "ResNet18_Weights.IMAGENET1K_V1",
      "our_flops": 3628146688,
      "error": null,
      "their_flops": 3628000000,
      "difference": 146688,
      "accuracy": 0.9999595678059537,
      "within_tolerance": true,
      "unpriced": 0,
      "reasons": [
        {"op": "rounding", "flops": 146688, "text": "equal to the three decimals of GMACs that are published"}
      ]
    }
  ]
}

$ pyrometer check good-1-flat-layout.pt2 --against torchvision -q
================================================================================
FLOP COMPARISON: Our Estimator vs torchvision
================================================================================

Model           Our FLOPs  torchvision FLOPs  Difference  Accuracy
--------------------------------------------------------------------------------
good-1…-layout    110.6 k                  -           -         -  not compared
[2]

$ pyrometer check resnet18 --tolerance ten
pyrometer: --tolerance: "ten" is not a share such as 10% or 0.1 (see pyrometer check --help)
[2]

$ pyrometer check resnet18 --against thop
pyrometer: --against: unknown value "thop" (one of: fvcore, torch, torchvision, all) (see pyrometer check --help)
[2]

$ pyrometer check resnet18 --decode --against torchvision
pyrometer: unknown option --decode (see pyrometer check --help)
[2]

# The others run in Python.
$ pyrometer check --python $TMP/no-such-python
pyrometer: $TMP/no-such-python: no such program; install Python 3.11 or newer, or name one with --python
[2]

$ printf '#!/bin/sh\nexec python3 -S -E "$@"\n' > $TMP/bare; chmod +x $TMP/bare; pyrometer check --python $TMP/bare
pyrometer: $TMP/bare has no torch fvcore torchvision; pip install torch fvcore torchvision (or name another Python with --python)
[2]

$ pyrometer check --python false
pyrometer: false failed (exit code 1)
[2]
