/*
 * State that all tests in a process share: environment, current folder, standard
 * input, signal handlers, limits, locale. The runner saves it before each test file and
 * restores it afterwards, so that a file may change it without disturbing the next.
 */
#ifndef PYRO_TESTS_PROCESS_STATE_H
#define PYRO_TESTS_PROCESS_STATE_H

typedef struct process_state process_state;

/* Returns NULL if memory runs out. */
process_state *process_state_save(void);
/* Restores and frees. Returns -1 if something cannot be restored. */
int process_state_restore(process_state *state);

#endif
