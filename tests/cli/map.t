# One model on two chips, from data sheets: nothing is learnt for them.
$ pyrometer map resnet18 --on h100,b200 --batch 8 --top 2 --no-calibration
================================================================================
Prediction of resnet18, inference, float32, batch 8
================================================================================
  Model     Chip         Time           80% range  Bound    Energy    Memory
  --------------------------------------------------------------------------
  resnet18  H100 SXM  1.85 ms   1.10 ms - 3.11 ms  compute  602 mJ  98.2 MiB
  resnet18  B200      1.64 ms  973.8 us - 2.75 ms  compute  762 mJ  98.2 MiB

How much of the time is known from what:
  H100 SXM: 100% data sheet
  B200: 100% data sheet
Best by time: B200; by energy: H100 SXM.

Layers on H100 SXM (2 of 60, by time):
  Layer               Time           80% range  Share  At least  Bound    Peak
  ----------------------------------------------------------------------------
  layer4.0.conv2  139.3 us  78.3 us - 248.1 us   7.5%   6.90 us  compute   20%
  layer4.1.conv1  139.3 us  78.3 us - 248.1 us   7.5%   6.90 us  compute   20%

# Training on several devices; prices; fused.
$ pyrometer map resnet18 --on h100 --train --gpus 8 --top 1 --quiet --no-calibration
================================================================================
Prediction of resnet18, training, float32, batch 1, 8 devices (data)
================================================================================
  Model     Chip         Time          80% range  Bound    Energy     Memory
  --------------------------------------------------------------------------
  resnet18  H100 SXM  2.06 ms  1.23 ms - 3.45 ms  compute  4.19 J  223.6 MiB

Layers on H100 SXM (1 of 60, by time):
  Layer               Time            80% range  Share  At least  Bound    Peak
  -----------------------------------------------------------------------------
  layer4.0.conv2  212.2 us  123.6 us - 364.3 us  10.3%   6.66 us  compute    5%

$ pyrometer map resnet18 --on h100,b200 --price h100=2 --price b200=4 --top 1 --quiet --fused --no-calibration
================================================================================
Prediction of resnet18, inference, float32, batch 1, fused
================================================================================
  Model     Chip          Time           80% range  Bound    Energy    Memory
  ---------------------------------------------------------------------------
  resnet18  H100 SXM  691.3 us  410.7 us - 1.16 ms  compute  172 mJ  51.3 MiB
  resnet18  B200      676.6 us  401.9 us - 1.14 ms  compute  237 mJ  51.3 MiB
Best by time: B200; by energy: H100 SXM; by price: H100 SXM (0.38 per million samples).

Layers on H100 SXM (1 of 23, by time):
  Layer              Time           80% range  Share  At least  Bound    Peak
  ---------------------------------------------------------------------------
  layer4.0.conv2  85.7 us  48.1 us - 152.5 us  12.4%    863 ns  compute    4%

# Tokens per second.
$ pyrometer map gpt2 --on h100 --top 1 --quiet --no-calibration --dtype bfloat16
================================================================================
Prediction of gpt2, inference, bfloat16, batch 1 x 128 tokens
================================================================================
  Model  Chip         Time          80% range  Bound   Peak  Energy     Memory
  ----------------------------------------------------------------------------
  gpt2   H100 SXM  2.11 ms  1.48 ms - 2.95 ms  launch    2%  517 mJ  249.8 MiB

Layers on H100 SXM (1 of 113, by time):
  Layer       Time          80% range  Share  At least  Bound   Peak
  ------------------------------------------------------------------
  lm_head  41.0 us  23.0 us - 73.0 us   1.9%   11.3 us  memory   24%

Tokens per second, all sequences together (time of the device, as with CUDA graphs):
  Chip      Context  Sequences  Prefill tokens/s  Decode tokens/s  ms per token  Fits
  -----------------------------------------------------------------------------------
  H100 SXM      512          1           448.6 k           1.42 k          0.70  yes
  H100 SXM      512          8           832.3 k          10.05 k          0.80  yes
  H100 SXM      512         64           932.0 k          46.60 k          1.37  yes

# A slower clock and less power.
$ pyrometer map resnet18 --on h100 --clock 50 --power-cap 300 --format csv --no-calibration | sed -n 2p
resnet18,inference,float32,1,1,H100 SXM,total,1.02523e+06,610024,1.72305e+06,44485.8,-1,compute,0.140493,0.122519,3.63801e+09,1.16951e+08,68

# Devices by a word or by letters and a number; a slow host, and none.
$ for how in "tensor --gpus 4" tp=4 "tp=4 --gpus 4"; do pyrometer map gpt2 --on h100 --parallel $how --no-calibration --format csv | sed -n 2p | cut -d, -f1-8; done | uniq -c | sed 's/^ *//'
3 gpt2,inference,float32,1,4,H100 SXM,total,2.62932e+06

$ for host in "--host-us 40" --graphs; do pyrometer map resnet18 --on h100 $host --no-calibration --format csv | sed -n 2p | cut -d, -f6-8,13; done
H100 SXM,total,2.72e+06,launch
H100 SXM,total,826409,compute

# What is refused.
$ pyrometer map resnet18 --parallel tp=x
pyrometer: --parallel: "tp=x" is not one of data, sharded, tensor, pipeline, dp=N, fsdp=N, tp=N and pp=N
[2]

$ pyrometer map resnet18 --parallel tp=2 --gpus 4
pyrometer: --parallel tp=2 and --gpus 4 name different numbers of devices
[2]

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
