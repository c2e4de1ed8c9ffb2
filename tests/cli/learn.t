# What the ops of a trace show becomes rows of a table.
$ pyrometer learn trace/h200_vit_b16_forward.json.gz --table $TMP/a.json | sed "s|$TMP|TMP|"
trace/h200_vit_b16_forward.json.gz: H200 SXM (cuda 13.0): 8 samples of 100 calls, 99.9% of the device time
TMP/a.json: 8 rows
  H200 SXM: 8 rows, 8 samples (gemm 2, gemv 1, conv 1, attention 1, elementwise 2, norm 1)

$ pyrometer learn --show --table $TMP/a.json | sed "s|$TMP|TMP|"
TMP/a.json: 8 rows
  H200 SXM: 8 rows, 8 samples (gemm 2, gemv 1, conv 1, attention 1, elementwise 2, norm 1)

H200 SXM, cuda 13.0:
  Kind         Type    m       n       k     Bytes  N     Time   Peak    B/s
  --------------------------------------------------------------------------
  gemm         fp32  215     861  3.44 k  11.9 MiB  1  96.9 us  14.3%   2.7%
  gemm         fp32  215  3.44 k     861  11.9 MiB  1  45.6 us  30.4%   5.7%
  gemv         fp32    1     861     861  2.94 MiB  1  4.25 us   0.5%  15.1%
  conv         fp32  215     861     861  3.40 MiB  1  41.5 us   8.3%   1.8%
  attention    tf32  215  1.72 k     861  11.3 MiB  1  94.2 us   2.3%   2.6%
  elementwise  fp32    -       -       -  1.73 MiB  1  1.38 us   0.2%  27.5%
  elementwise  fp32    -       -       -  4.62 MiB  1  2.08 us   2.2%  48.5%
  norm         fp32    -       -       -  1.16 MiB  1  3.74 us   0.4%   6.8%

Sizes are the middle of their group; N is the number of samples. Peak and B/s are
shares of the data sheet's peak for the type and of its bandwidth.

$ pyrometer learn --show --table $TMP/a.json --format csv | head -3
chip,library,kind,dtype,m,n,k,flops,bytes,samples,time_ns,least_ns,most_ns,compute_share,memory_share
H200 SXM,cuda 13.0,gemm,float32,215,861,3444,929572525,12464218,1,96850,96865,96865,0.143253,0.0268115
H200 SXM,cuda 13.0,gemm,float32,215,3444,861,930201967,12472658,1,45625,45631,45631,0.304298,0.0569527

