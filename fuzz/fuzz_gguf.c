/* Fuzzes the reader of GGUF files and its users: sizes, costs, roll-ups and reports. */
#include "model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 24 || memcmp(data, "GGUF", 4))
        return 0;
    check_model(data, size, "fuzz.gguf");
    return 0;
}
