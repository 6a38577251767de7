// SPDX-License-Identifier: BSD-3-Clause
#include "core/agglomeration/tight.hpp"

#include <algorithm>
#include <array>

#include "core/base/random.hpp"

namespace defrag {

namespace {

constexpr std::size_t kSamples = 8;
constexpr std::int64_t kTried = 4;
constexpr std::int64_t kItemsPerBlock = 256;

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

/// Returns the product of two rows; the longer one is searched for the entries of the shorter.
double product(const CsrView& items, std::int64_t a, std::int64_t b) {
    if (items.end(a) - items.begin(a) > items.end(b) - items.begin(b)) std::swap(a, b);
    double sum = 0.0;
    const std::int32_t* at = items.indices + items.begin(b);
    const std::int32_t* const last = items.indices + items.end(b);
    for (std::int64_t p = items.begin(a); p < items.end(a) && at < last; ++p) {
        const std::int32_t wanted = items.indices[p];
        std::int64_t step = 1;
        while (step < last - at && at[step] < wanted) step *= 2;
        at = std::lower_bound(at + step / 2, std::min(at + step + 1, last), wanted);
        if (at < last && *at == wanted) {
            sum += static_cast<double>(items.data[p]) *
                   static_cast<double>(items.data[at - items.indices]);
        }
    }
    return sum;
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
            for (const std::int32_t leader : with_[own.coordinate[s]]) {
                if (shared_[leader]++ == 0) found_.push_back(leader);
            }
        }
        // Leaders were found in the order in which they became leaders, by sample.
        const auto n_tried = std::min(found_.size(), kTried);
        std::partial_sort(found_.begin(), found_.begin() + n_tried, found_.end(),
                          [&](std::int32_t a, std::int32_t b) {
                              return shared_[a] != shared_[b] ? shared_[a] > shared_[b]
                                                              : rank(item, a) < rank(item, b);
                          });
        std::int32_t chosen = item;
        for (std::int64_t i = 0; i < n_tried && chosen == item; ++i) {
            if (product(items_, item, found_[i]) >= min_cosine) chosen = found_[i];
        }
        for (const std::int32_t leader : found_) shared_[leader] = 0;
        if (chosen == item) {
            for (std::size_t s = 0; s < own.size; ++s) with_[own.coordinate[s]].push_back(item);
        }
        return chosen;
    }

 private:
    /// Of leaders that share as many samples, the one with the most similar length comes first.
    std::pair<std::int64_t, std::int32_t> rank(std::int32_t item, std::int32_t leader) const {
        const auto length = [&](std::int32_t i) { return items_.end(i) - items_.begin(i); };
        return {std::abs(length(item) - length(leader)), leader};
    }

    const CsrView& items_;
    const Vector<Samples>& samples_;
    Vector<Vector<std::int32_t>> with_;  // the leaders that have a coordinate as a sample
    Vector<std::int32_t> shared_;        // samples that a leader shares with the item at hand
    Vector<std::int32_t> found_;
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
