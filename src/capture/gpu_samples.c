/* Writes samples of GPUs into the recording, as records of the sampler's thread. */
#include "capture/session.h"

#include "device/gpu_sampler.h"

#include <math.h>
#include <string.h>

#define USUAL_INTERVAL_NS INT64_C(100000000)

_Static_assert((int)PYRO_GPU_SAMPLING_FAILED == (int)PYRO_SAMPLER_FAILED &&
                   (int)PYRO_GPU_SAMPLING_NO_DEVICE == (int)PYRO_SAMPLER_NO_DEVICE,
               "states of the sampler");
_Static_assert(PYRO_SAMPLER_SHORTEST_NS == PYRO_GPU_SAMPLING_LEAST_NS,
               "the shortest interval of the sampler");

static const struct {
    const char *counter, *series;
} values[] = {
#define VALUE(id, counter, series) {counter, series},
    PYRO_GPU_VALUES(VALUE)
#undef VALUE
};

/* Used by the sampler's thread only. */
static uint32_t described; /* the session that has the property of the power sensor */

static uint64_t read_clock(void)
{
    return pyro_raw_time(&pyro_the_recorder_api);
}

/* How many values from `first` on belong to its counter. */
static int count_series(int first)
{
    int count = 1;
    while (first + count < PYRO_GPU_VALUE_COUNT && count < PYRO_COUNTER_VALUES &&
           strcmp(values[first + count].counter, values[first].counter) == 0)
        count++;
    return count;
}

/* "GPU clock\nSM MHz\nmemory MHz" */
static void name_counter(char *text, size_t size, int first, int count)
{
    size_t length = strlen(values[first].counter);
    memcpy(text, values[first].counter, length + 1);
    for (int i = first; i < first + count; i++) {
        size_t more = strlen(values[i].series);
        if (length + more + 2 > size)
            return;
        text[length] = '\n';
        memcpy(text + length + 1, values[i].series, more + 1);
        length += more + 1;
    }
}

static bool is_known(const double *some, int count)
{
    for (int i = 0; i < count; i++)
        if (!isnan(some[i]))
            return true;
    return false;
}

static void write_counter(pyro_recorder_thread *thread, const pyro_gpu_sample *sample, int first,
                          int count)
{
    pyro_recorder_api *api = &pyro_the_recorder_api;
    char name[256];
    pyro_record *record = pyro_record_room(api, thread);
    if (!record)
        return;
    pyro_counter_record *of_counter = (pyro_counter_record *)(void *)record;
    name_counter(name, sizeof name, first, count);
    of_counter->start_raw = sample->time;
    for (int i = 0; i < PYRO_COUNTER_VALUES; i++)
        of_counter->values[i] = i < count ? sample->values[first + i] : NAN;
    of_counter->name = api->name(thread, name);
    of_counter->device = (uint16_t)sample->device;
    of_counter->count = (uint8_t)count;
    of_counter->kind = PYRO_RECORD_COUNTER;
    pyro_record_commit(thread, record);
}

static void describe_sensor(uint32_t generation)
{
    pyro_sampler_status status;
    if (described == generation)
        return;
    described = generation;
    pyro_sampler_look(&status);
    const char *text = status.power_is_mean ? "mean of 1 s" : "instant";
    if (status.is_instance)
        text = status.power_is_mean ? "mean of 1 s, of the whole GPU" : "instant, of the whole GPU";
    pyro_recorder_property(PYRO_PROPERTY_GPU_POWER, text);
}

static void add_sample(const pyro_gpu_sample *sample)
{
    pyro_recorder_api *api = &pyro_the_recorder_api;
    pyro_recorder_thread *thread = pyro_recorder_enter(api);
    if (!thread)
        return;
    uint32_t generation = thread->generation;
    for (int first = 0, count; first < PYRO_GPU_VALUE_COUNT; first += count) {
        count = count_series(first);
        if (is_known(&sample->values[first], count))
            write_counter(thread, sample, first, count);
    }
    pyro_recorder_leave(thread);
    describe_sensor(generation);
}

static const pyro_gpu_sample_sink sink = {.now = read_clock, .sample = add_sample};

pyro_gpu_sampling_state pyro_gpu_sampling_start(int64_t interval_ns)
{
    pyro_recorder_entrance();
    return (pyro_gpu_sampling_state)pyro_sampler_start(&sink, interval_ns > 0 ? interval_ns
                                                                              : USUAL_INTERVAL_NS);
}

void pyro_gpu_sampling_stop(void)
{
    pyro_sampler_stop();
}

void pyro_gpu_sampling_look(pyro_gpu_sampling_status *status)
{
    pyro_sampler_status of_sampler;
    pyro_sampler_look(&of_sampler);
    *status = (pyro_gpu_sampling_status){.state = (pyro_gpu_sampling_state)of_sampler.state,
                                         .devices = of_sampler.devices,
                                         .samples = of_sampler.samples,
                                         .interval_ns = of_sampler.interval_ns,
                                         .cost_ns = of_sampler.cost_ns,
                                         .has_units = of_sampler.has_units,
                                         .has_energy = of_sampler.has_energy,
                                         .power_is_mean = of_sampler.power_is_mean,
                                         .is_instance = of_sampler.is_instance,
                                         .from_driver = of_sampler.from_driver};
    memcpy(status->reason, of_sampler.reason, sizeof status->reason);
    memcpy(status->missing, of_sampler.missing, sizeof status->missing);
}
