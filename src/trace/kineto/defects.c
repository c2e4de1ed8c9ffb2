/* Counts defects, and turns the counts into the trace's warnings. */
#include "trace/kineto/defects.h"

#include "base/containers/buf.h"
#include <stdarg.h>
#include <stdio.h>

static const struct {
    const char *one, *several;
} texts[PYRO_DEFECT_COUNT] = {
#define D(name, one, several) {one, several},
    PYRO_KINETO_DEFECTS(D)
#undef D
};

void pyro_kineto_defects_count(pyro_kineto_defects *defects, uint32_t bits)
{
    for (; bits; bits &= bits - 1)
        defects->count[__builtin_ctz(bits)]++;
}

void pyro_kineto_defects_add(pyro_kineto_defects *defects, const pyro_kineto_defects *more)
{
    for (int kind = 0; kind < PYRO_DEFECT_COUNT; kind++)
        defects->count[kind] += more->count[kind];
}

bool pyro_kineto_defects_say(const pyro_kineto_defects *defects, pyro_trace *trace)
{
    for (int kind = 0; kind < PYRO_DEFECT_COUNT; kind++) {
        int64_t count = defects->count[kind];
        if (count > 0 && !pyro_trace_warn(trace, "%lld %s", (long long)count,
                                          count == 1 ? texts[kind].one : texts[kind].several))
            return false;
    }
    return true;
}

bool pyro_trace_warn(pyro_trace *trace, const char *format, ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (length < 0)
        return false;
    char *text = pyro_arena_format(&trace->arena, "%s", line);
    if (!text || !pyro_grow(&trace->warnings, &trace->warning_capacity, trace->warning_count + 1,
                            sizeof *trace->warnings))
        return false;
    trace->warnings[trace->warning_count++] = text;
    return true;
}
