/*
 * Reads Inductor's JSON about kernels: maps between kernels and nodes
 * (inductor_provenance_tracking_node_mappings), stacks of kernels
 * (inductor_provenance_tracking_kernel_stack_traces), or both (kernel_information.json). A kernel is
 * "name:handle".
 */
#include "trace/provenance/compilation.h"

#include "base/json/json.h"
#include <stdlib.h>
#include <string.h>

#define LONGEST_NAME 4096
#define MOST_LEVELS 4

typedef struct mappings {
    pyro_compilation *compilation;
    pyro_json *json;
    pyro_buf key, words;
} mappings;

char *pyro_source_of_stack(pyro_compilation *compilation, const char *stack)
{
    char source[LONGEST_NAME];
    return pyro_innermost_frame(stack, source, sizeof source)
               ? pyro_arena_text(&compilation->arena, source, strlen(source))
               : NULL;
}

/* The call of a kernel; without the wrapper's code, a new one. */
static pyro_wrapper_call *call_of(mappings *all, const char *kernel)
{
    pyro_compilation *compilation = all->compilation;
    pyro_wrapper_call *call = pyro_wrapper_find(compilation, kernel);
    const char *colon = strrchr(kernel, ':');
    if (call || compilation->has_code || !colon || colon == kernel)
        return call;
    unsigned long handle = strtoul(colon + 1, NULL, 10);
    if (!handle || handle > UINT32_MAX || strlen(kernel) > LONGEST_NAME ||
        !pyro_grow(&compilation->calls, &compilation->call_capacity, compilation->call_count + 1,
                   sizeof *compilation->calls))
        return NULL;
    call = &compilation->calls[compilation->call_count];
    *call = (pyro_wrapper_call){
        .name = pyro_arena_text(&compilation->arena, kernel, (size_t)(colon - kernel)),
        .handle = (uint32_t)handle,
        .source_nodes = pyro_arena_text(&compilation->arena, "", 0)};
    compilation->failed |= !call->name || !call->source_nodes;
    compilation->call_count += !compilation->failed;
    return compilation->failed ? NULL : call;
}

/* The texts of an array, separated by spaces; the first one if they are stacks. */
static void read_words(mappings *all, bool are_stacks)
{
    pyro_buf_reset(&all->words);
    for (pyro_json_kind kind; (kind = pyro_json_next(all->json)) != PYRO_JSON_ARRAY_END;) {
        if (kind == PYRO_JSON_ERROR || kind == PYRO_JSON_END)
            return;
        if (kind == PYRO_JSON_OBJECT || kind == PYRO_JSON_ARRAY)
            pyro_json_skip(all->json);
        if (kind != PYRO_JSON_STRING || (are_stacks && all->words.length))
            continue;
        size_t length;
        const char *text = pyro_json_text(all->json, &length);
        if (all->words.length)
            pyro_buf_addc(&all->words, ' ');
        pyro_buf_add(&all->words, text, length);
    }
}

static const char *words_of(const mappings *all)
{
    return all->words.length ? all->words.data : "";
}

/* A node belongs where the node that it was made of belongs. */
static void take_origin(mappings *all, const char *node)
{
    pyro_compilation *compilation = all->compilation;
    uint32_t path = PYRO_NO_TEXT;
    bool has_parameter = false;
    for (const char *word = words_of(all); *word; word += strspn(word, " ")) {
        size_t length = strcspn(word, " ");
        const struct pyro_node_facts *facts = pyro_node_find(&compilation->captured, word, length);
        if (facts && facts->path != PYRO_NO_TEXT && (facts->has_parameter || !has_parameter)) {
            path = facts->path;
            has_parameter = facts->has_parameter;
        }
        word += length;
    }
    if (path == PYRO_NO_TEXT || compilation->compiled.names.count >= PYRO_MOST_NODES)
        return;
    struct pyro_node_facts *facts = pyro_node_add(&compilation->compiled, node, strlen(node));
    compilation->failed |= !facts;
    if (facts) {
        facts->path = path;
        facts->has_parameter = has_parameter;
    }
}

static void take_nodes(mappings *all, const char *kernel)
{
    pyro_wrapper_call *call = call_of(all, kernel);
    if (call && !call->post_nodes)
        call->post_nodes = pyro_arena_text(&all->compilation->arena, words_of(all),
                                           all->words.length);
}

static void take_stack(mappings *all, const char *kernel)
{
    pyro_wrapper_call *call = call_of(all, kernel);
    if (call && !call->source)
        call->source = pyro_source_of_stack(all->compilation, words_of(all));
}

typedef void taker(mappings *all, const char *key);

