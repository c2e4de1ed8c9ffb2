/*
 * Turns what records refer to into the texts that Kineto would write: "Input Dims", "Input type"
 * and "Concrete Inputs" of a signature, and a stack with its innermost frame first.
 */
#include "trace/recording/recording.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define DEEPEST_LIST 8
#define DEEPEST_STACK 512
#define LONGEST_CHAIN 256

static const char *const type_names[] = {
    "unsigned char",
    "signed char",
    "short int",
    "int",
    "long int",
    "c10::Half",
    "float",
    "double",
    "c10::complex<c10::Half>",
    "c10::complex<float>",
    "c10::complex<double>",
    "bool",
    "c10::qint8",
    "c10::quint8",
    "c10::qint32",
    "c10::BFloat16",
    "c10::quint4x2",
    "c10::quint2x4",
    "c10::bits1x8",
    "c10::bits2x4",
    "c10::bits4x2",
    "c10::bits8",
    "c10::bits16",
    "c10::Float8_e5m2",
    "c10::Float8_e4m3fn",
    "c10::Float8_e5m2fnuz",
    "c10::Float8_e4m3fnuz",
    "short unsigned int",
    "unsigned int",
    "long unsigned int",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "c10::Float8_e8m0fnu",
    "c10::Float4_e2m1fn_x2",
};

/* The words of a signature, and the texts made from them. */
typedef struct rendering {
    const uint64_t *words;
    size_t count, at;
    pyro_buf dims, types, concrete;
    bool is_cut;
} rendering;

static unsigned kind_of(uint64_t head)
{
    return (unsigned)(head & 0xff);
}

static size_t count_of(uint64_t head)
{
    return (size_t)(head >> 32);
}

static const char *type_name(uint64_t head)
{
    size_t dtype = head >> 8 & 0xff;
    return dtype < sizeof type_names / sizeof *type_names ? type_names[dtype] : "";
}

/* As torch prints a double: whole numbers with a trailing point, others with all digits. */
static void add_real(pyro_buf *buf, double value)
{
    char text[40];
    if (isfinite(value) && fabs(value) < 1e10 && value == (double)(int64_t)value)
        snprintf(text, sizeof text, "%s%lld.", value == 0 && signbit(value) ? "-" : "",
                 (long long)value);
    else
        snprintf(text, sizeof text, "%.17g", value);
    for (char *c = text; *c; c++)
        *c = *c == ',' ? '.' : *c; /* a locale's decimal comma */
    pyro_buf_adds(buf, text);
}

static void add_dims(rendering *out, size_t count)
{
    pyro_buf_addc(&out->dims, '[');
    for (size_t i = 0; i < count; i++) {
        if (out->at >= out->count) {
            out->is_cut = true;
            break;
        }
        if (i)
            pyro_buf_add(&out->dims, ", ", 2);
        pyro_buf_add_integer(&out->dims, (int64_t)out->words[out->at++]);
    }
    pyro_buf_addc(&out->dims, ']');
}

/* Adds a scalar's word as text. */
static void add_scalar(rendering *out, unsigned kind)
{
    if (out->at >= out->count) {
        out->is_cut = true;
        return;
    }
    uint64_t word = out->words[out->at++];
    double real;
    switch (kind) {
    case PYRO_VALUE_INTEGER:
        pyro_buf_add_integer(&out->concrete, (int64_t)word);
        break;
    case PYRO_VALUE_REAL:
        memcpy(&real, &word, sizeof real);
        add_real(&out->concrete, real);
        break;
    default:
        pyro_buf_adds(&out->concrete, word ? "True" : "False");
    }
}

static bool is_scalar(unsigned kind)
{
    return kind == PYRO_VALUE_INTEGER || kind == PYRO_VALUE_REAL || kind == PYRO_VALUE_BOOLEAN;
}

