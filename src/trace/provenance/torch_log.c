/* Reads the structured log of torch.compile, as TORCH_TRACE writes it. */
#include "trace/provenance/torch_log.h"

#include "base/error.h"
#include <stdlib.h>
#include <string.h>

#define READ_BYTES ((size_t)1 << 16)
#define LONGEST_HEADER ((size_t)1 << 20)
#define LARGEST_PAYLOAD ((size_t)256 << 20)
#define MOST_COMPILATIONS 10000

/* What a payload is about. */
typedef enum payload_kind {
    OTHER,
    CAPTURED_GRAPH,
    COMPILED_GRAPH,
    WRAPPER,
    MAPPINGS,
    CACHE_KEY
} payload_kind;

/* A compilation by its id "frame/attempt", kept because its backward is compiled later. */
typedef struct frame {
    uint64_t id;
    pyro_compilation compilation;
} frame;

typedef struct log_reader {
    pyro_provenance *all;
    frame **frames;
    size_t count, capacity;
    pyro_buf header, payload;
    payload_kind kind; /* of the payload that is being read */
    uint64_t frame_id;
    bool in_payload, too_long;
    size_t headers;
    bool failed;
} log_reader;

static frame *frame_of(log_reader *log, uint64_t id)
{
    for (size_t i = log->count; i-- > 0;)
        if (log->frames[i]->id == id)
            return log->frames[i];
    frame *new_frame = log->count < MOST_COMPILATIONS ? calloc(1, sizeof *new_frame) : NULL;
    if (!new_frame ||
        !pyro_grow(&log->frames, &log->capacity, log->count + 1, sizeof *log->frames)) {
        log->failed |= log->count < MOST_COMPILATIONS;
        free(new_frame);
        return NULL;
    }
    new_frame->id = id;
    pyro_compilation_init(&new_frame->compilation, log->all);
    log->frames[log->count++] = new_frame;
    return new_frame;
}

static bool has(const pyro_buf *text, const char *word)
{
    return memmem(text->data, text->length, word, strlen(word)) != NULL;
}

