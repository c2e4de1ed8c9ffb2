# Storing: recognized by content, once however often it is added.
$ pyrometer history import history/line.json --db $TMP/h.db
history/line.json: added 60 results (pyrometer history)

$ pyrometer history import history/line.json --db $TMP/h.db
history/line.json: added 0 results (pyrometer history), 60 already there

$ pyrometer history list --db $TMP/h.db --top 2
  Result  When (UTC)        Project  Commit      Branch  Metrics  Benchmarks
  ------------------------------------------------------------------------------
      60  2026-03-01 00:00  demo     4b4b4b4b4b  main          1  resnet…_size=8
      59  2026-02-28 00:00  demo     4a4a4a4a4a  main          1  resnet…_size=8

$ pyrometer history list --db $TMP/h.db --since 2026-02-27 --until 2026-03-01 --format csv
result,time,kind,project,commit,branch,tags,machine_class,fingerprint,tool,metrics,benchmarks
60,2026-03-01T00:00:00Z,bench,demo,4b4b4b4b4b4b4b4b4b4b4b4b4b4b4b4b4b4b4b4b,main,nightly,ci,driver-2,pyrometer 0.1.0,1,resnet18 batch_size=8
59,2026-02-28T00:00:00Z,bench,demo,4a4a4a4a4a4a4a4a4a4a4a4a4a4a4a4a4a4a4a4a,main,nightly,ci,driver-2,pyrometer 0.1.0,1,resnet18 batch_size=8
58,2026-02-27T00:00:00Z,bench,demo,4949494949494949494949494949494949494949,main,nightly,ci,driver-2,pyrometer 0.1.0,1,resnet18 batch_size=8

$ pyrometer history show 60 --db $TMP/h.db
Result 60, bench of 2026-03-01 00:00 UTC
  Project      demo
  Commit       4b4b4b4b4b4b4b4b4b4b4b4b4b4b4b4b4b4b4b4b
  Branch       main
  Tags         nightly
  Measured by  pyrometer 0.1.0
  Machine      ci runner
  Class        ci

  Benchmark         Metric   n    Median      Mean       Min       Max       p99
  ------------------------------------------------------------------------------
  resnet1…h_size=8  latency  3  109.8 ms  109.8 ms  109.3 ms  110.3 ms  110.3 ms

$ pyrometer history show 4b4b4b --db $TMP/h.db -q | head -2
Result 60, bench of 2026-03-01 00:00 UTC
  Project      demo

$ pyrometer history list --db $TMP/h.db --benchmark 'nothing*'
No results.

# A line with its change point; a fingerprint that changes without a change is not reported.
$ pyrometer history trend --db $TMP/h.db
resnet18 batch_size=8 latency on ci, 60 results
      110.6 ms |                                        oo   ooooo   ooooo
               |                                        : ooo     ooo     oo
               |                                        :
               |                                        :
               |                                        :
               |                                        :
               |                                        :
               |                                        :
               |oo   ooooo   ooooo   ooooo   ooooo   ooo:
       99.3 ms |  ooo     ooo     ooo     ooo     ooo   :
               +----------------------------------------a-------------------

  a regression: +10.0% (+9.6% to +10.3%), 100.1 ms -> 110.0 ms; between
     3737373737 and 3838383838, most likely 3838383838 (2026-02-10 00:00)

  When (UTC)        Commit         Value  n
  -------------------------------------------
  2026-02-20 00:00  4242424242  109.6 ms  3
  2026-02-21 00:00  4343434343  109.8 ms  3
  2026-02-22 00:00  4444444444  109.3 ms  3
  2026-02-23 00:00  4545454545  110.6 ms  3
  2026-02-24 00:00  4646464646  110.5 ms  3
  2026-02-25 00:00  4747474747  110.3 ms  3
  2026-02-26 00:00  4848484848  110.0 ms  3
  2026-02-27 00:00  4949494949  110.1 ms  3
  2026-02-28 00:00  4a4a4a4a4a  109.6 ms  3
  2026-03-01 00:00  4b4b4b4b4b  109.8 ms  3
  50 older results: --verbose lists them

$ pyrometer history changes --db $TMP/h.db
  resnet18 batch_size=8 latency on ci (60 results)
    regression: +10.0% (+9.6% to +10.3%), 100.1 ms -> 110.0 ms; between
      3737373737 and 3838383838, most likely 3838383838 (2026-02-10 00:00); 3 of
      3 detectors; change 9ecd6290e5319f6a

