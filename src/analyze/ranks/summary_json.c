/*
 * Writes and reads a summary as JSON: all texts once, then every part, with rows as arrays of
 * integers whose members the tables below name. Treats input as untrusted.
 */
#include "analyze/ranks/summarize.h"
#include "analyze/ranks/summary.h"
#include "base/containers/buf.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/json/write.h"

#include <stdlib.h>
#include <string.h>

#define SCHEMA "pyrometer.rank-summary/1"
#define MOST_TEXTS 4000000

typedef enum field_kind { COUNT, TIME, TEXT } field_kind;

/* A member of a row; its place in the array is its place in the table. */
typedef struct field {
    size_t offset;
    field_kind kind;
    bool is_new; /* summaries of earlier versions end before it: unknown there */
} field;

#define STEP(member) {offsetof(pyro_rank_step, member), TIME, false}
static const field step_fields[] = {
    {offsetof(pyro_rank_step, number), COUNT, false},
    STEP(start_ns),
    STEP(span_ns),
    STEP(compute_ns),
    STEP(communication_ns),
    STEP(communication_exposed_ns),
    STEP(idle_ns),
    STEP(data_loading_ns),
};

#define COLLECTIVE(member, kind) {offsetof(pyro_rank_collective, member), kind, false}
static const field collective_fields[] = {
    COLLECTIVE(kind, TEXT),
    COLLECTIVE(group, TEXT),
    COLLECTIVE(step, COUNT),
    COLLECTIVE(ordinal, COUNT),
    COLLECTIVE(group_size, COUNT),
    COLLECTIVE(message_bytes, COUNT),
    COLLECTIVE(arrival_ns, TIME),
    COLLECTIVE(start_ns, TIME),
    COLLECTIVE(end_ns, TIME),
    COLLECTIVE(exposed_ns, TIME),
    {offsetof(pyro_rank_collective, number), COUNT, true},
    {offsetof(pyro_rank_collective, comms_id), TEXT, true},
};

#define LAYER(member, kind) {offsetof(pyro_rank_layer, member), kind, false}
static const field layer_fields[] = {
    LAYER(path, TEXT),           LAYER(class_name, TEXT),       LAYER(phase, COUNT),
    LAYER(host_ns, TIME),        LAYER(device_ns, TIME),        LAYER(ops[0].name, TEXT),
    LAYER(ops[0].host_ns, TIME), LAYER(ops[0].device_ns, TIME), LAYER(ops[1].name, TEXT),
    LAYER(ops[1].host_ns, TIME), LAYER(ops[1].device_ns, TIME), LAYER(ops[2].name, TEXT),
    LAYER(ops[2].host_ns, TIME), LAYER(ops[2].device_ns, TIME),
};
_Static_assert(PYRO_RANK_LAYER_OPS == 3, "the table above names them");

#define PART(member, kind) {offsetof(pyro_rank_part, member), kind, false}
static const field part_fields[] = {
    PART(rank, COUNT),
    PART(cycle, COUNT),
    PART(world_size, COUNT),
    PART(file, TEXT),
    PART(device, TEXT),
    PART(start_ns, TIME),
    PART(span_ns, TIME),
    PART(events, COUNT),
    PART(warnings, COUNT),
    PART(on_device, COUNT),
    PART(memory_peak_bytes, COUNT),
    PART(flops, COUNT),
    PART(left_out, COUNT),
    {offsetof(pyro_rank_part, host), TEXT, true},
};

typedef struct row_table {
    const char *key;
    const field *fields;
    size_t field_count, row_size, limit;
    size_t rows_offset, count_offset, capacity_offset; /* in a part */
} row_table;

