/*
 * Builds the program of a recording: what the first pass of its model did, and how long every pass
 * took. A pass is a call of the model that is in no other call.
 */
#include "analyze/prices.h"
#include "base/containers/buf.h"
#include "base/error.h"
#include "dataflow/program.h"
#include "dataflow/record_step.h"
#include "trace/joins/joins.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTION_MARK "function:" /* prefix of the names of marks around torch functions */

/* Where an event is: outside of passes, in a call, or inside a step. */
typedef struct event_place {
    uint32_t call; /* PYRO_NONE: outside, or in a later pass and not in the first */
    uint32_t step; /* PYRO_NONE: in no step */
    bool is_inside; /* a pass */
} event_place;

typedef struct program_reader {
    pyro_program *program;
    pyro_trace *trace;
    pyro_joins joins;
    pyro_analysis_context prices;
    pyro_step_recorder recorder;
    event_place *places;          /* by event */
    uint32_t *call_of_event; /* of the joins; PYRO_NONE: not a call of a layer */
    uint32_t root;          /* layer whose calls are the passes */
    pyro_intern keys; /* calls and steps of the first pass, by place and occurrence */
    pyro_map thing_of_key; /* call << 1, or step << 1 | 1 */
    pyro_map turns; /* in this pass: how often a place occurred */
    int64_t strange; /* items of later passes that the first one did not have */
    bool is_first;
    uint32_t pass; /* event of the first pass; PYRO_NONE before it */
} program_reader;

/* The model that no other calls; of several the one that ran longest. */
static bool find_root(program_reader *r)
{
    const pyro_joins *joins = &r->joins;
    int64_t *total = calloc(joins->layer_count + 1, sizeof *total);
    size_t roots = 0;
    r->root = PYRO_NONE;
    for (size_t i = 0; total && i < joins->call_count; i++) {
        const pyro_layer_call *call = &joins->calls[i];
        if (call->parent != PYRO_NO_LAYER || joins->phase[call->event] != PYRO_PHASE_FORWARD)
            continue;
        roots += !total[call->layer];
        total[call->layer] += r->trace->duration_ns[call->event] + 1;
        if (r->root == PYRO_NONE || total[call->layer] > total[r->root])
            r->root = call->layer;
    }
    bool good = total != NULL;
    if (good && roots > 1)
        good = pyro_program_note(r->program,
                                 "%zu models were called: this is the one that ran "
                                 "longest",
                                 roots);
    free(total);
    return good;
}

/* The key of an item: its kind, its place, and its number among its kind in this pass. */
static uint32_t key_of(program_reader *r, char kind, const char *path, const char *name)
{
    pyro_buf text = PYRO_BUF_INIT;
    pyro_buf_addf(&text, "%c%s\n%s", kind, path, name);
    uint32_t id = text.failed ? PYRO_INTERN_NONE
                              : pyro_intern_add(&r->keys, text.data, text.length);
    uint32_t turn = id == PYRO_INTERN_NONE ? 0 : pyro_map_get(&r->turns, id);
    turn = turn == PYRO_MAP_NONE ? 0 : turn;
    if (id != PYRO_INTERN_NONE && turn > 0) {
        pyro_buf_addf(&text, "\n%" PRIu32, turn);
        uint32_t base = id;
        id = text.failed ? PYRO_INTERN_NONE : pyro_intern_add(&r->keys, text.data, text.length);
        if (!pyro_map_put(&r->turns, base, turn + 1))
            id = PYRO_INTERN_NONE;
    } else if (id != PYRO_INTERN_NONE && !pyro_map_put(&r->turns, id, 1)) {
        id = PYRO_INTERN_NONE;
    }
    pyro_buf_free(&text);
    return id;
}

static const char *relative_path(const program_reader *r, const char *path)
{
    const char *root = r->joins.layers[r->root].path;
    size_t length = strlen(root);
    if (!length || strncmp(path, root, length))
        return path;
    return path[length] == '.' ? path + length + 1 : path[length] ? path : "";
}

/* Adds a call of the first pass, or finds it again for a later pass. */
static bool enter_call(program_reader *r, uint32_t event, uint32_t parent, const char *path,
                       const char *name, bool is_function)
{
    uint32_t key = key_of(r, is_function ? 'f' : 'm', path, name);
    if (key == PYRO_INTERN_NONE)
        return false;
    event_place *here = &r->places[event];
    *here = (event_place){.call = PYRO_NONE, .step = PYRO_NONE, .is_inside = true};
    uint32_t known = pyro_map_get(&r->thing_of_key, key);
    if (known != PYRO_MAP_NONE) {
        here->call = known >> 1;
    } else if (r->is_first) {
        pyro_flow_call call = {.path = pyro_program_text(r->program, path),
                               .class_name = pyro_program_text(r->program, name),
                               .parent = parent,
                               .is_function = is_function};
        here->call = call.path && call.class_name ? pyro_program_add_call(r->program, &call)
                                                  : PYRO_NONE;
        if (here->call == PYRO_NONE || here->call >= PYRO_NONE >> 1 ||
            !pyro_map_put(&r->thing_of_key, key, here->call << 1))
            return false;
    } else {
        r->strange++;
        return true;
    }
    return pyro_samples_add(&r->program->calls[here->call].time, r->trace->duration_ns[event]);
}

