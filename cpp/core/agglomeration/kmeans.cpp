// SPDX-License-Identifier: BSD-3-Clause
#include "core/agglomeration/kmeans.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/aligned.hpp"
#include "core/base/random.hpp"
#include "core/solver/compact_rows.hpp"
#include "core/solver/pass.hpp"

namespace defrag {
namespace {

// Number of items whose entries stay in the cache while the panels are streamed.
constexpr std::int64_t kItemsPerTurn = 64;
// Number of panels scored in one pass over an item.
constexpr std::int64_t kPanelsPerTurn = 4;
constexpr std::int64_t kItemGrain = 256;

/// The two most similar centres of an item so far.
struct Nearest {
    float first_score = 0.0F;
    float second_score = 0.0F;
    std::int32_t first = -1;
    std::int32_t second = -1;

    /// Centres must be offered in ascending order: ties go to the first.
    void offer(float score, std::int32_t centre) {
        if (score > first_score) {
            second_score = std::exchange(first_score, score);
            second = std::exchange(first, centre);
        } else if (score > second_score) {
            second_score = score;
            second = centre;
        }
    }
};

class KMeans {
 public:
    KMeans(const Context& context, const CsrView& items, const KMeansOptions& options)
        : context_(context),
          items_(items),
          options_(options),
          score_panels_(select_score_panels(options.instructions)),
          cluster_(items.n_rows, -1),
          nearest_(items.n_rows) {
        Vector<std::int32_t> slots(items.n_cols);
        rows_.assign(items, nullptr, items.n_rows, 0.0F, slots);
        panel_size_ = rows_.n_slots() * kLanes;
    }

    KMeansResult run() {
        choose_starts();
        KMeansResult result;
        context_.expect(options_.max_rounds);
        for (double before = -1.0; result.n_rounds < options_.max_rounds;) {
            assign_items();
            result.objective = objective();
            ++result.n_rounds;
            context_.advance(1);
            if (result.objective - before < options_.tolerance) break;
            before = result.objective;
        }
        for (const Nearest& nearest : nearest_) result.second.push_back(nearest.second);
        result.cluster = std::move(cluster_);
        return result;
    }

 private:
    void choose_starts() {
        if (options_.starts == nullptr) {
            draw_starts();
        } else {
            n_clusters_ = options_.n_clusters;
            cluster_.assign(options_.starts, options_.starts + items_.n_rows);
        }
        n_panels_ = (n_clusters_ + kLanes - 1) / kLanes;
        const std::int64_t bytes = panel_size_ * static_cast<std::int64_t>(sizeof(float));
        panels_at_once_ =
            std::clamp<std::int64_t>(options_.panel_bytes / std::max<std::int64_t>(bytes, 1), 1,
                                     std::max<std::int64_t>(n_panels_, 1));
        panels_.require(panels_at_once_ * panel_size_);
        inverse_norms_.resize(panels_at_once_ * kLanes);
    }

    /// Starts each cluster with a distinct random item as its only member.
    void draw_starts() {
        Vector<std::int32_t> candidates;
        for (std::int64_t item = 0; item < items_.n_rows; ++item) {
            if (items_.end(item) > items_.begin(item)) {
                candidates.push_back(static_cast<std::int32_t>(item));
            }
        }
        const auto n_candidates = candidates.size();
        n_clusters_ = std::min(options_.n_clusters, n_candidates);
        Stream stream(options_.seed, Stage::kKMeans, options_.item);
        for (std::int64_t c = 0; c < n_clusters_; ++c) {
            std::swap(candidates[c], candidates[c + stream.below(n_candidates - c)]);
            cluster_[candidates[c]] = static_cast<std::int32_t>(c);
        }
    }

    /// Runs one round: computes the centres of the current clusters, then assigns every item to the
    /// nearest one.
    void assign_items() {
        list_members();
        std::fill(nearest_.begin(), nearest_.end(), Nearest());
        for (std::int64_t first = 0; first < n_panels_; first += panels_at_once_) {
            const std::int64_t count = std::min(panels_at_once_, n_panels_ - first);
            parallel_for(context_, count, 1, [&](std::int64_t panel, std::int64_t, unsigned) {
                fill_panel(first, panel);
                context_.check();
            });
            parallel_for(context_, items_.n_rows, kItemGrain,
                         [&](std::int64_t begin, std::int64_t end, unsigned) {
                             score_items(first, count, begin, end);
                             context_.check();
                         });
        }
        for (std::int64_t item = 0; item < nearest_.size(); ++item) {
            cluster_[item] = nearest_[item].first;
        }
    }

