/* Work of compiled code while it is attributed to layers by what is known of its graphs. */
#ifndef PYRO_TRACE_JOINS_COMPILED_H
#define PYRO_TRACE_JOINS_COMPILED_H

#include "trace/joins/internal.h"
#include "trace/provenance/provenance.h"

/* One thing that a wrapper called: an op, a launch without one, or a kernel of a replay. */
typedef struct pyro_compiled_unit {
    uint32_t event;
    uint32_t name;  /* in provenance->texts, without prefixes; PYRO_NO_TEXT: in no graph */
    bool is_generated;
    bool has_op;    /* `name` is that of an op, else of a kernel */
    bool is_helper; /* a memset, or a kernel that only completes another one's result */
} pyro_compiled_unit;

/* The calls of a graph that a unit is: one, or several if it is unknown which; count 0: none. */
typedef struct pyro_compiled_match {
    size_t first_call, count;
} pyro_compiled_match;

/* Graphs prepared for matching (compiled_match.c). */
typedef struct pyro_compiled_matcher {
    pyro_provenance *provenance;
    uint32_t *plain_names; /* by call: its name without prefixes, in provenance->texts */
    bool *is_generated;    /* by call */
    pyro_map graph_of_key; /* id of a key -> graph */
    pyro_map first_user;   /* id of a generated kernel's name -> entry of users */
    struct pyro_graph_user {
        uint32_t graph, next;
    } *users;
    size_t user_count, user_capacity;
} pyro_compiled_matcher;

bool pyro_compiled_matcher_init(pyro_compiled_matcher *matcher, pyro_provenance *provenance);
void pyro_compiled_matcher_free(pyro_compiled_matcher *matcher);
/* What `name`, of an op or a kernel, is called in graphs; PYRO_NO_TEXT if no graph calls it. */
uint32_t pyro_compiled_name(const pyro_compiled_matcher *matcher, const char *name);
/*
 * Matches units in their order with the calls of graphs. `has_key`: the trace names the graph that the
 * units belong to, and `key` is its id or PYRO_NO_TEXT; graphs with other keys are then of other code
 * or of another run. Returns the number of units with a match.
 */
size_t pyro_compiled_match_units(const pyro_compiled_matcher *matcher, bool has_key, uint32_t key,
                                 const pyro_compiled_unit *units, size_t count,
                                 pyro_compiled_match *matches);

struct pyro_compiled {
    pyro_join_state *state;
    pyro_provenance provenance;
    pyro_compiled_matcher matcher;
    uint8_t *name_kinds;   /* by id of a name in the trace */
    pyro_map call_of_layer; /* layer -> a call that stands for its work in compiled code */
    pyro_map layer_of_path; /* (base, path) -> layer */
    pyro_map is_done;       /* device work that has its layers */
    pyro_compiled_unit *units; /* of the sequence in work */
    pyro_compiled_match *matches;
    size_t unit_capacity, match_capacity;
};

/* compiled_units.c: the sequences of units below each range of compiled code. */
int pyro_compiled_gather(pyro_compiled *compiled);
/* Fills compiled->matches for the work of a replay, in order; `is_found` if most of it is in a graph.
 * False when memory is out. */
bool pyro_compiled_match_replay(pyro_compiled *compiled, uint32_t launch, const uint32_t *works,
                                size_t count, bool *is_found);
/* The id of the key of the graph that an event runs in, or PYRO_NO_TEXT; false if no key is named. */
bool pyro_compiled_key(pyro_compiled *compiled, uint32_t event, uint32_t *key);

/* compiled_layers.c: makes a unit; `work` is its device work or PYRO_NO_EVENT. */
bool pyro_compiled_add_unit(pyro_compiled *compiled, size_t index, uint32_t event, uint32_t work);
/* Gives device work the layers of a match. */
bool pyro_compiled_attribute(pyro_compiled *compiled, uint32_t work,
                             const pyro_compiled_match *match);
/* Gives a host op the layer of a match. */
bool pyro_compiled_attribute_op(pyro_compiled *compiled, uint32_t op,
                                const pyro_compiled_match *match);

/* Owners of one kernel; the rest is left out. */
#define PYRO_MOST_OWNERS 256

/* Gives device work to owners below the layer around it. */
bool pyro_compiled_give(pyro_compiled *compiled, uint32_t work, pyro_compiled_owner *owners,
                        size_t count, uint8_t phase, pyro_compiled_source source);
bool pyro_compiled_note_source(pyro_compiled *compiled, uint32_t work, const char *source);

/* What an event's name says about compiled code. */
enum {
    PYRO_COMPILED_UNSEEN,
    PYRO_COMPILED_OTHER,
    PYRO_COMPILED_GRAPH,  /* "## Call CompiledFxGraph KEY ##" */
    PYRO_COMPILED_REGION, /* "Torch-Compiled Region: 0/0", "CompiledFunctionBackward" */
    PYRO_COMPILED_KERNEL  /* a generated kernel, or the op that launches it */
};

uint8_t pyro_compiled_kind_of(const char *name);
uint8_t pyro_compiled_name_kind(pyro_compiled *compiled, uint32_t event);

#endif
