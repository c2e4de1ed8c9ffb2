# Commands are run and measured; no number here depends on how fast the machine is.
$ cd $TMP; pyrometer bench --runs 6 -n quick 'sleep 0.01' -n slow 'sleep 0.2' -q --export-json two.json | sed 's/[0-9.]* +- [0-9.]*/R/; s/[0-9][0-9.]* [a-zA-Z/]*\(s\|B\)\b/T/g'
Benchmark 1: quick
  Latency:     mean T (T to T), sd T, n 6
               median T (T to T), min T, max T
  Percentiles: p95 T (uncertain: 6 of T), p99 T (uncertain: 6 of T)
  Memory:      T (T to T), max T
  Throughput:  T (T to T)
  Processor:   user T, system T

Benchmark 2: slow
  Latency:     mean T (T to T), sd T, n 6
               median T (T to T), min T, max T
  Percentiles: p95 T (uncertain: 6 of T), p99 T (uncertain: 6 of T)
  Memory:      T (T to T), max T
  Throughput:  T (T to T)
  Processor:   user T, system T

Summary
  quick ran
    R times faster than slow

$ cd $TMP; python3 -c '
> import json
> data = json.load(open("two.json"))
> print(data["schema"], data["order"], data["interrupted"], sorted(data["environment"])[:3])
> for result in data["benchmarks"]:
>     latency = result["metrics"][0]
>     print(result["name"], result["status"], result["replicate"], latency["name"], latency["n"],
>           latency["unit"], len(latency["samples"]), min(latency["samples"]) == latency["min"],
>           result["warmup_runs"], [metric["name"] for metric in result["metrics"]])
> assert data["benchmarks"][1]["metrics"][0]["min"] >= 20'
pyrometer.bench/1 interleaved False ['architecture', 'commit', 'cpu_count']
quick ok process latency 6 ms 6 True 1 ['latency', 'user', 'system', 'memory', 'throughput']
slow ok process latency 6 ms 6 True 1 ['latency', 'user', 'system', 'memory', 'throughput']

# A given time limit ends a fixed number of runs too.
$ pyrometer bench --runs 1000 --warmup 0 --max-time 0.2 'sleep 0.05' | sed -n 's/after [0-9]* of/after N of/; s/ runs:.*//; /time limit/p'
  - sleep 0.05: the time limit ended it after N of 1000
$ pyrometer bench --cold-cache true
pyrometer: --cold-cache requires --model-path
[2]

# The other model of a comparison is named as everywhere: here no Python is there to run either.
$ pyrometer bench -q --model-path model.py:build --against mobilenet_v2 --python $TMP/none 2>&1 | tail -1
pyrometer: $TMP/none: Python not found; name one with --python
$ pyrometer bench -q --model-path model.py:build --against no-such --python $TMP/none
pyrometer: --against no-such: neither a results file nor a commit of this repository
[2]

# The order of runs is random but follows from the seed; --sequential is the other one.
$ cd $TMP; for seed in 1 1 2; do pyrometer bench -q --runs 4 --warmup 0 --seed $seed --setup 'echo' 'echo a >> log' 'echo b >> log' 'echo c >> log' > /dev/null; tr -d '\n' < log; echo; rm log; done > orders; sed -n '1p;3p' orders | sort -u | wc -l; sed -n '1,2p' orders | sort -u | wc -l; cut -c1-3 orders | fold -w1 | sort | uniq -c | wc -l
2
1
3

$ cd $TMP; pyrometer profile -q --sequential --runs 3 --warmup 1 'echo a >> log' 'echo b >> log' > /dev/null; tr -d '\n' < log; rm log
aaaabbbb

# Setup once, prepare before every run, cleanup once; parameters go everywhere.
$ cd $TMP; pyrometer bench -q --runs 2 --warmup 1 --sequential -L word x,y -P n 1 2 -s 'echo s{word}{n} >> log' -p 'echo p >> log' -c 'echo c{n} >> log' 'echo {word}{n} {other} >> log' --export-markdown table.md --format csv | cut -d, -f1,2,3,4,6 | grep latency; tr '\n' ' ' < log; rm log; echo; wc -l < table.md
echo x1 {other} >> log,word=x n=1,ok,latency,2
echo x2 {other} >> log,word=x n=2,ok,latency,2
echo y1 {other} >> log,word=y n=1,ok,latency,2
echo y2 {other} >> log,word=y n=2,ok,latency,2
sx1 sx2 sy1 sy2 p x1 {other} p x1 {other} p x1 {other} p x2 {other} p x2 {other} p x2 {other} p y1 {other} p y1 {other} p y1 {other} p y2 {other} p y2 {other} p y2 {other} c1 c2 c1 c2 
6

