/* Fuzzes the reader of ONNX files and its users: sizes, costs, roll-ups and reports. */
#include "model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* Without the first byte of an ONNX file the input would be another format. */
    if (!size || data[0] != 0x08)
        return 0;
    check_model(data, size, "fuzz.onnx");
    return 0;
}
