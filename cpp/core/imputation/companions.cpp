// SPDX-License-Identifier: BSD-3-Clause
#include "core/imputation/companions.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/blocks.hpp"
#include "core/base/inverted_index.hpp"
#include "core/base/random.hpp"
#include "core/base/ranking.hpp"

namespace defrag {
namespace {

constexpr std::int64_t kFeaturesPerBlock = 64;
// Sums that cancel leave a residue of this magnitude (see RowScores), which is not a companion.
constexpr float kNothing = 1e-30F;

/// Keeps the n items with the largest keys. Most items are rejected by one comparison with the n-th
/// best so far.
class Strongest {
 public:
    explicit Strongest(std::int64_t n) : n_(n) {}

    void offer(std::int32_t item, float key, float value) {
        if (key < bar_) return;
        found_.push_back({item, key, value});
        if (found_.size() >= kSlack * n_) cut();
    }

    /// Calls visit(item, value) in ascending order of items and clears the list.
    template <class Visit>
    void drain(Visit visit) {
        cut();
        std::sort(found_.begin(), found_.end(),
                  [](const Found& a, const Found& b) { return a.item < b.item; });
        for (const Found& one : found_) visit(one.item, one.value);
        found_.clear();
        bar_ = kNothing;
    }

 private:
    struct Found {
        std::int32_t item;
        float key;
        float value;
    };
    static constexpr std::int64_t kSlack = 4;

    void cut() {
        if (found_.size() <= n_) return;
        top_n(found_, n_, [](const Found& a, const Found& b) {
            return a.key != b.key ? a.key > b.key : a.item < b.item;
        });
        bar_ = std::numeric_limits<float>::infinity();
        for (const Found& one : found_) bar_ = std::min(bar_, one.key);
    }

    std::int64_t n_;
    float bar_ = kNothing;
    Vector<Found> found_;
};

/// Sums of products with the other features. A dense array is used if about as many products are
/// expected as there are features, because listing the touched features would then cost more.
class Products {
 public:
    explicit Products(std::int64_t n_features) : met_(n_features), all_(n_features) {}

    /// Chooses the representation for about `n_expected` products.
    void start(double n_expected) { dense_ = n_expected > static_cast<double>(all_.size()); }

    void add(const std::int32_t* features, const float* values, std::int64_t count, float weight) {
        if (!dense_) return met_.add(features, values, count, weight);
        for (std::int64_t i = 0; i < count; ++i) all_[features[i]] += weight * values[i];
    }

    /// Calls visit(feature, sum) and clears the sums.
    template <class Visit>
    void drain(Visit visit) {
        if (!dense_) return met_.drain(visit);
        for (std::int64_t feature = 0; feature < all_.size(); ++feature) {
            visit(static_cast<std::int32_t>(feature), all_[feature]);
        }
        std::fill(all_.begin(), all_.end(), 0.0F);
    }

 private:
    bool dense_ = false;
    RowScores met_;
    Vector<float> all_;
};

/// Calls visit(place) for at most `most` of `n` evenly spaced places.
template <class Visit>
void visit_sample(std::int64_t n, std::int64_t most, Stream stream, Visit visit) {
    if (n <= most) {
        for (std::int64_t place = 0; place < n; ++place) visit(place);
        return;
    }
    const std::int64_t offset = stream.below(n);
    for (std::int64_t i = 0; i < most; ++i) visit((offset + i * n) / most);
}

}  // namespace

Csr companions(const Context& context, const CsrView& columns, const CsrView& rows,
               const float* weights, const CompanionOptions& options) {
    const std::int64_t n_features = columns.n_rows;
    const double row_size = static_cast<double>(rows.nnz()) /
                            static_cast<double>(std::max<std::int64_t>(rows.n_rows, 1));
    struct Scratch {
        Scratch(std::int64_t n_features, std::int64_t n_best)
            : products(n_features), strongest(n_best) {}
        Products products;
        Strongest strongest;
    };
    context.expect(n_features);
    PerWorker<Scratch> scratches(context, [&] { return Scratch(n_features, options.n_best); });
    const auto fill = [&](std::int64_t feature, RowBlock& block, unsigned worker) {
        auto& [products, strongest] = scratches[worker];
        const std::int64_t first = columns.begin(feature);
        const std::int64_t n_rows = columns.end(feature) - first;
        products.start(static_cast<double>(std::min(n_rows, options.max_rows)) * row_size);
        const Stream stream(options.seed, Stage::kCompanions, static_cast<std::uint64_t>(feature));
        visit_sample(n_rows, options.max_rows, stream, [&](std::int64_t place) {
            const std::int64_t row = columns.indices[first + place];
            const std::int64_t begin = rows.begin(row);
            products.add(rows.indices + begin, rows.data + begin, rows.end(row) - begin,
                         columns.data[first + place]);
        });
        double own = 0.0;
        products.drain([&](std::int32_t other, float product) {
            if (other == feature) {
                own = product;
            } else {
                strongest.offer(other, std::abs(product) * weights[other], product);
            }
        });
        const double slope = 1.0 / (own + options.ridge);
        const double told = slope / (1.0 + static_cast<double>(n_rows) / options.common);
        bool passed = n_rows == 0;
        const auto push_own = [&] {
            block.push(static_cast<std::int32_t>(feature), static_cast<float>(own * slope));
            passed = true;
        };
        strongest.drain([&](std::int32_t other, float product) {
            if (!passed && other > feature) push_own();
            block.push(other, static_cast<float>(product * told));
        });
        if (!passed) push_own();
    };
    return build_rows(context, n_features, n_features, kFeaturesPerBlock, fill);
}

}  // namespace defrag