$ cd $TMP; pyrometer bench -q --runs 1 --warmup 0 -P x 0 1 -D 0.25 'true {x}' --format csv | grep latency | cut -d, -f1,2
true 0.00,x=0.00
true 0.25,x=0.25
true 0.50,x=0.50
true 0.75,x=0.75
true 1.00,x=1.00

# Failures end their own command only.
$ pyrometer bench -q --runs 2 false 'exit 3' true --format csv | grep -v user,ms | cut -d, -f1-4 | head -2
pyrometer: false: exit code 1; --ignore-failure measures it anyway
pyrometer: exit 3: exit code 3; --ignore-failure measures it anyway
name,parameters,status,metric
true,,ok,latency

$ pyrometer bench -q --runs 2 false > /dev/null
pyrometer: false: exit code 1; --ignore-failure measures it anyway
[2]

$ pyrometer bench -q --runs 2 --ignore-failure false > /dev/null
$ pyrometer bench -q --runs 2 -N 'no-such-program here' > /dev/null
pyrometer: no-such-program here: cannot run no-such-program: No such file or directory
[2]

$ cd $TMP; pyrometer bench -q --runs 1 --warmup 0 --shell none "touch 'a b' c\\ d" > /dev/null; ls -1 [ac]*
a b
c d

$ pyrometer bench -q --runs 1 -N "touch 'a" > /dev/null
pyrometer: touch 'a: a quote is not closed
[2]

$ pyrometer bench --shell no-such-shell true
pyrometer: cannot run no-such-shell: No such file or directory
[2]

# Usage.
$ pyrometer bench
pyrometer: no command given: pyrometer bench 'sleep 0.1' (see pyrometer bench --help)
[2]

$ pyrometer bench '  '
pyrometer: command 1 is empty (see pyrometer bench --help)
[2]

$ pyrometer bench true --min-runs 9 --max-runs 3
pyrometer: --min-runs is greater than --max-runs (see pyrometer bench --help)
[2]

$ pyrometer bench true -n a -n b
pyrometer: 2 names for 1 commands (see pyrometer bench --help)
[2]

$ pyrometer bench true -L n
pyrometer: --parameter-list needs a value: --parameter-list VAR VALUES (see pyrometer bench --help)
[2]

$ pyrometer bench 'true {n}' -P n 1 x
pyrometer: --parameter-scan n: 1, x: not numbers (see pyrometer bench --help)
[2]

# Thresholds: passed, broken, not to be told, not understood.
$ cd $TMP; pyrometer bench -q --runs 6 'sleep 0.02' --threshold latency:100s throughput:0.001samples/s p50:100s max:100s memory:100GiB user:10s --output-dir out/deep > /dev/null; ls out/deep
github-benchmark.json
junit.xml
report.html
results.csv
results.json
summary.md

$ cd $TMP/out/deep; python3 -c '
> import csv, json, re, xml.etree.ElementTree as tree
> suite = tree.parse("junit.xml").getroot()[0]
> print(suite.attrib["tests"], suite.attrib["failures"], suite.attrib["errors"])
> print([entry["name"] for entry in json.load(open("github-benchmark.json"))])
> print([(gate["threshold"], gate["verdict"]) for gate in json.load(open("results.json"))["thresholds"]][:2])
> print(len(list(csv.DictReader(open("results.csv")))))
> page = open("report.html").read()
> print("pyrometer-data" in page or page.count("<svg") == 2, re.findall("(?:src|href)=\"?http", page))'
7 0 0
['sleep 0.02: latency', 'sleep 0.02: user', 'sleep 0.02: system', 'sleep 0.02: memory']
[('latency:100s', 'passed'), ('throughput:0.001samples/s', 'passed')]
5
True []

$ GITHUB_ACTIONS=true pyrometer bench -q --runs 6 -n nap 'sleep 0.02' --threshold latency:1ms > /dev/null
::error::nap: latency:1ms failed: .* (re)
[1]

