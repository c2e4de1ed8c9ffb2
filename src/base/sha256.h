/* SHA-256 (FIPS 180-4), for keys of stored content. */
#ifndef PYRO_BASE_SHA256_H
#define PYRO_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

typedef struct pyro_sha256 {
    uint32_t state[8];
    uint64_t size;
    unsigned char block[64];
} pyro_sha256;

enum { PYRO_SHA256_HEX = 65 };

void pyro_sha256_init(pyro_sha256 *hash);
void pyro_sha256_add(pyro_sha256 *hash, const void *bytes, size_t size);
/* The digest in hexadecimal. */
void pyro_sha256_finish(pyro_sha256 *hash, char hex[PYRO_SHA256_HEX]);

#endif
