# One model on two chips, from data sheets: nothing is learnt for them.
$ pyrometer map resnet18 --on h100,b200 --batch 8 --top 2 --no-calibration
================================================================================
Prediction of resnet18, inference, float32, batch 8
================================================================================
  Model     Chip         Time           80% range  Bound    Energy
  ----------------------------------------------------------------
  resnet18  H100 SXM  1.40 ms  785.7 us - 2.48 ms  compute  506 mJ
  resnet18  B200      1.24 ms  698.2 us - 2.21 ms  compute  644 mJ

Limits:
  Model     Chip      At least  Peak    Memory  Saturates at
  ----------------------------------------------------------
  resnet18  H100 SXM  134.2 us   31%  98.2 MiB            64
  resnet18  B200      119.8 us   31%  98.2 MiB            64

How much of the time is known from what:
  H100 SXM: 100% data sheet
  B200: 100% data sheet
Best by time: B200; by energy: H100 SXM.

Layers on H100 SXM (2 of 60, by time):
  Layer              Time           80% range  Share  At least  Bound    Peak
  ---------------------------------------------------------------------------
  conv1           68.5 us  36.1 us - 130.1 us   4.9%   28.2 us  compute   41%
  layer4.0.conv2  67.1 us  35.3 us - 127.3 us   4.8%   6.90 us  compute   41%

# Training on several devices; prices; fused.
$ pyrometer map resnet18 --on h100 --train --gpus 8 --top 1 --quiet --no-calibration
================================================================================
Prediction of resnet18, training, float32, batch 1, 8 devices (data)
================================================================================
  Model     Chip         Time           80% range  Bound   Energy
  ---------------------------------------------------------------
  resnet18  H100 SXM  1.33 ms  931.7 us - 2.06 ms  launch  2.97 J

Layers on H100 SXM (1 of 60, by time):
  Layer              Time           80% range  Share  At least  Bound    Peak
  ---------------------------------------------------------------------------
  layer4.0.conv2  72.1 us  39.6 us - 131.2 us   5.4%   6.66 us  compute   15%

$ pyrometer map resnet18 --on h100,b200 --price h100=2 --price b200=4 --top 1 --quiet --fused --no-calibration
================================================================================
Prediction of resnet18, inference, float32, batch 1, fused
================================================================================
  Model     Chip          Time            80% range  Bound    Energy
  ------------------------------------------------------------------
  resnet18  H100 SXM  230.0 us  161.0 us - 381.4 us  launch  74.9 mJ
  resnet18  B200      230.0 us  161.0 us - 366.8 us  launch   103 mJ
Best by time: H100 SXM; by energy: H100 SXM; by price: H100 SXM (0.13 per million samples).

Layers on H100 SXM (1 of 23, by time):
  Layer              Time          80% range  Share  At least  Bound    Peak
  --------------------------------------------------------------------------
  layer3.0.conv2  13.3 us  6.99 us - 25.2 us   5.8%    863 ns  compute   26%

# Tokens per second.
$ pyrometer map gpt2 --on h100 --top 1 --quiet --no-calibration --dtype bfloat16
================================================================================
Prediction of gpt2, inference, bfloat16, batch 1 x 128 tokens
================================================================================
  Model  Chip         Time          80% range  Bound   Energy
  -----------------------------------------------------------
  gpt2   H100 SXM  2.11 ms  1.48 ms - 2.95 ms  launch  517 mJ

Layers on H100 SXM (1 of 113, by time):
  Layer       Time          80% range  Share  At least  Bound   Peak
  ------------------------------------------------------------------
  lm_head  41.0 us  21.6 us - 77.8 us   1.9%   11.3 us  memory   24%

Tokens per second, all sequences together (time of the device, as with CUDA graphs):
  Chip      Context  Sequences  Prefill   Decode  ms per token  Fits
  ------------------------------------------------------------------
  H100 SXM      512          1  420.4 k   1.24 k          0.81  yes
  H100 SXM      512          8  750.4 k   9.84 k          0.81  yes
  H100 SXM      512         64  836.0 k  44.80 k          1.43  yes

# A slower clock and less power.
$ pyrometer map resnet18 --on h100 --clock 50 --power-cap 300 --format csv --no-calibration | sed -n 2p
resnet18,inference,float32,1,1,H100 SXM,total,680000,476000,1.07581e+06,44485.8,-1,launch,0.211821,0.091448,3.63801e+09,1.16951e+08,68

# Devices by a word or by letters and a number; a slow host, and none.
$ for how in "tensor --gpus 4" tp=4 "tp=4 --gpus 4"; do pyrometer map gpt2 --on h100 --parallel $how --no-calibration --format csv | sed -n 2p | cut -d, -f1-8; done | uniq -c | sed 's/^ *//'
3 gpt2,inference,float32,1,4,H100 SXM,total,2.62932e+06

$ for host in "--host-us 40" --graphs; do pyrometer map resnet18 --on h100 $host --no-calibration --format csv | sed -n 2p | cut -d, -f6-8,13; done
H100 SXM,total,2.72e+06,launch
H100 SXM,total,351455,compute

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