$ pyrometer history changes --db $TMP/h.db --format csv | cut -d, -f2-11
project,benchmark,metric,unit,machine_class,class,commit,commit_before,commit_last,time
demo,resnet18 batch_size=8,latency,ms,ci,regression,3838383838383838383838383838383838383838,3737373737373737373737373737373737373737,3838383838383838383838383838383838383838,2026-02-10T00:00:00Z

$ pyrometer history changes --db $TMP/h.db --min-change 20%
No change in 60 results of 1 lines.

# An acknowledged change stays quiet.
$ pyrometer history changes --db $TMP/h.db --acknowledge $(pyrometer history changes --db $TMP/h.db --format csv | sed -n 2p | cut -d, -f1) --note 'new tokenizer'
acknowledged 1 change

$ pyrometer history changes --db $TMP/h.db
No new change in 60 results of 1 lines.
1 acknowledged change: --verbose shows them.

$ pyrometer history changes --db $TMP/h.db -v | tail -2
      3737373737 and 3838383838, most likely 3838383838 (2026-02-10 00:00); 3 of
      3 detectors; change 9ecd6290e5319f6a; acknowledged: new tokenizer

$ pyrometer history changes --db $TMP/h.db --acknowledge 0123
pyrometer: 0123: no such change (pyrometer history changes lists them)
[2]

# Alerts: exit codes, and nothing to read when nothing fires.
$ pyrometer history alert --db $TMP/h.db --rule 'latency > 105ms'
fired: latency > 105ms: resnet18 batch_size=8 latency on ci: 109.8 ms
[1]

$ pyrometer history alert --db $TMP/h.db --rule 'latency > 150ms' --rule 'regression > 3%'

$ pyrometer history alert --db $TMP/h.db --rule 'p99 > 150ms'
cannot tell: p99 > 150ms: resnet18 batch_size=8 latency on ci: the newest result
  has too few samples for this percentile
[3]

$ pyrometer history alert --db $TMP/h.db --rule 'no data for 36500d'

$ pyrometer history alert --db $TMP/h.db --rule 'no data for 1d' --junit $TMP/j.xml --markdown $TMP/m.md --webhook $TMP/w.json | sed 's/[0-9.]* days old/N days old/'
fired: no data for 1d: resnet18 batch_size=8 latency on ci: the newest result is
  N days old

$ sed 's/[0-9.]* days old/N days old/' $TMP/j.xml $TMP/m.md
<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite name="pyrometer history alert" tests="1" failures="1" errors="0" skipped="0">
    <testcase classname="no data for 1d" name="resnet18 batch_size=8 latency on ci"><failure message="no data for 1d: resnet18 batch_size=8 latency on ci: the newest result is N days old"/></testcase>
  </testsuite>
</testsuites>
### History: 1 alert

| state | alert |
|---|---|
| fired | no data for 1d: resnet18 batch\_size=8 latency on ci: the newest result is N days old |

$ grep -c '"state": "fired"' $TMP/w.json
1

$ pyrometer history alert --db $TMP/h.db --rule 'latency ~ 5ms'
pyrometer: rule 'latency ~ 5ms': expected a name, < or >, and a limit; such as 'p99 > 120ms', 'memory > 2GiB', 'regression > 3%' or 'no data for 7d'
[2]

$ pyrometer history alert --db $TMP/h.db
pyrometer: history alert needs --rule, such as --rule 'regression > 3%'
[2]

# From cron, with an empty environment and no terminal: no line unless a rule fires, which cron mails.
$ cd / && cron='env -i HOME=/nonexistent LOGNAME=nobody SHELL=/bin/sh'; sh -c "$cron PATH='$PATH' pyrometer history alert --db $TMP/h.db --rule 'latency > 150ms' --rule 'regression > 3%' --rule 'no data for 36500d'" 2>&1 | wc -c; sh -c "$cron PATH='$PATH' pyrometer history alert --db $TMP/h.db --rule 'latency > 105ms' --rule 'no data for 36500d'"
0
fired: latency > 105ms: resnet18 batch_size=8 latency on ci: 109.8 ms
[1]

# Capacity: what another chip would change, as map predicts it, or why that is unknown.
$ pyrometer history plan --db $TMP/h.db --model resnet18 --rate 200/s --p99 500ms --on l40s,b200 -q
200 requests/s, p99 within 500.0 ms, replicas at most 70% loaded

  B…k  M…e  Batch  Replicas  Load  Busy       p50       p95       p99  Headroom
  -----------------------------------------------------------------------------
  r…8  ci       8         4   69%  100%  126.3 ms  146.6 ms  155.1 ms       +2%

Other chips, predicted by pyrometer map, not measured:
  - resnet18 batch_size=8 on ci: no prediction: its class of machine names no
    chip that map knows; --measured-on names it

