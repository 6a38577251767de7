// SPDX-License-Identifier: BSD-3-Clause
#include "core/co_occurrence.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/bitset.hpp"
#include "core/blocks.hpp"

namespace defrag {
namespace {

constexpr std::int64_t kRowsPerBlock = 256;
// More, since the memory of a block is as long as the list of groups.
constexpr std::int64_t kRowsOfOverlaps = 4096;

/// A non-zero of a row, in the list of those of its group.
struct Link {
    std::int32_t slot;
    std::int32_t next;
    float value;
};

/// The non-zeros of one row as lists, one for each group in [first, last).
class GroupedRow {
 public:
    GroupedRow(const GroupLayout& layout, std::int64_t first, std::int64_t last)
        : layout_(layout), first_(first), last_(last), heads_(at(last - first), -1) {}

    /// Calls visit(group, one, other) for all pairs of non-zeros of a group, each with itself
    /// too; other.slot <= one.slot, since features rise along a row and lists run backwards.
    template <class Visit>
    void visit_pairs(const CsrView& matrix, std::int64_t row, Visit visit) {
        links_.clear();
        touched_.clear();
        for (std::int64_t p = matrix.begin(row); p < matrix.end(row); ++p) {
            const std::int32_t feature = matrix.indices[p];
            const std::int64_t group = layout_.groups[feature];
            if (group < first_ || group >= last_) continue;
            std::int32_t& head = heads_[at(group - first_)];
            if (head < 0) touched_.push_back(static_cast<std::int32_t>(group));
            links_.push_back({layout_.slots[feature], head, matrix.data[p]});
            head = static_cast<std::int32_t>(links_.size()) - 1;
        }
        for (const std::int32_t group : touched_) {
            std::int32_t& head = heads_[at(group - first_)];
            for (std::int32_t a = head; a >= 0; a = links_[at(a)].next) {
                for (std::int32_t b = a; b >= 0; b = links_[at(b)].next) {
                    visit(group, links_[at(a)], links_[at(b)]);
                }
            }
            head = -1;
        }
    }

 private:
    GroupLayout layout_;
    std::int64_t first_;
    std::int64_t last_;
    std::vector<std::int32_t> heads_;
    std::vector<std::int32_t> touched_;
    std::vector<Link> links_;
};

/// Mirrors the upper half of a block and rounds it.
void finish_block(const double* sums, std::int64_t size, bool cosine, float* entries) {
    for (std::int64_t i = 0; i < size; ++i) {
        for (std::int64_t j = i; j < size; ++j) {
            double value = sums[i * size + j];
            if (cosine && value != 0.0) {
                value = i == j ? 1.0 : value / std::sqrt(sums[i * size + i] * sums[j * size + j]);
            }
            entries[i * size + j] = entries[j * size + i] = static_cast<float>(value);
        }
    }
}

/// The product of one row with the mean of several blocks, one thread's memory for it.
class RowProduct {
 public:
    RowProduct(std::int64_t n_features, const std::vector<CoOccurrenceView>& blocks)
        : blocks_(&blocks), sums_(at(n_features)), present_(n_features) {}

    /// Computes the entries of u C, by ascending feature.
    const RowBlock& multiply(const CsrView& rows, std::int64_t row) {
        const float share = 1.0F / static_cast<float>(blocks_->size());
        for (const CoOccurrenceView& one : *blocks_) {
            for (std::int64_t p = rows.begin(row); p < rows.end(row); ++p) {
                add(one, rows.indices[p], rows.data[p] * share);
            }
        }
        product_.indices.clear();
        product_.data.clear();
        present_.drain([&](std::int32_t feature) {
            float& sum = sums_[at(feature)];
            if (sum != 0.0F) product_.push(feature, sum);
            sum = 0.0F;
        });
        return product_;
    }

 private:
    void add(const CoOccurrenceView& one, std::int32_t feature, float value) {
        const GroupLayout& layout = one.layout;
        const std::int32_t group = layout.groups[feature];
        if (group < 0) return;
        const std::int64_t size = layout.size(group);
        const std::int32_t* members = layout.members + layout.member_ptr[group];
        const float* entries = one.entries + layout.entry_ptr[group] + layout.slots[feature] * size;
        for (std::int64_t i = 0; i < size; ++i) {
            if (entries[i] == 0.0F) continue;
            present_.insert(members[i]);
            sums_[at(members[i])] += value * entries[i];
        }
    }

