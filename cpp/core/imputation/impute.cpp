// SPDX-License-Identifier: BSD-3-Clause
#include "core/imputation/impute.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/bitset.hpp"
#include "core/base/blocks.hpp"
#include "core/base/ranking.hpp"

namespace defrag {
namespace {

constexpr std::int64_t kRowsPerBlock = 256;

/// C as the mean of the blocks of several clusterings.
class Blocks {
 public:
    explicit Blocks(const Vector<CoOccurrenceView>& blocks) : blocks_(&blocks) {}

    /// Calls add(feature, value) for every term that the entries of a row contribute to u C.
    template <class Add>
    void visit(const CsrView& rows, std::int64_t row, Add add) const {
        const float share = 1.0F / static_cast<float>(blocks_->size());
        for (const CoOccurrenceView& one : *blocks_) {
            for (std::int64_t p = rows.begin(row); p < rows.end(row); ++p) {
                visit_group(one, rows.indices[p], rows.data[p] * share, add);
            }
        }
    }

 private:
    template <class Add>
    static void visit_group(const CoOccurrenceView& one, std::int32_t feature, float value,
                            Add add) {
        const GroupLayout& layout = one.layout;
        const std::int32_t group = layout.groups[feature];
        if (group < 0) return;
        const std::int64_t size = layout.size(group);
        const std::int32_t* members = layout.members + layout.member_ptr[group];
        const float* entries = one.entries + layout.entry_ptr[group] + layout.slots[feature] * size;
        for (std::int64_t i = 0; i < size; ++i) {
            if (entries[i] != 0.0F) add(members[i], value * entries[i]);
        }
    }

    const Vector<CoOccurrenceView>* blocks_;
};

/// C as the companions of each feature.
class Lists {
 public:
    explicit Lists(const CsrView& companions) : companions_(companions) {}

    template <class Add>
    void visit(const CsrView& rows, std::int64_t row, Add add) const {
        for (std::int64_t p = rows.begin(row); p < rows.end(row); ++p) {
            const std::int32_t feature = rows.indices[p];
            for (auto q = companions_.begin(feature); q < companions_.end(feature); ++q) {
                add(companions_.indices[q], rows.data[p] * companions_.data[q]);
            }
        }
    }

 private:
    CsrView companions_;
};

/// Computes the product of a row with C, in memory reused by one thread.
template <class Source>
class RowProduct {
 public:
    RowProduct(std::int64_t n_features, const Source& source)
        : source_(source), sums_(n_features), present_(n_features) {}

    /// Computes the entries of u C in ascending order of features.
    const RowBlock& multiply(const CsrView& rows, std::int64_t row) {
        source_.visit(rows, row, [&](std::int32_t feature, float value) {
            present_.insert(feature);
            sums_[feature] += value;
        });
        product_.indices.clear();
        product_.data.clear();
        present_.drain([&](std::int32_t feature) {
            float& sum = sums_[feature];
            if (sum != 0.0F) product_.push(feature, sum);
            sum = 0.0F;
        });
        return product_;
    }

 private:
    Source source_;
    Vector<float> sums_;
    OrderedSet present_;
    RowBlock product_;
};

double length(const Vector<float>& values) {
    double sum = 0.0;
    for (const float value : values) sum += static_cast<double>(value) * value;
    return std::sqrt(sum);
}

/// Calls both(feature, value in the row, value in the product) for the union of their features, in
/// order.
template <class Both>
void merge(const CsrView& rows, std::int64_t row, const RowBlock& product, Both both) {
    std::int64_t p = rows.begin(row);
    std::int64_t q = 0;
    while (p < rows.end(row) || q < product.indices.size()) {
        const bool left = q == product.indices.size() ||
                          (p < rows.end(row) && rows.indices[p] <= product.indices[q]);
        const bool right = p == rows.end(row) ||
                           (q < product.indices.size() && product.indices[q] <= rows.indices[p]);
        const std::int32_t feature = left ? rows.indices[p] : product.indices[q];
        both(feature, left ? rows.data[p] : 0.0F, right ? product.data[q] : 0.0F);
        p += left ? 1 : 0;
        q += right ? 1 : 0;
    }
}

/// Keeps the `room` entries of largest magnitude, ties going to the smaller feature.
void keep_largest(RowBlock& entries, std::int64_t room, Vector<std::int64_t>& order) {
    if (entries.data.size() <= room) return;
    order.resize(entries.data.size());
    for (std::int64_t i = 0; i < order.size(); ++i) order[i] = i;
    top_n(order, room, [&](std::int64_t a, std::int64_t b) {
        const float x = std::abs(entries.data[a]);
        const float y = std::abs(entries.data[b]);
        return x > y || (x == y && a < b);
    });
    std::sort(order.begin(), order.end());
    for (std::int64_t i = 0; i < room; ++i) {
        entries.indices[i] = entries.indices[order[i]];
        entries.data[i] = entries.data[order[i]];
    }
    entries.indices.resize(room);
    entries.data.resize(room);
}

std::int64_t places(const Room& room, std::int64_t n_entries) {
    std::int64_t most = std::numeric_limits<std::int64_t>::max();
    if (room.max_growth > 0) most = std::max(room.max_growth * n_entries, room.usual_size);
    if (room.max_entries > 0) most = std::min(most, room.max_entries);
    return most;
}

template <class Source>
Csr impute_from(const Context& context, const CsrView& rows, const Source& source,
                const float* betas, const Room& room) {
    context.expect(rows.n_rows);
    struct Scratch {
        RowProduct<Source> product;
        RowBlock result;
        Vector<std::int64_t> order;
    };
    PerWorker<Scratch> scratches(
        context, [&] { return Scratch{RowProduct<Source>(rows.n_cols, source), {}, {}}; });
    const auto fill = [&](std::int64_t row, RowBlock& block, unsigned worker) {
        if (betas != nullptr && betas[row] == 0.0F) {
            block.indices.insert(block.indices.end(), rows.indices + rows.begin(row),
                                 rows.indices + rows.end(row));
            block.data.insert(block.data.end(), rows.data + rows.begin(row),
                              rows.data + rows.end(row));
            return;
        }
        Scratch& scratch = scratches[worker];
        RowBlock& result = scratch.result;
        result.indices.clear();
        result.data.clear();
        const RowBlock& product = scratch.product.multiply(rows, row);
        const auto product_size = static_cast<float>(length(product.data));
        const float beta = betas == nullptr ? 1.0F : betas[row];
        const float factor = product_size > 0.0F ? beta / product_size : 0.0F;
        merge(rows, row, product, [&](std::int32_t feature, float u, float v) {
            const float value = (betas == nullptr ? 0.0F : u) + factor * v;
            if (value != 0.0F) result.push(feature, value);
        });
        keep_largest(result, places(room, rows.end(row) - rows.begin(row)), scratch.order);
        const double size = length(result.data);
        for (std::int64_t i = 0; i < result.indices.size(); ++i) {
            block.push(result.indices[i], static_cast<float>(result.data[i] / size));
        }
    };
    return build_rows(context, rows.n_rows, rows.n_cols, kRowsPerBlock, fill);
}

}  // namespace

Csr impute(const Context& context, const CsrView& rows, const Vector<CoOccurrenceView>& blocks,
           const float* betas, const Room& room) {
    return impute_from(context, rows, Blocks(blocks), betas, room);
}

Csr impute(const Context& context, const CsrView& rows, const CsrView& companions,
           const float* betas, const Room& room) {
    return impute_from(context, rows, Lists(companions), betas, room);
}

}  // namespace defrag
