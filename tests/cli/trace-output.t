# JSON: totals that add up, null for what is not known.
$ cd trace; cat > $TMP/check.py <<'END'
> import json, sys
> document = json.load(sys.stdin)
> for trace in document if isinstance(document, list) else [document]:
>     layers = sum(l["forward_device_self_ns"] + l["backward_device_self_ns"] for l in trace["layers"])
>     rest = sum(trace["unattributed"].values())
>     print(trace["schema"], trace["file"], trace["events"], trace["device_total_ns"],
>           layers + rest == trace["device_total_ns"])
> END
$ cd trace; pyrometer trace good-1-training.json --format json | python3 $TMP/check.py
pyrometer.trace/1 good-1-training.json 70 200000 True

$ cd trace; pyrometer trace good-*.json* h200* --format json | python3 $TMP/check.py
pyrometer.trace/1 good-1-training.json 70 200000 True
pyrometer.trace/1 good-10-odd-names.json.gz 4 5000 True
pyrometer.trace/1 good-2-annotations.json 12 90000 True
pyrometer.trace/1 good-3-cpu-only.json 6 0 True
pyrometer.trace/1 good-4-bare-array.json 2 0 True
pyrometer.trace/1 good-5-names-of-2021.json 4 27000 True
pyrometer.trace/1 good-6-rocm.json 5 80000 True
pyrometer.trace/1 good-7-collectives.json 6 160000 True
pyrometer.trace/1 good-8-cuda-graph.json 4 45000 True
pyrometer.trace/1 good-9-compiled.json 4 12000 True
pyrometer.trace/1 h200_gpt_train_memory.json.gz 16351 3909496 True
pyrometer.trace/1 h200_resnet18_train.json.gz 17189 6040221 True
pyrometer.trace/1 h200_vit_b16_forward.json.gz 4249 3045710 True

$ cd trace; pyrometer trace good-1-training.json --format json --depth 1 | python3 $TMP/check.py
pyrometer.trace/1 good-1-training.json 70 200000 True

$ cd trace; pyrometer trace good-1-training.json -o $TMP/out.json && python3 $TMP/check.py < $TMP/out.json
wrote $TMP/out.json (json)
pyrometer.trace/1 good-1-training.json 70 200000 True

$ cd trace; pyrometer trace good-1-training.json --format json | python3 -c '
> import json, sys
> trace = json.load(sys.stdin)
> print(*trace, sep="\n")'
schema
file
events
warnings
notes
trigger
trigger_text
device
device_known
peaks_from
rank
world_size
has_layers
has_shapes
has_stacks
has_memory
start_ns
span_ns
device_total_ns
device_busy_ns
kernel_count
unattributed
step_source
steps_inferred
steps_on_device
startup
profiler_cost
least_time
steps
training
serving
serving_summary
layers
ops
ops_by_shape
kernels
categories
gaps
gap_totals
memory
launch
causes
cause_places
synchronizations
copies
data_loading
collectives
counters
power
power_summary
defects
findings
finding_parts

$ cd trace; pyrometer trace good-7-collectives.json --format json | grep -A2 '"collectives"'
  "collectives": [
    {"kind": "allreduce", "group": "0", "dtype": "float32", "group_size": 4, "calls": 1, "total_ns": 100000, "exposed_ns": 40000, "bytes": 4194304, "bus_gb_per_s": 62.91456, "message_bytes": 4194304}
  ],

