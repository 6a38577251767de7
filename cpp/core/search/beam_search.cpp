// SPDX-License-Identifier: BSD-3-Clause
// Beam search: level by level, the best nodes of every row are replaced by their best children;
// then the labels of the leaves that were reached are ranked.
#include "core/search/beam_search.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>

#include "core/search/batch_search.hpp"

namespace defrag {
namespace {

/// Calls take(search, first) for all rows, in batches; row r of a batch is row first + r of X.
template <class Take>
void search_batches(const Context& context, const LabelTreeModel& model, const CsrView& X,
                    const BeamOptions& options, Take take) {
    context.expect(X.n_rows);
    if (model.tree.n_nodes == 0) return;
    Visitor visitor(context, model, X, options.score, options.instructions);
    Vector<std::int32_t> rows(std::min(kMaxBatch, X.n_rows));
    for (std::int64_t first = 0; first < X.n_rows; first += kMaxBatch) {
        const std::int64_t n_rows = std::min(kMaxBatch, X.n_rows - first);
        std::iota(rows.begin(), rows.end(), static_cast<std::int32_t>(first));
        const Crew crew(context, n_rows < kMinBatch);
        BatchSearch search(crew, model, options, visitor, rows.data(), n_rows);
        search.find_leaves();
        take(search, first);
        context.advance(n_rows);
    }
}

}  // namespace

BeamOptions bounded(const BeamOptions& options, const LabelTreeModel& model) {
    if (options.beam_size < 1) {
        throw std::invalid_argument("beam_size must be at least 1, got " +
                                    std::to_string(options.beam_size));
    }
    BeamOptions result = options;
    result.beam_size = std::min(options.beam_size, std::max<std::int64_t>(model.tree.n_nodes, 1));
    return result;
}

TopLabels beam_search(const Context& context, const LabelTreeModel& model, const CsrView& X,
                      const BeamOptions& options) {
    const BeamOptions own = bounded(options, model);
    TopLabels result(X.n_rows, own.k);
    search_batches(context, model, X, own, [&](BatchSearch& search, std::int64_t first) {
        search.rank_labels(own.k);
        Shortlists& labels = search.labels();
        search.each_row([&](std::int64_t row, unsigned) {
            write_labels(labels.items(row), labels.size(row), first + row, result);
        });
    });
    return result;
}

PointLists reached_leaves(const Context& context, const LabelTreeModel& model, const CsrView& X,
                          const BeamOptions& options) {
    const BeamOptions own = bounded(options, model);
    Vector<std::int32_t> leaves(checked_product(X.n_rows, own.beam_size), -1);
    search_batches(context, model, X, own, [&](BatchSearch& search, std::int64_t first) {
        const Shortlists& beams = search.beams();
        search.each_row([&](std::int64_t row, unsigned) {
            std::int32_t* own_leaves = leaves.data() + (first + row) * own.beam_size;
            for (std::int64_t i = 0; i < beams.size(row); ++i) {
                own_leaves[i] = beams.items(row)[i].id;
            }
        });
    });
    PointLists lists;
    lists.begin.assign(model.tree.n_nodes + 1, 0);
    for (const std::int32_t leaf : leaves) {
        if (leaf >= 0) ++lists.begin[leaf + 1];
    }
    std::partial_sum(lists.begin.begin(), lists.begin.end(), lists.begin.begin());
    lists.points.resize_for_overwrite(lists.begin.back());
    Vector<std::int64_t> next(lists.begin.begin(), lists.begin.end());
    for (std::int64_t i = 0; i < leaves.size(); ++i) {
        if (leaves[i] < 0) continue;
        lists.points[next[leaves[i]]++] = static_cast<std::int32_t>(i / own.beam_size);
    }
    return lists;
}

}  // namespace defrag
