/* Fuzzes configurations of transformers (config.json): the graphs of a prompt and of a token. */
#include "model.h"
#include "read/huggingface/folder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (int decode = 0; decode < 2; decode++) {
        pyro_model *model = NULL;
        pyro_error error;
        pyro_error_clear(&error);
        int status = pyro_config_open_memory(&model, data, size, decode != 0, &error);
        check_opened(model, status, &error);
    }
    return 0;
}
