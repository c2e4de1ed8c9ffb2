# A share means the same in every command: 0.1 and 10% are a tenth.
$ pyrometer check resnet18 --against torchvision --tolerance 0.1 | grep -o 'Tolerance.*'; pyrometer check resnet18 --against torchvision --tolerance 10% | grep -o 'Tolerance.*'
Tolerance: 10%.
Tolerance: 10%.

$ b=../../fuzz/corpus/bench/good-1-command.json; pyrometer diff $b $b --delta 10% --format json | grep '"delta"'; pyrometer diff $b $b --delta 0.1 --format json | grep '"delta"'
      "delta": 0.1,
      "delta": 0.6124401913875598,
pyrometer: --delta 0.1 is read as 10%: a number without % is a share of 1 (it was a percentage before); write 10% or 0.1%
      "delta": 0.1,
      "delta": 0.6124401913875598,

# Where a number without % was a percentage once, it is said how it is read now.
$ b=../../fuzz/corpus/bench/good-1-command.json; pyrometer diff $b $b --delta 0.1 --noise 0.01 2>&1 > /dev/null | grep read
pyrometer: --delta 0.1 is read as 10%: a number without % is a share of 1 (it was a percentage before); write 10% or 0.1%
pyrometer: --noise 0.01 is read as 1%: a number without % is a share of 1 (it was a percentage before); write 1% or 0.01%

# Numbers from 1 on need the sign in every command: they never become hundreds of percent.
$ pyrometer check resnet18 --against torchvision --tolerance 10
pyrometer: --tolerance: 10 is ambiguous: write 10% (a number without % is a share of 1: 0.1 is 10%) (see pyrometer check --help)
[2]

$ b=../../fuzz/corpus/bench/good-1-command.json; pyrometer diff $b $b --delta 2
pyrometer: --delta: 2 is ambiguous: write 2% (a number without % is a share of 1: 0.1 is 10%) (see pyrometer diff --help)
[2]

$ pyrometer bench true --against base.json --noise 1
pyrometer: --noise: 1 is ambiguous: write 1% (a number without % is a share of 1: 0.1 is 10%) (see pyrometer bench --help)
[2]

$ pyrometer ranks ranks --late 5
pyrometer: --late: 5 is ambiguous: write 5% (a number without % is a share of 1: 0.1 is 10%) (see pyrometer ranks --help)
[2]

$ pyrometer ranks ranks --late 0%
pyrometer: --late: 0% is not from 0.01% to 100% of a step (see pyrometer ranks --help)
[2]

$ pyrometer check resnet18 --tolerance 10%%
pyrometer: --tolerance: "10%%" is not a share such as 10% or 0.1 (see pyrometer check --help)
[2]
