/*
 * Finds ops whose real numbers change from call to call, such as learning rates and the corrections
 * of Adam. Every new number would be another signature for the rest of the recording, and a
 * misprediction. After some changes these numbers are recorded as unknown.
 */
#ifndef PYROMETER_OBSERVER_VARYING_HPP
#define PYROMETER_OBSERVER_VARYING_HPP

#include "values.hpp"

#include <algorithm>
#include <iterator>

namespace
{

constexpr uint32_t most_changes = 16;

// The last real numbers of one op with one set of other values. Several are kept, because a model may
// call an op with a few different ones in turn.
struct VaryingOp {
    uint64_t key, reals[4]; // hashes
    uint32_t changes;

    void note(uint64_t now)
    {
        for (uint64_t seen : reals)
            if (seen == now)
                return;
        reals[changes % std::size(reals)] = now;
        changes++;
    }
};

inline uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0xd6e8feb86659fd93);
    return hash ^ hash >> 32;
}

// Number of words that follow a value's head; the items of a list are values themselves.
inline size_t words_after(uint64_t head)
{
    switch (head & 0xff) {
    case PYRO_VALUE_TENSOR:
        return head >> 32;
    case PYRO_VALUE_INTEGER:
    case PYRO_VALUE_REAL:
    case PYRO_VALUE_BOOLEAN:
        return 1;
    default:
        return 0;
    }
}

class VaryingOps
{
  public:
    void clear()
    {
        std::memset(static_cast<void *>(ops_), 0, sizeof ops_);
    }

    // Notes the words of an op's values; true if their real numbers have changed too often.
    bool note(uint32_t name_id, const uint64_t *words, size_t count)
    {
        uint64_t key = mix(name_id, count), reals = 0;
        for (size_t i = 0; i < count; i++) {
            size_t end = std::min(count, i + 1 + words_after(words[i]));
            bool is_real = (words[i] & 0xff) == PYRO_VALUE_REAL;
            for (key = mix(key, words[i]); ++i < end;) {
                if (is_real)
                    reals = mix(reals + 1, words[i]);
                else
                    key = mix(key, words[i]);
            }
            i--;
        }
        if (!reals)
            return false;
        VaryingOp *op = &ops_[key >> (64 - bits)];
        if (op->key != key)
            *op = {key, {}, 0};
        if (op->changes < most_changes)
            op->note(reals);
        return op->changes >= most_changes;
    }

  private:
    static constexpr int bits = 12;
    VaryingOp ops_[1u << bits];
};

// Replaces real numbers by unknown values; returns the new number of words.
inline size_t forget_reals(uint64_t *words, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count;) {
        size_t end = std::min(count, i + 1 + words_after(words[i]));
        if ((words[i] & 0xff) == PYRO_VALUE_REAL) {
            words[kept++] = PYRO_VALUE_OTHER;
            i = end;
        }
        while (i < end)
            words[kept++] = words[i++];
    }
    return kept;
}

} // namespace

#endif
