/*
 * Finds the buffers that the source text of a TorchScript archive declares. Only the lines "class
 * Name(Module):" and "__buffers__ = [...]" are looked at; no code is run.
 */
#include "base/containers/buf.h"
#include "base/error.h"
#include "read/torch_archive.h"
#include <stdlib.h>
#include <string.h>

enum { MAX_CODE_BYTES = 16 << 20 };

/* "m/code/__torch__/a/b.py" declares classes "__torch__.a.b.Name"; false: it is no code. */
static bool scope_of(pyro_buf *scope, const char *member)
{
    const char *code = strstr(member, "code/__torch__");
    size_t length = code ? strlen(code) : 0;
    if (!code || (code != member && code[-1] != '/') || length < 9 ||
        strcmp(code + length - 3, ".py") != 0)
        return false;
    scope->length = 0;
    for (const char *at = code + 5; at < code + length - 3; at++)
        pyro_buf_addc(scope, *at == '/' ? '.' : *at);
    return true;
}

/* The quoted names of a list, each with its class before it. */
static bool add_names(pyro_intern *buffers, pyro_buf *name, const char *list, const char *end)
{
    size_t class_length = name->length;
    for (const char *open; (open = memchr(list, '"', (size_t)(end - list)));) {
        const char *close = memchr(open + 1, '"', (size_t)(end - open - 1));
        if (!close)
            break;
        name->length = class_length;
        pyro_buf_addf(name, ".%.*s", (int)(close - open - 1), open + 1);
        if (name->failed || pyro_intern_add(buffers, name->data, name->length) == PYRO_INTERN_NONE)
            return false;
        list = close + 1;
    }
    name->length = class_length;
    return true;
}

static bool read_code(pyro_intern *buffers, const pyro_buf *scope, const char *text)
{
    static const char class_line[] = "class ", buffer_line[] = "  __buffers__ = [";
    pyro_buf name = PYRO_BUF_INIT;
    bool good = true;
    for (const char *line = text; good && line && *line;) {
        const char *end = strchr(line, '\n');
        const char *stop = end ? end : line + strlen(line);
        if (!strncmp(line, class_line, sizeof class_line - 1)) {
            size_t length = strcspn(line + sizeof class_line - 1, "(:\n");
            name.length = 0;
            pyro_buf_addf(&name, "%s.%.*s", scope->data, (int)length, line + sizeof class_line - 1);
        } else if (name.length && !strncmp(line, buffer_line, sizeof buffer_line - 1)) {
            good = add_names(buffers, &name, line, stop);
        }
        line = end ? end + 1 : NULL;
    }
    good = good && !name.failed;
    pyro_buf_free(&name);
    return good;
}

int pyro_script_buffers(pyro_intern *buffers, const pyro_zip *zip, pyro_error *error)
{
    pyro_buf scope = PYRO_BUF_INIT;
    int64_t left = MAX_CODE_BYTES;
    int status = PYRO_OK;
    for (size_t i = 0; status == PYRO_OK && i < zip->count; i++) {
        char *text = NULL;
        size_t size;
        if (!scope_of(&scope, zip->entries[i].name))
            continue;
        if (scope.failed) {
            status = pyro_fail_memory(error);
            break;
        }
        status = pyro_zip_read_member(&text, &size, zip, &zip->entries[i], left, error);
        if (status == PYRO_OK && !read_code(buffers, &scope, text))
            status = pyro_fail_memory(error);
        left -= zip->entries[i].size;
        free(text);
    }
    pyro_buf_free(&scope);
    return status;
}
