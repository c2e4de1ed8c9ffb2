/*
 * What a process shares with everything that runs in it: environment, current folder, standard
 * input, signal handlers, limits, locale. The runner saves it before each file of tests and
 * restores it afterwards, so that a file may change it without disturbing the next.
 */
#ifndef PYRO_TESTS_PROCESS_STATE_H
#define PYRO_TESTS_PROCESS_STATE_H

typedef struct process_state process_state;

/* NULL without memory. */
process_state *process_state_save(void);
/* Restores and frees. Returns -1 when something cannot be restored. */
int process_state_restore(process_state *state);

#endif
