# What pyrometer run, python and doctor refuse before any Python is started.
$ pyrometer run
pyrometer: run needs a program: pyrometer run SCRIPT (see pyrometer run --help)
[2]

$ pyrometer python
pyrometer: python needs a program: pyrometer python SCRIPT (see pyrometer python --help)
[2]

$ pyrometer run --bogus script.py
pyrometer: unknown option --bogus (see pyrometer run --help)
[2]

$ pyrometer run --python /no/such/python script.py
pyrometer: /no/such/python: Python not found; name one with --python
[2]

$ pyrometer run --python true script.py
pyrometer: true has no package pyrometer; install it there with true -m pip install pyrometer, or name another with --python
[2]

$ pyrometer doctor --python true
pyrometer: true has no package pyrometer; install it there with true -m pip install pyrometer, or name another with --python
[1]

$ pyrometer doctor now
pyrometer: doctor takes no operand: now
[2]

# A Python that has the package answers with its version and folder; the program is then its.
$ cat > $TMP/python <<'END'
> #!/bin/sh
> if [ "$1" = -P ]; then printf '%s\n%s' "${SAYS_VERSION-0.1.0}" /nowhere/pyrometer; exit; fi
> echo "$PYROMETER $PYTHONPATH"
> echo "${PYROMETER_RECORD##*/} $PYROMETER_RECORD_SETTINGS"
> for word in "$@"; do echo "<$word>"; done
> exit 7
> END
$ chmod +x $TMP/python; cd $TMP; PYTHONPATH=mine pyrometer run --python $TMP/python train.py --epochs 3 -o x
1 /nowhere/pyrometer/_capture/startup:mine
train.pyro max_bytes=0,keep_last=0,stacks=1,shapes=1,outputs=1,memory=1,ops=1,overwrite=0,quiet=0,max_files=10,nvtx=0,unnamed=0
<train.py>
<--epochs>
<3>
<-o>
<x>
[7]

$ cd $TMP; pyrometer run --python $TMP/python -q -f --max-size 1.5M --keep-last --no-stacks -m pkg.train a | tail -4
train.pyro max_bytes=1572864,keep_last=1,stacks=0,shapes=1,outputs=1,memory=1,ops=1,overwrite=1,quiet=1,max_files=10,nvtx=0,unnamed=0
<-m>
<pkg.train>
<a>

$ cd $TMP; pyrometer run --python $TMP/python -o out.pyro -c 'print(1)' | tail -3
out.pyro max_bytes=0,keep_last=0,stacks=1,shapes=1,outputs=1,memory=1,ops=1,overwrite=0,quiet=0,max_files=10,nvtx=0,unnamed=0
<-c>
<print(1)>

$ cd $TMP; WORLD_SIZE=2 RANK=1 pyrometer run --python $TMP/python dir/train.py | sed -n 2p
train_rank1.pyro max_bytes=0,keep_last=0,stacks=1,shapes=1,outputs=1,memory=1,ops=1,overwrite=0,quiet=0,max_files=10,nvtx=0,unnamed=0

$ cd $TMP; pyrometer python --python $TMP/python -u train.py -h | tail -4
 
<-u>
<train.py>
<-h>

$ cd $TMP; touch train.pyro; pyrometer run --python $TMP/python train.py
pyrometer: train.pyro already exists; -f replaces it, -o writes another file
[2]

$ cd $TMP; pyrometer run --python $TMP/python -o a.html train.py
pyrometer: a.html: run writes a recording; record with -o a.pyro, then run pyrometer report a.pyro -o a.html
[2]

$ pyrometer run --python $TMP/python --keep-last train.py
pyrometer: --keep-last requires an amount, such as 30s, or --max-size
[2]

$ cd $TMP; pyrometer run --python $TMP/python --keep-last 30 train.py
pyrometer: --keep-last: "30" is neither a time nor a number of steps; write 30s, 500ms or "200 steps"
[2]

$ cd $TMP; pyrometer run --python $TMP/python --keep-last 0s train.py
pyrometer: --keep-last: "0s" keeps nothing; write 30s, 500ms or "200 steps"
[2]

# An amount is taken only if it is one: the next word may be the program, whose name may begin with a digit.
$ cd $TMP; touch 30; pyrometer run --python $TMP/python -f --max-size 2M --keep-last 30 x | tail -2; rm 30
<30>
<x>

$ cd $TMP; pyrometer run --python $TMP/python -f --keep-last 2m --on "slow-step, oom" train.py | sed -n 2p
train.pyro max_bytes=0,keep_last=1,stacks=1,shapes=1,outputs=1,memory=1,ops=1,overwrite=1,quiet=0,max_files=10,nvtx=0,unnamed=0

$ cd $TMP; pyrometer run --python $TMP/python -f --keep-last 30s --on slow-step:1.5x,oom,SIGUSR2 --max-files 3 --nvtx train.py | sed -n 2p
train.pyro max_bytes=0,keep_last=1,stacks=1,shapes=1,outputs=1,memory=1,ops=1,overwrite=1,quiet=0,max_files=3,nvtx=1,unnamed=0

$ pyrometer run --python $TMP/python --keep-last=soon train.py
pyrometer: --keep-last: "soon" is neither a time nor a number of steps; write 30s, 500ms or "200 steps"
[2]

$ pyrometer run --python $TMP/python --on slow-step:fast train.py
pyrometer: --on: slow-step:fast: write slow-step:1.5x (times the median) or slow-step:250ms
[2]

$ pyrometer run --python $TMP/python --on oom,sometimes train.py
pyrometer: --on: unknown trigger "sometimes" (slow-step, oom, exception, signal, SIGUSR1, SIGUSR2, SIGHUP, SIGTERM, SIGINT, cuda-profiler)
[2]

$ pyrometer run --python $TMP/python --max-size much train.py
pyrometer: --max-size: "much" is not a size; write 500M or 2G
[2]

$ pyrometer run --python $TMP/python --max-size 1M --on oom train.py
pyrometer: --max-size: "1M" is too small; a recording needs at least 1052672 bytes, such as 2M
[2]

$ cd $TMP; pyrometer run --python $TMP/python -f --gpu-sampling 1e-5 train.py
pyrometer: --gpu-sampling: 1e-05 is too small (at least 0.001, or 0 for no samples)
[2]

$ SAYS_VERSION=0.0.1 pyrometer run --python $TMP/python train.py
pyrometer: $TMP/python has pyrometer 0.0.1, this tool is 0.1.0; install the same version in both
[2]

# Metrics alone record no file; an address is checked before the program starts.
$ cd $TMP; pyrometer run --python $TMP/python --metrics 9400 train.py | sed -n 2p
train.pyro max_bytes=0,keep_last=0,stacks=0,shapes=1,outputs=0,memory=1,ops=1,overwrite=0,quiet=0,max_files=10,nvtx=0,unnamed=1

$ cd $TMP; pyrometer run --python $TMP/python --metrics 9400 -f -o m.pyro train.py | sed -n 2p
m.pyro max_bytes=0,keep_last=0,stacks=1,shapes=1,outputs=1,memory=1,ops=1,overwrite=1,quiet=0,max_files=10,nvtx=0,unnamed=0

$ cd $TMP; pyrometer run --python $TMP/python --metrics host:80 train.py
pyrometer: --metrics: "host:80" is not an address; write 9400, 127.0.0.1:9400 or [::1]:9400
[2]
