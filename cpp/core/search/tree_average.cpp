// SPDX-License-Identifier: BSD-3-Clause
#include "core/search/tree_average.hpp"

#include <cmath>
#include <functional>
#include <memory>
#include <numeric>

#include "core/search/batch_search.hpp"

namespace defrag {
namespace {

// A score that is not known.
constexpr float kMissing = -1.0F;

/// The known scores of the labels of a row, by tree. One object per thread.
class Scores {
 public:
    explicit Scores(std::int64_t n_members) : n_members_(n_members) {}

    /// Removes all labels and makes room for n.
    void start(std::int64_t n) {
        std::int64_t size = 16;
        while (size < 2 * n) size *= 2;
        numbers_.assign(size, -1);
        labels_.clear();
        scores_.clear();
    }

    void add(std::int32_t label, std::int64_t member, float score) {
        const std::int64_t number = number_of(label);
        scores_[number * n_members_ + member] = score;
    }

    std::int64_t size() const { return labels_.size(); }
    std::int32_t label(std::int64_t number) const { return labels_[number]; }
    bool misses(std::int64_t number, std::int64_t member) const {
        return scores_[number * n_members_ + member] == kMissing;
    }

    /// Returns the mean of the scores of a label, with instead(member) for those that are missing.
    /// It is added up in the order of the trees, and does not decrease if one of them grows.
    template <class Instead>
    float mean(std::int64_t number, Instead instead) const {
        float sum = 0.0F;
        for (std::int64_t m = 0; m < n_members_; ++m) {
            sum += misses(number, m) ? instead(m) : scores_[number * n_members_ + m];
        }
        return sum / static_cast<float>(n_members_);
    }

 private:
    /// Returns the number of a label, which it gets now if it has none.
    std::int64_t number_of(std::int32_t label) {
        const std::int64_t last = numbers_.size() - 1;
        const std::uint32_t hash = static_cast<std::uint32_t>(label) * 0x9E3779B1U;
        std::int64_t place = (hash >> 8) & last;
        while (numbers_[place] >= 0 && labels_[numbers_[place]] != label) {
            place = (place + 1) & last;
        }
        if (numbers_[place] < 0) {
            numbers_[place] = static_cast<std::int32_t>(labels_.size());
            labels_.push_back(label);
            scores_.insert(scores_.end(), static_cast<std::size_t>(n_members_), kMissing);
        }
        return numbers_[place];
    }

    std::int64_t n_members_;
    Vector<std::int32_t> numbers_;  // a hash table of the numbers of labels, or -1
    Vector<std::int32_t> labels_;
    Vector<float> scores_;  // [label][member]
};

/// Memory that a thread reuses.
struct Scratch {
    explicit Scratch(std::int64_t n_members) : scores(n_members) {}

    Scores scores;
    Vector<Scored> means;   // of labels, without the scores that are missing
    Vector<float> sorted;   // the same in another order
    Vector<float> highest;  // by tree: a bound on the scores of labels that it does not list
};

/// The search of a batch of rows in all trees.
class Batch {
 public:
    Batch(const Crew& crew, const Vector<Member>& members, const Vector<BeamOptions>& options,
          const Vector<std::unique_ptr<Visitor>>& visitors, const Vector<std::int32_t>& rows)
        : members_(members), rows_(rows), wanted_(members.size()), waiting_(rows.size(), 0) {
        for (std::int64_t m = 0; m < members.size(); ++m) {
            searches_.emplace_back(crew, members[m].model, options[m], *visitors[m], rows.data(),
                                   rows.size());
        }
    }

    void rank(PerWorker<Scratch>& scratches, TopLabels& out) {
        n_listed_ = n_ranked(out.k);
        for (std::int64_t m = 0; m < members_.size(); ++m) {
            BatchSearch& search = searches_[m];
            search.find_leaves();
            search.rank_labels(n_listed_);
            search.each_row([&](std::int64_t row, unsigned) { raise(search.labels(), row); });
            const bool always_complete = members_[m].model.tree.n_order < n_listed_;
            wanted_[m].start(rows_.size(), always_complete ? 0 : n_listed_ * (members_.size() - 1));
        }
        searches_[0].each_row([&](std::int64_t row, unsigned worker) {
            Scratch& scratch = scratches[worker];
            collect(row, scratch);
            ask(row, scratch, out.k);
            if (waiting_[row] == 0) write(row, scratch, out);
        });
        for (std::int64_t m = 0; m < members_.size(); ++m) searches_[m].score_places(wanted_[m]);
        searches_[0].each_row([&](std::int64_t row, unsigned worker) {
            if (waiting_[row] == 0) return;
            for (Shortlists& lists : wanted_) raise(lists, row);
            collect(row, scratches[worker]);
            write(row, scratches[worker], out);
        });
    }

