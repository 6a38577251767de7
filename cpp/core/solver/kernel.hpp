// SPDX-License-Identifier: BSD-3-Clause
// Included once per instruction set by kernel_versions.hpp, hence no include guard.

#include "core/base/vectors.hpp"

namespace defrag {
namespace DEFRAG_KERNEL {

// Number of vectors summed side by side: four sums for each must fit into the registers.
constexpr int kGroup = kParts < 2 ? kParts : 2;

DEFRAG_INLINE Ints lane_bits(int part) {
    Ints bits;
    for (int i = 0; i < kWidth; ++i) bits[i] = 1 << (part * kWidth + i);
    return bits;
}

/// +1 if the row is a positive of the lane, otherwise -1.
DEFRAG_INLINE Floats labels(std::uint16_t signs, int part) {
    const Ints bits = (Ints{} + static_cast<std::int32_t>(signs)) & lane_bits(part);
    return bits != 0 ? spread(1.0F) : spread(-1.0F);
}

/// e^v to about one unit in the last place, for |v| <= 87. Uses only elementary operations, so that
/// the result does not depend on the math library or the vector width.
DEFRAG_INLINE Floats exponential(Floats v) {
    v = smaller(larger(v, spread(-87.0F)), spread(87.0F));
    const Floats shifted = v * 1.44269504F + 12582912.0F;  // adding 1.5 * 2^23 rounds
    const Floats n = shifted - 12582912.0F;
    const Floats r = (v - n * 0.693359375F) - n * -2.12194440e-4F;
    Floats p = r * 1.3888889e-3F + 8.3333333e-3F;
    p = p * r + 4.1666667e-2F;
    p = p * r + 1.6666667e-1F;
    p = p * r + 0.5F;
    p = p * r + 1.0F;
    p = p * r + 1.0F;
    return (Floats)((Ints)p + ((Ints)shifted << 23));
}

/// The update of one vector of lanes by one row.
struct Step {
    Floats dual;      // the new y * alpha
    Floats gradient;  // projected: zero if the constraint is active
    Ints active;      // not zero, or not safely so
};

/// The exact minimiser over one variable: Algorithm 3.1 of Hsieh et al., ICML 2008. The cost of a
/// row is that of the pass times its importance.
DEFRAG_INLINE Step squared_hinge_step(const Pass& pass, Floats score, Floats y, Floats dual,
                                      float norm, float importance) {
    const float diagonal = pass.diagonal / importance;
    const Floats downhill = y * (y - score - dual * diagonal);
    const Floats moved = dual + y * downhill * (1.0F / (norm + diagonal));
    Step step;
    step.dual = moved * y > 0.0F ? moved : Floats{};
    const Ints free = (dual != 0.0F) | (downhill > 0.0F);
    step.gradient = free ? -downhill : Floats{};
    step.active = (dual != 0.0F) | (downhill >= -pass.shrink);
    return step;
}

/// The same for the logistic loss (Yu, Huang and Lin, Machine Learning 2011), in terms of the logit
/// u of alpha / cost, where the optimality condition u + margin(alpha) = 0 is increasing and nearly
/// linear: Newton steps, safeguarded by bisection of the known bracket.
DEFRAG_INLINE Step logistic_step(const Pass& pass, Floats score, Floats y, Floats dual, float norm,
                                 float importance) {
    constexpr int kNewtonSteps = 6;
    const float cost = pass.cost * importance;
    const Floats alpha = y * dual;
    const Floats start = -(y * score);
    Floats low = start - norm * (cost - alpha);
    Floats high = start + norm * alpha;
    Floats u = start;
    Floats share = 1.0F / (1.0F + exponential(-u));
    Step step;
    step.gradient = alpha - share * cost;
    for (int i = 0; i < kNewtonSteps; ++i) {
        const Floats value = u - start + norm * (share * cost - alpha);
        const Floats slope = 1.0F + (norm * cost) * share * (1.0F - share);
        high = value > 0.0F ? u : high;
        low = value > 0.0F ? low : u;
        const Floats next = u - value / slope;
        u = ((next >= low) & (next <= high)) ? next : (low + high) * 0.5F;
        share = 1.0F / (1.0F + exponential(-u));
    }
    // Flushed to zero: denormals are slow, and values this small are negligible.
    step.dual = share > 1e-30F ? y * share * cost : Floats{};
    step.active = ~Ints{};  // the logistic loss keeps all dual variables positive
    return step;
}

template <int kFirst>
DEFRAG_INLINE void dot(const Entry* entry, const Entry* end, const char* weights,
                       const Entry* ahead, Floats* score) {
    Floats sums[CompactRows::kStride][kGroup] = {};
    for (; entry != end; entry += CompactRows::kStride, ahead += CompactRows::kStride) {
        __builtin_prefetch(ahead);
        for (int k = 0; k < CompactRows::kStride; ++k) {
            const auto* line = reinterpret_cast<const Floats*>(weights + entry[k].offset) + kFirst;
            for (int g = 0; g < kGroup; ++g) sums[k][g] += line[g] * entry[k].value;
        }
    }
    for (int g = 0; g < kGroup; ++g) {
        score[kFirst + g] += (sums[0][g] + sums[1][g]) + (sums[2][g] + sums[3][g]);
    }
}

DEFRAG_INLINE void scatter(const Entry* entry, const Entry* end, char* weights,
                           const Floats* change) {
    for (; entry != end; entry += CompactRows::kStride) {
        for (int k = 0; k < CompactRows::kStride; ++k) {
            auto* line = reinterpret_cast<Floats*>(weights + entry[k].offset);
            for (int p = 0; p < kParts; ++p) line[p] += change[p] * entry[k].value;
        }
    }
}

/// The same with an l1 penalty: weights are the soft-thresholded sums.
DEFRAG_INLINE void scatter_sparse(const Entry* entry, const Entry* end, const Pass& pass,
                                  const Floats* change) {
    for (; entry != end; ++entry) {
        const std::uint32_t place = entry->offset / sizeof(float);
        auto* sums = reinterpret_cast<Floats*>(pass.sums + place);
        auto* weights = reinterpret_cast<Floats*>(pass.weights + place);
        const auto* penalties = reinterpret_cast<const Floats*>(pass.penalties + place);
        for (int p = 0; p < kParts; ++p) {
            const Floats sum = sums[p] + change[p] * entry->value;
            sums[p] = sum;
            weights[p] =
                larger(sum - penalties[p], Floats{}) + smaller(sum + penalties[p], Floats{});
        }
    }
}

template <bool kLogistic, bool kSparse>
std::int64_t run_pass(Pass& pass) {
    char* weights = reinterpret_cast<char*>(pass.weights);
    Floats highest[kParts] = {};
    Floats lowest[kParts] = {};
    std::int64_t n_kept = 0;
    for (std::int64_t i = 0; i < pass.n_rows; ++i) {
        // Prefetched, because rows are visited in random order.
        const std::int32_t later = pass.rows[i + 2 < pass.n_rows ? i + 2 : i];
        __builtin_prefetch(pass.dual + later * kLanes, 1);
        const Entry* ahead = pass.entries + pass.starts[later];
        const std::int32_t row = pass.rows[i];
        const Entry* entry = pass.entries + pass.starts[row];
        const Entry* end = pass.entries + pass.starts[row + 1];
        auto* dual = reinterpret_cast<Floats*>(pass.dual + row * kLanes);
        Floats score[kParts];
        for (int p = 0; p < kParts; ++p) {
            score[p] = reinterpret_cast<const Floats*>(pass.offsets)[p];
        }
        dot<0>(entry, end, weights, ahead, score);
        if constexpr (kParts > kGroup) dot<kParts - kGroup>(entry, end, weights, ahead, score);
        const float norm = pass.norms[row];
        const float importance = pass.importance == nullptr ? 1.0F : pass.importance[row];
        Floats change[kParts];
        Floats next[kParts];
        Ints moved = {};
        Ints active = {};
        for (int p = 0; p < kParts; ++p) {
            const Floats y = labels(pass.signs[row], p);
            const Step step =
                kLogistic ? logistic_step(pass, score[p], y, dual[p], norm, importance)
                          : squared_hinge_step(pass, score[p], y, dual[p], norm, importance);
            next[p] = step.dual;
            change[p] = step.dual - dual[p];
            moved |= (change[p] > pass.skip) | (change[p] < -pass.skip);
            active |= step.active;
            highest[p] = larger(highest[p], step.gradient);
            lowest[p] = smaller(lowest[p], step.gradient);
        }
        const bool moves = any(moved);
        pass.rows[n_kept] = row;
        n_kept += any(active) && (moves || !pass.settle) ? 1 : 0;
        if (!moves) continue;
        for (int p = 0; p < kParts; ++p) dual[p] = next[p];
        if constexpr (kSparse) {
            scatter_sparse(entry, end, pass, change);
        } else {
            scatter(entry, end, weights, change);
        }
    }
    for (int p = 0; p < kParts; ++p) {
        reinterpret_cast<Floats*>(pass.highest)[p] = highest[p];
        reinterpret_cast<Floats*>(pass.lowest)[p] = lowest[p];
    }
    return n_kept;
}

inline void find_large(const float* weights, std::int64_t n_slots, float threshold,
                       std::uint16_t* masks) {
    for (std::int64_t slot = 0; slot < n_slots; ++slot) {
        const auto* line = reinterpret_cast<const Floats*>(weights + slot * kLanes);
        unsigned mask = 0;
        for (int p = 0; p < kParts; ++p) {
            mask |= bits_of((line[p] > threshold) | (line[p] < -threshold)) << (p * kWidth);
        }
        masks[slot] = static_cast<std::uint16_t>(mask);
    }
}

/// Keeps the rows of the list in which the margin of some lane is below `level`.
inline std::int64_t find_rows(Pass& pass, float level) {
    const char* weights = reinterpret_cast<const char*>(pass.weights);
    std::int64_t n_kept = 0;
    for (std::int64_t i = 0; i < pass.n_rows; ++i) {
        const std::int32_t row = pass.rows[i];
        const Entry* entry = pass.entries + pass.starts[row];
        const Entry* end = pass.entries + pass.starts[row + 1];
        Floats score[kParts];
        for (int p = 0; p < kParts; ++p) {
            score[p] = reinterpret_cast<const Floats*>(pass.offsets)[p];
        }
        dot<0>(entry, end, weights, end, score);
        if constexpr (kParts > kGroup) dot<kParts - kGroup>(entry, end, weights, end, score);
        Ints wrong = {};
        for (int p = 0; p < kParts; ++p) wrong |= labels(pass.signs[row], p) * score[p] < level;
        pass.rows[n_kept] = row;
        n_kept += any(wrong) ? 1 : 0;
    }
    return n_kept;
}

template <unsigned kPanels>
DEFRAG_INLINE void add_panels(const Entry* entry, const Entry* end, const float* panels,
                              std::int64_t panel_size, float* scores) {
    Floats sums[kPanels][kParts];
    std::memcpy(sums, scores, sizeof(sums));
    for (; entry != end; ++entry) {
        for (unsigned k = 0; k < kPanels; ++k) {
            const auto* line = reinterpret_cast<const Floats*>(
                reinterpret_cast<const char*>(panels + k * panel_size) + entry->offset);
            for (int p = 0; p < kParts; ++p) sums[k][p] += line[p] * entry->value;
        }
    }
    std::memcpy(scores, sums, sizeof(sums));
}

/// Adds the weights of a list of entries to the scores, one entry after the other, so that the sum
/// has the same bits as one that skips zeros. Four vectors at a time hide the latency of the
/// additions.
inline void score_panels(const Entry* entry, const Entry* end, const float* panels,
                         std::int64_t panel_size, std::int64_t n_panels, float* scores) {
    constexpr int kJoint = 4 / kParts;
    for (; n_panels >= kJoint; n_panels -= kJoint) {
        add_panels<kJoint>(entry, end, panels, panel_size, scores);
        panels += kJoint * panel_size;
        scores += kJoint * kLanes;
    }
    for (; n_panels > 0; --n_panels) {
        add_panels<1>(entry, end, panels, panel_size, scores);
        panels += panel_size;
        scores += kLanes;
    }
}

}  // namespace DEFRAG_KERNEL
}  // namespace defrag
