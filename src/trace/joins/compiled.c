/*
 * Gives work of compiled code (torch.compile) its layers, by what is known of the graphs that Inductor
 * compiled: notes of our recorder in the trace, files (provenance/), or stacks of the kernels.
 */
#include "trace/joins/compiled.h"

#include "base/error.h"
#include "base/json/json.h"
#include <stdlib.h>
#include <string.h>

#define NOTE_PREFIX "compiled_graph."
#define LONGEST_FRAME 4096

/* The source lines in a list of stacks: ["  File \"/x/model.py\", line 23, in forward\n...", ...] */
static bool read_stacks(pyro_compiled *compiled, uint32_t work, const char *text,
                        pyro_compiled_owner *owners, size_t *count)
{
    pyro_source *source = NULL;
    pyro_json *json = NULL;
    pyro_error damage;
    bool ok = true;
    pyro_error_clear(&damage);
    if (pyro_source_open_memory(&source, text, strlen(text), &damage) == PYRO_OK &&
        pyro_json_open(&json, source, NULL, &damage) == PYRO_OK) {
        pyro_json_kind kind = pyro_json_next(json);
        kind = kind == PYRO_JSON_ARRAY ? pyro_json_next(json) : kind;
        for (; ok && kind == PYRO_JSON_STRING && *count < PYRO_MOST_OWNERS;
             kind = pyro_json_next(json)) {
            char frame[LONGEST_FRAME] = "@";
            if (!pyro_innermost_frame(pyro_json_text(json, NULL), frame + 1, sizeof frame - 1))
                continue;
            ok = *count || pyro_compiled_note_source(compiled, work, frame + 1);
            char *slash = strrchr(frame, '/');
            const char *line = slash ? slash : frame;
            if (slash)
                *slash = '@';
            uint32_t path = pyro_intern_add(&compiled->provenance.texts, line, strlen(line));
            size_t at = 0;
            ok = ok && path != PYRO_INTERN_NONE;
            while (at < *count && owners[at].path != path)
                at++;
            if (ok && at == *count)
                owners[(*count)++] = (pyro_compiled_owner){path, PYRO_NO_TEXT, -1};
        }
    }
    pyro_json_close(json);
    pyro_source_close(source);
    return ok && damage.code != PYRO_ERROR_MEMORY;
}

/* Kernels whose own args have stacks, where nothing better is known. */
static int use_stacks(pyro_compiled *compiled)
{
    const pyro_trace *trace = compiled->state->trace;
    pyro_joins *joins = compiled->state->joins;
    size_t stacks = 0;
    for (size_t i = 0; i < trace->kernel_count; i++)
        stacks += trace->kernels[i].stack != PYRO_NO_ID;
    for (uint32_t event = 0; stacks && event < trace->count; event++) {
        uint32_t detail = trace->detail[event];
        if (trace->category[event] != PYRO_EVENT_KERNEL || detail >= trace->kernel_count ||
            trace->kernels[detail].stack == PYRO_NO_ID ||
            pyro_map_get(&compiled->is_done, event) != PYRO_MAP_NONE)
            continue;
        pyro_compiled_owner owners[PYRO_MOST_OWNERS];
        size_t count = 0;
        uint8_t phase = joins->phase[event];
        phase = phase == PYRO_PHASE_BACKWARD ? phase : PYRO_PHASE_FORWARD;
        if (!read_stacks(compiled, event, pyro_trace_text(trace, trace->kernels[detail].stack),
                         owners, &count) ||
            !pyro_compiled_give(compiled, event, owners, count, phase, PYRO_COMPILED_BY_STACK))
            return pyro_fail_memory(compiled->state->error);
    }
    return PYRO_OK;
}

static int read_notes(pyro_compiled *compiled)
{
    const pyro_trace *trace = compiled->state->trace;
    int status = PYRO_OK;
    for (size_t i = 0; status == PYRO_OK && i < trace->note_count; i++) {
        const char *key = pyro_trace_text(trace, trace->notes[i].key);
        const char *value = pyro_trace_text(trace, trace->notes[i].value);
        if (strncmp(key, NOTE_PREFIX, sizeof NOTE_PREFIX - 1) == 0)
            status = pyro_provenance_read_note(&compiled->provenance, value, strlen(value),
                                               compiled->state->error);
    }
    return status;
}

/* Whether the trace shows compiled code at all. */
static bool has_compiled_code(const pyro_trace *trace)
{
    for (uint32_t i = 0; i < trace->names.count; i++) {
        uint8_t kind = pyro_compiled_kind_of(pyro_intern_text(&trace->names, i));
        if (kind != PYRO_COMPILED_OTHER)
            return true;
    }
    return false;
}

/* What the recording tells comes first, then the files that were named, then those beside the trace. */
static int read_provenance(pyro_compiled *compiled)
{
    pyro_join_state *state = compiled->state;
    pyro_provenance *all = &compiled->provenance;
    const char *given = state->options ? state->options->provenance : NULL;
    int status = read_notes(compiled);
    all->rank = state->trace->rank;
    state->joins->compiled.is_recorded = all->graph_count > 0;
    if (status == PYRO_OK && given)
        status = pyro_provenance_read_folder(all, given, state->error);
    else if (status == PYRO_OK && !all->graph_count && !state->trace->is_recording &&
             !state->trace->is_alone && state->trace->file && has_compiled_code(state->trace))
        status = pyro_provenance_find_beside(all, state->trace->file, state->error);
    if (status == PYRO_OK && all->folder) {
        state->joins->compiled.folder = pyro_arena_text(&state->joins->arena, all->folder,
                                                        strlen(all->folder));
        if (!state->joins->compiled.folder)
            status = pyro_fail_memory(state->error);
    }
    state->joins->compiled.graphs = all->graph_count;
    state->joins->compiled.damaged = all->damaged;
    return status;
}

int pyro_join_compiled_begin(pyro_join_state *state)
{
    pyro_compiled *compiled = calloc(1, sizeof *compiled);
    state->compiled = compiled;
    if (!compiled)
        return pyro_fail_memory(state->error);
    compiled->state = state;
    pyro_provenance_init(&compiled->provenance);
    compiled->name_kinds = calloc(state->trace->names.count + 1, 1);
    if (!compiled->name_kinds)
        return pyro_fail_memory(state->error);
    int status = read_provenance(compiled);
    if (status == PYRO_OK && !pyro_compiled_matcher_init(&compiled->matcher, &compiled->provenance))
        status = pyro_fail_memory(state->error);
    if (status == PYRO_OK)
        status = pyro_compiled_gather(compiled);
    return status == PYRO_OK ? use_stacks(compiled) : status;
}

void pyro_join_compiled_end(pyro_join_state *state)
{
    pyro_compiled *compiled = state->compiled;
    if (!compiled)
        return;
    pyro_compiled_matcher_free(&compiled->matcher);
    pyro_provenance_free(&compiled->provenance);
    pyro_map_free(&compiled->call_of_layer);
    pyro_map_free(&compiled->layer_of_path);
    pyro_map_free(&compiled->is_done);
    free(compiled->name_kinds);
    free(compiled->units);
    free(compiled->matches);
    free(compiled);
    state->compiled = NULL;
}
