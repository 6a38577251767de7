// SPDX-License-Identifier: BSD-3-Clause
#include "core/base/ranking.hpp"

namespace defrag {
namespace {

constexpr std::int64_t kRowsPerBlock = 256;

}  // namespace

void add_up(Vector<Scored>& items) {
    // Stable, so that the scores of an id are added in their order.
    std::stable_sort(items.begin(), items.end(),
                     [](const Scored& a, const Scored& b) { return a.id < b.id; });
    std::int64_t n = 0;
    for (const Scored& item : items) {
        if (n > 0 && items[n - 1].id == item.id) {
            items[n - 1].score += item.score;
        } else {
            items[n++] = item;
        }
    }
    items.resize(n);
}

TopLabels average_trees(const Context& context, const Vector<TopLabels>& trees, std::int64_t n_rows,
                        std::int64_t k) {
    TopLabels result(n_rows, k);
    const auto n_trees = static_cast<float>(trees.size());
    PerWorker<Vector<Scored>> scratches(context, [] { return Vector<Scored>(); });
    for_each(context, n_rows, kRowsPerBlock, [&](std::int64_t row, unsigned worker) {
        Vector<Scored>& all = scratches[worker];
        all.clear();
        for (const TopLabels& tree : trees) {
            for (std::int64_t i = row * tree.k; i < (row + 1) * tree.k; ++i) {
                if (tree.labels[i] >= 0) all.push_back({tree.scores[i], tree.labels[i]});
            }
        }
        add_up(all);
        for (Scored& one : all) one.score /= n_trees;
        top_n(all, k, better);
        result.write(row, all.data(), all.size());
    });
    return result;
}

}  // namespace defrag