$ pyrometer learn --show --table $TMP/a.json --format json | head -4
{
 "schema": "pyrometer.efficiency/1",
 "rows": [
  {"chip": "H200 SXM", "library": "cuda 13.0", "kind": "gemm", "dtype": "float32", "sizes": [15, 19, 23, 59, 47], "samples": 1, "time_log": 16961, "time_log_squares": 287675521, "flops_log": 30507, "bytes_log": 24137, "least_ns": 96865, "most_ns": 96865},

# Merging in any order gives the same bytes.
$ cd trace && pyrometer learn h200_resnet18_train.json.gz --table $TMP/b.json -q >$TMP/out && cd .. &&
> pyrometer learn --merge $TMP/a.json --merge $TMP/b.json --table $TMP/ab.json -q >$TMP/out &&
> pyrometer learn --merge $TMP/b.json --merge $TMP/a.json --table $TMP/ba.json -q >$TMP/out &&
> cmp $TMP/ab.json $TMP/ba.json && echo equal
equal

$ cd trace && pyrometer learn h200_vit_b16_forward.json.gz --table $TMP/c.json --format json | sed "s|$TMP|TMP|"
{
  "schema": "pyrometer.learn/1",
  "table": "TMP/c.json",
  "rows": 8,
  "files": [
    {
      "file": "h200_vit_b16_forward.json.gz",
      "is_table": false,
      "rejected": null,
      "chip": "H200 SXM",
      "library": "cuda 13.0",
      "on_device": true,
      "samples": 8,
      "calls": 100,
      "time_ns": 3042542,
      "all_ns": 3045710,
      "impossible": 0
    }
  ]
}

# The user's table is in the data folder.
$ XDG_DATA_HOME=$TMP/data pyrometer learn trace/h200_vit_b16_forward.json.gz -q | sed "s|$TMP|TMP|"
trace/h200_vit_b16_forward.json.gz: H200 SXM (cuda 13.0): 8 samples of 100 calls, 99.9% of the device time
TMP/data/pyrometer/efficiency.json: 8 rows
  H200 SXM: 8 rows, 8 samples (gemm 2, gemv 1, conv 1, attention 1, elementwise 2, norm 1)

$ pyrometer learn --show --shipped --top 3
the table that ships with pyrometer: 1059 rows
  H200 SXM: 1059 rows, 3467 samples (gemm 174, gemv 9, conv 315, attention 29, elementwise 93, reduction 59, norm 74, softmax 14, embedding 28, copy 30, conv_backward 223, attention_backward 11)

H200 SXM, cuda 13.0:
  Kind  Type   m        n       k    FLOPs      Bytes  N      Time   Peak    B/s
  ------------------------------------------------------------------------------
  gemm  fp32  10      861     861  12.29 M   2.99 MiB  7   8.81 us   2.1%   7.4%
  gemm  fp32  10   2.44 k  2.44 k  67.11 M   16.1 MiB  1   21.8 us   4.6%  16.2%
  gemm  fp32  10  27.55 k  2.44 k   1.05 G  251.0 MiB  1  120.9 us  12.9%  45.3%
  ... 1056 more rows; --top 0 shows all

Sizes are the middle of their group; N is the number of samples. Peak and B/s are
shares of the data sheet's peak for the type and of its bandwidth.

# Files that say too little are rejected with the reason; the others are learnt.
$ pyrometer learn trace/good-3-cpu-only.json trace/h200_vit_b16_forward.json.gz --table $TMP/d.json | sed "s|$TMP|TMP|"
trace/good-3-cpu-only.json: rejected: nothing ran on a device, and the trace does not name the processor; --chip NAME does
trace/h200_vit_b16_forward.json.gz: H200 SXM (cuda 13.0): 8 samples of 100 calls, 99.9% of the device time
TMP/d.json: 8 rows
  H200 SXM: 8 rows, 8 samples (gemm 2, gemv 1, conv 1, attention 1, elementwise 2, norm 1)

$ pyrometer learn trace/good-1-training.json --table $TMP/none.json | sed "s|$TMP|TMP|"
trace/good-1-training.json: H100 SXM (unknown): 2 samples of 8 calls, 70.0% of the device time
TMP/none.json: 2 rows
  H100 SXM: 2 rows, 2 samples (gemm 2)

$ pyrometer learn trace/good-3-cpu-only.json --chip "my processor" --table $TMP/e.json | sed "s|$TMP|TMP|"
trace/good-3-cpu-only.json: my processor (unknown): 2 samples of 2 calls, 98.6% of the op time
TMP/e.json: 2 rows
  my processor: 2 rows, 2 samples (gemm 1, elementwise 1)

# Hostile tables: one line each, and nothing is added.
$ echo '{"schema": "pyrometer.efficiency/1", "rows": [{"chip": "x"}]}' >$TMP/bad.json;
> pyrometer learn --merge $TMP/bad.json --table $TMP/none.json 2>&1 | sed "s|$TMP|TMP|"
TMP/bad.json: rejected: row 1 lacks a key (at byte 58)
TMP/none.json: 2 rows
  H100 SXM: 2 rows, 2 samples (gemm 2)
pyrometer: nothing was learnt

$ sed 's/"samples": [0-9]*/"samples": 99999999999999999999/' $TMP/a.json >$TMP/bad.json;
> pyrometer learn --merge $TMP/bad.json --table $TMP/none.json 2>&1 | sed "s|$TMP|TMP|"
TMP/bad.json: rejected: a sum is not an integer of at least 0 (at byte 175)
TMP/none.json: 2 rows
  H100 SXM: 2 rows, 2 samples (gemm 2)
pyrometer: nothing was learnt

$ head -c 700 $TMP/a.json >$TMP/bad.json;
> pyrometer learn --show --table $TMP/bad.json 2>&1 | sed "s|$TMP|TMP|"
pyrometer: TMP/bad.json: unexpected end of input: expected a value (at byte 700)

$ pyrometer learn --merge trace/good-1-training.json --table $TMP/none.json 2>&1 | sed "s|$TMP|TMP|"
trace/good-1-training.json: rejected: not a table of pyrometer learn (pyrometer.efficiency/1) (at byte 16773)
TMP/none.json: 2 rows
  H100 SXM: 2 rows, 2 samples (gemm 2)
pyrometer: nothing was learnt

# Invalid command lines.
$ pyrometer learn
pyrometer: learn needs a trace: pyrometer learn TRACE... (see pyrometer learn --help)
[2]

$ pyrometer learn --shipped trace/good-1-training.json
pyrometer: --shipped only goes with --show: the table that ships does not change
[2]

$ pyrometer learn trace/missing.json --table $TMP/none.json 2>&1 | sed "s|$TMP|TMP|"
trace/missing.json: rejected: cannot open: No such file or directory
TMP/none.json: 2 rows
  H100 SXM: 2 rows, 2 samples (gemm 2)
pyrometer: nothing was learnt
