/* The GPU that a loop watches, and all GPUs of this machine for the environment. */
#ifndef PYRO_BENCH_GPU_H
#define PYRO_BENCH_GPU_H

#include "base/containers/arena.h"

#include <pyrometer/bench.h>

/* The GPUs of this machine, through the driver's library if present; NULL texts: none. */
typedef struct pyro_gpus {
    const char *names, *driver, *clocks; /* in the arena */
    bool slowed; /* power, heat or a brake slows a clock down now */
} pyro_gpus;
int pyro_gpus_read(pyro_gpus *out, pyro_arena *arena, pyro_error *error);

/* Clocks and throttle reasons only, which are cheap to query; other numbers are NaN. */
pyro_gpu_state pyro_gpu_glance(const pyro_gpu *gpu);
/* Limits that do not change while a loop runs; other members are NaN or 0. */
pyro_gpu_record pyro_gpu_limits(const pyro_gpu *gpu);

/* Reads a GPU's state repeatedly, and keeps what it saw. */
typedef struct pyro_gpu_watch {
    const pyro_gpu *gpu;
    pyro_gpu_record record; /* its median is filled by pyro_gpu_watch_read */
    double *clocks_mhz; /* one per look */
    size_t clock_count, clock_capacity;
    int64_t next_look_ns, next_read_ns, look_ns;
} pyro_gpu_watch;

void pyro_gpu_watch_begin(pyro_gpu_watch *watch, const pyro_gpu *gpu);
void pyro_gpu_watch_free(pyro_gpu_watch *watch);
bool pyro_gpu_watch_is_due(const pyro_gpu_watch *watch, int64_t now_ns);
/* Reads the state; *throttled: whether the GPU is throttled now. */
int pyro_gpu_watch_look(pyro_gpu_watch *watch, int64_t now_ns, bool *throttled, pyro_error *error);
pyro_gpu_record pyro_gpu_watch_read(const pyro_gpu_watch *watch);

/* Merges the records of one GPU from two processes. */
void pyro_gpu_record_merge(pyro_gpu_record *into, const pyro_gpu_record *from);

#endif
