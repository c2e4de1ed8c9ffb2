/* Adds an input that cannot be read to a page. web/src/views/failure.tsx says what to do about it. */
#include "report/page/page.h"

#include "base/error.h"

#include <string.h>
#include <sys/stat.h>

static bool is_recording(const char *path)
{
    const char *end = strrchr(path, '.');

    return end && strcmp(end, ".pyro") == 0;
}

int pyro_page_add_failure(pyro_page *page, const char *path, const pyro_error *reason,
                          pyro_error *error)
{
    pyro_buf text = PYRO_BUF_INIT;
    pyro_json_writer json;
    struct stat file;

    pyro_json_writer_init(&json, &text, 0);
    pyro_json_begin_object(&json);
    pyro_json_member_string(&json, "input", is_recording(path) ? "recording" : "trace");
    pyro_json_member_string(&json, "message", reason->message);
    if (reason->offset >= 0)
        pyro_json_member_integer(&json, "offset", reason->offset);
    if (stat(path, &file) == 0 && S_ISREG(file.st_mode))
        pyro_json_member_integer(&json, "file_bytes", (int64_t)file.st_size);
    pyro_json_end_object(&json);
    if (text.failed) {
        pyro_buf_free(&text);
        return pyro_fail_memory(error);
    }
    pyro_page_begin_part(page, "failure", path);
    pyro_page_add_text(page, "result", text.data, text.length);
    pyro_page_end_part(page);
    pyro_buf_free(&text);
    return PYRO_OK;
}
