// SPDX-License-Identifier: BSD-3-Clause
#include "core/agglomeration/tight.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <tuple>
#include <utility>

#include "core/base/random.hpp"

namespace defrag {

namespace {

constexpr std::size_t kSamples = 5;
constexpr std::int64_t kLatest = 64;  // leaders of a sample, which are about as strong
constexpr std::int64_t kTried = 4;
constexpr std::size_t kLikely = 4;  // one of so many samples must be shared
constexpr std::int64_t kItemsPerBlock = 256;
constexpr double kRounding = 1e-5;

/// The coordinates of an item that come first in a random order.
struct Samples {
    std::array<std::int32_t, kSamples> coordinate;
    std::size_t size = 0;
};

Vector<std::int32_t> random_places(std::int64_t n, std::uint64_t seed) {
    Vector<std::int32_t> places(n);
    for (std::int64_t i = 0; i < n; ++i) places[i] = static_cast<std::int32_t>(i);
    Stream(seed, Stage::kTight, 0).shuffle(places.begin(), n);
    return places;
}

/// Keeps the entries of a row with the smallest places, in order.
Samples sample(const CsrView& items, std::int64_t row, const Vector<std::int32_t>& places) {
    Samples found;
    std::array<std::int32_t, kSamples> best;
    for (std::int64_t p = items.begin(row); p < items.end(row); ++p) {
        const std::int32_t place = places[items.indices[p]];
        if (found.size == kSamples && place > best[kSamples - 1]) continue;
        std::size_t at = found.size < kSamples ? found.size++ : kSamples - 1;
        for (; at > 0 && best[at - 1] > place; --at) {
            best[at] = best[at - 1];
            found.coordinate[at] = found.coordinate[at - 1];
        }
        best[at] = place;
        found.coordinate[at] = items.indices[p];
    }
    return found;
}

/// Returns whether two unit rows have at least a cosine; the longer one is searched for the entries
/// of the shorter, until what is left of that is too little.
bool are_alike(const CsrView& items, std::int64_t a, std::int64_t b, double min_cosine) {
    if (items.end(a) - items.begin(a) > items.end(b) - items.begin(b)) std::swap(a, b);
    double sum = 0.0;
    double rest = 1.0 + kRounding;  // squared length of the entries that are left
    const std::int32_t* at = items.indices + items.begin(b);
    const std::int32_t* const last = items.indices + items.end(b);
    for (std::int64_t p = items.begin(a); p < items.end(a) && at < last; ++p) {
        const std::int32_t wanted = items.indices[p];
        if (*at < wanted && ++at < last && *at < wanted) {
            std::int64_t step = 1;
            while (step < last - at && at[step] < wanted) step *= 2;
            at = std::lower_bound(at + step / 2 + 1, std::min(at + step, last), wanted);
        }
        const auto value = static_cast<double>(items.data[p]);
        rest -= value * value;
        if (at < last && *at == wanted) {
            sum += value * static_cast<double>(items.data[at - items.indices]);
        }
        const double missing = min_cosine - sum;
        if (missing > 0.0 && rest < missing * missing) return false;
    }
    return sum >= min_cosine;
}

/// Leaders so far, by the coordinates that are their samples.
class Leaders {
 public:
    Leaders(const CsrView& items, const Vector<Samples>& samples)
        : items_(items), samples_(samples), with_(items.n_cols), shared_(items.n_rows) {}

    /// Returns the leader of an item, or the item itself, which then leads.
    std::int32_t join(std::int32_t item, double min_cosine) {
        const Samples& own = samples_[item];
        found_.clear();
        for (std::size_t s = 0; s < own.size; ++s) {
            const Vector<std::int32_t>& known = with_[own.coordinate[s]];
            for (std::int64_t i = std::max(known.size() - kLatest, std::int64_t{0});
                 i < known.size(); ++i) {
                if (shared_[known[i]]++ == 0) found_.push_back(known[i]);
            }
        }
        likely_.clear();
        for (const std::int32_t leader : found_) {
            const std::size_t n_shared = std::exchange(shared_[leader], std::uint8_t{0});
            if (kLikely * n_shared < own.size) continue;
            const std::int64_t longer = length(leader) - length(item);
            likely_.push_back({-static_cast<int>(n_shared), std::abs(longer), leader});
        }
        const auto n_tried = std::min(likely_.size(), kTried);
        std::partial_sort(likely_.begin(), likely_.begin() + n_tried, likely_.end());
        std::int32_t chosen = item;
        for (std::int64_t i = 0; i < n_tried && chosen == item; ++i) {
            const std::int32_t leader = std::get<2>(likely_[i]);
            if (are_alike(items_, item, leader, min_cosine)) chosen = leader;
        }
        if (chosen == item) {
            for (std::size_t s = 0; s < own.size; ++s) with_[own.coordinate[s]].push_back(item);
        }
        return chosen;
    }

 private:
    std::int64_t length(std::int32_t item) const { return items_.end(item) - items_.begin(item); }

    const CsrView& items_;
    const Vector<Samples>& samples_;
    Vector<Vector<std::int32_t>> with_;  // the leaders that have a coordinate as a sample
    Vector<std::uint8_t> shared_;        // samples that a leader shares with the item at hand
    Vector<std::int32_t> found_;
    // Leaders to compare with: those with the most shared samples, then the most similar length.
    Vector<std::tuple<int, std::int64_t, std::int32_t>> likely_;
};

}  // namespace

Vector<std::int32_t> tight_leaders(const Context& context, const CsrView& items,
                                   const std::int32_t* order, double min_cosine,
                                   std::uint64_t seed) {
    context.expect(2 * items.n_rows);
    const Vector<std::int32_t> places = random_places(items.n_cols, seed);
    Vector<Samples> samples(items.n_rows);
    for_each(context, items.n_rows, kItemsPerBlock,
             [&](std::int64_t row, unsigned) { samples[row] = sample(items, row, places); });
    Leaders leaders(items, samples);
    Vector<std::int32_t> leader_of(items.n_rows);
    for (std::int64_t i = 0; i < items.n_rows; ++i) {
        leader_of[order[i]] = leaders.join(order[i], min_cosine);
        context.advance(1);
    }
    return leader_of;
}

}  // namespace defrag