$ pyrometer bench -q --runs 6 -n nap 'sleep 0.02' --threshold memory:10B --threshold latency:100s | grep -o 'memory:10B *failed'
memory:10B    failed

$ pyrometer bench -q --runs 6 'sleep 0.02' --threshold p99:100s > /dev/null
[3]

$ pyrometer bench --runs 6 true --threshold latncy:3ms
pyrometer: threshold latncy:3ms: unknown metric; did you mean latency? (see pyrometer bench --help)
[2]

$ pyrometer bench --runs 6 true --threshold latency:1ms throughput:3ms
pyrometer: threshold throughput:3ms: unknown unit ms; for example 1000samples/s (see pyrometer bench --help)
[2]

$ pyrometer bench true --threshold latency:100
pyrometer: threshold latency:100: the unit is missing; for example 100ms (see pyrometer bench --help)
[2]

# A rate counts what its unit says; one that there is no number for is refused before anything runs.
$ cd $TMP; pyrometer bench 'touch ran' --threshold latency:1s throughput:1000requests/s; echo [$?]; pyrometer bench true --threshold throughput:1tokens/s; ls ran
pyrometer: threshold throughput:1000requests/s: a command has no number in requests/s; it has samples/s, runs/s (see pyrometer bench --help)
[2]
pyrometer: threshold throughput:1tokens/s: a command has no number in tokens/s; it has samples/s, runs/s (see pyrometer bench --help)
ls: cannot access 'ran': No such file or directory
[2]

$ cd $TMP; pyrometer bench -q --runs 6 --items 1000000 'sleep 0.02' --threshold throughput:1000samples/s > /dev/null; echo [$?]; pyrometer bench -q --runs 6 --items 1000000 'sleep 0.02' --threshold throughput:1000runs/s | grep -o 'runs/s *failed'
[0]
runs/s  failed

# Verdicts between files. A slowdown by half is found; what cannot be judged is never a pass.
$ cd $TMP; python3 -c '
> import json
> data = json.load(open("two.json"))
> data["environment"].update(load_1m_before=0.1, load_1m_after=0.1, other_cpus=0.01, governor=None)
> data["warnings"] = []
> def samples(name, factor, count=12):
>     for result in data["benchmarks"]:
>         for metric in result["metrics"]:
>             if metric["name"] in ("latency", "memory"):
>                 center = factor * 100 if metric["name"] == "latency" else 4e6
>                 metric["samples"] = [center * (1 + 0.001 * (i * 7 % 11)) for i in range(count)]
>     json.dump(data, open(name, "w"))
> samples("base.json", 1); samples("slow.json", 1.5); samples("fast.json", 0.5)
> samples("same.json", 1.002); samples("few.json", 1, 3)
> data["environment"]["cpu_model"] = "Another"
> samples("elsewhere.json", 1)
> data["schema"] = "pyrometer.bench/9"
> samples("later.json", 1)'
$ cd $TMP; pyrometer diff base.json slow.json; echo [$?]; pyrometer diff base.json slow.json --fail-on regression > /dev/null
  Name   Metric       Base       New  Change     95% interval      n  Verdict
  -----------------------------------------------------------------------------
  quick  latency  100.5 ms  150.7 ms  +50.0%  +49.6 to +50.4%  12/12  regressed
  quick  memory   3.83 MiB  3.83 MiB   +0.0%    -0.3 to +0.3%  12/12  no change
  slow   latency  100.5 ms  150.7 ms  +50.0%  +49.6 to +50.4%  12/12  regressed
  slow   memory   3.83 MiB  3.83 MiB   +0.0%    -0.3 to +0.3%  12/12  no change

Verdict: regressed (tolerance: 2% of latency, 26.1% of memory)
[0]
[1]

$ cd $TMP; pyrometer diff base.json fast.json --fail-on cannot-tell | grep ^Verdict; pyrometer diff base.json same.json --fail-on cannot-tell | grep ^Verdict
Verdict: improved (tolerance: 2% of latency, 26.1% of memory)
Verdict: no change (tolerance: 2% of latency, 26.1% of memory)

$ cd $TMP; pyrometer diff base.json slow.json --delta 60% --fail-on regression | grep ^Verdict; pyrometer diff base.json slow.json --floor 60ms --fail-on regression | grep ^Verdict
Verdict: no change (tolerance: 60% of latency, 60% of memory)
Verdict: no change (tolerance: 59.7% of latency, 26.1% of memory)

