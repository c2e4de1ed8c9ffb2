/* The ops of a trace that `pyrometer replay` lists or writes as a script. */
#ifndef PYRO_REPORT_PREDICT_REPLAY_H
#define PYRO_REPORT_PREDICT_REPLAY_H

#include "predict/replay.h"

typedef struct pyro_replay_report {
    const char *file;
    const pyro_replay *replay;
    size_t first, last; /* ops, from 0 */
} pyro_replay_report;

#endif
