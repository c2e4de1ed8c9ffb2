/* Names the chip and the library of a trace from what its recorder wrote beside the events. */
#include "predict/chip_of_trace.h"

#include "base/error.h"
#include "hardware/hardware.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int name_processor(char name[PYRO_EFFICIENCY_TEXT], const pyro_trace *trace,
                          pyro_error *error)
{
    const char *processor = pyro_trace_note_text(trace, "processor");
    long threads = strtol(pyro_trace_note_text(trace, "threads"), NULL, 10);
    if (!processor[0])
        return pyro_fail(error, PYRO_ERROR_UNSUPPORTED,
                         "nothing ran on a device, and the trace does not name the processor; "
                         "--chip NAME does");
    if (threads > 0 && threads < 100000)
        snprintf(name, PYRO_EFFICIENCY_TEXT, "%.70s, %d thread%s", processor, (int)threads,
                 threads == 1 ? "" : "s");
    else
        snprintf(name, PYRO_EFFICIENCY_TEXT, "%.90s", processor);
    return PYRO_OK;
}

int pyro_chip_of_trace(char name[PYRO_EFFICIENCY_TEXT], const pyro_trace *trace, bool on_device,
                       pyro_error *error)
{
    const pyro_chip *first = NULL;
    if (!on_device)
        return name_processor(name, trace, error);
    if (!trace->device_count)
        return pyro_fail(error, PYRO_ERROR_UNSUPPORTED,
                         "the trace does not name its device; --chip NAME does");
    for (size_t i = 0; i < trace->device_count; i++) {
        const char *device = pyro_trace_text(trace, trace->devices[i].name);
        const pyro_chip *chip = pyro_chip_find(device, trace->devices[i].total_memory_bytes);
        if (!chip)
            return pyro_fail(error, PYRO_ERROR_UNSUPPORTED,
                             "the device \"%.60s\" is in no table of chips; --chip NAME names it",
                             device);
        if (first && first != chip)
            return pyro_fail(error, PYRO_ERROR_UNSUPPORTED,
                             "work of different devices (%s, %s) is in one trace", first->name,
                             chip->name);
        first = chip;
    }
    snprintf(name, PYRO_EFFICIENCY_TEXT, "%.90s", first->name);
    return PYRO_OK;
}

void pyro_library_of_trace(char name[PYRO_EFFICIENCY_TEXT], const pyro_trace *trace)
{
    const char *torch = pyro_trace_note_text(trace, "torch");
    char *end;
    long major = strtol(torch, &end, 10);
    long minor = *end == '.' ? strtol(end + 1, NULL, 10) : 0;

    if (end != torch && major >= 0 && minor >= 0)
        snprintf(name, PYRO_EFFICIENCY_TEXT, "torch %ld.%ld", major, minor);
    else if (trace->cuda_version > 0)
        snprintf(name, PYRO_EFFICIENCY_TEXT, "cuda %lld.%lld",
                 (long long)trace->cuda_version / 1000, (long long)trace->cuda_version % 1000 / 10);
    else if (trace->hip_version > 0)
        snprintf(name, PYRO_EFFICIENCY_TEXT, "hip %lld.%lld",
                 (long long)trace->hip_version / 10000000,
                 (long long)trace->hip_version % 10000000 / 100000);
    else
        snprintf(name, PYRO_EFFICIENCY_TEXT, "unknown");
}
