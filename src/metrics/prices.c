/* Prices the calls of ops, each combination of name and inputs once per session. */
#include "metrics/counters.h"

#include "analyze/prices.h"
#include "base/containers/buf.h"

#include <stdlib.h>

#define MOST_PRICES ((size_t)1 << 20)

/* The device of the first tensor among the inputs; 0, the processor, without one. */
static uint8_t device_type_of(const pyro_recorded_data *data)
{
    const uint64_t *words = (const uint64_t *)(const void *)data->bytes;
    size_t count = data->length / sizeof *words, at = 0;
    while (at < count) {
        uint64_t head = words[at++];
        switch (head & 0xff) {
        case PYRO_VALUE_TENSOR:
            return (uint8_t)(head >> 16 & 0xff);
        case PYRO_VALUE_INTEGER:
        case PYRO_VALUE_REAL:
        case PYRO_VALUE_BOOLEAN:
            at++;
            break;
        case PYRO_VALUE_CUT:
            return 0;
        default: /* the elements of a list follow it like other values */
            break;
        }
    }
    return 0;
}

static void price_call(pyro_counters *counters, const pyro_recorded_data *name,
                       const pyro_recorded_data *inputs, pyro_call_price *price)
{
    pyro_buf dims = PYRO_BUF_INIT, types = PYRO_BUF_INIT, concrete = PYRO_BUF_INIT;
    pyro_buf text = PYRO_BUF_INIT;
    pyro_op_kind kind = {.flops = -1, .bytes = -1, .dtype = PYRO_DTYPE_UNKNOWN};
    pyro_buf_add(&text, name->bytes, name->length);
    pyro_recorded_signature(inputs, &dims, &types, &concrete);
    if (!text.failed && !dims.failed && !types.failed && !concrete.failed) {
        pyro_call_texts texts = {text.data, dims.data, types.data, concrete.data};
        pyro_price_call(&kind, &counters->index, counters->signature, &texts);
    }
    *price = (pyro_call_price){kind.flops, kind.bytes, device_type_of(inputs), kind.dtype};
    pyro_buf_free(&text);
    pyro_buf_free(&dims);
    pyro_buf_free(&types);
    pyro_buf_free(&concrete);
}

const pyro_call_price *pyro_counters_price(pyro_counters *counters, const pyro_tail_batch *batch,
                                           const pyro_record *record)
{
    uint64_t key = (uint64_t)record->name << 32 | record->inputs;
    uint32_t at = pyro_map_get(&counters->price_of, key);
    if (at != PYRO_MAP_NONE)
        return &counters->prices[at];
    const pyro_recorded_data *name = pyro_recorded_get(batch->tables, PYRO_DATA_NAME, record->name);
    const pyro_recorded_data *inputs = pyro_recorded_get(batch->tables, PYRO_DATA_SIGNATURE,
                                                         record->inputs);
    if (!name->bytes || !inputs->bytes || inputs->length < sizeof(uint64_t))
        return NULL;
    /* A program whose shapes never repeat: start the table again. */
    if (counters->price_count >= MOST_PRICES) {
        pyro_map_free(&counters->price_of);
        counters->price_of = (pyro_map)PYRO_MAP_INIT;
        counters->price_count = 0;
    }
    if (!pyro_grow(&counters->prices, &counters->price_capacity, counters->price_count + 1,
                   sizeof *counters->prices) ||
        !pyro_map_put(&counters->price_of, key, (uint32_t)counters->price_count))
        return NULL;
    pyro_call_price *price = &counters->prices[counters->price_count++];
    price_call(counters, name, inputs, price);
    return price;
}