/* Adds the elements of a list; returns the list's type name, which depends on them. */
static const char *add_elements(rendering *out, size_t count, int depth)
{
    bool has_tensor = false, has_dims = false, has_scalar = false;
    size_t concrete_start = out->concrete.length;
    pyro_buf_addc(&out->dims, '[');
    pyro_buf_addc(&out->concrete, '[');
    for (size_t i = 0; i < count && !out->is_cut; i++) {
        if (out->at >= out->count) {
            out->is_cut = true;
            break;
        }
        uint64_t head = out->words[out->at++];
        unsigned kind = kind_of(head);
        if (kind == PYRO_VALUE_CUT) {
            out->is_cut = true;
        } else if (kind == PYRO_VALUE_TENSOR || kind == PYRO_VALUE_NONE) {
            if (has_dims)
                pyro_buf_add(&out->dims, ", ", 2);
            add_dims(out, kind == PYRO_VALUE_TENSOR ? count_of(head) : 0);
            has_dims = true;
            has_tensor |= kind == PYRO_VALUE_TENSOR;
        } else if (is_scalar(kind)) {
            if (has_scalar)
                pyro_buf_add(&out->concrete, ", ", 2);
            add_scalar(out, kind);
            has_scalar = true;
        } else if (kind == PYRO_VALUE_LIST && depth < DEEPEST_LIST) {
            add_elements(out, count_of(head), depth + 1);
        }
    }
    pyro_buf_addc(&out->dims, ']');
    pyro_buf_addc(&out->concrete, ']');
    if (has_tensor && !out->concrete.failed)
        out->concrete.length = concrete_start;
    return has_tensor ? "TensorList" : "ScalarList";
}

static void add_value(rendering *out, uint64_t head)
{
    unsigned kind = kind_of(head);
    const char *type = "";
    pyro_buf_addc(&out->concrete, '"');
    if (kind == PYRO_VALUE_TENSOR) {
        add_dims(out, count_of(head));
        type = type_name(head);
    } else if (kind == PYRO_VALUE_LIST) {
        type = add_elements(out, count_of(head), 0);
    } else {
        pyro_buf_add(&out->dims, "[]", 2);
        if (is_scalar(kind)) {
            add_scalar(out, kind);
            type = "Scalar";
        }
    }
    pyro_buf_addc(&out->concrete, '"');
    pyro_buf_addc(&out->types, '"');
    pyro_buf_adds(&out->types, type);
    pyro_buf_addc(&out->types, '"');
}

static void render(rendering *out)
{
    pyro_buf *const texts[] = {&out->dims, &out->types, &out->concrete};
    for (int i = 0; i < 3; i++)
        pyro_buf_addc(texts[i], '[');
    for (bool first = true; out->at < out->count && !out->is_cut; first = false) {
        uint64_t head = out->words[out->at++];
        if (kind_of(head) == PYRO_VALUE_CUT)
            break;
        for (int i = 0; i < 3 && !first; i++)
            pyro_buf_add(texts[i], ", ", 2);
        add_value(out, head);
    }
    for (int i = 0; i < 3; i++)
        pyro_buf_addc(texts[i], ']');
}

void pyro_recorded_signature(const pyro_recorded_data *data, pyro_buf *dims, pyro_buf *types,
                             pyro_buf *concrete)
{
    rendering out = {.words = (const uint64_t *)(const void *)data->bytes,
                     .count = data->length / sizeof(uint64_t),
                     .dims = *dims,
                     .types = *types,
                     .concrete = *concrete};
    render(&out);
    *dims = out.dims;
    *types = out.types;
    *concrete = out.concrete;
}

static uint32_t keep_text(pyro_recording *recording, const pyro_buf *buf, bool *failed)
{
    uint32_t id = buf->failed ? PYRO_INTERN_NONE
                              : pyro_intern_add(&recording->trace->names, buf->data, buf->length);
    *failed |= id == PYRO_INTERN_NONE;
    return id;
}

