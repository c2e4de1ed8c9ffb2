/* Collects the data of a page, and fills the template with it. */
#include "report/page/page.h"

#include "base/error.h"
#include "report/html.h"

#include <pyrometer/report.h>
#include <pyrometer/version.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* Of timelines: with tables and the template, a page has at most 10 MB. */
#define MOST_PACKED_BYTES (6 << 20)
#define DATA_MARK "@PYROMETER_DATA@"
#define TITLE_MARK "@PYROMETER_TITLE@"

bool pyro_page_is_available(void)
{
    return pyro_page_template_size > 0;
}

int pyro_page_new(pyro_page **out, const pyro_page_options *options, pyro_error *error)
{
    pyro_page *page;

    *out = NULL;
    if (!pyro_page_is_available())
        return pyro_fail(error, PYRO_ERROR_UNSUPPORTED,
                         "this build has no page: install Node 18 or newer (Debian: nodejs, npm), "
                         "run `make web` and build again");
    page = calloc(1, sizeof *page);
    if (!page)
        return pyro_fail_memory(error);
    if (options)
        page->options = *options;
    page->title = options && options->title ? strdup(options->title) : NULL;
    pyro_json_writer_init(&page->json, &page->header, 0);
    pyro_json_begin_array(&page->json);
    *out = page;
    return PYRO_OK;
}

void pyro_page_free(pyro_page *page)
{
    if (!page)
        return;
    free(page->title);
    pyro_buf_free(&page->header);
    pyro_buf_free(&page->sections);
    free(page);
}

static const char *without_folder(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] != '\0' ? slash + 1 : path;
}

void pyro_page_begin_part(pyro_page *page, const char *kind, const char *name)
{
    if (page->options.strip_paths)
        name = without_folder(name);
    if (!page->title)
        page->title = strdup(without_folder(name));
    page->part_count++;
    pyro_json_begin_object(&page->json);
    pyro_json_member_string(&page->json, "kind", kind);
    pyro_json_member_string(&page->json, "name", name);
    if (page->next_has_sides) {
        pyro_json_key(&page->json, "sides");
        pyro_json_begin_array(&page->json);
        pyro_json_integer(&page->json, (int64_t)page->part_count);
        pyro_json_integer(&page->json, (int64_t)page->part_count + 1);
        pyro_json_end_array(&page->json);
        page->next_has_sides = false;
    }
    if (page->next_is_plain)
        pyro_json_member_boolean(&page->json, "without_drawings", true);
    if (page->next_is_short)
        pyro_json_member_boolean(&page->json, "without_details", true);
    page->next_is_plain = page->next_is_short = false;
    pyro_json_key(&page->json, "sections");
    pyro_json_begin_array(&page->json);
}

void pyro_page_end_part(pyro_page *page)
{
    pyro_json_end_array(&page->json);
    pyro_json_end_object(&page->json);
}

/* Describes the bytes from `first` to the end of the sections. */
static void describe_section(pyro_page *page, const char *name, const char *code, size_t count,
                             size_t first)
{
    pyro_json_begin_object(&page->json);
    pyro_json_member_string(&page->json, "name", name);
    pyro_json_member_string(&page->json, "code", code);
    pyro_json_member_integer(&page->json, "count", (int64_t)count);
    pyro_json_member_integer(&page->json, "offset", (int64_t)first);
    pyro_json_member_integer(&page->json, "bytes", (int64_t)(page->sections.length - first));
    pyro_json_end_object(&page->json);
}

static bool ends_path(char c)
{
    return c == '"' || c == '\\' || c == ' ' || c == '(' || c == ')' || c == ',' || c == ';' ||
           c == ':' || c == '\0';
}

/* Whether a path goes on after a space, as in "/home/a user/b.py": another slash follows soon. */
static bool goes_on(const char *text, size_t size, size_t space)
{
    size_t most = size - space < 80 ? size - space : 80;

    for (size_t i = 1, spaces = 0; i < most && spaces < 3; i++) {
        char c = text[space + i];

        if (c == '/')
            return true;
        if (c != ' ' && ends_path(c))
            return false;
        spaces += c == ' ';
    }
    return false;
}

/* The end of the path that begins at `from`; `*last` is after its last slash. */
static size_t path_end(const char *text, size_t size, size_t from, size_t *last)
{
    size_t end = from;

    *last = from;
    for (; end < size; end++) {
        if (text[end] == '/')
            *last = end + 1;
        else if (ends_path(text[end]) && !(text[end] == ' ' && goes_on(text, size, end)))
            break;
    }
    return end;
}

