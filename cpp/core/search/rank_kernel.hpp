// SPDX-License-Identifier: BSD-3-Clause
// Included once per instruction set by kernel_versions.hpp, hence no include guard.

#include "core/base/vectors.hpp"

namespace defrag {
namespace DEFRAG_KERNEL {

/// Returns the k-th largest of the lanes of n vectors: the least of those that fewer than k others
/// exceed.
DEFRAG_INLINE float kth_largest(const Floats* values, int n, std::int64_t k) {
    const auto* each = reinterpret_cast<const float*>(values);
    const auto limit = static_cast<std::int32_t>(k);
    const Floats none = spread(std::numeric_limits<float>::infinity());
    Floats least = none;
    for (int v = 0; v < n; v += kParts) {
        Ints n_larger[kParts] = {};
        for (int i = 0; i < n * kWidth; ++i) {
            for (int p = 0; p < kParts; ++p) n_larger[p] -= spread(each[i]) > values[v + p];
        }
        for (int p = 0; p < kParts; ++p) {
            least = smaller(n_larger[p] < limit ? values[v + p] : none, least);
        }
    }
    alignas(64) float lanes[kWidth];
    std::memcpy(lanes, &least, sizeof lanes);
    for (int half = kWidth / 2; half > 0; half /= 2) {
        for (int i = 0; i < half; ++i) {
            lanes[i] = lanes[i + half] < lanes[i] ? lanes[i + half] : lanes[i];
        }
    }
    return lanes[0];
}

/// Returns how many lanes of the vectors are at least `bound`.
DEFRAG_INLINE std::int64_t count_from(const Floats* vectors, std::int64_t n_vectors, float bound) {
    std::int64_t count = 0;
    for (std::int64_t v = 0; v < n_vectors; ++v) {
        count += __builtin_popcount(bits_of(vectors[v] >= bound));
    }
    return count;
}

inline void score_margins(const float* margins, std::int64_t n, float parent, int power,
                          float* scores) {
    const std::int64_t n_vectors = (n + kLanes - 1) / kLanes * kParts;
    for (std::int64_t v = 0; v < n_vectors; ++v) {
        const Floats distance = 1.0F - reinterpret_cast<const Floats*>(margins)[v];
        const Floats slack = distance > 0.0F ? distance : Floats{};  // NaN: 0
        const Floats square = slack * slack;
        reinterpret_cast<Floats*>(scores)[v] = parent - (power == 3 ? square * slack : square);
    }
}

inline std::int64_t find_best(float* scores, std::int64_t n, std::int64_t k, float bound,
                              std::int32_t* positions) {
    const auto* vectors = reinterpret_cast<const Floats*>(scores);
    const std::int64_t n_vectors = (n + kLanes - 1) / kLanes * kParts;
    for (std::int64_t i = n; i < n_vectors * kWidth; ++i) {
        scores[i] = -std::numeric_limits<float>::infinity();
    }
    // Lines are dealt to a few groups. The largest of each lane of a group are different ones, of
    // which k are at least the k-th.
    constexpr std::int64_t kMaxGroups = 8;
    const std::int64_t n_groups = std::min(k / kLanes + 1, n_vectors / kParts);
    if (n_groups <= kMaxGroups && count_from(vectors, n_vectors, bound) > k) {
        const std::int64_t n_largest = n_groups * kParts;
        Floats largest[kMaxGroups * kParts];
        for (std::int64_t v = 0; v < n_largest; ++v) {
            largest[v] = vectors[v];
            for (std::int64_t w = v + n_largest; w < n_vectors; w += n_largest) {
                largest[v] = larger(largest[v], vectors[w]);
            }
        }
        const float enough = kth_largest(largest, static_cast<int>(n_largest), k);
        bound = enough > bound ? enough : bound;
    }
    std::int64_t n_found = 0;
    for (std::int64_t v = 0; v < n_vectors; ++v) {
        for (unsigned bits = bits_of(vectors[v] >= bound); bits != 0; bits &= bits - 1) {
            positions[n_found++] = static_cast<std::int32_t>(v * kWidth + __builtin_ctz(bits));
        }
    }
    while (n_found > 0 && positions[n_found - 1] >= n) --n_found;
    return n_found;
}

}  // namespace DEFRAG_KERNEL
}  // namespace defrag
