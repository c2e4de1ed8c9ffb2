# Errors of pyrometer top; tests/python/live/test_top.py tests it in a terminal.
$ pyrometer top
pyrometer: top needs one recording: pyrometer top FILE.pyro (see pyrometer top --help)
[2]
$ pyrometer top $TMP/missing.pyro
pyrometer: $TMP/missing.pyro: cannot open it: No such file or directory
[2]
$ pyrometer top kineto/good-1-kineto.json
pyrometer: kineto/good-1-kineto.json: not a recording of pyrometer run or pyrometer.capture(); pyrometer trace reads other traces
[2]
$ pyrometer top x.pyro --last 5
pyrometer: --last: "5" is not a time between 100ms and 1h (see pyrometer top --help)
[2]