/* The end of a Windows path in JSON, "C:\\\\folder\\\\file", that begins at `from`; 0: none does. */
static size_t windows_path_end(const char *text, size_t size, size_t from, size_t *last)
{
    size_t end = from + 2;
    char drive = text[from];

    if (!((drive >= 'A' && drive <= 'Z') || (drive >= 'a' && drive <= 'z')) || size - from < 5 ||
        memcmp(text + from + 1, ":\\\\", 3) != 0)
        return 0;
    for (; end < size; end++) {
        if (text[end] == '\\' && end + 1 < size && text[end + 1] == '\\')
            *last = ++end + 1;
        else if (ends_path(text[end]) && text[end] != ' ')
            break;
    }
    return end;
}

/* Copies JSON, but leaves out the folders of absolute paths in its strings. */
static void add_without_folders(pyro_buf *buf, const char *text, size_t size)
{
    for (size_t i = 0; i < size;) {
        size_t end = 0, last = i;

        if (i == 0 || ends_path(text[i - 1]))
            end = text[i] == '/' ? path_end(text, size, i, &last)
                                 : windows_path_end(text, size, i, &last);
        if (end == 0) {
            pyro_buf_addc(buf, text[i++]);
            continue;
        }
        pyro_buf_add(buf, text + last, end - last);
        i = end;
    }
}

void pyro_page_add_text(pyro_page *page, const char *name, const char *text, size_t size)
{
    size_t first = page->sections.length;

    if (page->options.strip_paths)
        add_without_folders(&page->sections, text, size);
    else
        pyro_buf_add(&page->sections, text, size);
    describe_section(page, name, "json", 1, first);
}

static void add_varint(pyro_buf *buf, uint64_t number)
{
    char bytes[10];
    size_t length = 0;

    for (; number >= 0x80; number >>= 7)
        bytes[length++] = (char)(0x80 | (number & 0x7f));
    bytes[length++] = (char)number;
    pyro_buf_add(buf, bytes, length);
}

void pyro_page_add_column(pyro_page *page, const char *name, pyro_column_code code, size_t count,
                          pyro_number_at *at, const void *data)
{
    static const char *const names[] = {"varint", "delta", "byte"};
    size_t first = page->sections.length;
    int64_t before = 0;

    for (size_t i = 0; i < count; i++) {
        int64_t number = at(data, i);

        if (code == PYRO_CODE_BYTE) {
            pyro_buf_addc(&page->sections, (char)number);
        } else if (code == PYRO_CODE_DELTA) {
            int64_t difference = (int64_t)((uint64_t)number - (uint64_t)before);
            add_varint(&page->sections, ((uint64_t)difference << 1) ^ (uint64_t)(difference >> 63));
            before = number;
        } else {
            add_varint(&page->sections, (uint64_t)number);
        }
    }
    describe_section(page, name, names[code], count, first);
}

pyro_page_mark pyro_page_mark_here(const pyro_page *page)
{
    return (pyro_page_mark){page->header.length, page->sections.length, page->json};
}

void pyro_page_return_to(pyro_page *page, pyro_page_mark mark)
{
    page->header.length = mark.header_length;
    page->sections.length = mark.sections_length;
    page->json = mark.json;
}

bool pyro_page_fits(pyro_page *page, pyro_page_mark mark)
{
    uLong size = (uLong)(page->sections.length - mark.sections_length);
    uLong packed = compressBound(size);
    unsigned char *room = malloc(packed);
    bool good = room && compress2(room, &packed,
                                  (const unsigned char *)page->sections.data + mark.sections_length,
                                  size, Z_BEST_SPEED) == Z_OK;

    free(room);
    if (!good || page->packed_bytes + packed > MOST_PACKED_BYTES)
        return !good;
    page->packed_bytes += packed;
    return true;
}

/* "trace" of "pyrometer.trace/1"; NULL when the text is no such result. */
static char *kind_of(const char *text, size_t size)
{
    static const char mark[] = "\"pyrometer.";
    const char *found = memmem(text, size < 400 ? size : 400, mark, sizeof mark - 1);
    size_t length;

    if (!found)
        return NULL;
    found += sizeof mark - 1;
    length = strcspn(found, "/\"");
    return found[length] == '/' ? strndup(found, length) : NULL;
}

int pyro_page_add_json(pyro_page *page, const char *name, const char *text, size_t size,
                       pyro_error *error)
{
    char *kind = kind_of(text, size);

    if (!kind)
        return pyro_fail(error, PYRO_ERROR_FORMAT,
                         "not a result of pyrometer: \"schema\": \"pyrometer.NAME/1\" is missing");
    pyro_page_begin_part(page, kind, name);
    pyro_page_add_text(page, "result", text, size);
    pyro_page_end_part(page);
    free(kind);
    return PYRO_OK;
}

