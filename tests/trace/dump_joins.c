/*
 * Prints the result of a trace's joins as JSON: layers with their self device time, buckets and
 * phases. tests/trace/check_layers.py compares it with its own computation from the file.
 *     dump_joins [--model SPEC] [--layers-from REGEX] FILE
 */
#include "base/containers/buf.h"
#include "base/json/write.h"
#include "trace/joins/joins.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Self device work of a layer, by phase. */
typedef struct layer_sums {
    int64_t calls, kernels[PYRO_PHASE_COUNT], device_ns[PYRO_PHASE_COUNT];
} layer_sums;

static void put_integer(pyro_json_writer *out, const char *key, int64_t value)
{
    pyro_json_key(out, key);
    pyro_json_integer(out, value);
}

static void put_text(pyro_json_writer *out, const char *key, const char *text)
{
    pyro_json_key(out, key);
    pyro_json_string(out, text);
}

static layer_sums *sum_layers(const pyro_trace *trace, const pyro_joins *joins)
{
    layer_sums *sums = calloc(joins->layer_count + 1, sizeof *sums);
    for (size_t i = 0; sums && i < joins->call_count; i++)
        sums[joins->calls[i].layer].calls++;
    for (size_t i = 0; sums && i < trace->count; i++) {
        if (!pyro_event_is_device_work(trace->category[i]) || joins->bucket[i] != PYRO_BUCKET_LAYER)
            continue;
        layer_sums *sum = &sums[joins->calls[joins->call[i]].layer];
        sum->kernels[joins->phase[i]]++;
        sum->device_ns[joins->phase[i]] += trace->duration_ns[i];
    }
    return sums;
}

static void put_layers(pyro_json_writer *out, const pyro_joins *joins, const layer_sums *sums)
{
    pyro_json_key(out, "layers");
    pyro_json_begin_array(out);
    for (size_t i = 0; i < joins->layer_count; i++) {
        const pyro_layer *layer = &joins->layers[i];
        pyro_json_begin_object_inline(out);
        put_text(out, "path", layer->path);
        put_text(out, "class", layer->class_name);
        put_integer(out, "parent", layer->parent == PYRO_NO_LAYER ? -1 : (int64_t)layer->parent);
        put_integer(out, "calls", sums[i].calls);
        put_integer(out, "forward_kernels", sums[i].kernels[PYRO_PHASE_FORWARD]);
        put_integer(out, "forward_ns", sums[i].device_ns[PYRO_PHASE_FORWARD]);
        put_integer(out, "backward_kernels", sums[i].kernels[PYRO_PHASE_BACKWARD]);
        put_integer(out, "backward_ns", sums[i].device_ns[PYRO_PHASE_BACKWARD]);
        pyro_json_end_object(out);
    }
    pyro_json_end_array(out);
}

/* Device time by bucket and phase. */
static void put_sums(pyro_json_writer *out, const pyro_trace *trace, const pyro_joins *joins)
{
    static const char *const buckets[] = {"layer", "no_launch", "outside_layer", "optimizer",
                                          "collective"};
    int64_t sums[5][PYRO_PHASE_COUNT] = {{0}}, total = 0;
    for (size_t i = 0; i < trace->count; i++)
        if (pyro_event_is_device_work(trace->category[i])) {
            sums[joins->bucket[i]][joins->phase[i]] += trace->duration_ns[i];
            total += trace->duration_ns[i];
        }
    put_integer(out, "device_total_ns", total);
    pyro_json_key(out, "buckets");
    pyro_json_begin_object(out);
    for (int bucket = 0; bucket < 5; bucket++) {
        pyro_json_key(out, buckets[bucket]);
        pyro_json_begin_object_inline(out);
        for (int phase = 0; phase < PYRO_PHASE_COUNT; phase++)
            put_integer(out, pyro_phase_name((pyro_phase)phase), sums[bucket][phase]);
        pyro_json_end_object(out);
    }
    pyro_json_end_object(out);
}

static void put_joins(const pyro_trace *trace, const pyro_joins *joins, double seconds)
{
    pyro_buf buf = PYRO_BUF_INIT;
    pyro_json_writer out;
    layer_sums *sums = sum_layers(trace, joins);
    pyro_json_writer_init(&out, &buf, 1);
    pyro_json_begin_object(&out);
    put_integer(&out, "events", (int64_t)trace->count);
    pyro_json_key(&out, "ns_per_event");
    pyro_json_number(&out, trace->count ? seconds * 1e9 / (double)trace->count : 0);
    put_integer(&out, "partial_overlaps", joins->partial_overlaps);
    put_integer(&out, "layers_named_by_model", (int64_t)joins->layers_named_by_model);
    put_integer(&out, "steps", (int64_t)joins->step_count);
    put_sums(&out, trace, joins);
    if (sums)
        put_layers(&out, joins, sums);
    pyro_json_end_object(&out);
    if (buf.data)
        puts(buf.data);
    free(sums);
    pyro_buf_free(&buf);
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
    pyro_analysis_options options = {.step = -1};
    pyro_trace *trace = NULL;
    pyro_joins joins;
    pyro_error error;
    char line[1024];
    const char *file = NULL;
    int status = PYRO_OK;
    pyro_error_clear(&error);
    for (int i = 1; i < argc && !status; i++) {
        if (!strcmp(argv[i], "--model") && i + 1 < argc)
            status = pyro_model_open(&options.model, argv[++i], &error);
        else if (!strcmp(argv[i], "--layers-from") && i + 1 < argc)
            options.layers_from = argv[++i];
        else
            file = argv[i];
    }
    if (!status && file)
        status = pyro_trace_open(&trace, file, NULL, &error);
    if (trace) {
        double begin_s = now_s();
        status = pyro_joins_make(&joins, trace, &options, &error);
        if (!status) {
            put_joins(trace, &joins, now_s() - begin_s);
            pyro_joins_free(&joins);
        }
    }
    if (status || !file)
        fprintf(stderr, "dump_joins: %s\n",
                file ? pyro_error_line(&error, line, sizeof line) : "which file?");
    pyro_trace_close(trace);
    pyro_model_close(options.model);
    return status || !file ? 1 : 0;
}
