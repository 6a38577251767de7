// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <utility>

namespace defrag {

/// One step of the splitmix64 generator (Steele, Lea and Flood, OOPSLA 2014).
inline std::uint64_t splitmix64(std::uint64_t& state) {
    state += 0x9E3779B97F4A7C15ULL;
    std::uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
}

/// The purpose of a stream. Part of the key, so that two kernels with the same seed draw different
/// numbers.
enum class Stage : std::uint64_t {
    kTreeSplit = 1,
    kBuckets = 2,
    kSolver = 3,
    kLabelTree = 4,
    kKMeans = 5,
    kPpdSparse = 6,
    kCompanions = 7,
    kForest = 8,
    kTight = 9,
    kRuns = 10,
    kPilot = 11
};

/// A random stream derived from (seed, stage, item): it depends on the computation, never on the
/// thread that runs it or on timing. Integers and shuffles are implemented here because those of
/// the standard library differ between implementations.
class Stream {
 public:
    Stream(std::uint64_t seed, Stage stage, std::uint64_t item) : state_(seed) {
        state_ = splitmix64(state_) ^ (static_cast<std::uint64_t>(stage) * 0xD6E8FEB86659FD93ULL);
        state_ = splitmix64(state_) ^ (item * 0xA0761D6478BD642FULL);
        splitmix64(state_);
    }

    std::uint64_t next() { return splitmix64(state_); }

    /// Returns a uniform, unbiased integer in [0, n); n must be positive.
    std::int64_t below(std::int64_t n) {
        const auto divisor = static_cast<std::uint64_t>(n);
        const std::uint64_t limit = ~std::uint64_t{0} - ~std::uint64_t{0} % divisor;
        std::uint64_t draw = next();
        while (draw >= limit) draw = next();
        return static_cast<std::int64_t>(draw % divisor);
    }

    template <class Iterator>
    void shuffle(Iterator first, std::int64_t n) {
        for (std::int64_t i = n - 1; i > 0; --i) {
            std::swap(first[i], first[below(i + 1)]);
        }
    }

 private:
    std::uint64_t state_;
};

}  // namespace defrag
