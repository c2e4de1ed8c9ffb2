/*
 * Maps Hugging Face and timm ids ("meta-llama/Llama-3.1-8B-Instruct", "timm/resnet50.a1_in1k") to
 * built-in models. Rules strip suffixes that do not change the architecture; the index has the
 * names that rules cannot find. Downloads nothing.
 */
#include "base/error.h"
#include "read/catalog.h"
#include "read/index.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { SIDE_MIN = 64, SIDE_MAX = 1536 };

/* An id in its parts; `name` is shortened by the rules. */
typedef struct parts {
    char owner[PYRO_INDEX_NAME], name[PYRO_INDEX_NAME];
    int64_t side; /* image size in the name or its tag; 0: none */
} parts;

static bool starts_with(const char *text, const char *start)
{
    return !strncasecmp(text, start, strlen(start));
}

/* "https://huggingface.co/owner/name/tree/main" and "hf-hub:owner/name" as "owner/name". */
static const char *without_address(const char *id, bool *address)
{
    static const char *const starts[] = {"https://", "http://", "www.",   "huggingface.co/",
                                         "hf.co/",   "hf-hub:", "hf_hub:"};
    *address = false;
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (starts_with(id, starts[i])) {
            id += strlen(starts[i]);
            *address = true;
        }
    return id;
}

/* File names are not ids. */
static bool is_file_name(const char *name)
{
    static const char *const endings[] = {".pt2", ".pt",   ".pth",         ".onnx", ".py",  ".json",
                                          ".bin", ".ckpt", ".safetensors", ".gguf", ".zip", ".gz"};
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t end = strlen(endings[i]);
        if (length > end && !strcasecmp(name + length - end, endings[i]))
            return true;
    }
    return false;
}

static bool copy(char out[PYRO_INDEX_NAME], const char *text, size_t length)
{
    if (length == 0 || length >= PYRO_INDEX_NAME)
        return false;
    memcpy(out, text, length);
    out[length] = '\0';
    return true;
}

/* Returns false if the text cannot be an id: a path, a file name, or too long. */
static bool split(parts *out, const char *text)
{
    bool address;
    const char *id = without_address(text, &address), *slash = strchr(id, '/');
    *out = (parts){.side = 0};
    if (strchr("./~", id[0]) || strpbrk(id, ":*? \\"))
        return false;
    if (!slash)
        return !is_file_name(id) && copy(out->name, id, strcspn(id, "@"));
    const char *name = slash + 1;
    size_t length = strcspn(name, "/@?#");
    if (name[length] == '/' && !address)
        return false;
    return copy(out->owner, id, (size_t)(slash - id)) && copy(out->name, name, length) &&
           !is_file_name(out->name);
}

static bool is_folder(const char *name)
{
    struct stat status;
    return *name && stat(name, &status) == 0 && S_ISDIR(status.st_mode);
}

/* Offset of the last word of a name, with its separator; 0: the name is one word. */
static size_t last_word(const char *name)
{
    for (size_t at = strlen(name); at > 1; at--)
        if (strchr("-_. ", name[at - 1]))
            return at - 1;
    return 0;
}

/* Suffixes that change the weights or their use, not the architecture. */
static bool is_neutral(const char *word)
{
    static const char *const words[] = {"instruct", "chat",    "it", "hf",      "pt",
                                        "base",     "uncased", "v1", "deduped", "text"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcasecmp(words[i], word))
            return true;
    return false;
}

/* Parses "224" as an image size; 0 if it is not one. */
static int64_t side_of(const char *word)
{
    char *end;
    long side = isdigit((unsigned char)*word) ? strtol(word, &end, 10) : 0;
    return side >= SIDE_MIN && side <= SIDE_MAX && !*end ? side : 0;
}