$ cd trace; pyrometer trace good-4-bare-array.json --format json | grep -E '"(device|rank|peak_bytes|has_layers)"|mul'
  "device": null,
  "rank": null,
  "has_layers": false,
    {"name": "aten::mul", "shapes": "", "calls": 1, "host_total_ns": 3000, "host_self_ns": 3000, "device_total_ns": 0, "device_self_ns": 0, "flops": null, "bytes": null, "dtype": "", "flops_per_s": null, "phase": "other", "peak_share": null, "bytes_per_s": null, "bandwidth_share": null, "least_ns": null, "lost_ns": null}
    {"name": "aten::mul", "shapes": "", "calls": 1, "host_total_ns": 3000, "host_self_ns": 3000, "device_total_ns": 0, "device_self_ns": 0, "flops": null, "bytes": null, "dtype": "", "flops_per_s": null, "phase": "other", "peak_share": null, "bytes_per_s": null, "bandwidth_share": null, "least_ns": null, "lost_ns": null}
    "device": null,
    "peak_bytes": null,
    {"cause": "ops", "op": "aten::mul", "layer": "", "line": "", "sync": "", "phase": "other", "time_ns": 3000, "profiler_ns": 760, "stretches": 1}

# Several files: one after the other.
$ cd trace; pyrometer trace good-3-cpu-only.json good-4-bare-array.json --by op
================================================================================
TRACE PROFILE: good-3-cpu-only.json
================================================================================

Ops:
  Op            Calls     Self  Share   FLOP/s  Type  With callees
  ----------------------------------------------------------------
  aten::addmm       1  60.0 us  54.5%        -  -          60.0 us
  aten::relu        1  30.0 us  27.3%  53.33 M  fp32       30.0 us
  aten::linear      1  20.0 us  18.2%   4.02 G  fp32       80.0 us

Work of these ops (from shapes) and its rates:
  Op              FLOPs     Moved   FLOP/s      B/s
  -------------------------------------------------
  aten::relu     1.60 k  12.5 KiB  53.33 M  426.7 M
  aten::linear  321.6 k  38.5 KiB   4.02 G  492.5 M
  Peak: not measured on this machine; run pyrometer doctor --calibrate.

================================================================================
TRACE PROFILE: good-4-bare-array.json
================================================================================

Ops:
  Op         Calls     Self  Share  FLOP/s  Type  With callees
  ------------------------------------------------------------
  aten::add      1  4.25 us  58.6%       -  -          4.25 us
  aten::mul      1  3.00 us  41.4%       -  -          3.00 us

$ cd trace; pyrometer trace good-3-cpu-only.json none.json good-4-bare-array.json --format json > $TMP/two.json; echo $?; python3 $TMP/check.py < $TMP/two.json
pyrometer: none.json: cannot open: No such file or directory
2
pyrometer.trace/1 good-3-cpu-only.json 6 0 True
pyrometer.trace/1 good-4-bare-array.json 2 0 True

# A trace for Perfetto: sound JSON, and what was chosen.
$ cd trace; pyrometer trace good-1-training.json --step 2 --chrome $TMP/step.json -q --by copy
================================================================================
TRACE PROFILE: good-1-training.json
================================================================================

Copies:
  Copy           Calls     Bytes     Time  Share  GB/s
  ----------------------------------------------------
  HtoD pageable      1  64.0 KiB  10.0 us  10.0%   6.6

$ cd trace; cat > $TMP/chrome.py <<'END'
> import collections, json, sys
> trace = json.load(open(sys.argv[1]))
> count = collections.Counter(e["ph"] for e in trace["traceEvents"])
> print(sorted(count.items()), sorted({e["name"] for e in trace["traceEvents"] if e["ph"] == "C"}))
> assert all({"ph", "name", "pid", "tid", "ts"} <= e.keys() for e in trace["traceEvents"])
> END
$ python3 $TMP/chrome.py $TMP/step.json
[('C', 14), ('M', 4), ('X', 33), ('f', 7), ('s', 7)] ['copy bandwidth of device 0', 'queue length of device 0']

$ pyrometer trace $TMP/step.json --by layer
================================================================================
TRACE PROFILE: step.json
================================================================================

