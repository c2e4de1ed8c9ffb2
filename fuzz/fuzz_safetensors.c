/* Fuzzes the reader of safetensors files and its users: sizes, costs, roll-ups and reports. */
#include "model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 10 || data[8] != '{')
        return 0;
    check_model(data, size, "fuzz.safetensors");
    return 0;
}
