# What the ops of a trace show becomes rows of a table.
$ pyrometer learn trace/h200_vit_b16_forward.json.gz --table $TMP/a.json | sed "s|$TMP|TMP|"
trace/h200_vit_b16_forward.json.gz: H200 SXM (cuda 13.0): 10 samples of 124 calls, 99.9% of the device time
TMP/a.json: 10 rows
  H200 SXM: 10 rows, 10 samples (gemm 4, gemv 1, conv 1, attention 1, elementwise 2, norm 1)

$ pyrometer learn --show --table $TMP/a.json | sed "s|$TMP|TMP|"
TMP/a.json: 10 rows
  H200 SXM: 10 rows, 10 samples (gemm 4, gemv 1, conv 1, attention 1, elementwise 2, norm 1)

H200 SXM, cuda 13.0:
  Kind         Type       m       n       k     Bytes  N     Time   Peak    B/s
  -----------------------------------------------------------------------------
  gemm         fp32     197     768     768  3.41 MiB  1  25.7 us  13.5%   2.9%
  gemm         fp32     197     768  3.07 k  11.9 MiB  1  96.9 us  14.3%   2.7%
  gemm         fp32     197  2.30 k     768  9.07 MiB  1  39.5 us  26.3%   5.0%
  gemm         fp32     197  3.07 k     768  11.9 MiB  1  45.6 us  30.4%   5.7%
  gemv         fp32       1  1.00 k     768  2.94 MiB  1  4.25 us   0.5%  15.1%
  conv         fp32     196     768     768  3.40 MiB  1  41.5 us   8.3%   1.8%
  attention    tf32  2.36 k     197      64  2.31 MiB  1  29.0 us   0.9%   1.7%
  elementwise  fp32       -       -       -  1.73 MiB  1  1.38 us   0.2%  27.5%
  elementwise  fp32       -       -       -  4.62 MiB  1  2.08 us   2.2%  48.5%
  norm         fp32     197     768       -  1.16 MiB  1  3.74 us   0.4%   6.8%

Sizes are the middle of their group; N is the number of samples. Peak and B/s are
shares of the data sheet's peak for the type and of its bandwidth.

$ pyrometer learn --show --table $TMP/a.json --format csv | head -3
chip,library,kind,form,dtype,m,n,k,flops,bytes,parts,samples,time_ns,least_ns,most_ns,compute_share,memory_share
H200 SXM,cuda 13.0,gemm,plain,float32,197,768,768,232550491,3572629,1,1,25698,25695,25695,0.135061,0.0289623
H200 SXM,cuda 13.0,gemm,plain,float32,197,768,3072,929572525,12464218,1,1,96850,96865,96865,0.143253,0.0268115

