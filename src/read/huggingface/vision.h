/* Vision towers: by themselves, and in front of a language model. */
#ifndef PYRO_READ_HUGGINGFACE_VISION_H
#define PYRO_READ_HUGGINGFACE_VISION_H

#include "read/huggingface/family.h"

typedef struct hf_vision {
    hf_builder *b;
    const hf_config *config;
    const char *model_type;
    char root[80];
    int64_t hidden, layers, heads, inner, channels, image[2], patch[2], tokens, extra_tokens;
    const char *activation;
} hf_vision;

/* Reads and checks the sizes; `config` has the prefix of the tower. */
int hf_vision_sizes(hf_vision *v);
/* The tower of an image [batch, channels, height, width]: [batch, tokens, hidden]. */
hf_tensor hf_vision_tower(hf_vision *v, hf_tensor image);

#endif