Layers:
  Layer                Calls  Forward  Backward      Self   Share   FLOP/s
  ------------------------------------------------------------------------
  Net_0.Linear_0           1  20.0 us   15.0 us   35.0 us   35.0%  237.7 M
  Net_0.Linear_1           1  20.0 us   15.0 us   35.0 us   35.0%  237.7 M
  ------------------------------------------------------------------------
  (outside any layer)                             20.0 us   20.0%
  (optimizer)                                     10.0 us   10.0%
  Device total                                   100.0 us  100.0%

Predicted (from shapes) and measured cost, including sublayers:
  Layer            FLOPs     Moved   Peak  Bandwidth  Least     Lost
  ------------------------------------------------------------------
  Net_0.Linear_0  8.32 k  4.06 KiB  <0.1%      <0.1%   0 ns  35.0 us
  Net_0.Linear_1  8.32 k  4.06 KiB  <0.1%      <0.1%   0 ns  35.0 us
  Peak: of the chip's data sheet; pyrometer doctor --calibrate measures what
  this device reaches.

$ cd trace; pyrometer trace good-1-training.json --chrome $TMP/all.json -q -o $TMP/ignored.txt; pyrometer trace $TMP/all.json --format json > $TMP/a.json; pyrometer trace good-1-training.json --format json > $TMP/b.json; diff $TMP/a.json $TMP/b.json
3,4c3,4
<   "file": "$TMP/all.json",
<   "events": 134,
---
>   "file": "good-1-training.json",
>   "events": 70,
[1]

$ python3 $TMP/chrome.py $TMP/all.json
[('C', 32), ('M', 4), ('X', 66), ('f', 14), ('i', 4), ('s', 14)] ['copy bandwidth of device 0', 'memory of device 0', 'queue length of device 0']

$ cd trace; pyrometer trace good-1-training.json --filter Linear_1 --chrome $TMP/layer.json --by layer
wrote $TMP/layer.json (Chrome trace)
================================================================================
TRACE PROFILE: good-1-training.json
================================================================================

Layers:
  Layer                Calls  Forward  Backward      Self   Share   FLOP/s
  ------------------------------------------------------------------------
  Net_0.Linear_1           2  40.0 us   30.0 us   70.0 us   35.0%  237.7 M
  ------------------------------------------------------------------------
  (layers left out)                               70.0 us   35.0%
  (outside any layer)                             40.0 us   20.0%
  (optimizer)                                     20.0 us   10.0%
  Device total                                   200.0 us  100.0%

Predicted (from shapes) and measured cost, including sublayers:
  Layer             FLOPs     Moved   Peak  Bandwidth  Least     Lost
  -------------------------------------------------------------------
  Net_0.Linear_1  16.64 k  8.13 KiB  <0.1%      <0.1%   0 ns  70.0 us
  Peak: of the chip's data sheet; pyrometer doctor --calibrate measures what
  this device reaches.

$ python3 $TMP/chrome.py $TMP/layer.json
[('C', 12), ('M', 4), ('X', 22), ('f', 4), ('s', 4)] ['memory of device 0', 'queue length of device 0']

$ cd trace; pyrometer trace good-10-odd-names.json.gz --chrome - | python3 -m json.tool > /dev/null && echo sound
sound

$ cd trace; pyrometer trace good-1-training.json --chrome $TMP/no/such/folder.json -q --by copy
pyrometer: $TMP/no/such/folder.json: cannot write: No such file or directory
================================================================================
TRACE PROFILE: good-1-training.json
================================================================================

Copies:
  Copy           Calls      Bytes     Time  Share  GB/s
  -----------------------------------------------------
  HtoD pageable      2  128.0 KiB  20.0 us  10.0%   6.6
[2]

# Damage is said, and is an error only when that was asked for or nothing is left.
$ cd trace; pyrometer trace bad-1-truncated.json --by copy
================================================================================
TRACE PROFILE: bad-1-truncated.json
================================================================================

Copies:
  Copy           Calls      Bytes     Time  Share  GB/s
  -----------------------------------------------------
  HtoD pageable      2  128.0 KiB  20.0 us  13.3%   6.6

