/* Whether a recording is still being written, from its header. */
#ifndef PYRO_CLI_RECORDING_STATE_H
#define PYRO_CLI_RECORDING_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pyro_recording_look {
    uint32_t state; /* pyro_recording_state */
    bool is_growing; /* its process lives and renews the header */
    int64_t process;
    int64_t duration_ns; /* so far; 0 unknown */
    uint64_t version; /* differs whenever the header was renewed */
} pyro_recording_look;

/* Reads the first bytes of a file; false if it is not a recording. */
bool pyro_recording_look_at(pyro_recording_look *out, const char *head, size_t size);
/* Whether the file at a path is a recording that is still being written. */
bool pyro_recording_is_growing(const char *path);
/* "recording", "finished", "killed, or its machine stopped", ... */
const char *pyro_recording_state_text(const pyro_recording_look *look);

#endif
