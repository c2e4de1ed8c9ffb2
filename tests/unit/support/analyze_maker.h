/* Builds small traces event by event, as Kineto writes them, and analyzes them. */
#ifndef PYRO_TESTS_ANALYZE_MAKER_H
#define PYRO_TESTS_ANALYZE_MAKER_H

#include "base/containers/buf.h"
#include "unit.h"
#include <pyrometer/trace.h>

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Events begin here: a trace whose times start at 0 looks damaged. */
#define MAKER_BASE_NS 1000000

typedef struct maker {
    pyro_buf text;
    int correlation;
    pyro_trace *trace;
    pyro_analysis *analysis;
} maker;

static inline void maker_begin(maker *maker)
{
    memset(maker, 0, sizeof *maker);
    pyro_buf_adds(&maker->text, "{\"schemaVersion\":1,\"deviceProperties\":[{\"id\":0,\"name\":"
                                "\"NVIDIA H200\",\"numSms\":132}],\"traceEvents\":[\n");
}

static inline void maker_event(maker *maker, const char *category, const char *name, int pid,
                               int tid, int64_t start_ns, int64_t duration_ns, const char *args)
{
    int64_t ts = start_ns + MAKER_BASE_NS;
    pyro_buf_addf(&maker->text,
                  "{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":%d,\"tid\":%d,"
                  "\"ts\":%lld.%03lld,\"dur\":%lld.%03lld,\"args\":{%s}},\n",
                  category, name, pid, tid, (long long)(ts / 1000), (long long)(ts % 1000),
                  (long long)(duration_ns / 1000), (long long)(duration_ns % 1000), args);
}

/* An event of process 100. */
static inline void maker_host(maker *maker, const char *category, const char *name, int thread,
                              int64_t start_ns, int64_t duration_ns)
{
    maker_event(maker, category, name, 100, thread, start_ns, duration_ns, "");
}

static inline void maker_step(maker *maker, int number, int64_t start_ns, int64_t duration_ns)
{
    char name[40];
    snprintf(name, sizeof name, "ProfilerStep#%d", number);
    maker_host(maker, "user_annotation", name, 1, start_ns, duration_ns);
}

/* Device work of a category; `launch_ns` is when thread 1 launched it for `launch_duration_ns`, or
 * negative if the trace does not contain it. */
static inline void maker_work(maker *maker, const char *category, const char *name, int device,
                              int stream, int64_t start_ns, int64_t duration_ns, int64_t launch_ns,
                              int64_t launch_duration_ns, const char *more)
{
    char args[400];
    bool is_kernel = strcmp(category, "kernel") == 0;
    int correlation = ++maker->correlation;
    snprintf(args, sizeof args, "\"device\":%d,\"stream\":%d,\"correlation\":%d%s", device, stream,
             correlation, more);
    maker_event(maker, category, name, device, stream, start_ns, duration_ns, args);
    if (launch_ns < 0)
        return;
    snprintf(args, sizeof args, "\"correlation\":%d", correlation);
    maker_event(maker, "cuda_runtime", is_kernel ? "cudaLaunchKernel" : "cudaMemcpyAsync", 100, 1,
                launch_ns, launch_duration_ns, args);
}

static inline void maker_kernel(maker *maker, const char *name, int64_t start_ns,
                                int64_t duration_ns, int64_t launch_ns)
{
    maker_work(maker, "kernel", name, 0, 7, start_ns, duration_ns, launch_ns, 5, "");
}

static inline void maker_memory(maker *maker, int thread, int64_t time_ns, int64_t address,
                                int64_t bytes, int64_t total)
{
    int64_t ts = time_ns + MAKER_BASE_NS;
    pyro_buf_addf(
        &maker->text,
        "{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"s\":\"t\",\"name\":\"[memory]\","
        "\"pid\":100,\"tid\":%d,\"ts\":%lld.%03lld,\"args\":{\"Addr\":%lld,\"Bytes\":%lld,"
        "\"Device Type\":1,\"Device Id\":0",
        thread, (long long)(ts / 1000), (long long)(ts % 1000), (long long)address,
        (long long)bytes);
    if (total >= 0)
        pyro_buf_addf(&maker->text, ",\"Total Allocated\":%lld,\"Total Reserved\":%lld",
                      (long long)total, (long long)total + 1000);
    pyro_buf_adds(&maker->text, "}},\n");
}

static inline const pyro_analysis *maker_analyze(maker *maker, const pyro_analysis_options *options)
{
    pyro_error error;
    char line[800];
    pyro_error_clear(&error);
    if (!maker->trace) {
        /* The last event: without a comma after it, and ignored by all analyses. */
        pyro_buf_adds(&maker->text, "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":100,\"tid\":1,"
                                    "\"ts\":0,\"args\":{\"name\":\"python\"}}]}\n");
        assert_false(maker->text.failed);
        if (pyro_trace_open_memory(&maker->trace, maker->text.data, maker->text.length, "made",
                                   NULL, &error) != PYRO_OK)
            fail_msg("%s", pyro_error_line(&error, line, sizeof line));
    }
    pyro_analysis_free(maker->analysis);
    if (pyro_trace_analyze(&maker->analysis, maker->trace, options, &error) != PYRO_OK)
        fail_msg("%s", pyro_error_line(&error, line, sizeof line));
    return maker->analysis;
}

static inline void maker_end(maker *maker)
{
    pyro_analysis_free(maker->analysis);
    pyro_trace_close(maker->trace);
    pyro_buf_free(&maker->text);
}

#endif
