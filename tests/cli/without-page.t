# A build without Node: a page says what to install, before any work is done.
$ pyrometer-without-page report resnet18 -o $TMP/r.html
pyrometer: this build has no page: install Node 18 or newer (Debian: nodejs, npm), run `make web` and build again
[2]

$ pyrometer-without-page cost resnet18 -o $TMP/r.html
pyrometer: this build has no page: install Node 18 or newer (Debian: nodejs, npm), run `make web` and build again (see pyrometer cost --help)
[2]

$ pyrometer-without-page trace trace/good-1-training.json -o $TMP/r.html
pyrometer: this build has no page: install Node 18 or newer (Debian: nodejs, npm), run `make web` and build again (see pyrometer trace --help)
[2]

$ pyrometer-without-page diff resnet18 resnet34 --format html
pyrometer: this build has no page: install Node 18 or newer (Debian: nodejs, npm), run `make web` and build again (see pyrometer diff --help)
[2]

$ pyrometer-without-page serve $TMP
pyrometer: this build has no page: install Node 18 or newer (Debian: nodejs, npm), run `make web` and build again
[2]

$ ls $TMP

# Everything else works as in other builds.
$ pyrometer-without-page cost resnet18 -q >$TMP/cost.txt; pyrometer cost resnet18 -q | cmp - $TMP/cost.txt
$ pyrometer-without-page trace trace/good-1-training.json -q --format json >$TMP/trace.json; pyrometer trace trace/good-1-training.json -q --format json | cmp - $TMP/trace.json
$ pyrometer-without-page fit llama3_8b --on l40s --format csv >$TMP/fit.csv; pyrometer fit llama3_8b --on l40s --format csv | cmp - $TMP/fit.csv
$ pyrometer-without-page trace trace/good-1-training.json -q --perfetto $TMP/x.pftrace >/dev/null; test -s $TMP/x.pftrace

# Benchmarks have a static file in place of the page.
$ pyrometer-without-page bench --runs 3 true -q -o $TMP/bench.html; grep -c '</html>' $TMP/bench.html
1
