# Where results go: the format follows the extension unless --format is given.
$ cd $TMP && pyrometer cost -o a.json && python3 -c 'import json; print(json.load(open("a.json"))["schema"])'
$ cd $TMP && pyrometer cost -q --output=b.CSV && head -1 b.CSV
$ cd $TMP && pyrometer cost -qoc.txt && sed -n 2p c.txt
$ cd $TMP && pyrometer cost -q --format csv -o d.data && head -c 4 d.data
$ pyrometer cost -o $TMP/e.xml
$ pyrometer cost -o $TMP/e
$ pyrometer cost -q --format csv -o - | head -c 4
$ ls -A $TMP

# A file is replaced as a whole: a link stays a link, permissions stay, nothing else is left.
$ cd $TMP && ln -s a.json link.json && pyrometer cost -qo link.json && test -L link.json && echo link
$ cd $TMP && chmod 600 a.json && pyrometer cost -qo a.json && stat -c %a a.json
$ cd $TMP && (umask 027; pyrometer cost -qo new.json; stat -c %a new.json)
$ ls -A $TMP

# What cannot be written is one clear line.
$ pyrometer cost -o $TMP/none/a.json
$ mkdir $TMP/folder.json && pyrometer cost -o $TMP/folder.json
$ pyrometer cost -o /proc/pyrometer.json
$ pyrometer cost -o ''
$ pyrometer cost --format json -o /dev/full
$ pyrometer cost > /dev/full
$ pyrometer cost --help > /dev/full
$ pyrometer cost -qo /dev/null --format json
$ pyrometer cost >&-
$ cd $TMP && (ulimit -f 1; trap '' XFSZ; pyrometer cost -o large.json); ls $TMP | grep -c large

# A reader that goes away is no news.
$ pyrometer cost --format json | head -1
$ (trap '' PIPE; pyrometer cost --format json; echo $? >&2) | true

# Colour: never in a pipe unless asked for.
$ pyrometer cost | grep -c "$(printf '\033')"
$ pyrometer cost --color always | grep -c "$(printf '\033')" | sed 's/[0-9]*/some/'
$ pyrometer cost --color=never | grep -c "$(printf '\033')"