$ cd $TMP; pyrometer diff base.json few.json | tail -5
Verdict: cannot tell (tolerance: 2% of latency, 26.1% of memory)
  quick, latency: too few samples: 5 processes per side are needed
  quick, memory: too few samples: 5 processes per side are needed
  slow, latency: too few samples: 5 processes per side are needed
  slow, memory: too few samples: 5 processes per side are needed

$ cd $TMP; for other in few elsewhere later; do pyrometer diff base.json $other.json > /dev/null; echo [$?]; pyrometer diff $other.json base.json --fail-on regression > /dev/null; echo [$?]; done
[3]
pyrometer: warning: cannot tell whether this got worse; --fail-on regression allows that, --fail-on cannot-tell does not
[0]
[3]
pyrometer: warning: cannot tell whether this got worse; --fail-on regression allows that, --fail-on cannot-tell does not
[0]
pyrometer: later.json: unsupported schema pyrometer.bench/9; this program reads pyrometer.bench/1
[3]
pyrometer: later.json: unsupported schema pyrometer.bench/9; this program reads pyrometer.bench/1
[0]

$ cd $TMP; pyrometer diff base.json few.json --fail-on cannot-tell > /dev/null
[1]

$ cd $TMP; pyrometer diff base.json few.json --fail-on cannot-tell --fail-on regression > /dev/null; echo [$?]; pyrometer diff base.json slow.json --fail-on regression --fail-on cannot-tell > /dev/null; echo [$?]; GITHUB_ACTIONS=true pyrometer diff base.json few.json --fail-on regression 2>&1 > /dev/null | cut -d: -f1-3 | sort | uniq -c
[1]
[1]
      4 ::warning
      1 pyrometer: warning: cannot tell whether this got worse; --fail-on regression allows that, --fail-on cannot-tell does not

# New by base is the change, whatever the medians are.
$ cd $TMP; python3 -c '
> import json
> data = json.load(open("base.json"))
> fast, slow = [6.9] * 11 + [11.1] * 9, [6.95] * 9 + [11.1] * 11
> for name, samples in (("fast-phases.json", fast), ("slow-phases.json", slow)):
>     for result in data["benchmarks"]:
>         result["metrics"][0]["samples"] = [value * (1 + 0.001 * (i * 7 % 11)) for i, value in enumerate(samples)]
>     json.dump(data, open(name, "w"))'
$ cd $TMP; pyrometer diff fast-phases.json slow-phases.json --format json | python3 -c '
> import json, sys
> for row in json.load(sys.stdin)["metrics"]:
>     assert abs(row["current"] / row["base"] - 1 - row["change"]) < 1e-9, row
>     print(row["metric"], row["verdict"])'
latency cannot tell
memory no change
latency cannot tell
memory no change

# Results of a busy machine show their warnings, and no alarm that load alone may have made.
$ cd $TMP; python3 -c '
> import json
> data = json.load(open("base.json"))
> for name, load, factor in (("quiet.json", 0.1, 1), ("busy.json", 6.1, 1.6)):
>     data["environment"].update(cpu_count=2, load_1m_before=load, load_1m_after=load, other_cpus=load / 4)
>     data["warnings"] = [f"other programs were running: load {load}"]
>     for result in data["benchmarks"]:
>         result["metrics"][0]["samples"] = [100 * factor * (1 + 0.05 * (i * 7 % 11)) for i in range(12)]
>     json.dump(data, open(name, "w"))'
$ cd $TMP; pyrometer diff quiet.json busy.json | tail -9; pyrometer diff -q quiet.json busy.json | grep -c running
Verdict: cannot tell (tolerance: 2% of latency, 26.1% of memory)
  quick, latency: the machine drifts between recordings, which made the interval wider: run both sides in turn (bench --against), or measure more
  slow, latency: the machine drifts between recordings, which made the interval wider: run both sides in turn (bench --against), or measure more
  base: other programs were running: load 0.1
  base: quick: latency varies by 14.1% (more than 2.5%)
  base: slow: latency varies by 14.1% (more than 2.5%)
  new: other programs were running: load 6.1
  new: quick: latency varies by 14.1% (more than 2.5%)
  new: slow: latency varies by 14.1% (more than 2.5%)
0
[1]

