# One model on two chips, from data sheets: nothing is learnt for them.
$ pyrometer map resnet18 --on h100,b200 --batch 8 --top 2 --no-calibration

# Training on several devices; prices; fused.
$ pyrometer map resnet18 --on h100 --train --gpus 8 --top 1 --quiet --no-calibration
$ pyrometer map resnet18 --on h100,b200 --price h100=2 --price b200=4 --top 1 --quiet --fused --no-calibration

# Tokens per second.
$ pyrometer map gpt2 --on h100 --top 1 --quiet --no-calibration --dtype bfloat16

# A slower clock and less power.
$ pyrometer map resnet18 --on h100 --clock 50 --power-cap 300 --format csv --no-calibration | sed -n 2p

# What is refused.
$ pyrometer map
$ pyrometer map resnet18 --on h1
$ pyrometer map resnet18 --on host --peaks $TMP/none.json
$ echo '{"schema": "pyrometer.peaks/2", "devices": []}' >$TMP/peaks.json; pyrometer map resnet18 --on host --peaks $TMP/peaks.json
$ echo '{"devices": [{"kernels": [{"m": -1}]}]}' >$TMP/peaks.json; pyrometer map resnet18 --on h100 --peaks $TMP/peaks.json
$ pyrometer map resnet18 --price h100
$ pyrometer map resnet18 --price a100=2
$ pyrometer map resnet18 --train --fused
$ pyrometer map resnet18 --table $TMP/none.json
$ pyrometer map resnet18 gpt2 --against run.json
