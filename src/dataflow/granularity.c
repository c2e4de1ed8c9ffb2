/*
 * Chooses nodes. A leaf is a call in which no other module is called. A block is what models
 * repeat: docs/reference/graph-format.md defines the rule.
 */
#include "dataflow/granularity.h"

#include "base/containers/map.h"
#include <stdlib.h>
#include <string.h>

/* Facts of a class: the most modules of it, without leaves, that one module has. */
typedef struct class_facts {
    uint32_t in_container; /* 0: no two are in one container */
    uint32_t elsewhere;    /* as attributes */
    uint32_t held;         /* in_container of what repeats below some call of it */
} class_facts;

typedef struct selection {
    const pyro_program *program;
    pyro_arena arena;
    pyro_intern paths, classes, families; /* a family: children of one class in one parent */
    uint32_t *path_of, *class_of;         /* by call; PYRO_NONE for functions */
    bool *is_inner;                       /* by call: another module is called in it */
    uint32_t *steps;                      /* by call: steps that ran in it */
    uint32_t *class_of_path; /* by path: of the last call of it; PYRO_NONE not called */
    bool *inner_path; /* by path: some call of it is inner */
    uint32_t *family_of_path;
    uint32_t *members; /* by family: inner paths */
    class_facts *classes_known;
} selection;

static bool is_container(const char *class_name)
{
    return !strcmp(class_name, "Sequential") || !strcmp(class_name, "ModuleList") ||
           !strcmp(class_name, "ModuleDict");
}

/* Length of the parent's path: where the last name of a path begins, without the dot. */
static size_t parent_length(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot ? (size_t)(dot - path) : 0;
}

static bool intern_calls(selection *c)
{
    const pyro_program *program = c->program;
    size_t count = program->call_count;
    c->path_of = malloc((count + 1) * sizeof *c->path_of);
    c->class_of = malloc((count + 1) * sizeof *c->class_of);
    c->is_inner = calloc(count + 1, sizeof *c->is_inner);
    c->steps = calloc(count + 1, sizeof *c->steps);
    if (!c->path_of || !c->class_of || !c->is_inner || !c->steps)
        return false;
    for (size_t i = 0; i < count; i++) {
        const pyro_flow_call *call = &program->calls[i];
        c->path_of[i] = c->class_of[i] = PYRO_NONE;
        if (call->is_function)
            continue;
        c->path_of[i] = pyro_intern_add(&c->paths, call->path, strlen(call->path));
        c->class_of[i] = pyro_intern_add(&c->classes, call->class_name, strlen(call->class_name));
        if (c->path_of[i] == PYRO_INTERN_NONE || c->class_of[i] == PYRO_INTERN_NONE)
            return false;
    }
    return true;
}

/* Calls come after those around them, so a backward pass propagates everything up. */
static void mark_inner(selection *c)
{
    const pyro_program *program = c->program;
    for (size_t i = 0; i < program->step_count; i++)
        c->steps[program->steps[i].call]++;
    for (size_t i = program->call_count; i-- > 1;) {
        const pyro_flow_call *call = &program->calls[i];
        if (call->parent == PYRO_NONE)
            continue;
        if (!call->is_function || c->is_inner[i])
            c->is_inner[call->parent] = true;
        c->steps[call->parent] += c->steps[i];
    }
}

static bool count_families(selection *c)
{
    size_t count = c->program->call_count;
    c->class_of_path = malloc((c->paths.count + 1) * sizeof *c->class_of_path);
    c->inner_path = calloc(c->paths.count + 1, sizeof *c->inner_path);
    c->family_of_path = malloc((c->paths.count + 1) * sizeof *c->family_of_path);
    c->members = calloc(c->paths.count + 1, sizeof *c->members);
    if (!c->class_of_path || !c->inner_path || !c->family_of_path || !c->members)
        return false;
    for (size_t p = 0; p < c->paths.count; p++)
        c->class_of_path[p] = c->family_of_path[p] = PYRO_NONE;
    for (size_t i = 0; i < count; i++)
        if (c->path_of[i] != PYRO_NONE) {
            c->class_of_path[c->path_of[i]] = c->class_of[i];
            c->inner_path[c->path_of[i]] |= c->is_inner[i];
        }
    for (size_t p = 0; p < c->paths.count; p++) {
        const char *path = pyro_intern_text(&c->paths, (uint32_t)p);
        const char *class_name = pyro_intern_text(&c->classes, c->class_of_path[p]);
        if (!c->inner_path[p] || !path[0] || !class_name[0] || is_container(class_name))
            continue;
        char *key = pyro_arena_format(&c->arena, "%s\n%.*s", class_name, (int)parent_length(path),
                                      path);
        uint32_t family = key ? pyro_intern_add(&c->families, key, strlen(key)) : PYRO_INTERN_NONE;
        if (family == PYRO_INTERN_NONE)
            return false;
        c->family_of_path[p] = family;
        c->members[family]++;
    }
    return true;
}