/* "resnet50.a1_in1k": timm's weight tags start with a letter, versions do not. */
static char *tag_of(const parts *id)
{
    char *dot = strchr(id->name, '.');
    bool timm = !*id->owner ? !strchr(id->name, '-') : !strcasecmp(id->owner, "timm");
    return timm && dot && dot != id->name && isalpha((unsigned char)dot[1]) ? dot : NULL;
}

/* True if weights with this tag have 1000 classes, as the built-in models do. */
static bool is_usual_tag(const char *tag)
{
    size_t length = strlen(tag);
    return length >= 4 && !strcmp(tag + length - 4, "in1k");
}

/* Finds the image size in "e2400_r224_in1k". */
static int64_t side_of_tag(const char *tag)
{
    for (const char *at = tag; (at = strstr(at, "_r")); at += 2) {
        char word[8];
        size_t digits = strspn(at + 2, "0123456789");
        if (digits > 0 && digits < sizeof word) {
            memcpy(word, at + 2, digits);
            word[digits] = '\0';
            return side_of(word);
        }
    }
    return 0;
}

/* Looks up an unchanged name among the built-in models and in the index; NULL: not found. */
static const pyro_embedded_model *look_up(const parts *id, bool *exact)
{
    char whole[2 * PYRO_INDEX_NAME], name[PYRO_INDEX_NAME];
    strcpy(whole, id->owner);
    strcat(whole, "/");
    strcat(whole, id->name);
    if (*id->owner && pyro_index_alias(whole, name, exact))
        return pyro_builtin_find(name, false);
    *exact = true;
    const pyro_embedded_model *found = pyro_builtin_find(id->name, false);
    if (found)
        return found;
    return pyro_index_alias(id->name, name, exact) ? pyro_builtin_find(name, false) : NULL;
}

/* The match is exact only if the model's image size is that of the id. */
static void settle_side(const parts *id, pyro_alias *out)
{
    pyro_index_model known;
    if (!id->side || !pyro_index_find(out->model->name, &known) || known.image_side == id->side)
        return;
    out->exact = false;
    out->side = known.image_side && known.open_image ? id->side : 0;
}

/* Strips irrelevant suffixes, word by word, until the name is known. */
static bool shorten(parts *id, pyro_alias *out)
{
    bool exact = true;
    char *tag = tag_of(id);
    if (tag) {
        exact = is_usual_tag(tag);
        id->side = side_of_tag(tag);
        *tag = '\0';
    }
    if (starts_with(id->name, "meta-llama-") || starts_with(id->name, "meta_llama_"))
        memmove(id->name, id->name + 5, strlen(id->name) - 4);
    for (;;) {
        bool same;
        out->model = look_up(id, &same);
        if (out->model) {
            out->exact = exact && same;
            settle_side(id, out);
            return true;
        }
        size_t at = last_word(id->name);
        if (at == 0)
            return false;
        int64_t side = side_of(id->name + at + 1);
        if (side)
            id->side = side;
        else
            exact = exact && is_neutral(id->name + at + 1);
        id->name[at] = '\0';
    }
}

bool pyro_alias_find(pyro_alias *out, const char *id)
{
    parts found;
    *out = (pyro_alias){.exact = false};
    if (!split(&found, id))
        return false;
    if (is_folder(found.owner)) /* it is a path */
        return false;
    out->model = look_up(&found, &out->exact);
    return out->model || shorten(&found, out);
}

bool pyro_alias_is_id(const char *text)
{
    parts found;
    return split(&found, text) && *found.owner && !is_folder(found.owner);
}

const char *pyro_alias_name(const char *id, char name[PYRO_INDEX_NAME])
{
    parts found;
    return split(&found, id) && copy(name, found.name, strlen(found.name)) ? name : NULL;
}

const char *pyro_builtin_of_id(const char *id)
{
    pyro_alias alias;
    const pyro_embedded_model *builtin = pyro_builtin_find(id, false);
    if (builtin)
        return builtin->name;
    return pyro_alias_find(&alias, id) && alias.exact ? alias.model->name : NULL;
}