    void list_members() {
        member_ptr_.assign(n_clusters_ + 1, 0);
        for (const std::int32_t cluster : cluster_) {
            if (cluster >= 0) ++member_ptr_[cluster + 1];
        }
        std::partial_sum(member_ptr_.begin(), member_ptr_.end(), member_ptr_.begin());
        members_.resize(member_ptr_.back());
        Vector<std::int64_t> next(member_ptr_.begin(), member_ptr_.end() - 1);
        for (std::int64_t item = 0; item < cluster_.size(); ++item) {
            if (cluster_[item] < 0) continue;
            members_[next[cluster_[item]]++] = static_cast<std::int32_t>(item);
        }
    }

    /// Sums the members of the sixteen clusters of panel number first + panel, which is held at
    /// index `panel`.
    void fill_panel(std::int64_t first, std::int64_t panel) {
        float* lines = panels_.data() + panel * panel_size_;
        std::fill(lines, lines + panel_size_, 0.0F);
        for (std::int64_t lane = 0; lane < kLanes; ++lane) {
            const std::int64_t cluster = (first + panel) * kLanes + lane;
            if (cluster >= n_clusters_) break;
            float* line = lines + lane;
            for (auto m = member_ptr_[cluster]; m < member_ptr_[cluster + 1]; ++m) {
                const std::int32_t item = members_[m];
                for (auto e = rows_.starts()[item]; e < rows_.starts()[item + 1]; ++e) {
                    const Entry& entry = rows_.entries()[e];
                    line[entry.offset / sizeof(float)] += entry.value;
                }
            }
        }
        double squares[kLanes] = {};
        for (std::int64_t i = 0; i < panel_size_; ++i) {
            squares[i % kLanes] += static_cast<double>(lines[i]) * static_cast<double>(lines[i]);
        }
        for (std::int64_t lane = 0; lane < kLanes; ++lane) {
            // Zero for the centre of an empty cluster, or of items that cancel out.
            inverse_norms_[panel * kLanes + lane] =
                squares[lane] > 0.0 ? static_cast<float>(1.0 / std::sqrt(squares[lane])) : 0.0F;
        }
    }

    void score_items(std::int64_t first, std::int64_t n_panels, std::int64_t begin,
                     std::int64_t end) {
        const std::int64_t stride = kPanelsPerTurn * kLanes;
        AlignedBuffer<float> scores;
        scores.require(kItemsPerTurn * stride);
        for (std::int64_t item = begin; item < end; item += kItemsPerTurn) {
            const std::int64_t last = std::min(item + kItemsPerTurn, end);
            for (std::int64_t panel = 0; panel < n_panels; panel += kPanelsPerTurn) {
                const std::int64_t together = std::min(kPanelsPerTurn, n_panels - panel);
                std::fill(scores.data(), scores.data() + kItemsPerTurn * stride, 0.0F);
                for (std::int64_t i = item; i < last; ++i) {
                    float* line = scores.data() + (i - item) * stride;
                    score_panels_(rows_.entries() + rows_.starts()[i],
                                  rows_.entries() + rows_.starts()[i + 1],
                                  panels_.data() + panel * panel_size_, panel_size_, together,
                                  line);
                    offer_all(nearest_[i], line, panel * kLanes, together * kLanes, first * kLanes);
                }
            }
        }
    }

    /// Offers the centres whose scores are in `line`; the first of them is number `place` of the
    /// centres held, which start with centre `base`.
    void offer_all(Nearest& nearest, const float* line, std::int64_t place, std::int64_t count,
                   std::int64_t base) const {
        for (std::int64_t o = 0; o < count; ++o) {
            const float score = line[o] * inverse_norms_[place + o];
            if (score > nearest.second_score) {
                nearest.offer(score, static_cast<std::int32_t>(base + place + o));
            }
        }
    }

    double objective() const {
        double sum = 0.0;
        for (const Nearest& nearest : nearest_) sum += static_cast<double>(nearest.first_score);
        return nearest_.empty() ? 0.0 : sum / static_cast<double>(nearest_.size());
    }

    const Context& context_;
    const CsrView& items_;
    const KMeansOptions& options_;
    ScorePanels score_panels_;
    CompactRows rows_;
    Vector<std::int32_t> cluster_;
    Vector<Nearest> nearest_;
    Vector<std::int64_t> member_ptr_;
    Vector<std::int32_t> members_;
    AlignedBuffer<float> panels_;  // [panel][coordinate][kLanes]
    Vector<float> inverse_norms_;
    std::int64_t n_clusters_ = 0;
    std::int64_t n_panels_ = 0;
    std::int64_t panels_at_once_ = 1;
    std::int64_t panel_size_ = 0;
};

}  // namespace

KMeansResult spherical_kmeans(const Context& context, const CsrView& items,
                              const KMeansOptions& options) {
    CompactRows::check_width(items);
    return KMeans(context, items, options).run();
}

}  // namespace defrag
