# Three of four ranks, one of which is slow in a layer; a file in the folder is no trace.
$ pyrometer ranks ranks
pyrometer: ranks/config.json: skipped: JSON, but not a trace: it has no traceEvents (it has lr)
================================================================================
3 RANKS of 4
================================================================================

  Step time:   median 199.0 ms; ranks differ by 0 ns (0.0%)
  Measured on: hosts
  Collectives: 3, 3 of them matched between ranks
  Clocks:      aligned by collectives; shifted by up to 0 ns, residual 0 ns

Stragglers:
  - Rank 1 is late by 50.0 ms per step (25.1% of it), in 3 of 3 steps:
    Net_0.Mlp_1 (forward) takes 60.0 ms of own time on the host, 10.0 ms on the
    other ranks.

Ranks, per step:
  Rank      Step  Compute  Exposed      Idle  Loading    Waits     Late  Clock
  ----------------------------------------------------------------------------
     0  199.0 ms     0 ns  52.0 ms  147.1 ms     0 ns  50.0 ms     0 ns   0 ns
     1  199.0 ms     0 ns  1.95 ms  197.1 ms     0 ns     0 ns  50.0 ms   0 ns
     2  199.0 ms     0 ns  52.0 ms  147.1 ms     0 ns  50.0 ms     0 ns   0 ns
  (3 more columns in a wider terminal, and with -o FILE.csv)

Steps:
  Step  Ranks   Fastest    Median   Slowest  Skew  On rank  Last rank  Late by
  ----------------------------------------------------------------------------
     1      3  199.0 ms  199.0 ms  199.0 ms  0 ns        2          1  50.0 ms
     2      3  199.0 ms  199.0 ms  199.0 ms  0 ns        2          1  50.0 ms
     3      3  199.0 ms  199.0 ms  199.0 ms  0 ns        2          1  50.0 ms

Communication, per rank and step:
  Group  Kind       Ranks  Calls     Time  Exposed  Waiting     Skew      Last
  ----------------------------------------------------------------------------
  -      allreduce      3      1  35.3 ms  35.3 ms  33.3 ms  50.0 ms  1 (100%)
  (2 more columns in a wider terminal, and with -o FILE.csv)

Notes:
  - 1 of 4 ranks has no file (3): whether others waited for it is unknown

$ pyrometer ranks ranks -q --by straggler --format csv
rank,late_ns,late_share,late_steps,steps,layer,class,phase,op,where,layer_ns,others_ns,excess_ns,explained
1,50000000,0.251256,3,3,Net_0.Mlp_1,Mlp,forward,,host,60000000,10000000,50000000,1

$ pyrometer ranks ranks/trace_rank_*.json --by step --top 1
================================================================================
3 RANKS of 4
================================================================================

Steps (1 of 3):
  Step  Ranks   Fastest    Median   Slowest  Skew  On rank  Last rank  Late by
  ----------------------------------------------------------------------------
     1      3  199.0 ms  199.0 ms  199.0 ms  0 ns        2          1  50.0 ms

Notes:
  - 1 of 4 ranks has no file (3): whether others waited for it is unknown

$ pyrometer ranks ranks/trace_rank_*.json --by group --step 2
================================================================================
3 RANKS of 4
================================================================================

Communication, per rank and step:
  Group  Kind       Ranks  Calls     Time  Exposed  Waiting     Skew      Last
  ----------------------------------------------------------------------------
  -      allreduce      3      1  35.3 ms  35.3 ms  33.3 ms  50.0 ms  1 (100%)
  (2 more columns in a wider terminal, and with -o FILE.csv)

Notes:
  - 1 of 4 ranks has no file (3): whether others waited for it is unknown

$ pyrometer ranks ranks/trace_rank_*.json --format json | head -12
{
  "schema": "pyrometer.ranks/1",
  "world_size": 4,
  "missing": 1,
  "step_ns": 199000000,
  "step_skew_ns": 0,
  "time": "host",
  "collectives": 3,
  "matched_collectives": 3,
  "exact_collectives": 0,
  "host_count": null,
  "least_late_share": 0.05,

$ pyrometer ranks ranks/trace_rank_*.json --strict -q --by straggler | tail -3; pyrometer ranks ranks/trace_rank_*.json --strict -q -o $TMP/ranks.json
  - Rank 1 is late by 50.0 ms per step (25.1% of it), in 3 of 3 steps:
    Net_0.Mlp_1 (forward) takes 60.0 ms of own time on the host, 10.0 ms on the
    other ranks.
[1]

# One rank says so, and the same bytes come out of any number of threads.
$ pyrometer ranks ranks/trace_rank_0.json --by straggler
================================================================================
1 RANK of 4
================================================================================

Stragglers:
  Unknown: this needs collectives of several ranks.

Notes:
  - only one rank: nothing to compare it with
  - 3 of 4 ranks have no file (1-3): whether others waited for them is unknown

$ for n in 1 2 3; do pyrometer ranks ranks/*rank*.json -j $n --format json | cksum; done | uniq | wc -l
1

# Two files of one rank, one that is cut, and one that is not there.
$ cp ranks/trace_rank_1.json $TMP/a-rank1.json; head -c 1500 ranks/trace_rank_2.json > $TMP/rank_2.json; pyrometer ranks ranks/trace_rank_0.json ranks/trace_rank_1.json $TMP/a-rank1.json $TMP/rank_2.json $TMP/rank_9.json --by straggler
pyrometer: $TMP/rank_9.json: cannot open: No such file or directory
================================================================================
3 RANKS of 4
================================================================================

Stragglers:
  - Rank 1 is late by 50.0 ms per step (25.1% of it), in 3 of 3 steps:
    Net_0.Mlp_1 (forward) takes 60.0 ms of own time on the host, 10.0 ms on the
    other ranks.

Notes:
  - 1 file is skipped: an earlier file has the same rank and time (first: rank
    1, trace_rank_1.json)
  - 1 of 4 ranks has no file (3): whether others waited for it is unknown
pyrometer: 1 of 3 files are damaged; pyrometer trace FILE shows how
[2]

# What makes no sense.
$ pyrometer ranks
pyrometer: ranks needs a folder or files: pyrometer ranks DIR (see pyrometer ranks --help)
[2]

$ mkdir $TMP/empty; pyrometer ranks $TMP/empty
pyrometer: $TMP/empty: no traces in this folder (.json, .json.gz, .json.zst, .pyro)
[2]

$ pyrometer ranks ranks/config.json
pyrometer: ranks/config.json: JSON, but not a trace: it has no traceEvents (it has lr)
pyrometer: no trace of any rank could be read
[2]

$ pyrometer ranks ranks --late 0
pyrometer: --late: 0 is not from 0.01% to 100% of a step (see pyrometer ranks --help)
[2]

$ pyrometer ranks ranks --layers-from abc
pyrometer: --layers-from: "abc" has no group; put the layer's path in parentheses, as in 'fwd\|(.*)'
[2]

# Steps from other ranges than the profiler's: here every second of them.
$ pyrometer ranks ranks -q --steps-from 'ProfilerStep#([02468])$' --by step
================================================================================
3 RANKS of 4
================================================================================

Steps:
  Step  Ranks   Fastest    Median   Slowest  Skew  On rank  Last rank  Late by
  ----------------------------------------------------------------------------
     2      3  199.0 ms  199.0 ms  199.0 ms  0 ns        2          1  50.0 ms

$ pyrometer ranks ranks --steps-from '('
pyrometer: --steps-from: "(" is not a regular expression: Unmatched ( or \( (see pyrometer ranks --help)
[2]
