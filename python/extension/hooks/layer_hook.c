#include "hooks/layer_hook.h"

layer_hook core_hook CORE_EVERY_CALL = {.plain_generation = NONE_PLAIN};