/* An object of arrays of texts. */
static void read_map(mappings *all, taker *take)
{
    if (pyro_json_next(all->json) != PYRO_JSON_OBJECT)
        return;
    while (!all->compilation->failed && pyro_json_next(all->json) == PYRO_JSON_KEY) {
        pyro_buf_reset(&all->key);
        pyro_buf_adds(&all->key, pyro_json_text(all->json, NULL));
        pyro_json_kind kind = pyro_json_next(all->json);
        if (kind == PYRO_JSON_OBJECT)
            pyro_json_skip(all->json);
        if (kind != PYRO_JSON_ARRAY)
            continue;
        read_words(all, take == take_stack);
        if (all->key.length && !all->key.failed && !all->words.failed)
            take(all, all->key.data);
    }
}

/* {"stack_traces": [...], "post_grad_nodes": [...], "pre_grad_nodes": [...]} */
static void read_information(mappings *all, const char *kernel)
{
    while (!all->compilation->failed && pyro_json_next(all->json) == PYRO_JSON_KEY) {
        bool is_stack = PYRO_JSON_IS(all->json, "stack_traces");
        bool are_nodes = PYRO_JSON_IS(all->json, "post_grad_nodes");
        bool are_sources = PYRO_JSON_IS(all->json, "pre_grad_nodes");
        pyro_json_kind kind = pyro_json_next(all->json);
        if (kind == PYRO_JSON_OBJECT)
            pyro_json_skip(all->json);
        if (kind != PYRO_JSON_ARRAY)
            continue;
        read_words(all, is_stack);
        pyro_wrapper_call *call = are_sources ? call_of(all, kernel) : NULL;
        if (is_stack)
            take_stack(all, kernel);
        else if (are_nodes)
            take_nodes(all, kernel);
        else if (call && !call->source_nodes[0])
            call->source_nodes = pyro_arena_text(&all->compilation->arena, words_of(all),
                                                 all->words.length);
        all->compilation->failed |= call && !call->source_nodes;
    }
}

static void read_object(mappings *all, int level);

/* A key that is no map: a kernel, or a group of kernels. */
static void read_kernel(mappings *all, int level)
{
    char *kernel = strdup(pyro_json_text(all->json, NULL));
    const char *colon = kernel ? strrchr(kernel, ':') : NULL;
    bool is_kernel = colon && colon[1] && strspn(colon + 1, "0123456789") == strlen(colon + 1);
    pyro_json_kind kind = pyro_json_next(all->json);
    all->compilation->failed |= !kernel;
    if (kind == PYRO_JSON_ARRAY) {
        read_words(all, true);
        if (is_kernel && !all->words.failed)
            take_stack(all, kernel);
    } else if (kind == PYRO_JSON_OBJECT && is_kernel) {
        read_information(all, kernel);
    } else if (kind == PYRO_JSON_OBJECT && level < MOST_LEVELS) {
        read_object(all, level + 1);
    } else if (kind == PYRO_JSON_OBJECT) {
        pyro_json_skip(all->json);
    }
    free(kernel);
}

static void read_object(mappings *all, int level)
{
    while (!all->compilation->failed && pyro_json_next(all->json) == PYRO_JSON_KEY) {
        if (PYRO_JSON_IS(all->json, "postToPre"))
            read_map(all, take_origin);
        else if (PYRO_JSON_IS(all->json, "cppCodeToPost") ||
                 PYRO_JSON_IS(all->json, "kernelToPost"))
            read_map(all, take_nodes);
        else if (PYRO_JSON_IS(all->json, "preToPost") || PYRO_JSON_IS(all->json, "postToCppCode") ||
                 PYRO_JSON_IS(all->json, "version"))
            pyro_json_skip(all->json);
        else
            read_kernel(all, level);
    }
}

bool pyro_read_mappings(pyro_compilation *compilation, const char *text, size_t length)
{
    mappings all = {.compilation = compilation};
    pyro_json_options options = {.any_utf8 = true, .nonfinite = true};
    pyro_source *source = NULL;
    pyro_error damage;
    pyro_error_clear(&damage);
    bool is_whole = false;
    int status = pyro_source_open_memory(&source, text, length, &damage);
    if (status == PYRO_OK)
        status = pyro_json_open(&all.json, source, &options, &damage);
    if (status == PYRO_OK) {
        if (pyro_json_next(all.json) == PYRO_JSON_OBJECT)
            read_object(&all, 0);
        is_whole = pyro_json_status(all.json) == PYRO_OK;
        status = pyro_json_status(all.json);
    }
    compilation->failed |= status == PYRO_ERROR_MEMORY || all.key.failed || all.words.failed;
    pyro_json_close(all.json);
    pyro_source_close(source);
    pyro_buf_free(&all.key);
    pyro_buf_free(&all.words);
    return is_whole;
}
