# Ops of a trace, most time first, and whether a script can run them.
$ pyrometer replay trace/h200_vit_b16_forward.json.gz
  N  Op                   Shapes               Calls      Time   Median  Replay
  -----------------------------------------------------------------------------
  1  aten::linear         1x197x307…3072, 768     12   1.16 ms  96.9 us  yes
  2  aten::_na…attention  1x197x768…x768, 768     12   1.13 ms  94.2 us  yes
  3  aten::linear         1x197x768…768, 3072     12  548.1 us  45.6 us  yes
  4  aten::layer_norm     1x197x768, 768, 768     25   93.9 us  3.74 us  yes
  5  aten::conv2d         1x3x224x2…6x16, 768      1   41.5 us  41.5 us  yes
  6  aten::add            1x197x768…1x197x768     25   35.8 us  1.38 us  yes
  7  aten::gelu           1x197x3072              12   24.9 us  2.08 us  yes
  8  aten::linear         1x768, 10…768, 1000      1   4.26 us  4.26 us  yes
  9  aten::cat            1x1x768, 1x196x768       1   3.17 us  3.17 us  yes

$ pyrometer replay trace/h200_vit_b16_forward.json.gz --op 2 --format json
{
  "schema": "pyrometer.replay/1",
  "file": "trace/h200_vit_b16_forward.json.gz",
  "on_device": true,
  "ops": [
    {
      "number": 2,
      "name": "aten::_native_multi_head_attention",
      "shapes": "[[1, 197, 768], [1, 197, 768], [1, 197, 768], [], [], [2304, 768], [2304], [768, 768], [768], [], [], [], []]",
      "calls": 12,
      "total_ns": 1129690,
      "median_ns": 94208,
      "rejected": null
    }
  ]
}

$ pyrometer replay trace/h200_vit_b16_forward.json.gz --top 2 --format csv
number,name,shapes,calls,total_ns,median_ns,rejected
1,aten::linear,"[[1, 197, 3072], [768, 3072], [768]]",12,1164408,96865,
2,aten::_native_multi_head_attention,"[[1, 197, 768], [1, 197, 768], [1, 197, 768], [], [], [2304, 768], [2304], [768, 768], [768], [], [], [], []]",12,1129690,94208,

# A script, which Python can at least compile.
$ pyrometer replay trace/h200_vit_b16_forward.json.gz --top 3 -o $TMP/replay.py 2>&1 | sed "s|$TMP|TMP|";
> python3 -m py_compile $TMP/replay.py && grep -c aten::linear $TMP/replay.py
wrote TMP/replay.py (python)
1

# Invalid command lines and traces without shapes.
$ pyrometer replay
pyrometer: replay needs one trace: pyrometer replay FILE (see pyrometer replay --help)
[2]

$ pyrometer replay trace/h200_vit_b16_forward.json.gz --op 9999
pyrometer: --op: 9999: the trace has 9 ops with shapes and time
[2]

$ pyrometer replay trace/h200_vit_b16_forward.json.gz --op 1 --top 2
pyrometer: --op and --top exclude each other
[2]

$ pyrometer replay trace/good-1-training.json
  N  Op            Shapes           Calls     Time   Median  Replay
  -----------------------------------------------------------------
  1  aten::linear  8x16, 16x16, 16      4  80.0 us  20.0 us  yes
  2  aten::mm      16x8, 8x16           4  60.0 us  15.0 us  yes