$ pyrometer history plan --db $TMP/h.db --model resnet18 --rate 200/s --p99 500ms --on l40s,b200 --measured-on t4 -q | tr -s " \n" " " | grep -o "on ci: [0-9A-Z]* instead of T4: "
on ci: L40S instead of T4: 
on ci: B200 instead of T4: 

$ pyrometer history plan --db $TMP/h.db --rate 200/s --p99 500ms --on l40s,b201
pyrometer: unknown chip "b201" ('pyrometer hardware' lists them)
[2]

# An export read elsewhere gives the same history.
$ pyrometer history export --db $TMP/h.db -q -o $TMP/all.json && pyrometer history import $TMP/all.json --db $TMP/copy.db && pyrometer history export --db $TMP/copy.db -q -o $TMP/again.json && cmp $TMP/all.json $TMP/again.json
$TMP/all.json: added 60 results (pyrometer history)

$ pyrometer history export --db $TMP/h.db --format csv | sed -n 1,2p
result,time,project,benchmark,metric,unit,machine_class,fingerprint,commit,branch,tags,n,median,mean,stddev,min,max,p95,p99
1,2026-01-01T00:00:00Z,demo,resnet18 batch_size=8,latency,ms,ci,driver-1,1010101010101010101010101010101010101010,main,nightly,3,100,100,0.5,99.5,100.5,100.45,100.49

# Retention.
$ pyrometer history gc --db $TMP/h.db --dry-run --keep-samples 1d --keep-all 1d
would remove 9 sets of samples, 51 metrics rolled up, 0 old metrics, 51 empty results

$ pyrometer history gc --db $TMP/h.db --keep-samples 1d --keep-all 1d; pyrometer history list --db $TMP/h.db --top 0 --format csv | wc -l
removed 9 sets of samples, 51 metrics rolled up, 0 old metrics, 51 empty results
10

# An export keeps the statistics of removed samples, and knows which results are the same.
$ pyrometer history export --db $TMP/h.db -q -o $TMP/old.json && pyrometer history import $TMP/old.json --db $TMP/h.db && pyrometer history import $TMP/old.json --db $TMP/old.db && pyrometer history export --db $TMP/old.db -q -o $TMP/old2.json && sed -i '/"result"/d' $TMP/old.json $TMP/old2.json && cmp $TMP/old.json $TMP/old2.json && grep -c '"p99": [0-9]' $TMP/old2.json
$TMP/old.json: added 0 results (pyrometer history), 9 already there
$TMP/old.json: added 9 results (pyrometer history)
9

$ pyrometer history gc --db $TMP/h.db --keep-samples soon
pyrometer: --keep-samples soon: expected a duration such as 90d, 12h or 2w
[2]

# Results of other tools.
$ for f in hyperfine.json pytest-benchmark.json google-benchmark.json asv.json github-action-benchmark.js github-entries.json; do pyrometer history import history/$f --db $TMP/tools.db --project demo --commit abc --time 2026-10-05; done
history/hyperfine.json: added 1 result (hyperfine)
history/pytest-benchmark.json: added 1 result (pytest-benchmark)
history/google-benchmark.json: added 1 result (Google Benchmark)
history/asv.json: added 1 result (asv)
history/github-action-benchmark.js: added 2 results (github-action-benchmark)
history/github-entries.json: added 1 result (github-action-benchmark)

$ pyrometer history export --db $TMP/tools.db --format json | grep -e '"benchmark"' -e '"metric"' -e '"unit"' -e '"better"' -e '"value"' -e machine_class | tr -d ' \n' | sed 's/"machine_class"/\n&/g'

"machine_class":"unknown","benchmark":"sortwords.txt","metric":"latency","unit":"ms","better":"lower","value":51.1,"benchmark":"sortwords.txt","metric":"user","unit":"ms","better":"lower","value":48,"benchmark":"sortwords.txt","metric":"system","unit":"ms","better":"lower","value":3,"benchmark":"sortwords.txt","metric":"memory","unit":"bytes","better":"lower","value":1048576,
"machine_class":"x86_64,AMDEPYC776364-CoreProcessor,4CPUs","benchmark":"tests/test_speed.py::test_encode","metric":"latency","unit":"ms","better":"lower","value":2,"benchmark":"tests/test_speed.py::test_decode","metric":"latency","unit":"ms","better":"lower","value":20,
"machine_class":"8CPUsat3000MHz","benchmark":"BM_Copy/64","metric":"latency","unit":"ms","better":"lower","value":0.00012099999999999999,"benchmark":"BM_Copy/64","metric":"cpu_time","unit":"ms","better":"lower","value":0.00011949999999999999,"benchmark":"BM_Read","metric":"latency","unit":"ms","better":"lower","value":2.5,"benchmark":"BM_Read","metric":"cpu_time","unit":"ms","better":"lower","value":2.4,
"machine_class":"asv-1,AMDEPYC7763","benchmark":"suite.TimeSort.time_sort10","metric":"latency","unit":"ms","better":"lower","value":250,"benchmark":"suite.TimeSort.time_sort30","metric":"latency","unit":"ms","better":"lower","value":750,"benchmark":"suite.peakmem_load","metric":"memory","unit":"bytes","better":"lower","value":52428800,
"machine_class":"unknown","benchmark":"RustBenchmark:fib_20","metric":"latency","unit":"ms","better":"lower","value":0.024149,
"machine_class":"unknown","benchmark":"RustBenchmark:requests","metric":"value","unit":"req","better":"higher","value":1200,
"machine_class":"unknown","benchmark":"resnet18:latency","metric":"latency","unit":"ms","better":"lower","value":12.5,"benchmark":"resnet18:memory","metric":"value","unit":"bytes","better":"lower","value":104857600,