# The summary of a step: behind what is there, and no reason to fail.
$ cd $TMP; echo before > step.md; GITHUB_STEP_SUMMARY=step.md pyrometer diff base.json slow.json > /dev/null; GITHUB_STEP_SUMMARY=step.md pyrometer bench -q --runs 5 -n nap 'sleep 0.01' > /dev/null; cut -c1-36 step.md
before
**Verdict: regressed**

| Benchmark | Metric | Base | New | 
|:---|:---|---:|---:|---:|---:|:---|
| quick | latency | 100.5 ms | 150.7
| quick | memory | 3.83 MiB | 3.83 M
| slow | latency | 100.5 ms | 150.7 
| slow | memory | 3.83 MiB | 3.83 Mi
| Benchmark | Mean | 95% interval | 
|:---|---:|---:|---:|---:|---:|---:|
\| nap \| .* (re)

$ cd $TMP; GITHUB_STEP_SUMMARY=no/such/folder.md pyrometer diff base.json same.json | grep ^Verdict
pyrometer: warning: cannot write GITHUB_STEP_SUMMARY no/such/folder.md: No such file or directory
Verdict: no change (tolerance: 2% of latency, 26.1% of memory)

$ cd $TMP; head -c 3000 base.json > cut.json; pyrometer diff cut.json base.json; echo [$?]; sed 's/"samples": \[/&NaN, /' base.json > nan.json; pyrometer diff base.json nan.json
pyrometer: cut.json: .* (re)
[2]
pyrometer: nan.json: .* (re)
[2]

$ cd $TMP; pyrometer diff base.json resnet18
pyrometer: base.json is a result of pyrometer bench, resnet18 is not
[2]

$ cd $TMP; pyrometer diff --format json base.json slow.json | python3 -c '
> import json, sys
> data = json.load(sys.stdin)
> row = data["metrics"][0]
> print(data["schema"], data["verdict"], row["metric"], row["verdict"], row["base_n"], row["replicate"])'
pyrometer.verdict/1 regressed latency regressed 12 process

# Against a commit: both sides in turn, and the work tree is gone afterwards.
$ mkdir $TMP/repository; cd $TMP/repository; git init -q .; git config user.email a@b; git config user.name c; echo 0.05 > nap; git add nap; git commit -qm one; echo 0.4 > nap; pyrometer bench -q --against HEAD --max-runs 6 'sleep $(cat nap)' --fail-on regression --output-dir ../against | grep -o 'Verdict: [a-z ]*[a-z]'; git worktree list | wc -l; ls ../against | head -1
Verdict: regressed
1
base.json

$ cd $TMP/repository; pyrometer bench -q --against ../against/results.json --runs 6 'sleep $(cat nap)' --delta 1000% | grep -o 'Verdict: [a-z ]*[a-z]'
Verdict: no change

# How long a comparison takes is printed before, and --total-time ends it.
$ cd $TMP/repository; pyrometer bench --against HEAD --total-time 0 'sleep 0.02' 2>&1 | grep -e ^Comparing -e total-time -e 'latency .*/' | sed 's/about .*/about T/; s/  *[0-9.]* .*s  *[-+].*  \([0-9]*.[0-9]*\)  .*/ \1/'
Comparing: 10 to 30 runs per side, or as many as fit in 60.0 s; no new round after 0 ns (--total-time)
Comparing: this takes about T
 5/5
  base: the comparison ended after 0 s (--total-time)
  new: the comparison ended after 0 s (--total-time)

# Nothing stays behind where nobody reads what comes.
$ cd $TMP/repository; mkdir ../tmp; TMPDIR=$TMP/tmp pyrometer bench -q --against HEAD --runs 5 true | true; git worktree list | wc -l; ls ../tmp
1

$ cd $TMP/repository; pyrometer bench --against no-such-commit true
pyrometer: --against no-such-commit: neither a results file nor a commit of this repository
[2]

# An interruption ends it with what was measured.
$ cd $TMP; (pyrometer bench -q --runs 1000 --warmup 0 --cleanup 'touch cleaned' -n nap 'echo >> ran; sleep 0.05' -o nap.json & pid=$!; until [ "$(wc -l 2> /dev/null < ran || echo 0)" -ge 3 ]; do sleep 0.05; done; kill -INT $pid; wait $pid; echo [$?]); ls cleaned; python3 -c '
> import json
> data = json.load(open("nap.json"))
> print(data["interrupted"], data["benchmarks"][0]["status"])'
[130]
cleaned
True interrupted
