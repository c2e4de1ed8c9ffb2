/*
 * Recognises annotations that name layers by themselves: "block::layers.23" and
 * "attention::layers.23._checkpoint_wrapped_module.attention", as torchtitan writes them. Removes
 * the names of wrappers from paths, so that a layer has one name however it is wrapped.
 */
#include "trace/joins/internal.h"

#include <ctype.h>
#include <string.h>

/* Modules that only wrap another one. */
static const char *const wrappers[] = {"_checkpoint_wrapped_module", "_orig_mod",
                                       "_fsdp_wrapped_module", "_flat_param_wrapped_module"};

static bool is_wrapper(const char *part, size_t length)
{
    for (size_t i = 0; i < sizeof wrappers / sizeof *wrappers; i++)
        if (strlen(wrappers[i]) == length && !memcmp(wrappers[i], part, length))
            return true;
    return false;
}

size_t pyro_unwrap_path(char *out, const char *path, size_t length)
{
    size_t used = 0;
    for (size_t begin = 0; begin <= length;) {
        size_t end = begin;
        while (end < length && path[end] != '.')
            end++;
        if (!is_wrapper(path + begin, end - begin)) {
            if (used)
                out[used++] = '.';
            memcpy(out + used, path + begin, end - begin);
            used += end - begin;
        }
        begin = end + 1;
    }
    return used;
}

/* Kinds are words in small letters; namespaces of ops are none. */
static bool is_kind(const char *text, size_t length)
{
    static const char *const spaces[] = {"aten", "c10d",     "torch",     "autograd", "prims",
                                         "nccl", "profiler", "inductor",  "triton",   "quantized",
                                         "prim", "cuda",     "static",    "symm_mem", "fsdp",
                                         "vllm", "sgl",      "sgl_kernel"};
    for (size_t i = 0; i < length; i++)
        if (!islower((unsigned char)text[i]) && text[i] != '_' &&
            (i == 0 || !isdigit((unsigned char)text[i])))
            return false;
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
        if (strlen(spaces[i]) == length && !memcmp(spaces[i], text, length))
            return false;
    return length > 0;
}

/* Whether the text is names and numbers with dots between them. */
static bool is_path(const char *text, bool *is_indexed)
{
    bool is_digits = true;
    size_t part = 0;
    for (;; text++) {
        if (*text == '.' || !*text) {
            *is_indexed |= part && is_digits;
            if (!part || !*text)
                return part > 0;
            part = 0;
            is_digits = true;
        } else if (isalnum((unsigned char)*text) || *text == '_') {
            is_digits &= isdigit((unsigned char)*text) != 0;
            part++;
        } else {
            return false;
        }
    }
}

const char *pyro_path_of_label(const char *name, bool *is_indexed)
{
    const char *colons = strstr(name, "::");
    *is_indexed = false;
    if (!colons || !is_kind(name, (size_t)(colons - name)) || !is_path(colons + 2, is_indexed))
        return NULL;
    return colons + 2;
}
