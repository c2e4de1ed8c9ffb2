/* Writes the blocks of memory of a trace as sections of a page. */
#include "report/page/page.h"

#include "analyze/memory/blocks.h"
#include "base/containers/intern.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

/* About 1 MB of a page. */
#define MOST_BLOCKS 100000

typedef struct named_blocks {
    const pyro_memory_blocks *all;
    const uint32_t *layers, *ops; /* numbers of texts, by block */
    int64_t start_ns, end_ns; /* of the timeline */
} named_blocks;

static int64_t start_at(const void *data, size_t i)
{
    const named_blocks *blocks = data;

    return blocks->all->blocks[i].start_ns - blocks->start_ns;
}

/* A block that is never freed lives one nanosecond longer than the trace. */
static int64_t lifetime_at(const void *data, size_t i)
{
    const named_blocks *blocks = data;
    const pyro_memory_block *block = &blocks->all->blocks[i];
    int64_t end_ns = block->end_ns == INT64_MAX ? blocks->end_ns + 1 : block->end_ns;

    return end_ns > block->start_ns ? end_ns - block->start_ns : 0;
}

static int64_t bytes_at(const void *data, size_t i)
{
    return ((const named_blocks *)data)->all->blocks[i].bytes;
}

static int64_t layer_at(const void *data, size_t i)
{
    return ((const named_blocks *)data)->layers[i];
}

static int64_t op_at(const void *data, size_t i)
{
    return ((const named_blocks *)data)->ops[i];
}

static int64_t device_at(const void *data, size_t i)
{
    return ((const named_blocks *)data)->all->blocks[i].device & 0xff;
}

/* Times of the curves since the start: JavaScript cannot subtract times since 1970 exactly. */
static void write_times(pyro_json_writer *json, const pyro_analysis *analysis, int64_t start_ns)
{
    pyro_json_key(json, "curve_times");
    pyro_json_begin_array(json);
    for (size_t i = 0; i < analysis->memory_count; i++) {
        pyro_json_begin_array(json);
        for (size_t k = 0; k < analysis->memory[i].curve_count; k++)
            pyro_json_integer(json, analysis->memory[i].curve[k].time_ns - start_ns);
        pyro_json_end_array(json);
    }
    pyro_json_end_array(json);
}

static void add_head(pyro_page *page, const pyro_memory_blocks *blocks, const pyro_intern *texts,
                     const pyro_analysis *analysis, int64_t start_ns)
{
    pyro_buf text = PYRO_BUF_INIT;
    pyro_json_writer json;

    pyro_json_writer_init(&json, &text, 0);
    pyro_json_begin_object(&json);
    pyro_json_member_integer(&json, "left_out", blocks->left_out);
    pyro_json_member_integer(&json, "least_bytes", blocks->least_bytes);
    pyro_json_key(&json, "texts");
    pyro_json_begin_array(&json);
    for (uint32_t i = 0; i < texts->count; i++)
        pyro_json_string(&json, pyro_intern_text(texts, i));
    pyro_json_end_array(&json);
    write_times(&json, analysis, start_ns);
    pyro_json_end_object(&json);
    pyro_page_add_text(page, "blocks", text.data, text.length);
    page->sections.failed = page->sections.failed || text.failed;
    pyro_buf_free(&text);
}

/* Numbers the owners of all blocks; false when memory is out. */
static bool number_owners(uint32_t *layers, uint32_t *ops, const pyro_memory_blocks *blocks,
                          const pyro_trace *trace, pyro_intern *texts)
{
    for (size_t i = 0; i < blocks->count; i++) {
        const pyro_memory_block *block = &blocks->blocks[i];
        const char *op = block->op != PYRO_NO_ID ? pyro_trace_text(trace, block->op) : "";

        layers[i] = pyro_intern_add(texts, block->layer, strlen(block->layer));
        ops[i] = pyro_intern_add(texts, op, strlen(op));
        if (layers[i] == PYRO_INTERN_NONE || ops[i] == PYRO_INTERN_NONE)
            return false;
    }
    return true;
}

static void add_columns(pyro_page *page, const named_blocks *named)
{
    size_t count = named->all->count;

    pyro_page_add_column(page, "block_start", PYRO_CODE_DELTA, count, start_at, named);
    pyro_page_add_column(page, "block_lifetime", PYRO_CODE_VARINT, count, lifetime_at, named);
    pyro_page_add_column(page, "block_bytes", PYRO_CODE_VARINT, count, bytes_at, named);
    pyro_page_add_column(page, "block_layer", PYRO_CODE_VARINT, count, layer_at, named);
    pyro_page_add_column(page, "block_op", PYRO_CODE_VARINT, count, op_at, named);
    pyro_page_add_column(page, "block_device", PYRO_CODE_BYTE, count, device_at, named);
}

int pyro_page_add_memory(pyro_page *page, const pyro_timeline *timeline, pyro_page_sources sources,
                         pyro_error *error)
{
    const pyro_trace *trace = sources.trace;
    pyro_memory_blocks blocks;
    pyro_arena arena = {0};
    pyro_intern texts;
    uint32_t *layers = NULL, *ops = NULL;
    int status = pyro_memory_blocks_make(&blocks, trace, sources.joins, MOST_BLOCKS, error);

    if (status != PYRO_OK || blocks.count == 0) {
        pyro_memory_blocks_free(&blocks);
        return status;
    }
    pyro_intern_init(&texts, &arena);
    layers = calloc(blocks.count, sizeof *layers);
    ops = calloc(blocks.count, sizeof *ops);
    if (layers && ops && number_owners(layers, ops, &blocks, trace, &texts)) {
        named_blocks named = {&blocks, layers, ops, timeline->start_ns,
                              timeline->start_ns + timeline->span_ns};

        add_head(page, &blocks, &texts, sources.analysis, timeline->start_ns);
        add_columns(page, &named);
    } else {
        status = pyro_fail_memory(error);
    }
    free(layers);
    free(ops);
    pyro_intern_free(&texts);
    pyro_arena_free(&arena);
    pyro_memory_blocks_free(&blocks);
    return status;
}
