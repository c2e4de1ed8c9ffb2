# Man pages are sound roff and hold every option.
$ mkdir $TMP/man && pyrometer-docgen man $TMP/man && ls $TMP/man
pyrometer-bench.1
pyrometer-check.1
pyrometer-cost.1
pyrometer-diff.1
pyrometer-doctor.1
pyrometer-fit.1
pyrometer-fuse.1
pyrometer-graph.1
pyrometer-hardware.1
pyrometer-history.1
pyrometer-learn.1
pyrometer-map.1
pyrometer-models.1
pyrometer-python.1
pyrometer-ranks.1
pyrometer-replay.1
pyrometer-report.1
pyrometer-run.1
pyrometer-serve.1
pyrometer-top.1
pyrometer-trace.1
pyrometer.1

$ if command -v groff >/dev/null; then for page in $TMP/man/*; do groff -ww -man -Tutf8 $page 2>&1 >/dev/null; done; fi
$ grep -c '^\.TP' $TMP/man/pyrometer-cost.1 | sed 's/[1-9][0-9]*/some/'
some

$ pyrometer-docgen man $TMP/none
pyrometer-docgen: $TMP/none/pyrometer.1: cannot write: No such file or directory
[2]

$ pyrometer-docgen fish $TMP/x
pyrometer-docgen: fish: not man, markdown, bash or zsh
[2]

$ pyrometer-docgen
usage: pyrometer-docgen man DIR | markdown DIR | bash FILE | zsh FILE
[2]

# Bash completion, as the shell calls it.
$ pyrometer-docgen bash $TMP/pyrometer.bash && bash -n $TMP/pyrometer.bash
$ cat > $TMP/complete <<'END'
> source $TMP/pyrometer.bash
> complete_words() {
>     COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 )); COMPREPLY=(); _pyrometer; echo "${COMPREPLY[*]}"
> }
> END
$ source $TMP/complete; complete_words pyrometer ''
cost models check diff graph fuse hardware fit map trace ranks bench report serve history run top python learn replay doctor help --help --version

$ source $TMP/complete; complete_words pyrometer cost --f
--freeze --format

$ source $TMP/complete; complete_words pyrometer cost --format ''
text json csv html

$ source $TMP/complete; complete_words pyrometer cost --format = js
json

$ source $TMP/complete; complete_words pyrometer cost --convention =
full torch fvcore torchvision

$ source $TMP/complete; complete_words pyrometer cost resnet1
resnet101 resnet152 resnet18

$ source $TMP/complete; mkdir $TMP/files; cd $TMP/files; touch 'my model.pt2'; complete_words pyrometer diff my
my model.pt2

$ source $TMP/complete; cd $TMP; complete_words pyrometer cost -o comp
complete

$ source $TMP/complete; complete_words pyrometer cost --top ''
$ source $TMP/complete; complete_words pyrometer help d
diff doctor

# zsh completion parses.
$ pyrometer-docgen zsh $TMP/_pyrometer && if command -v zsh >/dev/null; then zsh -n $TMP/_pyrometer; fi; head -1 $TMP/_pyrometer
#compdef pyrometer
