// SPDX-License-Identifier: BSD-3-Clause
#include "core/base/ranking.hpp"

namespace defrag {
namespace {

constexpr std::int64_t kRowsPerBlock = 256;

}  // namespace

TopLabels average_trees(const Context& context, const Vector<TopLabels>& trees, std::int64_t n_rows,
                        std::int64_t k) {
    TopLabels result(n_rows, k);
    const auto n_trees = static_cast<float>(trees.size());
    parallel_for(
        context, n_rows, kRowsPerBlock, [&](std::int64_t begin, std::int64_t end, unsigned) {
            Vector<Scored> all;
            for (std::int64_t row = begin; row < end; ++row) {
                all.clear();
                for (const TopLabels& tree : trees) {
                    for (std::int64_t i = row * tree.k; i < (row + 1) * tree.k; ++i) {
                        if (tree.labels[i] >= 0) all.push_back({tree.scores[i], tree.labels[i]});
                    }
                }
                // Stable, so that the scores of a label are added in the order of the trees.
                std::stable_sort(all.begin(), all.end(),
                                 [](const Scored& a, const Scored& b) { return a.id < b.id; });
                std::int64_t n = 0;
                for (std::int64_t i = 0; i < all.size(); ++i) {
                    if (n > 0 && all[n - 1].id == all[i].id) {
                        all[n - 1].score += all[i].score;
                    } else {
                        all[n++] = all[i];
                    }
                }
                for (std::int64_t i = 0; i < n; ++i) all[i].score /= n_trees;
                all.resize(n);
                top_n(all, k, better);
                result.write(row, all.data(), all.size());
            }
            context.check();
        });
    return result;
}

}  // namespace defrag