Warnings:
  - file truncated at byte 12536: 99.7% read

$ cd trace; pyrometer trace bad-1-truncated.json --by copy --strict | tail -2; echo ${PIPESTATUS[0]}
Warnings:
  - file truncated at byte 12536: 99.7% read
1

$ cd trace; pyrometer trace good-1-training.json --strict > /dev/null
$ cd trace; pyrometer trace bad-2-defects.json --by op
================================================================================
TRACE PROFILE: bad-2-defects.json
================================================================================

Ops:
  Op                Calls  Self  Share  FLOP/s  Type  Host self
  -------------------------------------------------------------
  aten::addmm           1     -   0.0%       -  -       60.0 us
  aten::relu            1     -   0.0%       -  fp32    30.0 us
  aten::linear          1     -   0.0%       -  fp32    20.0 us
  aten::negative        1     -   0.0%       -  -             -
  aten::with"quote      1     -   0.0%       -  -             -

Warnings:
  - 1 event with negative duration (taken as 0)
  - 1 event with a value that is not JSON, such as NaN or N/A (left out)
  - 1 event with unescaped quotes or other damage (repaired)

$ cd trace; pyrometer trace bad-3-empty.json
pyrometer: bad-3-empty.json: the file is empty
[2]

$ cd trace; pyrometer trace bad-4-no-events.json
pyrometer: bad-4-no-events.json: the trace contains no events
[2]

$ cd trace; pyrometer trace bad-5-not-a-trace.json
pyrometer: bad-5-not-a-trace.json: JSON, but not a trace: it has no traceEvents (it has model, layers)
[2]

$ pyrometer trace trace
pyrometer: trace: is a directory
[2]

$ pyrometer trace none.json
pyrometer: none.json: cannot open: No such file or directory
[2]

$ pyrometer trace bad-3-flipped-bit.pt2
pyrometer: bad-3-flipped-bit.pt2: not a trace: a zip archive; supported formats: pyrometer recording, Chrome trace JSON
[2]

$ pyrometer trace - < /dev/null
pyrometer: standard input: the file is empty
[2]

# Wrong arguments.
$ pyrometer trace
pyrometer: trace needs a file: pyrometer trace FILE (see pyrometer trace --help)
[2]

$ pyrometer trace x.json --by layers
pyrometer: --by: unknown value "layers"; did you mean layer? (one of: layer, op, kernel, step, gap, copy, collective, stack, shape, sync, memory, finding, counter, defect, cause, category, training, serving) (see pyrometer trace --help)
[2]

$ pyrometer trace x.json --filter '('
pyrometer: --filter: "(" is not a regular expression: Unmatched ( or \( (see pyrometer trace --help)
[2]

$ pyrometer trace x.json --layers-from 'a['
pyrometer: --layers-from: "a[" is not a regular expression: Invalid regular expression (see pyrometer trace --help)
[2]

$ pyrometer trace x.json --layers-from 'fwd'
pyrometer: --layers-from: "fwd" has no group; put the layer's path in parentheses, as in 'fwd\|(.*)'
[2]

$ pyrometer trace x.json --phase sideways
pyrometer: --phase: unknown value "sideways" (one of: forward, backward, optimizer) (see pyrometer trace --help)
[2]

$ pyrometer trace x.json --step -1
pyrometer: --step: -1 is too small (at least 0) (see pyrometer trace --help)
[2]

$ pyrometer trace x.json y.json --chrome z.json
pyrometer: --chrome writes one trace, but 2 files were given
[2]

$ pyrometer trace x.json --chrome ''
pyrometer: --chrome needs a file name
[2]

$ pyrometer trace x.json --model nothing.pt2
pyrometer: nothing.pt2: no such file or model (pyrometer models lists the * built-in ones) (glob)
[2]

$ cd trace; pyrometer good-1-training.json
pyrometer: good-1-training.json is not a command; did you mean pyrometer trace good-1-training.json?
[2]
