/* Builds traces of ranks: steps with layers and collectives, one rank slower in a layer. */
#ifndef PYRO_TESTS_RANK_MAKER_H
#define PYRO_TESTS_RANK_MAKER_H

#include "base/containers/buf.h"
#include "unit.h"
#include <pyrometer/ranks.h>

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A rank of a synthetic run; times in microseconds. */
typedef struct made_rank {
    int rank, world;
    int steps;
    int slow_us;       /* extra time in the second Mlp, in every step */
    int pause_step;    /* one step in which the machine paused in the first Mlp; 0: none */
    int64_t offset_us; /* of its clock */
    double drift;
    bool on_device; /* NCCL kernels, else gloo */
    bool without_info; /* no distributedInfo */
    int64_t slowest_us; /* extra time of the slowest of all ranks */
    const char *host;   /* NULL: not in the trace */
    int step_shift;     /* added to the numbers of its steps */
    int number_from;    /* numbers of its collectives ("Seq") minus the step; 0: none */
    int comms_id_from;  /* the same for "Comms Id" */
} made_rank;

#define MADE_BASE_US 1000000
#define MADE_STEP_US 200000

static inline void made_event(pyro_buf *text, const made_rank *made, const char *category,
                              const char *name, int pid, int thread, int64_t start_us,
                              int64_t duration_us, const char *args)
{
    int64_t drift = (int64_t)(made->drift * (double)start_us);
    pyro_buf_addf(text,
                  "{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":%d,\"tid\":%d,"
                  "\"ts\":%lld,\"dur\":%lld,\"args\":{%s}},\n",
                  category, name, pid, thread,
                  (long long)(start_us + drift + made->offset_us + MADE_BASE_US),
                  (long long)duration_us, args);
}

/* What torch says of a collective, if this rank's trace has it. */
static inline void made_numbers(pyro_buf *args, const made_rank *made, int step)
{
    if (!made->number_from && !made->comms_id_from)
        return;
    pyro_buf_adds(args, ",\"Collective name\":\"allreduce\",\"Process Group Name\":\"tp\","
                        "\"Group size\":2");
    if (made->number_from)
        pyro_buf_addf(args, ",\"Seq\":%d", made->number_from + step);
    if (made->comms_id_from)
        pyro_buf_addf(args, ",\"Comms Id\":1844674407370955%d", made->comms_id_from + step);
}

/* The work of a step on thread 1 of process 100, and a collective that ends on all ranks at once. */
static inline void made_step(pyro_buf *text, const made_rank *made, int step)
{
    char name[40], args[80];
    int64_t start = (int64_t)step * MADE_STEP_US;
    int64_t pause = step == made->pause_step ? 60000 : 0, slow = made->slow_us;
    int64_t ready = start + 30000 + pause + slow;
    int64_t most = made->slowest_us > pause + slow ? made->slowest_us : pause + slow;
    int64_t end = start + 30000 + most + 2000;
    snprintf(name, sizeof name, "ProfilerStep#%d", step + made->step_shift);
    made_event(text, made, "user_annotation", name, 100, 1, start, MADE_STEP_US - 1000, "");
    made_event(text, made, "python_function", "nn.Module: Net_0", 100, 1, start + 1000,
               28000 + pause + slow, "");
    made_event(text, made, "python_function", "nn.Module: Mlp_0", 100, 1, start + 2000,
               10000 + pause, "");
    made_event(text, made, "cpu_op", "aten::linear", 100, 1, start + 3000, 1000, "");
    made_event(text, made, "python_function", "nn.Module: Mlp_1", 100, 1, start + 13000 + pause,
               10000 + slow, "");
    made_event(text, made, "cpu_op", "aten::linear", 100, 1, start + 14000 + pause, 1000, "");
    made_event(text, made, "cpu_op", "aten::topk", 100, 1, start + 16000 + pause, 1000 + slow, "");
    if (made->on_device) {
        snprintf(args, sizeof args, "\"correlation\":%d", step);
        made_event(text, made, "cuda_runtime", "cudaLaunchKernel", 100, 1, start + 29000, 10, args);
        pyro_buf details = PYRO_BUF_INIT;
        pyro_buf_addf(&details, "\"device\":0,\"stream\":7,\"correlation\":%d", step);
        made_numbers(&details, made, step);
        made_event(text, made, "kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL()", 0, 7, ready,
                   end - ready, details.data);
        pyro_buf_free(&details);
        return;
    }
    made_event(text, made, "cpu_op", "c10d::allreduce_", 100, 1, ready, 100, "");
    made_event(text, made, "user_annotation", "gloo:all_reduce", 100, 2, ready + 50,
               end - ready - 50, "");
}

static inline pyro_trace *made_open(const made_rank *made)
{
    pyro_buf text = PYRO_BUF_INIT;
    pyro_trace *trace = NULL;
    char label[64], line[800];
    pyro_error error;
    pyro_error_clear(&error);
    pyro_buf_adds(&text, "{\"schemaVersion\":1,");
    if (!made->without_info)
        pyro_buf_addf(&text, "\"distributedInfo\":{\"rank\":%d,\"world_size\":%d},", made->rank,
                      made->world);
    if (made->host)
        pyro_buf_addf(&text, "\"host_name\":\"%s\",", made->host);
    pyro_buf_adds(&text, "\"traceEvents\":[\n");
    for (int step = 1; step <= made->steps; step++)
        made_step(&text, made, step);
    pyro_buf_adds(&text, "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":100,\"tid\":1,\"ts\":0,"
                         "\"args\":{\"name\":\"python\"}}]}\n");
    assert_false(text.failed);
    snprintf(label, sizeof label, "run/trace_rank_%d.json", made->rank);
    if (pyro_trace_open_memory(&trace, text.data, text.length, label, NULL, &error) != PYRO_OK)
        fail_msg("%s", pyro_error_line(&error, line, sizeof line));
    pyro_buf_free(&text);
    return trace;
}

static inline pyro_rank_summary *made_summary(const made_rank *made)
{
    pyro_trace *trace = made_open(made);
    pyro_rank_summary *summary = NULL;
    pyro_error error;
    char line[800];
    pyro_error_clear(&error);
    if (pyro_rank_summary_make(&summary, trace, NULL, &error) != PYRO_OK)
        fail_msg("%s", pyro_error_line(&error, line, sizeof line));
    pyro_trace_close(trace);
    return summary;
}

static inline void made_merge(pyro_rank_summary *summary, const pyro_rank_summary *other)
{
    pyro_error error;
    pyro_error_clear(&error);
    assert_int_equal(pyro_rank_summary_merge(summary, other, &error), PYRO_OK);
}

/* Analyzes all these ranks; the caller frees the result. */
static inline pyro_ranks *made_answer(const made_rank *made, size_t count)
{
    pyro_rank_summary *whole = pyro_rank_summary_new();
    pyro_ranks *ranks = NULL;
    pyro_error error;
    pyro_error_clear(&error);
    assert_non_null(whole);
    for (size_t i = 0; i < count; i++) {
        pyro_rank_summary *one = made_summary(&made[i]);
        made_merge(whole, one);
        pyro_rank_summary_free(one);
    }
    assert_int_equal(pyro_ranks_analyze(&ranks, whole, 0, &error), PYRO_OK);
    pyro_rank_summary_free(whole);
    return ranks;
}

static inline bool made_note(const pyro_ranks *ranks, const char *part)
{
    for (size_t i = 0; i < ranks->note_count; i++)
        if (strstr(ranks->notes[i], part))
            return true;
    return false;
}

#endif