/* Whether the parent is never called, so that it only holds its children. */
static bool parent_is_container(const selection *c, const char *path)
{
    uint32_t parent = pyro_intern_find(&c->paths, path, parent_length(path));
    return parent == PYRO_INTERN_NONE ||
           is_container(pyro_intern_text(&c->classes, c->class_of_path[parent]));
}

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* Calls come after those around them: in a backward pass each is complete when it is visited. */
static bool learn_held(selection *c)
{
    uint32_t *held = calloc(c->program->call_count + 1, sizeof *held);
    for (size_t i = held ? c->program->call_count : 0; i-- > 1;) {
        uint32_t parent = c->program->calls[i].parent, own = 0;
        if (c->class_of[i] != PYRO_NONE) {
            class_facts *facts = &c->classes_known[c->class_of[i]];
            own = c->is_inner[i] ? facts->in_container : 0;
            facts->held = larger(facts->held, held[i]);
        }
        if (parent != PYRO_NONE)
            held[parent] = larger(held[parent], larger(held[i], own));
    }
    bool good = held != NULL;
    free(held);
    return good;
}

static bool learn_classes(selection *c)
{
    c->classes_known = calloc(c->classes.count + 1, sizeof *c->classes_known);
    if (!c->classes_known)
        return false;
    for (size_t p = 0; p < c->paths.count; p++) {
        if (c->family_of_path[p] == PYRO_NONE || c->members[c->family_of_path[p]] < 2)
            continue;
        class_facts *facts = &c->classes_known[c->class_of_path[p]];
        uint32_t *most = parent_is_container(c, pyro_intern_text(&c->paths, (uint32_t)p))
                             ? &facts->in_container
                             : &facts->elsewhere;
        *most = larger(*most, c->members[c->family_of_path[p]]);
    }
    return learn_held(c);
}

static bool is_block(const selection *c, size_t call)
{
    const class_facts *facts = &c->classes_known[c->class_of[call]];
    return facts->in_container || facts->elsewhere > facts->held;
}

static bool is_node(const selection *c, const pyro_dataflow_options *options, size_t i)
{
    const pyro_flow_call *call = &c->program->calls[i];
    if (call->is_function)
        return options->granularity != PYRO_GRANULARITY_MODULE &&
               options->level == PYRO_LEVEL_HIGH && c->steps[i] > 1;
    if (options->granularity == PYRO_GRANULARITY_OP || !c->steps[i])
        return false; /* nothing runs in an Identity */
    if (!c->is_inner[i])
        return true;
    return options->granularity == PYRO_GRANULARITY_MODULE && i > 0 && is_block(c, i);
}

uint32_t *pyro_choose_calls(const pyro_program *program, const pyro_dataflow_options *options)
{
    selection c = {.program = program};
    size_t count = program->call_count;
    uint32_t *owner = malloc((count + 1) * sizeof *owner);
    pyro_arena_init(&c.arena);
    pyro_intern_init(&c.paths, &c.arena);
    pyro_intern_init(&c.classes, &c.arena);
    pyro_intern_init(&c.families, &c.arena);
    bool good = owner && intern_calls(&c);
    if (good)
        mark_inner(&c);
    good = good && count_families(&c) && learn_classes(&c);
    for (size_t i = 0; good && i < count; i++) {
        uint32_t parent = program->calls[i].parent;
        owner[i] = parent == PYRO_NONE ? PYRO_NONE : owner[parent];
        if (owner[i] == PYRO_NONE && is_node(&c, options, i))
            owner[i] = (uint32_t)i;
    }
    free(c.path_of);
    free(c.class_of);
    free(c.is_inner);
    free(c.steps);
    free(c.class_of_path);
    free(c.inner_path);
    free(c.family_of_path);
    free(c.members);
    free(c.classes_known);
    pyro_intern_free(&c.paths);
    pyro_intern_free(&c.classes);
    pyro_intern_free(&c.families);
    pyro_arena_free(&c.arena);
    if (!good) {
        free(owner);
        return NULL;
    }
    return owner;
}