static bool enter_step(program_reader *r, uint32_t event, uint32_t call)
{
    const pyro_trace *trace = r->trace;
    const pyro_op_detail *detail = &trace->ops[trace->detail[event]];
    const char *op = pyro_event_name(trace, event);
    const char *path = call == PYRO_NONE ? "?" : r->program->calls[call].path;
    event_place *here = &r->places[event];
    uint32_t key = key_of(r, 's', path, op);
    if (key == PYRO_INTERN_NONE)
        return false;
    *here = (event_place){.call = call, .step = PYRO_NONE, .is_inside = true};
    uint32_t known = pyro_map_get(&r->thing_of_key, key);
    if (known != PYRO_MAP_NONE) {
        here->step = known >> 1;
    } else if (r->is_first) {
        pyro_flow_step step = {
            .op = pyro_program_text(r->program, op), .call = call, .flops = -1, .moved_bytes = -1};
        here->step = step.op ? pyro_program_add_step(r->program, &step) : PYRO_NONE;
        if (here->step == PYRO_NONE || here->step >= PYRO_NONE >> 1 ||
            !pyro_map_put(&r->thing_of_key, key, here->step << 1 | 1) ||
            !pyro_step_recorder_add(&r->recorder, here->step, op, detail))
            return false;
    } else {
        r->strange++;
        return true;
    }
    return pyro_samples_add(&r->program->steps[here->step].time, trace->duration_ns[event]);
}

static void add_price(program_reader *r, uint32_t event, uint32_t step)
{
    uint32_t detail = r->trace->detail[event];
    if (!r->is_first || step == PYRO_NONE || detail == PYRO_NO_ID)
        return;
    const pyro_op_kind *price = pyro_context_price(&r->prices, detail);
    int64_t amounts[] = {price->flops, price->bytes};
    int64_t *sums[] = {&r->program->steps[step].flops, &r->program->steps[step].moved_bytes};
    for (size_t i = 0; i < 2; i++)
        if (amounts[i] >= 0)
            *sums[i] = (*sums[i] < 0 ? 0 : *sums[i]) + amounts[i];
}

static bool makes_tensor(const program_reader *r, uint32_t event)
{
    uint32_t detail = r->trace->detail[event];
    return detail != PYRO_NO_ID && pyro_step_recorder_makes(&r->recorder, &r->trace->ops[detail]);
}

static bool take_pass_event(program_reader *r, uint32_t event, const event_place *around)
{
    const pyro_trace *trace = r->trace;
    const char *name = pyro_event_name(trace, event);
    uint32_t call = r->call_of_event[event];
    r->places[event] = *around;
    if (around->step != PYRO_NONE) {
        if (trace->category[event] == PYRO_EVENT_OP)
            add_price(r, event, around->step);
        return true;
    }
    if (call != PYRO_NONE) {
        const pyro_layer *layer = &r->joins.layers[r->joins.calls[call].layer];
        return enter_call(r, event, around->call, relative_path(r, layer->path), layer->class_name,
                          false);
    }
    if (trace->category[event] == PYRO_EVENT_ANNOTATION &&
        !strncmp(name, FUNCTION_MARK, sizeof FUNCTION_MARK - 1)) {
        const char *path = around->call == PYRO_NONE ? "?" : r->program->calls[around->call].path;
        return enter_call(r, event, around->call, path, name + sizeof FUNCTION_MARK - 1, true);
    }
    if (trace->category[event] != PYRO_EVENT_OP || !makes_tensor(r, event))
        return true;
    if (!enter_step(r, event, around->call))
        return false;
    add_price(r, event, r->places[event].step);
    return true;
}

/* A call of the model begins a new pass. */
static bool begin_pass(program_reader *r, uint32_t event)
{
    pyro_map_free(&r->turns);
    r->is_first = r->program->passes++ == 0;
    if (r->is_first)
        r->pass = event;
    return enter_call(r, event, PYRO_NONE, "", r->joins.layers[r->root].class_name, false);
}

static bool is_pass(const program_reader *r, uint32_t event)
{
    uint32_t call = r->call_of_event[event];
    return call != PYRO_NONE && r->joins.calls[call].parent == PYRO_NO_LAYER &&
           r->joins.calls[call].layer == r->root;
}

/* An operator outside of the pass, on another thread, while the first pass runs. */
static bool take_other_event(program_reader *r, uint32_t event)
{
    const pyro_trace *trace = r->trace;
    uint32_t parent = r->joins.parent[event];
    if (r->pass == PYRO_NONE || trace->category[event] != PYRO_EVENT_OP ||
        trace->detail[event] == PYRO_NO_ID || trace->track[event] == trace->track[r->pass] ||
        trace->start_ns[event] > trace->start_ns[r->pass] + trace->duration_ns[r->pass] ||
        (parent != PYRO_NO_EVENT && trace->category[parent] == PYRO_EVENT_OP))
        return true;
    return pyro_step_recorder_elsewhere(&r->recorder, pyro_event_name(trace, event),
                                        &trace->ops[trace->detail[event]]);
}