const pyro_signature_texts *pyro_recording_signature(pyro_recording *recording, uint32_t id,
                                                     bool *failed)
{
    static const pyro_signature_texts none = {PYRO_NO_ID, PYRO_NO_ID, PYRO_NO_ID, true};
    const pyro_recorded_data *data = pyro_recorded_get(recording->tables, PYRO_DATA_SIGNATURE, id);
    if (!data->bytes || data->length < sizeof(uint64_t))
        return &none;
    pyro_signature_texts *texts = &recording->signatures[id];
    if (texts->known)
        return texts;
    pyro_buf dims = PYRO_BUF_INIT, types = PYRO_BUF_INIT, concrete = PYRO_BUF_INIT;
    pyro_recorded_signature(data, &dims, &types, &concrete);
    texts->dims = keep_text(recording, &dims, failed);
    texts->types = keep_text(recording, &types, failed);
    texts->concrete = keep_text(recording, &concrete, failed);
    texts->known = true;
    pyro_buf_free(&dims);
    pyro_buf_free(&types);
    pyro_buf_free(&concrete);
    return texts;
}

/* NUL would end the name for later readers, so it is replaced by U+FFFD. */
static uint32_t intern_with_nul(pyro_intern *names, const char *bytes, size_t length)
{
    pyro_buf text = PYRO_BUF_INIT;
    for (size_t i = 0; i < length; i++) {
        if (bytes[i])
            pyro_buf_addc(&text, bytes[i]);
        else
            pyro_buf_adds(&text, "\xef\xbf\xbd");
    }
    uint32_t id = text.failed ? PYRO_INTERN_NONE : pyro_intern_add(names, text.data, text.length);
    pyro_buf_free(&text);
    return id;
}

uint32_t pyro_recording_name(pyro_recording *recording, uint32_t id, bool *failed)
{
    const pyro_recorded_data *data = pyro_recorded_get(recording->tables, PYRO_DATA_NAME, id);
    if (!data->bytes)
        return PYRO_NO_ID;
    if (recording->names[id] == PYRO_NO_ID) {
        pyro_intern *names = &recording->trace->names;
        bool plain = !data->length || !memchr(data->bytes, 0, data->length);
        recording->names[id] = plain ? pyro_intern_add(names, data->bytes, data->length)
                                     : intern_with_nul(names, data->bytes, data->length);
        *failed |= recording->names[id] == PYRO_INTERN_NONE;
    }
    return recording->names[id];
}

/* Frames of a link of the chain, innermost first; whether there was room. */
static void add_frames(const pyro_recording *recording, pyro_buf *buf, const uint32_t *words,
                       size_t count, size_t *depth)
{
    for (size_t i = count; i > 1 && *depth < DEEPEST_STACK; i--) {
        const pyro_recorded_data *frame = pyro_recorded_get(recording->tables, PYRO_DATA_FRAME,
                                                            words[i - 1]);
        if (!frame->bytes)
            continue;
        if (buf->length)
            pyro_buf_addc(buf, ';');
        size_t length = strnlen(frame->bytes, frame->length), start = buf->length;
        pyro_buf_add(buf, frame->bytes, length);
        for (size_t at = start; !buf->failed && at < buf->length; at++)
            if (buf->data[at] == ';' || buf->data[at] == '\n')
                buf->data[at] = ' ';
        ++*depth;
    }
}

uint32_t pyro_recording_stack(pyro_recording *recording, uint32_t id, bool *failed)
{
    const pyro_recorded_tables *tables = recording->tables;
    if (!pyro_recorded_get(tables, PYRO_DATA_STACK, id)->bytes)
        return PYRO_NO_ID;
    if (recording->stacks[id] != PYRO_NO_ID)
        return recording->stacks[id];
    pyro_buf buf = PYRO_BUF_INIT;
    size_t depth = 0;
    uint32_t link = id;
    for (int links = 0; links < LONGEST_CHAIN; links++) {
        const pyro_recorded_data *data = pyro_recorded_get(tables, PYRO_DATA_STACK, link);
        if (!data->bytes || data->length < sizeof(uint32_t))
            break;
        const uint32_t *words = (const uint32_t *)(const void *)data->bytes;
        add_frames(recording, &buf, words, data->length / sizeof *words, &depth);
        link = words[0];
    }
    if (depth)
        recording->stacks[id] = keep_text(recording, &buf, failed);
    pyro_buf_free(&buf);
    return recording->stacks[id];
}