 private:
    /// Replaces log scores by scores.
    static void raise(Shortlists& lists, std::int64_t row) {
        Scored* items = lists.items(row);
        for (std::int64_t i = 0; i < lists.size(row); ++i) {
            items[i].score = std::exp(items[i].score);
        }
    }

    /// Gathers the known scores of a row.
    void collect(std::int64_t row, Scratch& scratch) {
        Scores& scores = scratch.scores;
        scores.start(n_listed_ * members_.size());
        for (std::int64_t m = 0; m < members_.size(); ++m) {
            const Shortlists& labels = searches_[m].labels();
            for (std::int64_t i = 0; i < labels.size(row); ++i) {
                scores.add(labels.items(row)[i].id, m, labels.items(row)[i].score);
            }
            const std::int32_t* order = members_[m].model.tree.order;
            for (std::int64_t i = 0; i < wanted_[m].size(row); ++i) {
                scores.add(order[wanted_[m].items(row)[i].id], m, wanted_[m].items(row)[i].score);
            }
        }
        scratch.means.clear();
        for (std::int64_t i = 0; i < scores.size(); ++i) {
            const float mean = scores.mean(i, [](std::int64_t) { return 0.0F; });
            scratch.means.push_back({mean, scores.label(i)});
        }
    }

    /// Asks for the missing scores of labels of a row that could be among the best k with them.
    void ask(std::int64_t row, Scratch& scratch, std::int64_t k) {
        scratch.highest.clear();
        for (const BatchSearch& search : searches_) {
            scratch.highest.push_back(std::max(search.labels().bound(row), 0.0F));
        }
        const Scores& scores = scratch.scores;
        const float bound = find_kth(scratch, k);
        for (std::int64_t i = 0; i < scores.size(); ++i) {
            const auto listed = [&](std::int64_t m) { return scratch.highest[m]; };
            const auto reached = [&](std::int64_t m) {
                return std::min(searches_[m].most_at(row, place_of(scores.label(i), m)), listed(m));
            };
            if (scores.mean(i, listed) < bound || scores.mean(i, reached) < bound) continue;
            for (std::int64_t m = 0; m < members_.size(); ++m) {
                const bool complete = searches_[m].labels().size(row) < n_listed_;
                if (complete || !scores.misses(i, m)) continue;
                wanted_[m].add(row, {0.0F, place_of(scores.label(i), m)});
                waiting_[row] = 1;
            }
        }
    }

    /// Returns the place of a label in the order of a tree, or -1.
    std::int32_t place_of(std::int32_t label, std::int64_t m) const {
        return label < members_[m].n_places ? members_[m].places[label] : -1;
    }

    /// Returns the k-th largest mean, or 0 if there are fewer.
    static float find_kth(Scratch& scratch, std::int64_t k) {
        if (scratch.means.size() < k) return 0.0F;
        scratch.sorted.clear();
        for (const Scored& one : scratch.means) scratch.sorted.push_back(one.score);
        const auto kth = scratch.sorted.begin() + (k - 1);
        std::nth_element(scratch.sorted.begin(), kth, scratch.sorted.end(), std::greater<float>());
        return *kth;
    }

    void write(std::int64_t row, Scratch& scratch, TopLabels& out) const {
        top_n(scratch.means, out.k, better);
        out.write(rows_[row], scratch.means.data(), scratch.means.size());
    }

    const Vector<Member>& members_;
    const Vector<std::int32_t>& rows_;
    std::int64_t n_listed_ = 0;
    Vector<BatchSearch> searches_;
    Vector<Shortlists> wanted_;     // by tree: the places of labels whose scores are missing
    Vector<std::uint8_t> waiting_;  // whether scores of a row are missing
};

}  // namespace

TopLabels search_trees(const Context& context, const Vector<Member>& members, const CsrView& X,
                       const BeamOptions& options) {
    context.expect(X.n_rows);
    TopLabels result(X.n_rows, options.k);
    Vector<BeamOptions> own;
    Vector<std::unique_ptr<Visitor>> visitors;
    for (const Member& member : members) {
        own.push_back(bounded(options, member.model));
        visitors.push_back(std::make_unique<Visitor>(context, member.model, X, options.score,
                                                     options.instructions));
    }
    PerWorker<Scratch> scratches(context, [&] { return Scratch(members.size()); });
    for (std::int64_t first = 0; first < X.n_rows; first += kMaxBatch) {
        Vector<std::int32_t> rows(std::min(kMaxBatch, X.n_rows - first));
        std::iota(rows.begin(), rows.end(), static_cast<std::int32_t>(first));
        const Crew crew(context, rows.size() < kMinBatch);
        Batch(crew, members, own, visitors, rows).rank(scratches, result);
        context.advance(rows.size());
    }
    return result;
}

}  // namespace defrag
