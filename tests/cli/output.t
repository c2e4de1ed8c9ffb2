# Where results go: the format follows the extension unless --format is given.
$ cd $TMP && pyrometer cost -o a.json && python3 -c 'import json; print(json.load(open("a.json"))["schema"])'
wrote a.json (json)
pyrometer.cost/1

$ cd $TMP && pyrometer cost -q --output=b.CSV && head -1 b.CSV
name,type,class,operators,macs,flops,memory,activation_read_bytes,weight_read_bytes,written_bytes,params,arithmetic_intensity,bottleneck,band

$ cd $TMP && pyrometer cost -qoc.txt && sed -n 2p c.txt
GRAPH PROFILE: ResNet-18

$ cd $TMP && pyrometer cost -q --format csv -o d.data && head -c 4 d.data
name

$ pyrometer cost -o $TMP/e.xml
pyrometer: --output $TMP/e.xml: unknown extension .xml; use .json, .csv, .html or .txt, or give --format (see pyrometer cost --help)
[2]

$ pyrometer cost -o $TMP/e
pyrometer: --output $TMP/e: no extension; use .json, .csv, .html or .txt, or give --format (see pyrometer cost --help)
[2]

$ pyrometer cost -q --format csv -o - | head -c 4
name

$ ls -A $TMP
a.json
b.CSV
c.txt
d.data

# A file is replaced as a whole: a link stays a link, permissions stay, nothing else is left.
$ cd $TMP && ln -s a.json link.json && pyrometer cost -qo link.json && test -L link.json && echo link
link

$ cd $TMP && chmod 600 a.json && pyrometer cost -qo a.json && stat -c %a a.json
600

$ cd $TMP && (umask 027; pyrometer cost -qo new.json; stat -c %a new.json)
640

$ ls -A $TMP
a.json
b.CSV
c.txt
d.data
link.json
new.json

# What cannot be written is one clear line.
$ pyrometer cost -o $TMP/none/a.json
pyrometer: $TMP/none/a.json: cannot write: No such file or directory
[2]

$ mkdir $TMP/folder.json && pyrometer cost -o $TMP/folder.json
pyrometer: $TMP/folder.json: cannot write: Is a directory
[2]

$ pyrometer cost -o /proc/pyrometer.json
pyrometer: /proc/pyrometer.json: cannot write: No such file or directory
[2]

$ pyrometer cost -o ''
pyrometer: --output needs a file name (see pyrometer cost --help)
[2]

$ pyrometer cost --format json -o /dev/full
pyrometer: /dev/full: cannot write: No space left on device
[2]

$ pyrometer cost > /dev/full
pyrometer: cannot write to standard output: No space left on device
[2]

$ pyrometer cost --help > /dev/full
pyrometer: cannot write to standard output: No space left on device
[2]

$ pyrometer cost -qo /dev/null --format json
$ pyrometer cost >&-
pyrometer: cannot write to standard output: Bad file descriptor
[2]

$ cd $TMP && (ulimit -f 1; trap '' XFSZ; pyrometer cost -o large.json); ls $TMP | grep -c large
pyrometer: large.json: cannot write: File too large
0
[1]

# A reader that goes away is no news.
$ pyrometer cost --format json | head -1
{

$ (trap '' PIPE; pyrometer cost --format json; echo $? >&2) | true
141

# Colour: never in a pipe unless asked for.
$ pyrometer cost | grep -c "$(printf '\033')"
0
[1]

$ pyrometer cost --color always | grep -c "$(printf '\033')" | sed 's/[0-9]*/some/'
some

$ pyrometer cost --color=never | grep -c "$(printf '\033')"
0
[1]
