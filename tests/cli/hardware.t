# Chips side by side: figures, ratios to the first, sources.
$ pyrometer hardware h100 b200
                           H100 SXM            B200
---------------------------------------------------
fp64, TFLOP/s                    34      37 (1.09x)
fp32, TFLOP/s                    67      75 (1.12x)
tf32, TFLOP/s                 494.5    1125 (2.28x)
fp16, TFLOP/s                 989.5    2250 (2.27x)
bf16, TFLOP/s                 989.5    2250 (2.27x)
fp8, TFLOP/s                   1979    4500 (2.27x)
fp4, TFLOP/s                      -            9000
int8, TOP/s                    1979    4500 (2.27x)
memory, GB/s                   3350    7700 (2.30x)
power, W                        700    1000 (1.43x)
memory size, GiB                 80     180 (2.25x)
last cache, MiB                  50     126 (2.52x)
link, one direction, GB/s       450     900 (2.00x)
ridge of bf16, FLOP/byte     295.37  292.21 (0.99x)

Peaks are dense. Sources:
  H100 SXM: NVIDIA H100 data sheet, half of the figures with sparsity
  B200: NVIDIA HGX B200 data sheet, a GPU's share

# Every chip.
$ pyrometer hardware | head -3
Chip                  fp32   tf32   bf16    fp8   GB/s  GiB  L2 MiB  Link GB/s     W
------------------------------------------------------------------------------------
P100 PCIe              9.3      -      -      -    732   16       4         16   250

$ pyrometer hardware a100-80gb --format csv
name,fp64_tflops,fp32_tflops,tf32_tflops,fp16_tflops,bf16_tflops,fp8_tflops,fp4_tflops,int8_tops,bandwidth_gb_per_s,power_watts,memory_bytes,cache_bytes,link_bytes_per_s,source
A100 80GB SXM,9.7,19.5,156,312,312,0,0,624,2039,400,85899345920,41943040,3e+11,NVIDIA A100 data sheet

# The ridge of a chip, and an explicit one.
$ pyrometer cost resnet18 --on h100 --format json | grep '"ridge"'
  "ridge": 20,

$ pyrometer cost resnet18 --on h100 --dtype bfloat16 --format json | grep '"ridge"'
  "ridge": 295.3731343283582,

$ pyrometer cost resnet18 --on h100 --ridge 50 --format json | grep '"ridge"'
  "ridge": 50,

# Own chips.
$ echo '{"chips": [{"name": "Lab H100", "like": "h100", "power_watts": 500}]}' >$TMP/own.json
$ pyrometer hardware 'lab h100' --chips $TMP/own.json --format csv | tail -1
Lab H100,34,67,494.5,989.5,989.5,1979,0,1979,3350,500,85899345920,52428800,4.5e+11,the user's file

$ mkdir -p $TMP/config/pyrometer && cp $TMP/own.json $TMP/config/pyrometer/hardware.json
$ XDG_CONFIG_HOME=$TMP/config pyrometer hardware --format csv | sed -n 2p
Lab H100,34,67,494.5,989.5,989.5,1979,0,1979,3350,500,85899345920,52428800,4.5e+11,the user's file

$ XDG_CONFIG_HOME=$TMP/config pyrometer fit resnet18 --on 'lab h100' | sed -n 2p
DOES IT FIT: resnet18 on 1 x Lab H100

# What is refused.
$ pyrometer hardware h1
pyrometer: unknown chip "h1" ('pyrometer hardware' lists them)
[2]

$ pyrometer cost resnet18 --on h1
pyrometer: --on: unknown chip "h1" ('pyrometer hardware' lists them)
[2]

$ pyrometer cost resnet18 --on "tpu v4"
pyrometer: --on: no peak of float32 is known for TPU v4
[2]

$ echo '{"chips": [{"name": "x"}]}' >$TMP/own.json; pyrometer hardware --chips $TMP/own.json
pyrometer: $TMP/own.json: a chip needs a name, and bandwidth_gb_per_s or like
[2]

$ echo '{"chips": [{"name": "x", "fp33": 1}]}' >$TMP/own.json; pyrometer hardware --chips $TMP/own.json
pyrometer: $TMP/own.json: unknown key of a chip; docs/reference/hardware.md lists them
[2]

$ echo '{"chips": [{"name": "x", "power_watts": -1}]}' >$TMP/own.json; pyrometer hardware --chips $TMP/own.json
pyrometer: $TMP/own.json: a figure of a chip is not a number from 0 to 1e9
[2]

$ echo '{"chips": [{"name": "x", "like": "h1"}]}' >$TMP/own.json; pyrometer hardware --chips $TMP/own.json
pyrometer: $TMP/own.json: "like" names no built-in chip
[2]

$ echo '{"chips": [' >$TMP/own.json; pyrometer hardware --chips $TMP/own.json
pyrometer: unexpected end of input: expected a value (at byte 12)
[2]

$ pyrometer hardware --chips $TMP/none.json
pyrometer: $TMP/none.json: cannot open: No such file or directory
[2]