static bool read_events(program_reader *r)
{
    static const event_place outside = {PYRO_NONE, PYRO_NONE, false};
    for (size_t i = 0; i < r->trace->count; i++) {
        uint32_t event = r->joins.by_time[i];
        if (!pyro_event_is_host(r->trace->category[event]))
            continue;
        uint32_t parent = r->joins.parent[event];
        event_place around = parent == PYRO_NO_EVENT ? outside : r->places[parent];
        r->places[event] = around;
        if (around.is_inside    ? !take_pass_event(r, event, &around)
            : is_pass(r, event) ? !begin_pass(r, event)
                                : !take_other_event(r, event))
            return false;
    }
    if (!pyro_step_recorder_note(&r->recorder))
        return false;
    if (r->strange)
        return pyro_program_note(r->program,
                                 "%" PRId64 " calls of later passes were not in the first one: "
                                 "they are not shown",
                                 r->strange);
    return true;
}

/* Adds work of devices to the step that started it, and to all calls around that. */
static void add_device_work(program_reader *r)
{
    const pyro_trace *trace = r->trace;
    pyro_program *program = r->program;
    for (size_t i = pyro_trace_next_work(trace, 0); i < trace->count;
         i = pyro_trace_next_work(trace, i + 1)) {
        uint32_t launch = r->joins.launch[i];
        const event_place *place = launch == PYRO_NO_EVENT ? NULL : &r->places[launch];
        if (!place || !place->is_inside)
            continue;
        program->has_device_work = true;
        if (place->step != PYRO_NONE)
            program->steps[place->step].time.device_ns += trace->duration_ns[i];
        for (uint32_t c = place->call; c != PYRO_NONE; c = program->calls[c].parent)
            program->calls[c].time.device_ns += trace->duration_ns[i];
    }
}

static int fail_without_storages(const program_reader *r, pyro_error *error)
{
    const char *missing = pyro_trace_note_text(r->trace, PYRO_NOTE_MISSING);
    if (strstr(missing, PYRO_MISSING_STORAGES))
        return pyro_fail(error, PYRO_ERROR_UNSUPPORTED,
                         "the recording has no identities of tensors, because ops were "
                         "recorded without the observer: pyrometer doctor lists its requirements");
    return pyro_fail(error, PYRO_ERROR_UNSUPPORTED,
                     "the recording has no identities of tensors: record it with "
                     "pyrometer.Profiler or pyrometer.capture(..., storages=True)");
}

static int prepare(program_reader *r, pyro_error *error)
{
    static const pyro_analysis_options everything = {.step = -1};
    if (!r->trace->storage_count)
        return fail_without_storages(r, error);
    int status = pyro_joins_make(&r->joins, r->trace, &everything, error);
    if (status < 0)
        return status;
    r->prices = (pyro_analysis_context){.trace = r->trace,
                                        .joins = &r->joins,
                                        .options = &everything,
                                        .arena = &r->joins.arena,
                                        .error = error};
    status = pyro_price_kinds(&r->prices);
    if (status == PYRO_OK)
        status = pyro_price_ops(&r->prices);
    if (status < 0)
        return status;
    r->places = calloc(r->trace->count + 1, sizeof *r->places);
    r->call_of_event = malloc((r->trace->count + 1) * sizeof *r->call_of_event);
    if (!r->places || !r->call_of_event)
        return pyro_fail_memory(error);
    for (size_t i = 0; i < r->trace->count; i++)
        r->call_of_event[i] = PYRO_NONE;
    for (size_t i = 0; i < r->joins.call_count; i++)
        r->call_of_event[r->joins.calls[i].event] = (uint32_t)i;
    if (!pyro_step_recorder_init(&r->recorder, r->program, r->trace) || !find_root(r))
        return pyro_fail_memory(error);
    if (r->root == PYRO_NONE)
        return pyro_fail(error, PYRO_ERROR_UNSUPPORTED,
                         "the recording contains no call of a model");
    return PYRO_OK;
}

int pyro_program_of_trace(pyro_program **out, pyro_trace *trace, pyro_error *error)
{
    program_reader r = {.program = pyro_program_new(), .trace = trace, .pass = PYRO_NONE};
    if (!r.program)
        return pyro_fail_memory(error);
    pyro_intern_init(&r.keys, &r.program->arena);
    int status = prepare(&r, error);
    if (status == PYRO_OK) {
        r.program->name = pyro_program_text(r.program, r.joins.layers[r.root].class_name);
        if (!r.program->name || !read_events(&r))
            status = pyro_fail_memory(error);
    }
    if (status == PYRO_OK) {
        add_device_work(&r);
        pyro_program_finish(r.program);
    }
    pyro_step_recorder_free(&r.recorder);
    pyro_joins_free(&r.joins);
    pyro_intern_free(&r.keys);
    pyro_map_free(&r.thing_of_key);
    pyro_map_free(&r.turns);
    free(r.places);
    free(r.call_of_event);
    if (status == PYRO_OK)
        *out = r.program;
    else
        pyro_program_free(r.program);
    return status;
}
