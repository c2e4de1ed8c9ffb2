# Characters that a terminal obeys, reorders or hides do not come out of any writer raw.
$ cd $TMP && python3 - <<'END'
> import json
> nasty = "evil\x1b[31m\u202egnp.exe\u200b\u2066\x9b\ufeff\x00end"
> event = {"ph": "X", "pid": 1, "tid": 1}
> events = [
>     {**event, "cat": "python_function", "name": "nn.Module: " + nasty + "_0", "ts": 1000, "dur": 900},
>     {**event, "cat": "user_annotation", "name": nasty, "ts": 1001, "dur": 800},
>     {**event, "cat": "cpu_op", "name": nasty, "ts": 1010, "dur": 500,
>      "args": {"Input Dims": [[2, 3]], "Input type": [nasty], "Call stack": nasty + ";" + nasty}},
> ]
> json.dump({"traceEvents": events}, open("nasty.json", "w"))
> json.dump({"traceEvents": events}, open("na\x1bsty\u202e.json", "w"))
> END

$ cd $TMP && cat > raw.py <<'END'
> import re, sys
> found = sorted({f"U+{ord(c):04X}" for c in re.findall(
>     "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]",
>     sys.stdin.buffer.read().decode())})
> print("raw:", *found or ["none"])
> END

$ cd $TMP && for view in layer op step stack shape finding; do pyrometer trace nasty.json --by $view 2>&1 | python3 raw.py; done
raw: none
raw: none
raw: none
raw: none
raw: none
raw: none

$ cd $TMP && for view in layer op step stack shape finding; do pyrometer trace nasty.json --by $view --format csv 2>&1 | python3 raw.py; done
raw: none
raw: none
raw: none
raw: none
raw: none
raw: none

$ cd $TMP && pyrometer trace nasty.json 2>&1 | python3 raw.py
raw: none

$ cd $TMP && pyrometer trace nasty.json --folded | python3 raw.py
raw: none

$ cd $TMP && pyrometer trace nasty.json --format json -v | python3 raw.py
raw: none

$ cd $TMP && pyrometer trace nasty.json --chrome - -q | python3 raw.py
raw: none

$ cd $TMP && pyrometer ranks nasty.json 2>&1 | python3 raw.py
raw: none

$ cd $TMP && pyrometer diff nasty.json nasty.json 2>&1 | python3 raw.py
raw: none

$ cd $TMP && pyrometer trace na*sty*.json 2>&1 | python3 raw.py
raw: none

$ cd $TMP && pyrometer diff nasty.json na*sty*.json 2>&1 | python3 raw.py
raw: none

$ cd $TMP && pyrometer bench -r 3 -n "$(printf 'b\033[1m\342\200\256')" true --export-markdown b.md --export-html b.html --export-csv b.csv --export-json b.json | cat - b.md b.html b.csv b.json | python3 raw.py
raw: none

$ cd $TMP && GITHUB_ACTIONS=1 pyrometer bench -r 3 -n "$(printf 'b\033[1m\342\200\256')" true --threshold latency:1ns 2>&1 | python3 raw.py
raw: none

$ cd $TMP && cp nasty.json "$(printf 'o\033ut.json')" && pyrometer trace nasty.json -o "$(printf 'o\033ut.json')" 2>&1 | python3 raw.py
raw: none

# A name is not cut at NUL, and that is said.
$ cd $TMP && pyrometer trace nasty.json --by op --format csv | cut -d, -f1
name
evil?[31m?gnp.exe????�end

$ cd $TMP && pyrometer trace nasty.json --format json | grep NUL
    "3 events with NUL characters in texts (replaced)"
    {"id": "damaged-file", "severity": "warning", "title": "The file is damaged or incomplete", "evidence": "3 events with NUL characters in texts (replaced)", "cause": "the process was killed while it wrote the file, or Kineto (before July 2026) did not escape quotes in names", "advice": "let the profiler finish; record again with a newer torch", "count": 1}

# JSON keeps what it was, in escapes.
$ cd $TMP && pyrometer trace nasty.json --format json -v | python3 -c 'import json, sys; print(ascii(json.load(sys.stdin)["ops"][0]["name"]))'
'evil\x1b[31m\u202egnp.exe\u200b\u2066\x9b\ufeff\ufffdend'

# Pipes, sockets and devices in a folder are not opened; as an operand a pipe is read.
$ cd $TMP && cp -r $OLDPWD/ranks ranks && rm ranks/config.json && mkfifo ranks/trace_rank_3.json ranks/other.pyro && ln -s /dev/zero ranks/zero.json && timeout 20 pyrometer ranks ranks | sed -n 2p
3 RANKS of 4

$ cd $TMP && timeout 20 pyrometer trace <(cat nasty.json) --by op --format csv | wc -l
2

$ cd $TMP && mkfifo model.pt2 && timeout 20 pyrometer cost model.pt2
pyrometer: model.pt2: is a pipe or device; expected a file
[2]

$ cd $TMP && timeout 20 pyrometer graph model.pt2
pyrometer: model.pt2: is a pipe or device; expected a file
[2]

$ cd $TMP && mkdir -p data/pyrometer/models && mv model.pt2 data/pyrometer/models/mine.pt2 && timeout 20 pyrometer models mine | tail -3

Next:
  pyrometer cost mine

$ cd $TMP && timeout 20 pyrometer diff nasty.json <(cat nasty.json)
pyrometer: nasty.json is a trace, /dev/fd/* is not (glob)
[2]

# What stands in the place of events is said.
$ cd $TMP && echo '{"traceEvents":null}' > null.json && pyrometer trace null.json
pyrometer: null.json: JSON, but not a trace: its traceEvents is null, where a list of events is expected
[2]

# A window of 2 GiB is valid, and only what is unpacked takes memory.
$ cd $TMP && python3 - <<'END'
> text = open("nasty.json", "rb").read()
> block = (len(text) << 3 | 1).to_bytes(3, "little")
> open("long.json.zst", "wb").write(b"\x28\xb5\x2f\xfd\x00" + bytes([31 - 10 << 3]) + block + text)
> END

$ cd $TMP && pyrometer trace long.json.zst --by op --format csv | wc -l
2
