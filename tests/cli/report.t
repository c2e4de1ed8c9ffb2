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
