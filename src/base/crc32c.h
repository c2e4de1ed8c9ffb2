/* CRC-32C (Castagnoli), as in TensorFlow's record files. */
#ifndef PYRO_BASE_CRC32C_H
#define PYRO_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

uint32_t pyro_crc32c(const void *data, size_t size);

#endif
