// SPDX-License-Identifier: BSD-3-Clause
#include "core/agglomeration/co_occurrence.hpp"

#include <algorithm>
#include <cmath>

namespace defrag {
namespace {

constexpr std::int64_t kRowsPerBlock = 256;

/// A non-zero of a row, in the linked list of its group.
struct Link {
    std::int32_t slot;
    std::int32_t next;
    float value;
};

/// The non-zeros of one row as linked lists, one for each group in [first, last).
class GroupedRow {
 public:
    GroupedRow(const GroupLayout& layout, std::int64_t first, std::int64_t last)
        : layout_(layout), first_(first), last_(last), heads_(last - first, -1) {}

    /// Calls visit(group, one, other) for all pairs of non-zeros of a group, including each with
    /// itself; other.slot <= one.slot, since features increase along a row and lists run backwards.
    template <class Visit>
    void visit_pairs(const CsrView& matrix, std::int64_t row, Visit visit) {
        links_.clear();
        touched_.clear();
        for (std::int64_t p = matrix.begin(row); p < matrix.end(row); ++p) {
            const std::int32_t feature = matrix.indices[p];
            const std::int64_t group = layout_.groups[feature];
            if (group < first_ || group >= last_) continue;
            std::int32_t& head = heads_[group - first_];
            if (head < 0) touched_.push_back(static_cast<std::int32_t>(group));
            links_.push_back({layout_.slots[feature], head, matrix.data[p]});
            head = static_cast<std::int32_t>(links_.size()) - 1;
        }
        for (const std::int32_t group : touched_) {
            std::int32_t& head = heads_[group - first_];
            for (std::int32_t a = head; a >= 0; a = links_[a].next) {
                for (std::int32_t b = a; b >= 0; b = links_[b].next) {
                    visit(group, links_[a], links_[b]);
                }
            }
            head = -1;
        }
    }

 private:
    GroupLayout layout_;
    std::int64_t first_;
    std::int64_t last_;
    Vector<std::int32_t> heads_;
    Vector<std::int32_t> touched_;
    Vector<Link> links_;
};

/// Mirrors the upper triangle of a block and rounds it to float.
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

}  // namespace

Vector<float> co_occurrence(const Context& context, const CsrView& matrix,
                            const GroupLayout& layout, bool cosine) {
    const std::int64_t n_groups = layout.n_groups;
    Vector<float> entries(layout.entry_ptr[n_groups]);
    Vector<double> sums(entries.size());
    const std::int64_t grain = n_groups / static_cast<std::int64_t>(context.n_threads()) + 1;
    context.expect((n_groups + grain - 1) / grain * matrix.n_rows);
    parallel_for(context, n_groups, grain, [&](std::int64_t first, std::int64_t last, unsigned) {
        GroupedRow grouped(layout, first, last);
        const auto add = [&](std::int32_t group, const Link& one, const Link& other) {
            const std::int64_t place = other.slot * layout.size(group) + one.slot;
            sums[layout.entry_ptr[group] + place] += static_cast<double>(one.value) * other.value;
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

}  // namespace defrag
