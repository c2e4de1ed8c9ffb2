# A page contains its data and refers to nothing outside.
$ pyrometer report resnet18 -o $TMP/page.html
wrote $TMP/page.html (page)
$ grep -c 'Content-Security-Policy' $TMP/page.html
1
$ grep -c '<title>resnet18</title>' $TMP/page.html
1
$ grep -o 'src="[^"]*"\|href="http[^"]*"' $TMP/page.html | wc -l
0

# The extension chooses it for other commands.
$ pyrometer cost resnet18 -o $TMP/cost.html
wrote $TMP/cost.html (page)
$ pyrometer cost resnet18 --format html -q | grep -c pyrometer-data
2

$ pyrometer models -q -o $TMP/m.html; pyrometer fuse resnet18 -q -o $TMP/f.html; pyrometer cost resnet18 --train -q -o $TMP/t.html; grep -c pyrometer-data $TMP/m.html $TMP/f.html $TMP/t.html | sed 's/.*://' | tr '\n' ' '
2 2 2 

# Titles are escaped.
$ pyrometer report resnet18 --title '<b>&"' -q -o $TMP/page.html
$ grep -o '<title>.*</title>' $TMP/page.html
<title>&lt;b&gt;&amp;&quot;</title>

# An input is never overwritten, and the error says what is missing.
$ pyrometer cost resnet18 -q -o $TMP/cost.json
$ pyrometer report $TMP/cost.json -o $TMP/cost.json
pyrometer: $TMP/cost.json: would overwrite an input of this command ($TMP/cost.json); name another file
[2]

$ pyrometer report
pyrometer: report needs a model, trace, recording or result: pyrometer report INPUT... (see pyrometer report --help)
[2]
$ pyrometer report no-such-model
pyrometer: no-such-model: no such file or model (pyrometer models lists the * built-in ones) (glob)
[2]

# A trace or recording that cannot be read has a page too; the command fails.
$ printf 'PYR' >$TMP/short.pyro; pyrometer report $TMP/short.pyro -o $TMP/short.html
pyrometer: $TMP/short.pyro: truncated recording: the file ends inside its header
wrote $TMP/short.html (page)
[2]

$ grep -c '<title>short.pyro</title>' $TMP/short.html
1

$ echo '{"traceEvents": []}' >$TMP/empty.json; pyrometer report $TMP/empty.json -o $TMP/empty.html
pyrometer: $TMP/empty.json: the trace contains no events
wrote $TMP/empty.html (page)
[2]

$ rm $TMP/empty.html; pyrometer trace $TMP/empty.json -q -o $TMP/empty.html
pyrometer: $TMP/empty.json: the trace contains no events
[2]

$ grep -c '<title>empty.json</title>' $TMP/empty.html
1

$ : >$TMP/nothing.json.gz; pyrometer report trace/good-1-training.json $TMP/nothing.json.gz -o $TMP/both.html
pyrometer: $TMP/nothing.json.gz: the file is empty
wrote $TMP/both.html (page)
[2]

$ grep -c pyrometer-data $TMP/both.html
2

# An input that is not there has none.
$ pyrometer report $TMP/gone.pyro -q -o $TMP/gone.html
pyrometer: $TMP/gone.pyro: no such file or model (pyrometer models lists the * built-in ones) (glob)
[2]

$ pyrometer trace $TMP/gone.json -q -o $TMP/gone.html
pyrometer: $TMP/gone.json: cannot open: No such file or directory
[2]

$ test -e $TMP/gone.html
[1]
