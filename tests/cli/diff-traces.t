# Two runs of which one has a layer planted that takes three times as long: it is named first.
$ cd trace; python3 -c '
> import json, os
> data = json.load(open("good-1-training.json"))
> for event in data["traceEvents"]:
>     if event.get("cat") == "kernel" and event["args"]["correlation"] in (3, 10):
>         event["dur"] *= 3
> json.dump(data, open(os.environ["TMP"] + "/slow.json", "w"))'
$ cd trace; pyrometer diff good-1-training.json $TMP/slow.json --top 2
  Total            Before     After    Change
  --------------------------------------------------
  Time per step   1.05 ms   1.05 ms      0 ns  1.00x
  Device busy    100.0 us  140.0 us  +40.0 us  1.40x

Layers whose device time per step changed most (2 of 3):
  Name             Before    After    Change         Calls
  --------------------------------------------------------
  Net_0.Linear_1  35.0 us  75.0 us  +40.0 us  2.14x      1
  Net_0              0 ns     0 ns      0 ns             1

Ops whose device time per step changed most (2 of 7):
  Name             Before    After    Change         Calls
  --------------------------------------------------------
  aten::addmm     40.0 us  80.0 us  +40.0 us  2.00x      2
  AddmmBackward0     0 ns     0 ns      0 ns             2

Kernels whose device time per step changed most (2 of 4):
  Name                    Before    After    Change         Calls
  ---------------------------------------------------------------
  ampere_sgemm_32x32_tn  40.0 us  80.0 us  +40.0 us  2.00x      2
  ampere_sgemm_32x32_nt  30.0 us  30.0 us      0 ns  1.00x      2

Times exclude nested rows. Each side is one run, so changes include run-to-run noise.

$ cd trace; pyrometer diff good-1-training.json $TMP/slow.json --format json | python3 -c '
> import json, sys
> data = json.load(sys.stdin)
> print(data["schema"], data["unit"], data["units_before"], data["clock"])
> for table in ("layers", "ops", "kernels"):
>     row = data[table][0]
>     print(table, row["name"], row["kind"], row["before_ns"], row["after_ns"], row["change_ns"])'
pyrometer.tracediff/1 step 2 device
layers Net_0.Linear_1 changed 35000 75000 40000
ops aten::addmm changed 40000 80000 40000
kernels ampere_sgemm_32x32_tn changed 40000 80000 40000

$ cd trace; pyrometer diff good-1-training.json good-3-cpu-only.json --format csv | head -3
table,name,kind,before_ns,after_ns,change_ns,before_calls,after_calls,before_name
layers,Net_0.Linear_1,removed,160000,0,-160000,1,0,
layers,Net_0,changed,40000,150000,110000,1,1,

$ cd trace; pyrometer diff good-1-training.json ../good-10-static.pt2
pyrometer: good-1-training.json is a trace, ../good-10-static.pt2 is not
[2]

$ cd trace; pyrometer diff good-1-training.json bad-3-empty.json
pyrometer: good-1-training.json is a trace, bad-3-empty.json is not
[2]