$ pyrometer learn --show --table $TMP/a.json --format json | head -4
{
 "schema": "pyrometer.efficiency/2",
 "rows": [
  {"chip": "H200 SXM", "library": "cuda 13.0", "kind": "gemm", "dtype": "float32", "form": "plain", "sizes": [15, 19, 19, 55, 43, 0], "size_logs": [7805, 9815, 9815, 28460, 22291, 0], "samples": 1, "time_log": 15001, "time_log_squares": 225030001, "least_ns": 25695, "most_ns": 25695},

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
  "rows": 10,
  "files": [
    {
      "file": "h200_vit_b16_forward.json.gz",
      "is_table": false,
      "rejected": null,
      "chip": "H200 SXM",
      "library": "cuda 13.0",
      "on_device": true,
      "samples": 10,
      "calls": 124,
      "time_ns": 3042542,
      "all_ns": 3045710,
      "impossible": 0
    }
  ]
}

# The user's table is in the data folder.
$ XDG_DATA_HOME=$TMP/data pyrometer learn trace/h200_vit_b16_forward.json.gz -q | sed "s|$TMP|TMP|"
trace/h200_vit_b16_forward.json.gz: H200 SXM (cuda 13.0): 10 samples of 124 calls, 99.9% of the device time
TMP/data/pyrometer/efficiency.json: 10 rows
  H200 SXM: 10 rows, 10 samples (gemm 4, gemv 1, conv 1, attention 1, elementwise 2, norm 1)

$ pyrometer learn --show --shipped --top 3
the table that ships with pyrometer: 1535 rows
  H200 SXM: 1535 rows, 3815 samples (gemm 222, gemv 14, conv 431, attention 18, elementwise 133, reduction 130, norm 230, softmax 17, embedding 30, copy 42, conv_backward 259, attention_backward 9)

H200 SXM, cuda 13.0:
  Kind  Type  m       n       k    FLOPs     Bytes  N     Time  Peak   B/s
  ------------------------------------------------------------------------
  gemm  fp32  8     512  2.05 k  16.78 M  4.08 MiB  1  21.2 us  1.2%  4.2%
  gemm  fp32  8     927     828  12.29 M  2.99 MiB  7  8.81 us  2.1%  7.4%
  gemm  fp32  8  1.00 k  2.05 k  32.77 M  7.91 MiB  2  22.8 us  2.1%  7.6%
  ... 1532 more rows; --top 0 shows all

Sizes are the middle of their group; N is the number of samples. Peak and B/s are
shares of the data sheet's peak for the type and of its bandwidth.

# Files that say too little are rejected with the reason; the others are learnt.
$ pyrometer learn trace/good-3-cpu-only.json trace/h200_vit_b16_forward.json.gz --table $TMP/d.json | sed "s|$TMP|TMP|"
trace/good-3-cpu-only.json: rejected: nothing ran on a device, and the trace does not name the processor; --chip NAME does
trace/h200_vit_b16_forward.json.gz: H200 SXM (cuda 13.0): 10 samples of 124 calls, 99.9% of the device time
TMP/d.json: 10 rows
  H200 SXM: 10 rows, 10 samples (gemm 4, gemv 1, conv 1, attention 1, elementwise 2, norm 1)

$ pyrometer learn trace/good-1-training.json --table $TMP/none.json | sed "s|$TMP|TMP|"
trace/good-1-training.json: H100 SXM (unknown): 2 samples of 8 calls, 70.0% of the device time
TMP/none.json: 2 rows
  H100 SXM: 2 rows, 2 samples (gemm 2)

$ pyrometer learn trace/good-3-cpu-only.json --chip "my processor" --table $TMP/e.json | sed "s|$TMP|TMP|"
trace/good-3-cpu-only.json: my processor (unknown): 2 samples of 2 calls, 98.6% of the op time
TMP/e.json: 2 rows
  my processor: 2 rows, 2 samples (gemm 1, elementwise 1)

# Hostile tables: one line each, and nothing is added.
$ echo '{"schema": "pyrometer.efficiency/2", "rows": [{"chip": "x"}]}' >$TMP/bad.json;
> pyrometer learn --merge $TMP/bad.json --table $TMP/none.json 2>&1 | sed "s|$TMP|TMP|"
TMP/bad.json: rejected: row 1 lacks a key (at byte 58)
TMP/none.json: 2 rows
  H100 SXM: 2 rows, 2 samples (gemm 2)
pyrometer: nothing was learnt

$ sed 's/"samples": [0-9]*/"samples": 99999999999999999999/' $TMP/a.json >$TMP/bad.json;
> pyrometer learn --merge $TMP/bad.json --table $TMP/none.json 2>&1 | sed "s|$TMP|TMP|"
TMP/bad.json: rejected: a sum is not an integer of at least 0 (at byte 245)
TMP/none.json: 2 rows
  H100 SXM: 2 rows, 2 samples (gemm 2)
pyrometer: nothing was learnt

$ head -c 700 $TMP/a.json >$TMP/bad.json;
> pyrometer learn --show --table $TMP/bad.json 2>&1 | sed "s|$TMP|TMP|"
pyrometer: TMP/bad.json: unexpected end of input inside a string (at byte 700)

$ pyrometer learn --merge trace/good-1-training.json --table $TMP/none.json 2>&1 | sed "s|$TMP|TMP|"
trace/good-1-training.json: rejected: not a table of pyrometer learn (pyrometer.efficiency/2) (at byte 16773)
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

# A table of an older version: learn refuses it, map does without it.
$ mkdir -p $TMP/old/pyrometer; echo '{"schema": "pyrometer.efficiency/1", "rows": []}' >$TMP/old/pyrometer/efficiency.json;
> XDG_DATA_HOME=$TMP/old pyrometer learn trace/h200_vit_b16_forward.json.gz -q 2>&1 | sed "s|$TMP|TMP|"
pyrometer: TMP/old/pyrometer/efficiency.json: a table of an older pyrometer learn (pyrometer.efficiency/1): remove it, and learn from the traces again

$ XDG_DATA_HOME=$TMP/old pyrometer map resnet18 --on h200 --no-calibration --format csv | sed -n 2p | cut -d, -f1-7
pyrometer: warning: your table of learnt efficiencies is of an older version and is not used: remove it, and learn from the traces again
resnet18,inference,float32,1,1,H200 SXM,total
