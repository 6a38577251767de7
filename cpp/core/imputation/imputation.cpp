// SPDX-License-Identifier: BSD-3-Clause
#include "core/imputation/imputation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/bitset.hpp"
#include "core/base/blocks.hpp"
#include "core/base/inverted_index.hpp"
#include "core/base/random.hpp"
#include "core/base/ranking.hpp"
#include "core/imputation/imputation.hpp"

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

namespace {

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
    const Vector<RowEntry>& multiply(const CsrView& rows, std::int64_t row) {
        source_.visit(rows, row, [&](std::int32_t feature, float value) {
            present_.insert(feature);
            sums_[feature] += value;
        });
        product_.clear();
        present_.drain([&](std::int32_t feature) {
            float& sum = sums_[feature];
            if (sum != 0.0F) product_.push_back({feature, sum});
            sum = 0.0F;
        });
        return product_;
    }

 private:
    Source source_;
    Vector<float> sums_;
    OrderedSet present_;
    Vector<RowEntry> product_;
};

double length(const Vector<RowEntry>& row) {
    double sum = 0.0;
    for (const RowEntry& entry : row) sum += static_cast<double>(entry.value) * entry.value;
    return std::sqrt(sum);
}

/// Calls both(feature, value in the row, value in the product) for the union of their features, in
/// order.
template <class Both>
void merge(const CsrView& rows, std::int64_t row, const Vector<RowEntry>& product, Both both) {
    std::int64_t p = rows.begin(row);
    std::int64_t q = 0;
    while (p < rows.end(row) || q < product.size()) {
        const bool left =
            q == product.size() || (p < rows.end(row) && rows.indices[p] <= product[q].column);
        const bool right =
            p == rows.end(row) || (q < product.size() && product[q].column <= rows.indices[p]);
        const std::int32_t feature = left ? rows.indices[p] : product[q].column;
        both(feature, left ? rows.data[p] : 0.0F, right ? product[q].value : 0.0F);
        p += left ? 1 : 0;
        q += right ? 1 : 0;
    }
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
        Vector<RowEntry> result;
    };
    PerWorker<Scratch> scratches(
        context, [&] { return Scratch{RowProduct<Source>(rows.n_cols, source), {}}; });
    const auto fill = [&](std::int64_t row, RowBlock& block, unsigned worker) {
        if (betas != nullptr && betas[row] == 0.0F) {
            block.indices.insert(block.indices.end(), rows.indices + rows.begin(row),
                                 rows.indices + rows.end(row));
            block.data.insert(block.data.end(), rows.data + rows.begin(row),
                              rows.data + rows.end(row));
            return;
        }
        Scratch& scratch = scratches[worker];
        Vector<RowEntry>& result = scratch.result;
        result.clear();
        const Vector<RowEntry>& product = scratch.product.multiply(rows, row);
        const auto product_size = static_cast<float>(length(product));
        const float beta = betas == nullptr ? 1.0F : betas[row];
        const float factor = product_size > 0.0F ? beta / product_size : 0.0F;
        merge(rows, row, product, [&](std::int32_t feature, float u, float v) {
            const float value = (betas == nullptr ? 0.0F : u) + factor * v;
            if (value != 0.0F) result.push_back({feature, value});
        });
        keep_largest(result, places(room, rows.end(row) - rows.begin(row)));
        const double size = length(result);
        for (const RowEntry& entry : result) {
            block.push(entry.column, static_cast<float>(entry.value / size));
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
