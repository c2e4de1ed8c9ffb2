# No command writes over what it reads: the file itself, a link to it, or another name of it.
$ cd $TMP && mkdir out && cp $OLDPWD/ranks/trace_rank_0.json trace.json && cp $OLDPWD/good-1-flat-layout.pt2 m.pt2 && cp -r $OLDPWD/ranks many && ln -s trace.json symbolic.json && ln trace.json hard.json && ln m.pt2 hard.pt2 && ln many/trace_rank_1.json outside.json && sha256sum trace.json m.pt2 many/* > sums

$ cd $TMP && pyrometer trace trace.json -o trace.json
pyrometer: trace.json: would overwrite an input of this command (trace.json); name another file
[2]

$ cd $TMP && pyrometer trace trace.json -o symbolic.json
pyrometer: symbolic.json: would overwrite an input of this command (trace.json); name another file
[2]

$ cd $TMP && pyrometer trace symbolic.json -o hard.json
pyrometer: hard.json: would overwrite an input of this command (symbolic.json); name another file
[2]

$ cd $TMP && pyrometer trace trace.json -o many/../trace.json
pyrometer: many/../trace.json: would overwrite an input of this command (trace.json); name another file
[2]

$ cd $TMP && pyrometer trace trace.json --chrome hard.json
pyrometer: hard.json: would overwrite an input of this command (trace.json); name another file
[2]

$ cd $TMP && pyrometer trace trace.json --folded -o hard.json
pyrometer: hard.json: would overwrite an input of this command (trace.json); name another file
[2]

$ cd $TMP && pyrometer trace trace.json many/trace_rank_1.json -o outside.json
pyrometer: outside.json: would overwrite an input of this command (many/trace_rank_1.json); name another file
[2]

$ cd $TMP && pyrometer trace trace.json --model m.pt2 --format json -o hard.pt2
pyrometer: hard.pt2: would overwrite an input of this command (m.pt2); name another file
[2]

$ cd $TMP && pyrometer trace - -o hard.json < trace.json
pyrometer: hard.json: would overwrite an input of this command (standard input); name another file
[2]

$ cd $TMP && pyrometer trace trace.json >> hard.json
pyrometer: standard output: would overwrite an input of this command (trace.json); name another file
[2]

$ cd $TMP && gzip -c trace.json > trace.json.gz && ln trace.json.gz packed.json && pyrometer trace trace.json.gz -o packed.json
pyrometer: packed.json: would overwrite an input of this command (trace.json.gz); name another file
[2]

$ cd $TMP && touch run.pyro run.pyro.devices.json && pyrometer trace run.pyro -o run.pyro.devices.json
pyrometer: run.pyro.devices.json: would overwrite an input of this command (run.pyro.devices.json); name another file
[2]

$ cd $TMP && pyrometer cost m.pt2 --format json -o hard.pt2
pyrometer: hard.pt2: would overwrite an input of this command (m.pt2); name another file
[2]

$ cd $TMP && pyrometer cost resnet18,m.pt2 --format json -o m.pt2
pyrometer: m.pt2: would overwrite an input of this command (m.pt2); name another file
[2]

$ cd $TMP && pyrometer cost --model m.pt2:model --format json -o m.pt2
pyrometer: m.pt2: would overwrite an input of this command (m.pt2); name another file
[2]

$ cd $TMP && pyrometer check m.pt2 --format json -o m.pt2
pyrometer: m.pt2: would overwrite an input of this command (m.pt2); name another file
[2]

$ cd $TMP && pyrometer graph m.pt2 --format dot -o m.pt2
pyrometer: m.pt2: would overwrite an input of this command (m.pt2); name another file
[2]

$ cd $TMP && pyrometer diff m.pt2 resnet18 --format json -o m.pt2
pyrometer: m.pt2: would overwrite an input of this command (m.pt2); name another file
[2]

$ cd $TMP && pyrometer diff many/trace_rank_0.json many/trace_rank_1.json -o outside.json
pyrometer: outside.json: would overwrite an input of this command (many/trace_rank_1.json); name another file
[2]

$ cd $TMP && pyrometer models check m.pt2 --format json -o m.pt2
pyrometer: m.pt2: would overwrite an input of this command (m.pt2); name another file
[2]

$ cd $TMP && pyrometer ranks many -o many/trace_rank_1.json
pyrometer: many/trace_rank_1.json: would overwrite an input of this command (in the folder many); name another file
[2]

$ cd $TMP && pyrometer ranks many -o outside.json
pyrometer: outside.json: would overwrite an input of this command (in the folder many); name another file
[2]

$ cd $TMP && pyrometer ranks many/trace_rank_*.json -o outside.json
pyrometer: outside.json: would overwrite an input of this command (many/trace_rank_1.json); name another file
[2]

$ cd $TMP && pyrometer ranks many -o many/config.json
pyrometer: many/config.json: would overwrite an input of this command (in the folder many); name another file
[2]

$ cd $TMP && sha256sum -c --quiet sums && echo unharmed
unharmed

# Results of an earlier call may be replaced, also in the folder that is read.
$ cd $TMP && pyrometer ranks many -q -o many/ranks.json && pyrometer ranks many -q -o many/ranks.json && echo replaced
replaced

# bench refuses before it runs anything.
$ cd $TMP && pyrometer bench true -r 3 -qo base.json && cp base.json out/results.json && sha256sum base.json out/results.json > sums && mkdir folder && ln base.json folder/base.json

$ cd $TMP && pyrometer bench 'touch ran' -r 3 --against base.json -o base.json
pyrometer: base.json: would overwrite an input of this command (base.json); name another file
[2]

$ cd $TMP && pyrometer bench 'touch ran' -r 3 --against base.json --export-json base.json
pyrometer: base.json: would overwrite an input of this command (base.json); name another file
[2]

$ cd $TMP && pyrometer bench 'touch ran' -r 3 --against base.json --export-csv base.json
pyrometer: base.json: would overwrite an input of this command (base.json); name another file
[2]

$ cd $TMP && pyrometer bench 'touch ran' -r 3 --against base.json --export-markdown base.json
pyrometer: base.json: would overwrite an input of this command (base.json); name another file
[2]

$ cd $TMP && pyrometer bench 'touch ran' -r 3 --against base.json --export-html base.json
pyrometer: base.json: would overwrite an input of this command (base.json); name another file
[2]

$ cd $TMP && pyrometer bench 'touch ran' -r 3 --against out/results.json --output-dir out
pyrometer: out/results.json: would overwrite an input of this command (out/results.json); name another file
[2]

$ cd $TMP && pyrometer bench 'touch ran' -r 3 --against base.json --output-dir folder
pyrometer: folder/base.json: would overwrite an input of this command (base.json); name another file
[2]

$ cd $TMP && pyrometer bench 'touch ran; cat m.pt2' --export-json m.pt2
pyrometer: m.pt2: would overwrite an input of this command (m.pt2); name another file
[2]

$ cd $TMP && pyrometer bench --model-path m.pt2 --export-json hard.pt2
pyrometer: hard.pt2: would overwrite an input of this command (m.pt2); name another file
[2]

$ cd $TMP && test ! -e ran && sha256sum -c --quiet sums && echo unharmed
unharmed

# The user's own models, and the model that is added from its own entry.
$ cd $TMP && pyrometer models add mine m.pt2 && sha256sum data/pyrometer/models/mine.pt2 > sums
added mine; pyrometer cost mine prices it

$ cd $TMP && pyrometer cost mine --format json -o data/pyrometer/models/mine.pt2
pyrometer: data/pyrometer/models/mine.pt2: would overwrite an input of this command (in the folder $TMP/data/pyrometer); name another file
[2]

$ cd $TMP && pyrometer models --format json -o data/pyrometer/models/mine.pt2
pyrometer: data/pyrometer/models/mine.pt2: would overwrite an input of this command (in the folder $TMP/data/pyrometer); name another file
[2]

$ cd $TMP && pyrometer models add --force mine data/pyrometer/models/mine.pt2
pyrometer: mine: would overwrite its own source data/pyrometer/models/mine.pt2; copy that file first
[2]

$ cd $TMP && ln data/pyrometer/models/mine.pt2 again.pt2 && pyrometer models add --force mine again.pt2
pyrometer: mine: would overwrite its own source again.pt2; copy that file first
[2]

$ cd $TMP && sha256sum -c --quiet sums && echo unharmed
unharmed

# Hints name a file that does not exist yet.
$ cd $TMP && pyrometer trace trace.json | grep -e '-o '
  pyrometer trace trace.json -o results.json  # all numbers, for programs

$ cd $TMP && cp trace.json results.json && pyrometer trace results.json | grep -e '-o '
  pyrometer trace results.json -o results-2.json

$ cd $TMP && cp m.pt2 cost.json && pyrometer cost cost.json | grep -e '-o '
  pyrometer cost cost.json -o cost-2.json   # all numbers, for programs

# Devices and pipes are no inputs that could be lost.
$ cd $TMP && pyrometer trace trace.json --format json -o /dev/null
wrote /dev/null (json)