    const std::vector<CoOccurrenceView>* blocks_;
    std::vector<float> sums_;
    OrderedSet present_;
    RowBlock product_;
};

double length(const std::vector<float>& values) {
    double sum = 0.0;
    for (const float value : values) sum += static_cast<double>(value) * value;
    return std::sqrt(sum);
}

/// Calls both(feature, of the row, of the product) for the features of either, in order.
template <class Both>
void merge(const CsrView& rows, std::int64_t row, const RowBlock& product, Both both) {
    std::int64_t p = rows.begin(row);
    std::size_t q = 0;
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

/// Keeps the `room` entries of the largest size, of equal ones those of the smaller feature.
void keep_largest(RowBlock& entries, std::size_t room, std::vector<std::size_t>& order) {
    if (entries.data.size() <= room) return;
    order.resize(entries.data.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    const auto cut = order.begin() + static_cast<std::ptrdiff_t>(room);
    std::nth_element(order.begin(), cut, order.end(), [&](std::size_t a, std::size_t b) {
        const float x = std::abs(entries.data[a]);
        const float y = std::abs(entries.data[b]);
        return x > y || (x == y && a < b);
    });
    std::sort(order.begin(), cut);
    for (std::size_t i = 0; i < room; ++i) {
        entries.indices[i] = entries.indices[order[i]];
        entries.data[i] = entries.data[order[i]];
    }
    entries.indices.resize(room);
    entries.data.resize(room);
}

std::size_t places(const Room& room, std::int64_t n_entries) {
    std::int64_t most = std::numeric_limits<std::int64_t>::max();
    if (room.max_growth > 0) most = std::min(most, room.max_growth * n_entries);
    if (room.max_entries > 0) most = std::min(most, room.max_entries);
    return at(most);
}

}  // namespace

std::vector<float> co_occurrence(const Context& context, const CsrView& matrix,
                                 const GroupLayout& layout, bool cosine) {
    const std::int64_t n_groups = layout.n_groups;
    std::vector<float> entries(at(layout.entry_ptr[n_groups]));
    std::vector<double> sums(entries.size());
    const std::int64_t grain = n_groups / static_cast<std::int64_t>(context.n_threads()) + 1;
    context.expect((n_groups + grain - 1) / grain * matrix.n_rows);
    parallel_for(context, n_groups, grain, [&](std::int64_t first, std::int64_t last, unsigned) {
        GroupedRow grouped(layout, first, last);
        const auto add = [&](std::int32_t group, const Link& one, const Link& other) {
            const std::int64_t place = other.slot * layout.size(group) + one.slot;
            sums[at(layout.entry_ptr[group] + place)] +=
                static_cast<double>(one.value) * other.value;
        };
        for (std::int64_t row = 0; row < matrix.n_rows; ++row) {
            grouped.visit_pairs(matrix, row, add);
            if (row % kRowsPerBlock == 0) context.advance(kRowsPerBlock);
        }
        for (std::int64_t group = first; group < last; ++group) {
            const std::int64_t begin = layout.entry_ptr[group];
            finish_block(sums.data() + begin, layout.size(group), cosine, entries.data() + begin);
        }
    });
    return entries;
}

std::vector<float> overlaps(const Context& context, const CsrView& rows,
                            const std::vector<CoOccurrenceView>& blocks) {
    context.expect(rows.n_rows);
    std::vector<float> result(at(rows.n_rows));
    parallel_for(
        context, rows.n_rows, kRowsOfOverlaps, [&](std::int64_t begin, std::int64_t end, unsigned) {
            std::vector<double> sums(at(end - begin));
            for (const CoOccurrenceView& one : blocks) {
                const GroupLayout& layout = one.layout;
                GroupedRow grouped(layout, 0, layout.n_groups);
                for (std::int64_t row = begin; row < end; ++row) {
                    double& sum = sums[at(row - begin)];
                    grouped.visit_pairs(
                        rows, row, [&](std::int32_t group, const Link& a, const Link& b) {
                            const std::int64_t size = layout.size(group);
                            const float* entries = one.entries + layout.entry_ptr[group];
                            double entry = entries[a.slot * size + b.slot];
                            if (a.slot != b.slot) entry += entries[b.slot * size + a.slot];
                            sum += static_cast<double>(a.value) * b.value * entry;
                        });
                }
            }
            for (std::int64_t row = begin; row < end; ++row) {
                result[at(row)] =
                    static_cast<float>(sums[at(row - begin)] / static_cast<double>(blocks.size()));
            }
            context.advance(end - begin);
        });
    return result;
}

Csr impute(const Context& context, const CsrView& rows, const std::vector<CoOccurrenceView>& blocks,
           const float* betas, const Room& room) {
    context.expect(rows.n_rows);
    std::vector<RowProduct> products(context.n_threads(), RowProduct(rows.n_cols, blocks));
    std::vector<RowBlock> results(context.n_threads());
    std::vector<std::vector<std::size_t>> orders(context.n_threads());
    const RowBlock nothing;
    const auto fill = [&](std::int64_t row, RowBlock& block, unsigned worker) {
        RowBlock& result = results[worker];
        result.indices.clear();
        result.data.clear();
        float factor = 0.0F;
        const RowBlock* product = &nothing;
        if (betas == nullptr || betas[row] != 0.0F) {
            product = &products[worker].multiply(rows, row);
            const auto size = static_cast<float>(length(product->data));
            if (size > 0.0F) factor = (betas == nullptr ? 1.0F : betas[row]) / size;
        }
        merge(rows, row, *product, [&](std::int32_t feature, float u, float v) {
            const float value = (betas == nullptr ? 0.0F : u) + factor * v;
            if (value != 0.0F) result.push(feature, value);
        });
        keep_largest(result, places(room, rows.end(row) - rows.begin(row)), orders[worker]);
        const double size = length(result.data);
        for (std::size_t i = 0; i < result.indices.size(); ++i) {
            block.push(result.indices[i], static_cast<float>(result.data[i] / size));
        }
    };
    return build_rows(context, rows.n_rows, rows.n_cols, kRowsPerBlock, fill);
}

}  // namespace defrag
