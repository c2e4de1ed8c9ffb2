/* Reads little-endian integers from file bytes, on any machine and at any alignment. */
#ifndef PYRO_BASE_BYTES_H
#define PYRO_BASE_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Like memcpy, and copying nothing from or to NULL is allowed. */
static inline void pyro_copy(void *to, const void *from, size_t size)
{
    if (size > 0)
        memcpy(to, from, size);
}

/* Copies items from an index on; an array without items may be NULL. */
static inline void pyro_copy_items(void *to, const void *array, size_t first, size_t count,
                                   size_t size)
{
    if (count)
        memcpy(to, (const char *)array + first * size, count * size);
}

static inline uint16_t pyro_le16(const unsigned char *bytes)
{
    return (uint16_t)(bytes[0] | bytes[1] << 8);
}

static inline uint32_t pyro_le32(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

static inline uint64_t pyro_le64(const unsigned char *bytes)
{
    return (uint64_t)pyro_le32(bytes) | (uint64_t)pyro_le32(bytes + 4) << 32;
}

#endif
