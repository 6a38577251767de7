// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <cstring>

namespace defrag {

/// Non-owning views of weights as a model file stores them. All types give the same float as
/// widening them in advance: half precision is a subset of float, and a byte is multiplied by the
/// scale of its run, with a single rounding.
struct FloatWeights {
    const float* values = nullptr;
    float get(std::int64_t i, float /*scale*/) const { return values[i]; }
};

struct HalfWeights {
    const std::uint16_t* values = nullptr;  // IEEE 754 binary16, finite
    float get(std::int64_t i, float /*scale*/) const {
        // The exponent is too small by 112 after the shift; the multiplication is exact, even for
        // subnormal numbers.
        std::uint32_t bits = (values[i] & 0x7FFFU) << 13;
        float value = 0.0F;
        std::memcpy(&value, &bits, sizeof value);
        value *= 0x1p112F;
        std::memcpy(&bits, &value, sizeof value);
        bits |= (values[i] & 0x8000U) << 16;  // no branch, since signs are unpredictable
        std::memcpy(&value, &bits, sizeof value);
        return value;
    }
};

struct ByteWeights {
    const std::int8_t* values = nullptr;
    float get(std::int64_t i, float scale) const { return static_cast<float>(values[i]) * scale; }
};

/// The weights of runs of entries, in one of the three types: exactly one is set. Bytes have a
/// scale per run, which is a node of a tree or a feature of a one-vs-rest model.
struct StoredWeights {
    FloatWeights floats;
    HalfWeights halves;
    ByteWeights bytes;
    const float* scales = nullptr;

    /// Returns use(weights, scale) of a run, where weights.get(e, scale) is the weight of entry e.
    /// Loops belong inside `use`, so that the type is examined once.
    template <class Use>
    auto of_run(std::int64_t run, Use use) const {
        if (floats.values != nullptr) return use(floats, 1.0F);
        if (halves.values != nullptr) return use(halves, 1.0F);
        return use(bytes, scales[run]);
    }

    void prefetch(std::int64_t entry) const {
        if (floats.values != nullptr) {
            __builtin_prefetch(floats.values + entry);
        } else if (halves.values != nullptr) {
            __builtin_prefetch(halves.values + entry);
        } else {
            __builtin_prefetch(bytes.values + entry);
        }
    }
};

}  // namespace defrag