static payload_kind kind_of(const pyro_buf *header)
{
    static const struct {
        const char *word;
        payload_kind kind;
    } words[] = {
        {"\"inductor_output_code\"", WRAPPER},
        {"\"before_pre_grad_graph\"", CAPTURED_GRAPH},
        {"\"inductor_post_grad_graph\"", COMPILED_GRAPH},
        {"\"inductor_provenance_tracking_node_mappings\"", MAPPINGS},
        {"\"inductor_provenance_tracking_kernel_stack_traces\"", MAPPINGS},
        {"\"fx_graph_cache_miss\"", CACHE_KEY},
        {"\"fx_graph_cache_hit\"", CACHE_KEY},
        {"\"fx_graph_cache_bypass\"", CACHE_KEY},
        {"\"dynamo_output_graph\"", CAPTURED_GRAPH},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (has(header, words[i].word))
            return words[i].kind;
    return OTHER;
}

static uint64_t number_behind(const pyro_buf *header, const char *key)
{
    const char *at = memmem(header->data, header->length, key, strlen(key));
    return at ? strtoull(at + strlen(key) + strspn(at + strlen(key), ": "), NULL, 10) : UINT32_MAX;
}

/* "key": "fo7d4x..." in a payload about the cache. */
static void take_key(pyro_compilation *compilation, const pyro_buf *payload)
{
    const char *at = memmem(payload->data, payload->length, "\"key\"", 5);
    at = at ? strchr(at + 5, '"') : NULL;
    size_t length = at ? strcspn(at + 1, "\"\\") : 0;
    if (length && length < 256)
        pyro_buf_add(&compilation->key, at + 1, length);
    pyro_compilation_flush(compilation);
}

/* A later graph of the same frame is another graph, unless this is its first text. */
static void take_wrapper(pyro_compilation *compilation, const pyro_buf *payload)
{
    if (compilation->call_count)
        pyro_compilation_flush(compilation);
    pyro_read_wrapper(compilation, payload->data, payload->length);
}

static void take_captured(pyro_compilation *compilation, payload_kind kind, const pyro_buf *payload)
{
    (void)kind;
    pyro_compilation_restart(compilation);
    pyro_read_captured_graph(compilation, payload->data, payload->length);
}

static void finish_payload(log_reader *log)
{
    payload_kind kind = log->kind;
    log->kind = OTHER;
    if (kind == OTHER || !log->payload.length)
        return;
    if (log->too_long || log->payload.failed) {
        log->all->damaged++;
        return;
    }
    frame *frame = frame_of(log, log->frame_id);
    if (!frame)
        return;
    pyro_compilation *compilation = &frame->compilation;
    if (kind == WRAPPER)
        take_wrapper(compilation, &log->payload);
    else if (kind == CAPTURED_GRAPH)
        take_captured(compilation, kind, &log->payload);
    else if (kind == COMPILED_GRAPH)
        pyro_read_compiled_graph(compilation, log->payload.data, log->payload.length);
    else if (kind == CACHE_KEY)
        take_key(compilation, &log->payload);
    else
        log->all->damaged += !pyro_read_mappings(compilation, log->payload.data,
                                                 log->payload.length);
    log->failed |= compilation->failed;
}

static void finish_header(log_reader *log)
{
    const char *brace = log->header.length ? memmem(log->header.data, log->header.length, "] {", 3)
                                           : NULL;
    if (!brace)
        return;
    log->headers++;
    log->kind = has(&log->header, "\"has_payload\"") ? kind_of(&log->header) : OTHER;
    log->frame_id = number_behind(&log->header, "\"frame_id\"") << 32 |
                    (number_behind(&log->header, "\"frame_compile_id\"") & UINT32_MAX);
    pyro_buf_reset(&log->payload);
    log->too_long = false;
}

/* One piece of a line: the whole line, or what of it was read so far. */
static void take_piece(log_reader *log, const char *text, size_t length, bool begins, bool ends)
{
    if (begins) {
        log->in_payload = length && text[0] == '\t';
        if (!log->in_payload) {
            finish_payload(log);
            pyro_buf_reset(&log->header);
        } else {
            text++;
            length--;
        }
    }
    if (!log->in_payload) {
        if (log->header.length + length <= LONGEST_HEADER)
            pyro_buf_add(&log->header, text, length);
        if (ends)
            finish_header(log);
        return;
    }
    if (log->kind == OTHER)
        return;
    if (log->payload.length + length + 1 > LARGEST_PAYLOAD) {
        log->too_long = true;
        return;
    }
    pyro_buf_add(&log->payload, text, length);
    if (ends)
        pyro_buf_addc(&log->payload, '\n');
}

static int read_lines(log_reader *log, pyro_source *source, pyro_error *error)
{
    char *bytes = malloc(READ_BYTES);
    bool begins = true;
    int64_t size = bytes ? 1 : 0;
    int status = bytes ? PYRO_OK : pyro_fail_memory(error);
    while (size > 0 && !log->failed) {
        size = pyro_source_read(source, bytes, READ_BYTES, error);
        if (size < 0)
            status = (int)size;
        for (int64_t at = 0; at < size;) {
            const char *newline = memchr(bytes + at, '\n', (size_t)(size - at));
            size_t length = newline ? (size_t)(newline - bytes - at) : (size_t)(size - at);
            take_piece(log, bytes + at, length, begins, newline != NULL);
            begins = newline != NULL;
            at += (int64_t)length + (newline != NULL);
        }
        /* A file that begins with a megabyte of anything else is no log. */
        if (!log->headers && log->header.length >= LONGEST_HEADER - READ_BYTES)
            break;
    }
    free(bytes);
    return status;
}

int pyro_provenance_read_log(pyro_provenance *all, pyro_source *source, pyro_error *error)
{
    log_reader log = {.all = all};
    int status = read_lines(&log, source, error);
    finish_payload(&log);
    for (size_t i = 0; i < log.count; i++) {
        pyro_compilation_flush(&log.frames[i]->compilation);
        log.failed |= log.frames[i]->compilation.failed;
        pyro_compilation_free(&log.frames[i]->compilation);
        free(log.frames[i]);
    }
    bool no_memory = log.failed || log.header.failed;
    free(log.frames);
    pyro_buf_free(&log.header);
    pyro_buf_free(&log.payload);
    if (no_memory)
        return pyro_fail_memory(error);
    if (status == PYRO_OK && !log.headers)
        return pyro_fail(error, PYRO_ERROR_FORMAT, "not a log of TORCH_TRACE");
    return status;
}
