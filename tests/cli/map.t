# One model on two chips, from data sheets: nothing is learnt for them.
$ pyrometer map resnet18 --on h100,b200 --batch 8 --top 2 --no-calibration
================================================================================
Prediction of resnet18, inference, float32, batch 8
================================================================================
  Model     Chip         Time           80% range  Bound    Energy    Memory
  --------------------------------------------------------------------------
  resnet18  H100 SXM  1.34 ms  796.3 us - 2.24 ms  compute  494 mJ  98.2 MiB
  resnet18  B200      1.12 ms  665.8 us - 1.88 ms  compute  607 mJ  98.2 MiB

How much of the time is known from what:
  H100 SXM: 100% data sheet
  B200: 100% data sheet
Best by time: B200; by energy: H100 SXM.

Layers on H100 SXM (2 of 60, by time):
  Layer              Time           80% range  Share  At least  Bound    Peak
  ---------------------------------------------------------------------------
  conv1           65.1 us  36.6 us - 115.9 us   4.9%   28.2 us  compute   43%
  layer1.0.conv1  63.8 us  35.9 us - 113.7 us   4.8%   6.90 us  compute   43%

# Training on several devices; prices; fused.
$ pyrometer map resnet18 --on h100 --train --gpus 8 --top 1 --quiet --no-calibration
================================================================================
Prediction of resnet18, training, float32, batch 1, 8 devices (data)
================================================================================
  Model     Chip         Time           80% range  Bound    Energy     Memory
  ---------------------------------------------------------------------------
  resnet18  H100 SXM  1.02 ms  607.5 us - 1.71 ms  compute  2.45 J  223.6 MiB

Layers on H100 SXM (1 of 60, by time):
  Layer              Time           80% range  Share  At least  Bound    Peak
  ---------------------------------------------------------------------------
  layer4.0.conv2  59.3 us  34.6 us - 101.8 us   5.8%   6.66 us  compute   18%

$ pyrometer map resnet18 --on h100,b200 --price h100=2 --price b200=4 --top 1 --quiet --fused --no-calibration
================================================================================
Prediction of resnet18, inference, float32, batch 1, fused
================================================================================
  Model     Chip          Time            80% range  Bound     Energy    Memory
  -----------------------------------------------------------------------------
  resnet18  H100 SXM  181.6 us  108.1 us - 305.1 us  compute  64.7 mJ  51.3 MiB
  resnet18  B200      166.7 us   99.2 us - 280.1 us  compute    84 mJ  51.3 MiB
Best by time: B200; by energy: H100 SXM; by price: H100 SXM (0.10 per million samples).

Layers on H100 SXM (1 of 23, by time):
  Layer     Time          80% range  Share  At least  Bound    Peak
  -----------------------------------------------------------------
  conv1  10.4 us  5.85 us - 18.5 us   5.7%   3.56 us  compute   34%

# Tokens per second.
$ pyrometer map gpt2 --on h100 --top 1 --quiet --no-calibration --dtype bfloat16
================================================================================
Prediction of gpt2, inference, bfloat16, batch 1
================================================================================
  Model  Chip         Time           80% range  Bound   Peak  Energy     Memory
  -----------------------------------------------------------------------------
  gpt2   H100 SXM  1.27 ms  886.2 us - 1.77 ms  launch    3%  339 mJ  249.8 MiB

Layers on H100 SXM (1 of 113, by time):
  Layer       Time          80% range  Share  At least  Bound   Peak
  ------------------------------------------------------------------
  lm_head  41.0 us  23.0 us - 73.0 us   3.2%   11.3 us  memory   24%

Tokens per second, all sequences together:
  Chip      Context  Sequences  Prefill tokens/s  Decode tokens/s  ms per token  Fits
  -----------------------------------------------------------------------------------
  H100 SXM      512          1           404.4 k              709          1.41  yes
  H100 SXM      512          8           844.7 k           5.67 k          1.41  yes
  H100 SXM      512         64           933.9 k          45.39 k          1.41  yes

# A slower clock and less power.
$ pyrometer map resnet18 --on h100 --clock 50 --power-cap 300 --format csv --no-calibration | sed -n 2p
resnet18,inference,float32,1,1,H100 SXM,total,515315,307025,864911,44485.8,-1,compute,0.279515,0.0766263,3.63801e+09,1.16951e+08,68

# What is refused.
$ pyrometer map
pyrometer: map needs a model or a run: pyrometer map resnet50 --on h100 (see pyrometer map --help)
[2]

$ pyrometer map resnet18 --on h1
pyrometer: unknown chip "h1" ('pyrometer hardware' lists them)
[2]

$ pyrometer map resnet18 --on host --peaks $TMP/none.json
pyrometer: $TMP/none.json: cannot open: No such file or directory
[2]

$ echo '{"schema": "pyrometer.peaks/2", "devices": []}' >$TMP/peaks.json; pyrometer map resnet18 --on host --peaks $TMP/peaks.json
pyrometer: this machine was not measured: run pyrometer doctor --calibrate
[2]

$ echo '{"devices": [{"kernels": [{"m": -1}]}]}' >$TMP/peaks.json; pyrometer map resnet18 --on h100 --peaks $TMP/peaks.json
pyrometer: not a file of pyrometer doctor --calibrate (pyrometer.peaks/2)
[2]

$ pyrometer map resnet18 --price h100
pyrometer: --price: "h100" is not CHIP=N such as h100=2.5
[2]

$ pyrometer map resnet18 --price a100=2
pyrometer: --price: a100=2 is not in --on
[2]

$ pyrometer map resnet18 --train --fused
pyrometer: --fused predicts inference: not with --train
[2]

$ pyrometer map resnet18 --learnt $TMP/none.json
pyrometer: $TMP/none.json: cannot open: No such file or directory
[2]

$ pyrometer map resnet18 gpt2 --against run.json
pyrometer: --against compares one model with a run
[2]
