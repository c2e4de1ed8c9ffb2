/* The terminal of pyrometer top: a screen of its own, single keys, and the former state at the end. */
#ifndef PYRO_CLI_TOP_TERMINAL_H
#define PYRO_CLI_TOP_TERMINAL_H

#include "base/containers/buf.h"

/* Keys are bytes; these are other reasons to wake up. */
enum { TOP_TIMEOUT = -1, TOP_RESIZED = -2, TOP_END = -3 };

typedef struct top_size {
    int columns, rows;
} top_size;

/* Whether standard input and output are one. */
bool top_terminal_is_there(void);
/* Switches to another screen and reads single keys; false: the terminal does not allow it. */
bool top_terminal_begin(void);
/* Restores everything; does nothing before begin. */
void top_terminal_end(void);
top_size top_terminal_size(void);
/* Replaces the screen by the lines of a text, each cut at the edge. */
void top_terminal_draw(const pyro_buf *text);
/* Waits for a key. Ctrl-C, termination and the end of input give TOP_END. */
int top_terminal_wait(int64_t timeout_ms);

#endif
