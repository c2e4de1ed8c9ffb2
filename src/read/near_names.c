/* Suggests models with names similar to an unknown one. */
#include "base/text/suggest.h"
#include "read/catalog.h"
#include <string.h>

enum { NEAR_NAMES = 3 };

/* The nearest names so far, nearest first. */
typedef struct nearest {
    char wanted[PYRO_NORMAL_NAME];
    const char *names[NEAR_NAMES];
    size_t distances[NEAR_NAMES], count;
} nearest;

static void keep(nearest *near, const char *name, size_t distance)
{
    size_t at = near->count < NEAR_NAMES ? near->count++ : NEAR_NAMES;
    while (at > 0 && near->distances[at - 1] > distance) {
        if (at < NEAR_NAMES) {
            near->names[at] = near->names[at - 1];
            near->distances[at] = near->distances[at - 1];
        }
        at--;
    }
    if (at < NEAR_NAMES) {
        near->names[at] = name;
        near->distances[at] = distance;
    }
}

static void offer(nearest *near, const char *name)
{
    char text[PYRO_NORMAL_NAME];
    pyro_suggestion suggestion = PYRO_SUGGESTION(near->wanted);
    pyro_catalog_normalize(text, name);
    pyro_suggestion_offer(&suggestion, text);
    if (suggestion.nearest)
        keep(near, name, suggestion.distance);
}

static void add_names(pyro_buf *buf, const char *before, const nearest *near, const char *behind)
{
    for (size_t i = 0; i < near->count; i++)
        pyro_buf_addf(buf, "%s%s",
                      i == 0                 ? before
                      : i + 1 == near->count ? " or "
                                             : ", ",
                      near->names[i]);
    pyro_buf_adds(buf, near->count ? behind : "");
}

/* Finds the longest family name inside the requested name ("llama" in "codellama13b"). */
static bool find_family(char family[PYRO_INDEX_NAME], const char *wanted)
{
    pyro_index_model known;
    char text[PYRO_NORMAL_NAME];
    size_t longest = 2;
    const char *name;
    for (size_t i = 0; (name = pyro_builtin_name(i)); i++) {
        if (!pyro_index_find(name, &known))
            continue;
        pyro_catalog_normalize(text, known.family);
        if (strlen(text) > longest && strstr(wanted, text)) {
            longest = strlen(text);
            strcpy(family, known.family);
        }
    }
    return longest > 2;
}

/* Finds the models of a family with the nearest names. */
static void suggest_family(pyro_buf *buf, nearest *near, const char *family)
{
    char before[PYRO_INDEX_NAME + 64] = "; nearest of family ";
    pyro_index_model known;
    const char *name;
    for (size_t i = 0; (name = pyro_builtin_name(i)); i++) {
        char text[PYRO_NORMAL_NAME];
        if (!pyro_index_find(name, &known) || strcmp(known.family, family))
            continue;
        pyro_catalog_normalize(text, name);
        keep(near, name, pyro_edit_distance(near->wanted, text));
    }
    strcat(before, family);
    add_names(buf, strcat(before, ": "), near, "");
}

void pyro_catalog_suggest(pyro_buf *buf, const char *wanted)
{
    char name[PYRO_INDEX_NAME], family[PYRO_INDEX_NAME];
    nearest near = {.count = 0};
    pyro_arena arena;
    const char **own = NULL, *builtin;
    size_t own_count = 0;
    pyro_arena_init(&arena);
    const char *id = pyro_alias_name(wanted, name);
    pyro_catalog_normalize(near.wanted, id ? id : wanted);
    for (size_t i = 0; (builtin = pyro_builtin_name(i)); i++)
        offer(&near, builtin);
    if (pyro_registry_names(&own, &own_count, &arena, NULL) == PYRO_OK)
        for (size_t i = 0; i < own_count; i++)
            offer(&near, own[i]);
    if (near.count > 0)
        add_names(buf, "; did you mean ", &near, "?");
    else if (id && find_family(family, near.wanted))
        suggest_family(buf, &near, family);
    pyro_arena_free(&arena);
}
