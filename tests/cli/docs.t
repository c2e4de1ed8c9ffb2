# Man pages are sound roff and hold every option.
$ mkdir $TMP/man && pyrometer-docgen man $TMP/man && ls $TMP/man
$ if command -v groff >/dev/null; then for page in $TMP/man/*; do groff -ww -man -Tutf8 $page 2>&1 >/dev/null; done; fi
$ grep -c '^\.TP' $TMP/man/pyrometer-cost.1 | sed 's/[1-9][0-9]*/some/'
$ pyrometer-docgen man $TMP/none
$ pyrometer-docgen fish $TMP/x
$ pyrometer-docgen

# Bash completion, as the shell calls it.
$ pyrometer-docgen bash $TMP/pyrometer.bash && bash -n $TMP/pyrometer.bash
$ cat > $TMP/complete <<'END'
> source $TMP/pyrometer.bash
> complete_words() {
>     COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 )); COMPREPLY=(); _pyrometer; echo "${COMPREPLY[*]}"
> }
> END
$ source $TMP/complete; complete_words pyrometer ''
$ source $TMP/complete; complete_words pyrometer cost --f
$ source $TMP/complete; complete_words pyrometer cost --format ''
$ source $TMP/complete; complete_words pyrometer cost --format = js
$ source $TMP/complete; complete_words pyrometer cost --convention =
$ source $TMP/complete; complete_words pyrometer cost resnet1
$ source $TMP/complete; mkdir $TMP/files; cd $TMP/files; touch 'a b.pt2'; complete_words pyrometer diff a
$ source $TMP/complete; cd $TMP; complete_words pyrometer cost -o comp
$ source $TMP/complete; complete_words pyrometer cost --top ''
$ source $TMP/complete; complete_words pyrometer help d

# zsh completion parses.
$ pyrometer-docgen zsh $TMP/_pyrometer && if command -v zsh >/dev/null; then zsh -n $TMP/_pyrometer; fi; head -1 $TMP/_pyrometer