int pyro_page_add_diff(pyro_page *page, const char *name, const char *text, size_t size,
                       pyro_error *error)
{
    page->next_has_sides = true;
    return pyro_page_add_json(page, name, text, size, error);
}

/* Length of the header in 4 bytes, the header, the sections. */
static void add_container(pyro_buf *buf, const pyro_page *page)
{
    pyro_buf header = PYRO_BUF_INIT;
    pyro_json_writer json;
    uint32_t length;

    pyro_json_writer_init(&json, &header, 0);
    pyro_json_begin_object(&json);
    pyro_json_member_string(&json, "schema", PYRO_PAGE_SCHEMA);
    pyro_json_member_string(&json, "made_by", "pyrometer " PYRO_VERSION);
    pyro_json_member_string(&json, "title", page->title ? page->title : "pyrometer");
    pyro_json_key(&json, "parts");
    pyro_json_raw(&json, page->header.data);
    pyro_json_end_object(&json);
    length = (uint32_t)header.length;
    for (int shift = 0; shift < 32; shift += 8)
        pyro_buf_addc(buf, (char)(length >> shift));
    pyro_buf_add(buf, header.data, header.length);
    pyro_buf_add(buf, page->sections.data, page->sections.length);
    buf->failed = buf->failed || header.failed || page->header.failed || page->sections.failed;
    pyro_buf_free(&header);
}

static void add_base64(pyro_buf *buf, const unsigned char *bytes, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *out = pyro_buf_reserve(buf, (size + 2) / 3 * 4);
    size_t i = 0;

    if (!out)
        return;
    for (; i + 2 < size; i += 3) {
        uint32_t three = (uint32_t)bytes[i] << 16 | (uint32_t)bytes[i + 1] << 8 | bytes[i + 2];
        for (int shift = 18; shift >= 0; shift -= 6)
            *out++ = digits[three >> shift & 63];
    }
    if (i < size) {
        bool two = i + 1 < size;
        uint32_t rest = (uint32_t)bytes[i] << 16 | (two ? (uint32_t)bytes[i + 1] << 8 : 0);
        *out++ = digits[rest >> 18 & 63];
        *out++ = digits[rest >> 12 & 63];
        *out++ = two ? digits[rest >> 6 & 63] : '=';
        *out++ = '=';
    }
    buf->length += (size + 2) / 3 * 4;
}

static int add_compressed(pyro_buf *buf, const pyro_buf *data, pyro_error *error)
{
    uLong room = compressBound((uLong)data->length);
    unsigned char *packed = malloc(room);

    if (!packed || compress2(packed, &room, (const unsigned char *)data->data, (uLong)data->length,
                             Z_DEFAULT_COMPRESSION) != Z_OK) {
        free(packed);
        return pyro_fail_memory(error);
    }
    add_base64(buf, packed, room);
    free(packed);
    return PYRO_OK;
}

/* Copies the template up to a mark; returns what follows the mark. */
static const char *copy_until(pyro_buf *buf, const char *from, const char *end, const char *mark)
{
    const char *found = memmem(from, (size_t)(end - from), mark, strlen(mark));

    if (!found)
        return from;
    pyro_buf_add(buf, from, (size_t)(found - from));
    return found + strlen(mark);
}

int pyro_page_finish(char **out, size_t *size, pyro_page *page, pyro_error *error)
{
    const char *rest = (const char *)pyro_page_template;
    const char *end = rest + pyro_page_template_size;
    pyro_buf data = PYRO_BUF_INIT, html = PYRO_BUF_INIT;
    int status = PYRO_OK;

    pyro_json_end_array(&page->json);
    add_container(&data, page);
    rest = copy_until(&html, rest, end, TITLE_MARK);
    pyro_html_text(&html, page->title ? page->title : "pyrometer");
    rest = copy_until(&html, rest, end, DATA_MARK);
    if (data.failed)
        status = pyro_fail_memory(error);
    else
        status = add_compressed(&html, &data, error);
    pyro_buf_free(&data);
    pyro_buf_add(&html, rest, (size_t)(end - rest));
    *out = pyro_buf_detach(&html, size);
    if (status == PYRO_OK && !*out)
        status = pyro_fail_memory(error);
    if (status != PYRO_OK) {
        pyro_free(*out);
        *out = NULL;
    }
    return status;
}
