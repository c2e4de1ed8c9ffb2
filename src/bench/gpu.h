/* The GPU that a loop watches, and all GPUs of this machine for the environment. */
#ifndef PYRO_BENCH_GPU_H
#define PYRO_BENCH_GPU_H

#include "base/containers/arena.h"

#include <pyrometer/bench.h>

/* The GPUs of this machine, by the driver's own library where there is one; NULL texts: none. */
typedef struct pyro_gpus {
    const char *names, *driver, *clocks; /* in the arena */
    bool slowed; /* power, heat or a brake holds a clock down now */
} pyro_gpus;
int pyro_gpus_read(pyro_gpus *out, pyro_arena *arena, pyro_error *error);

/* Clocks and reasons alone, which are cheap to ask; other numbers are NaN. */
pyro_gpu_state pyro_gpu_glance(const pyro_gpu *gpu);
/* Limits that do not change while a loop runs; other members are NaN or 0. */
pyro_gpu_record pyro_gpu_limits(const pyro_gpu *gpu);

/* Looks at a GPU again and again, and keeps what was seen. */
typedef struct pyro_gpu_watch {
    const pyro_gpu *gpu;
    pyro_gpu_record record; /* its median is filled by pyro_gpu_watch_read */
    double *clocks_mhz; /* of every look */
    size_t clock_count, clock_capacity;
    int64_t next_look_ns, next_read_ns, look_ns;
} pyro_gpu_watch;

void pyro_gpu_watch_begin(pyro_gpu_watch *watch, const pyro_gpu *gpu);
void pyro_gpu_watch_free(pyro_gpu_watch *watch);
bool pyro_gpu_watch_is_due(const pyro_gpu_watch *watch, int64_t now_ns);
/* Looks; *throttled says whether what ran just now is to be trusted. */
int pyro_gpu_watch_look(pyro_gpu_watch *watch, int64_t now_ns, bool *throttled, pyro_error *error);
pyro_gpu_record pyro_gpu_watch_read(const pyro_gpu_watch *watch);

/* What two processes saw of a GPU, as one. */
void pyro_gpu_record_merge(pyro_gpu_record *into, const pyro_gpu_record *from);

#endif