#define TABLE(name, table, most) \
    {#name "s", \
     table, \
     sizeof table / sizeof *table, \
     sizeof(pyro_rank_##name), \
     most, \
     offsetof(pyro_rank_part, name##s), \
     offsetof(pyro_rank_part, name##_count), \
     offsetof(pyro_rank_part, name##_capacity)}
static const row_table tables[] = {
    TABLE(step, step_fields, PYRO_RANK_MOST_STEPS),
    TABLE(collective, collective_fields, PYRO_RANK_MOST_COLLECTIVES),
    TABLE(layer, layer_fields, PYRO_RANK_MOST_LAYERS),
};
#define TABLE_COUNT (sizeof tables / sizeof *tables)

/* Texts are numbered in the order in which parts use them, whatever order they came in. */
typedef struct writer {
    const pyro_rank_summary *summary;
    pyro_json_writer json;
    uint32_t *numbers, *order;
    uint32_t count;
} writer;

static int64_t number_text(writer *writer, uint32_t id)
{
    if (id == PYRO_NO_ID)
        return -1;
    if (writer->numbers[id] == PYRO_NO_ID) {
        writer->order[writer->count] = id;
        writer->numbers[id] = writer->count++;
    }
    return writer->numbers[id];
}

static void write_row(writer *writer, const field *fields, size_t count, const void *row)
{
    pyro_json_begin_array_inline(&writer->json);
    for (size_t i = 0; i < count; i++) {
        const char *member = (const char *)row + fields[i].offset;
        pyro_json_integer(&writer->json, fields[i].kind == TEXT
                                             ? number_text(writer, *(const uint32_t *)member)
                                             : *(const int64_t *)member);
    }
    pyro_json_end_array(&writer->json);
}

static void write_part(writer *writer, const pyro_rank_part *part)
{
    pyro_json_begin_object(&writer->json);
    pyro_json_key(&writer->json, "rank");
    write_row(writer, part_fields, sizeof part_fields / sizeof *part_fields, part);
    for (size_t t = 0; t < TABLE_COUNT; t++) {
        const char *rows = *(char *const *)((const char *)part + tables[t].rows_offset);
        size_t count = *(const size_t *)((const char *)part + tables[t].count_offset);
        pyro_json_key(&writer->json, tables[t].key);
        pyro_json_begin_array(&writer->json);
        for (size_t i = 0; i < count; i++)
            write_row(writer, tables[t].fields, tables[t].field_count,
                      rows + i * tables[t].row_size);
        pyro_json_end_array(&writer->json);
    }
    pyro_json_end_object(&writer->json);
}

static void write_summary(writer *writer)
{
    pyro_json_writer *json = &writer->json;
    pyro_json_begin_object(json);
    pyro_json_member_string(json, "schema", SCHEMA);
    pyro_json_key(json, "parts");
    pyro_json_begin_array(json);
    for (size_t i = 0; i < writer->summary->count; i++)
        write_part(writer, &writer->summary->parts[i]);
    pyro_json_end_array(json);
    pyro_json_key(json, "texts");
    pyro_json_begin_array(json);
    for (uint32_t i = 0; i < writer->count; i++)
        pyro_json_string(json, pyro_rank_text(writer->summary, writer->order[i]));
    pyro_json_end_array(json);
    pyro_json_end_object(json);
    pyro_buf_addc(json->buf, '\n');
}

int pyro_rank_summary_write(char **out, size_t *size, const pyro_rank_summary *summary,
                            pyro_error *error)
{
    pyro_buf buf = PYRO_BUF_INIT;
    size_t texts = summary->texts.count;
    writer writer = {.summary = summary,
                     .numbers = malloc((texts + 1) * sizeof(uint32_t)),
                     .order = malloc((texts + 1) * sizeof(uint32_t))};
    *out = NULL;
    if (writer.numbers && writer.order) {
        for (size_t i = 0; i < texts; i++)
            writer.numbers[i] = PYRO_NO_ID;
        pyro_json_writer_init(&writer.json, &buf, 0);
        write_summary(&writer);
        *out = pyro_buf_detach(&buf, size);
    }
    pyro_buf_free(&buf);
    free(writer.numbers);
    free(writer.order);
    return *out ? PYRO_OK : pyro_fail_memory(error);
}

/* Texts come last: until then parts hold numbers. */
typedef struct reader {
    pyro_rank_summary *summary;
    pyro_json *json;
    pyro_rank_part *parts;
    size_t count, capacity;
    uint32_t *texts;
    size_t text_count, text_capacity;
} reader;

static int read_row(reader *reader, const field *fields, size_t count, void *row)
{
    if (pyro_json_current(reader->json) != PYRO_JSON_ARRAY)
        return pyro_json_fail(reader->json, "expected a row");
    bool ended = false;
    for (size_t i = 0; i < count; i++) {
        char *member = (char *)row + fields[i].offset;
        int64_t value = -1;
        pyro_json_kind next = ended ? PYRO_JSON_ARRAY_END : pyro_json_next(reader->json);
        ended = next == PYRO_JSON_ARRAY_END && fields[i].is_new;
        if (!ended && (next != PYRO_JSON_NUMBER || !pyro_json_int(reader->json, &value)))
            return pyro_json_fail(reader->json, "expected an integer");
        if (fields[i].kind == TEXT)
            *(uint32_t *)member = value >= 0 && value < MOST_TEXTS ? (uint32_t)value : PYRO_NO_ID;
        else
            *(int64_t *)member = pyro_rank_clamp(value);
    }
    if (!ended && pyro_json_next(reader->json) != PYRO_JSON_ARRAY_END)
        return pyro_json_fail(reader->json, "expected the end of a row");
    return PYRO_OK;
}

static int read_table(reader *reader, const row_table *table, pyro_rank_part *part)
{
    void *rows = (char *)part + table->rows_offset;
    size_t *count = (size_t *)((char *)part + table->count_offset);
    size_t *capacity = (size_t *)((char *)part + table->capacity_offset);
    if (pyro_json_next(reader->json) != PYRO_JSON_ARRAY)
        return pyro_json_fail(reader->json, "expected rows");
    while (pyro_json_next(reader->json) != PYRO_JSON_ARRAY_END) {
        if (*count >= table->limit)
            return pyro_json_fail(reader->json, "expected no more rows");
        if (!pyro_grow(rows, capacity, *count + 1, table->row_size))
            return PYRO_ERROR_MEMORY;
        char *row = *(char **)rows + *count * table->row_size;
        memset(row, 0, table->row_size);
        int status = read_row(reader, table->fields, table->field_count, row);
        if (status != PYRO_OK)
            return status;
        (*count)++;
    }
    return PYRO_OK;
}

static int read_part(reader *reader)
{
    int status = PYRO_OK;
    if (!pyro_grow(&reader->parts, &reader->capacity, reader->count + 1, sizeof *reader->parts))
        return PYRO_ERROR_MEMORY;
    pyro_rank_part *part = &reader->parts[reader->count++];
    memset(part, 0, sizeof *part);
    part->file = part->device = part->host = PYRO_NO_ID;
    while (status == PYRO_OK && pyro_json_next(reader->json) == PYRO_JSON_KEY) {
        size_t t = 0;
        while (t < TABLE_COUNT && !pyro_json_is(reader->json, tables[t].key, strlen(tables[t].key)))
            t++;
        if (PYRO_JSON_IS(reader->json, "rank")) {
            pyro_json_next(reader->json);
            status = read_row(reader, part_fields, sizeof part_fields / sizeof *part_fields, part);
        } else if (t < TABLE_COUNT) {
            status = read_table(reader, &tables[t], part);
        } else {
            pyro_json_skip(reader->json);
        }
    }
    return status;
}

static int read_parts(reader *reader)
{
    int status = PYRO_OK;
    if (pyro_json_next(reader->json) != PYRO_JSON_ARRAY)
        return pyro_json_fail(reader->json, "expected parts");
    while (status == PYRO_OK && pyro_json_next(reader->json) == PYRO_JSON_OBJECT)
        status = read_part(reader);
    return status;
}

static int read_texts(reader *reader)
{
    if (pyro_json_next(reader->json) != PYRO_JSON_ARRAY)
        return pyro_json_fail(reader->json, "expected texts");
    while (pyro_json_next(reader->json) == PYRO_JSON_STRING) {
        size_t length;
        const char *text = pyro_json_text(reader->json, &length);
        if (!pyro_grow(&reader->texts, &reader->text_capacity, reader->text_count + 1,
                       sizeof *reader->texts))
            return PYRO_ERROR_MEMORY;
        uint32_t id = pyro_rank_intern(reader->summary, text);
        if (id == PYRO_NO_ID)
            return PYRO_ERROR_MEMORY;
        reader->texts[reader->text_count++] = id;
    }
    return PYRO_OK;
}

static int read_summary(reader *reader)
{
    int status = PYRO_OK;
    bool has_schema = false;
    if (pyro_json_next(reader->json) != PYRO_JSON_OBJECT)
        return pyro_json_fail(reader->json, "expected a summary of ranks");
    while (status == PYRO_OK && pyro_json_next(reader->json) == PYRO_JSON_KEY) {
        if (PYRO_JSON_IS(reader->json, "schema")) {
            has_schema = pyro_json_next(reader->json) == PYRO_JSON_STRING &&
                         PYRO_JSON_IS(reader->json, SCHEMA);
            if (!has_schema)
                status = pyro_json_fail(reader->json, "expected schema " SCHEMA);
        } else if (PYRO_JSON_IS(reader->json, "parts")) {
            status = read_parts(reader);
        } else if (PYRO_JSON_IS(reader->json, "texts")) {
            status = read_texts(reader);
        } else {
            pyro_json_skip(reader->json);
        }
    }
    if (status == PYRO_OK)
        status = pyro_json_status(reader->json);
    if (status == PYRO_OK && !has_schema)
        status = pyro_json_fail(reader->json, "expected schema " SCHEMA);
    return status;
}

static void resolve(const reader *reader, const field *fields, size_t count, void *row)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t *id = (uint32_t *)((char *)row + fields[i].offset);
        if (fields[i].kind == TEXT && *id != PYRO_NO_ID)
            *id = *id < reader->text_count ? reader->texts[*id] : PYRO_NO_ID;
    }
}

static void resolve_part(const reader *reader, pyro_rank_part *part)
{
    resolve(reader, part_fields, sizeof part_fields / sizeof *part_fields, part);
    for (size_t t = 0; t < TABLE_COUNT; t++) {
        char *rows = *(char **)((char *)part + tables[t].rows_offset);
        size_t count = *(size_t *)((char *)part + tables[t].count_offset);
        for (size_t i = 0; i < count; i++)
            resolve(reader, tables[t].fields, tables[t].field_count, rows + i * tables[t].row_size);
    }
}

static int insert_parts(reader *reader, pyro_error *error)
{
    int status = PYRO_OK;
    size_t i = 0;
    for (; i < reader->count && status == PYRO_OK; i++) {
        resolve_part(reader, &reader->parts[i]);
        status = pyro_rank_summary_insert(reader->summary, &reader->parts[i], error);
    }
    /* The summary owns all inserted parts, also after a failure. */
    memmove(reader->parts, reader->parts + i, (reader->count - i) * sizeof *reader->parts);
    reader->count -= i;
    return status;
}

int pyro_rank_summary_read(pyro_rank_summary **out, const void *data, size_t size,
                           pyro_error *error)
{
    reader reader = {.summary = pyro_rank_summary_new()};
    pyro_source *source = NULL;
    *out = NULL;
    int status = reader.summary ? pyro_source_open_memory(&source, data, size, error)
                                : PYRO_ERROR_MEMORY;
    if (status == PYRO_OK)
        status = pyro_json_open(&reader.json, source, NULL, error);
    if (status == PYRO_OK)
        status = read_summary(&reader);
    if (status == PYRO_OK && reader.count)
        status = insert_parts(&reader, error);
    for (size_t i = 0; i < reader.count; i++)
        pyro_rank_part_free(&reader.parts[i]);
    free(reader.parts);
    free(reader.texts);
    pyro_json_close(reader.json);
    pyro_source_close(source);
    if (status == PYRO_OK) {
        *out = reader.summary;
        return PYRO_OK;
    }
    pyro_rank_summary_free(reader.summary);
    return status == PYRO_ERROR_MEMORY ? pyro_fail_memory(error) : status;
}
