/* Fuzzes tables of efficiencies: a valid one can be written, read again, merged and looked up. */
#include "predict/efficiency.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_up(const pyro_efficiency_table *table)
{
    size_t chips = pyro_efficiency_chip_count(table);
    for (size_t i = 0; i < chips; i++) {
        for (int bits = 0; bits < 62; bits += 5) {
            struct pyro_op_work work = {.kind = "gemm",
                                        .dtype = "bfloat16",
                                        .flops = UINT64_C(1) << bits,
                                        .bytes = UINT64_C(3) << bits,
                                        .m = INT64_C(1) << bits,
                                        .n = 7};
            struct pyro_efficiency found;
            if (pyro_efficiency_find(table, &work, pyro_efficiency_chip(table, i), &found) &&
                !(found.time_ns > 0 && isfinite(found.time_ns) && found.low <= 1 &&
                  found.high >= 1))
                abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pyro_efficiency_table *table = pyro_efficiency_new(), *again = pyro_efficiency_new();
    pyro_buf text = PYRO_BUF_INIT, second = PYRO_BUF_INIT;
    if (!table || !again)
        abort();
    if (pyro_efficiency_read_memory(table, data, size, NULL) == PYRO_OK) {
        if (pyro_efficiency_write(table, &text, NULL) != PYRO_OK ||
            pyro_efficiency_read_memory(again, text.data, text.length, NULL) != PYRO_OK ||
            pyro_efficiency_write(again, &second, NULL) != PYRO_OK ||
            text.length != second.length || memcmp(text.data, second.data, text.length) != 0 ||
            pyro_efficiency_prepare(again, NULL) != PYRO_OK)
            abort();
        look_up(again);
    }
    pyro_buf_free(&text);
    pyro_buf_free(&second);
    pyro_efficiency_free(table);
    pyro_efficiency_free(again);
    return 0;
}
