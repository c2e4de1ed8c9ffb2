/* Normalises model names, and finds built-in models by name. */
#include "read/catalog.h"

#include <ctype.h>
#include <string.h>

/* Normalises a name: lower case, and separators only between two digits. */
typedef struct spelling {
    const char *at;
    bool after_digit;
} spelling;

static char next_letter(spelling *name)
{
    const char *start = name->at;
    while (*name->at == '-' || *name->at == '_' || *name->at == '.' || *name->at == ' ')
        name->at++;
    bool digit = isdigit((unsigned char)*name->at);
    /* regnet_x_1_6gf is not regnet_x_16gf. */
    if (name->at != start && digit && name->after_digit) {
        name->after_digit = false;
        return '.';
    }
    name->after_digit = digit;
    return *name->at ? (char)tolower((unsigned char)*name->at++) : '\0';
}

bool pyro_catalog_same_name(const char *a, const char *b)
{
    spelling first = {a, false}, second = {b, false};
    char letter;
    do {
        letter = next_letter(&first);
        if (letter != next_letter(&second))
            return false;
    } while (letter);
    return true;
}

static bool is_decode(const char *name)
{
    size_t length = strlen(name), suffix = strlen(PYRO_DECODE_SUFFIX);
    return length > suffix && !strcmp(name + length - suffix, PYRO_DECODE_SUFFIX);
}

const char *pyro_builtin_name(size_t index)
{
    for (size_t i = 0; pyro_embedded_models[i].name; i++)
        if (!is_decode(pyro_embedded_models[i].name) && index-- == 0)
            return pyro_embedded_models[i].name;
    return NULL;
}

size_t pyro_builtin_count(void)
{
    size_t count = 0;
    for (size_t i = 0; pyro_embedded_models[i].name; i++)
        count += !is_decode(pyro_embedded_models[i].name);
    return count;
}

static const pyro_embedded_model *find_exact(const char *name, size_t length, const char *suffix)
{
    for (const pyro_embedded_model *model = pyro_embedded_models; model->name; model++)
        if (!strncmp(model->name, name, length) && !strcmp(model->name + length, suffix))
            return model;
    return NULL;
}

const pyro_embedded_model *pyro_builtin_find(const char *name, bool decode)
{
    const pyro_embedded_model *found = find_exact(name, strlen(name), "");
    if (found && is_decode(name))
        return NULL;
    for (size_t i = 0; !found && pyro_embedded_models[i].name; i++)
        if (!is_decode(pyro_embedded_models[i].name) &&
            pyro_catalog_same_name(pyro_embedded_models[i].name, name))
            found = &pyro_embedded_models[i];
    if (!found || !decode)
        return found;
    return find_exact(found->name, strlen(found->name), PYRO_DECODE_SUFFIX);
}

void pyro_catalog_normalize(char text[PYRO_NORMAL_NAME], const char *name)
{
    spelling rest = {name, false};
    size_t length = 0;
    char letter;
    while (length < PYRO_NORMAL_NAME - 1 && (letter = next_letter(&rest)))
        text[length++] = letter;
    text[length] = '\0';
}
