# The overview, versions and unknown commands.
$ pyrometer
$ pyrometer --help | head -1
$ pyrometer help help | head -1
$ pyrometer --version
$ pyrometer cst
$ pyrometer frobnicate
$ pyrometer help cots
$ pyrometer resnet18
$ pyrometer --format json

# The help of a command is written from its option table.
$ pyrometer cost --help
$ pyrometer diff -h
$ test "$(pyrometer help cost)" = "$(pyrometer cost --help)" && echo same
$ pyrometer cost --help --color always | grep -c "$(printf '\033')"
$ pyrometer cost --help | grep -c "$(printf '\033')"

# Mistakes are one line on standard error that says what was perhaps meant.
$ pyrometer cost --ouput x.json
$ pyrometer cost --conv torch
$ pyrometer cost --qqqqq
$ pyrometer cost -z
$ pyrometer cost --format xml
$ pyrometer cost --format=jsn
$ pyrometer cost --sort
$ pyrometer cost --output --quiet
$ pyrometer cost --quiet=yes
$ pyrometer cost --top many
$ pyrometer cost --top -1
$ pyrometer cost --top 99999999999999999999
$ pyrometer cost --batch 0
$ pyrometer cost --ridge nan
$ pyrometer cost --ridge 0
$ pyrometer cost --input-shape 1,x,3
$ pyrometer cost --input-shape ,
$ pyrometer cost --input-shape 1,99999999999999999999
$ pyrometer cost --input x
$ pyrometer cost --size batch
$ pyrometer diff resnet18
$ pyrometer diff a b c
$ pyrometer cost --nope >/dev/null 2>&1; echo $?
$ pyrometer cost --nope 2>/dev/null