# A file without a time of its own is the same result wherever it is copied to.
$ cp history/hyperfine.json $TMP/copy.json && touch -d 2026-01-01 $TMP/copy.json && pyrometer history add $TMP/copy.json --db $TMP/tools2.db --project demo --commit abc && touch $TMP/copy.json && pyrometer history add $TMP/copy.json --db $TMP/tools2.db --project demo --commit abc
$TMP/copy.json: added 1 result (hyperfine)
$TMP/copy.json: added 0 results (hyperfine), 1 already there

# A result must have all tags that are asked for.
$ pyrometer history add history/hyperfine.json --db $TMP/tags.db --project demo --commit abc --tag a --tag b -q && for tags in '--tag a --tag b' '--tag b' '--tag a --tag c'; do pyrometer history list --db $TMP/tags.db --format csv $tags | wc -l; done
2
2
1

# Our own: traces and costs.
$ pyrometer trace trace/good-10-odd-names.json.gz -q --history --db $TMP/own.db > $TMP/out && pyrometer cost resnet18 -q -o $TMP/cost.json && pyrometer history add $TMP/cost.json --db $TMP/own.db -q && pyrometer history export --db $TMP/own.db --format csv | cut -d, -f4-7,13
benchmark,metric,unit,machine_class,median
good-10-odd-names.json.gz,device_busy,share,NVIDIA H100 80GB HBM3,0.1111111111111111
good-10-odd-names.json.gz,kernels,kernels,NVIDIA H100 80GB HBM3,1
good-10-odd-names.json.gz,span,ms,NVIDIA H100 80GB HBM3,0.045
resnet18,params,params,any machine,11689512
resnet18,total_flops,FLOPs,any machine,3638007272
resnet18,total_macs,MACs,any machine,1814073344
resnet18,total_memory,bytes,any machine,116950592

# Errors.
$ pyrometer history list --db $TMP/none.db
pyrometer: $TMP/none.db: no history here; pyrometer history add makes one
[2]

$ pyrometer history add --db $TMP/h.db history/make_line.py
pyrometer: history/make_line.py: expected the end of the document, got '"' (at byte 2)
[2]

$ pyrometer history add --db $TMP/h.db
pyrometer: history add needs a file of results, or --pending
[2]

$ pyrometer history
pyrometer: history needs a verb, such as add or list (see pyrometer history --help)
[2]

$ pyrometer history chnges
pyrometer: unknown verb chnges; did you mean history changes (see pyrometer history --help)
[2]

$ echo text > $TMP/no.db; pyrometer history list --db $TMP/no.db
pyrometer: $TMP/no.db: damaged, or not a history: file is not a database; restore a copy
[2]

# No password in a message, wherever it is in the address.
$ for u in postgresql://user:secret@127.0.0.1:1/db 'postgresql://user:se?cret@127.0.0.1:1/db' 'postgresql://user@127.0.0.1:1/db?password=secret'; do pyrometer history list --db "$u"; done 2>&1 | cut -d: -f1-4 | sort -u
pyrometer: postgresql://user@127.0.0.1:1/db

$ for u in mysql://user:secret@host/db postgresql://user:a@secret@host/db postgresql://user:a/secret@host/db postgresql://user:secret%zz@host/db; do pyrometer history list --db "$u"; done
pyrometer: unsupported server: a history is a file, or postgresql://USER@HOST/NAME
pyrometer: invalid user or password in the address: write % as %25, / as %2F and @ as %40
pyrometer: invalid user or password in the address: write % as %25, / as %2F and @ as %40
pyrometer: invalid user or password in the address: write % as %25, / as %2F and @ as %40
[2]
