// SPDX-License-Identifier: BSD-3-Clause
#include "core/text/names.hpp"

#include <algorithm>
#include <cstdlib>

#include "core/text/words.hpp"

namespace defrag {
namespace {

constexpr std::int64_t kTextsPerBlock = 64;
// Longer sentences are lists, or texts without punctuation, whose ends have nothing in common.
constexpr std::int64_t kMaxWords = 40;

bool ends_with(std::string_view word, std::string_view end) {
    return word.size() >= end.size() && word.substr(word.size() - end.size()) == end;
}

std::string_view stem_of(std::string_view word) {
    const std::size_t size = word.size();
    if (size < 4) return word;
    if (word.back() == 'y' || ends_with(word, "ies")) {
        return word.substr(0, size - (word.back() == 'y' ? 1 : 3));
    }
    if (word.back() != 's' || ends_with(word, "us") || ends_with(word, "ss")) return word;
    for (const char* hiss : {"xes", "ses", "hes", "zes"}) {
        if (size >= 5 && ends_with(word, hiss)) return word.substr(0, size - 2);
    }
    return word.substr(0, size - 1);
}

/// Returns where the sentence that begins at `at` ends.
std::size_t end_of_sentence(std::string_view text, std::size_t at) {
    constexpr std::string_view kEnds = ".!?;:";
    for (; at < text.size(); ++at) {
        if (text[at] == '\n') return at + 1;
        if (kEnds.find(text[at]) == std::string_view::npos) continue;
        if (at + 1 == text.size() || text[at + 1] == ' ' || text[at + 1] == '\n') return at + 1;
    }
    return at;
}

template <class T>
void sort_unique(Vector<T>& items) {
    std::sort(items.begin(), items.end());
    items.erase(std::unique(items.begin(), items.end()), items.end());
}

/// A name in a sentence: its words are within [low, high] of the sentence.
struct Hit {
    std::int32_t name;
    std::int32_t low;
    std::int32_t high;
    std::int32_t place;  // words of the text before it
    float cover;
    float density;
    bool title;
    bool inside;
};

/// Finds the names in one text at a time.
class NameFinder {
 public:
    explicit NameFinder(const NameIndex& index) : index_(index) {}

    void find(std::string_view text, NameMatches& found) {
        hits_.clear();
        n_words_ = 0;
        const std::size_t line = text.find('\n');
        const bool has_lines = line != std::string_view::npos && line + 1 < text.size();
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t end = end_of_sentence(text, at);
            words_.split(text.substr(at, end - at));
            const bool title = has_lines ? at < line : at == 0;
            for (std::int64_t from = 0; from < words_.size(); from += kMaxWords) {
                find_in_sentence(from, std::min(words_.size(), from + kMaxWords), title);
            }
            at = end;
        }
        join(found);
        found.ends.push_back(found.names.size());
    }

 private:
    void find_in_sentence(std::int64_t begin, std::int64_t end, bool title) {
        stems_.clear();
        for (std::int64_t w = begin; w < end; ++w) stems_.push_back(index_.stem(words_[w]));
        distinct_ = stems_;
        sort_unique(distinct_);
        std::uint64_t some = 0;  // a bit for the stems of the sentence; most tests end here
        for (const std::int32_t stem : distinct_) some |= std::uint64_t{1} << (stem & 63);
        const auto is_here = [&](std::int32_t stem) {
            return (some >> (stem & 63) & 1) != 0 &&
                   std::binary_search(distinct_.begin(), distinct_.end(), stem);
        };
        const std::int64_t first_hit = hits_.size();
        for (const std::int32_t stem : distinct_) {
            if (stem < 0) continue;
            index_.visit(stem, [&](std::int32_t name, const std::int32_t* others, std::int64_t n) {
                if (std::all_of(others, others + n, is_here)) {
                    hits_.push_back(place(name, stem, others, n, title));
                }
            });
        }
        mark_inside(first_hit);
        n_words_ += static_cast<std::int32_t>(end - begin);
    }

    /// Returns a hit where the words of a name are closest together.
    Hit place(std::int32_t name, std::int32_t stem, const std::int32_t* others, std::int64_t n,
              bool title) const {
        const auto size = static_cast<std::int32_t>(stems_.size());
        std::int32_t best_low = 0;
        std::int32_t best_high = size;
        for (std::int32_t at = 0; at < size; ++at) {
            if (stems_[at] != stem) continue;
            std::int32_t low = at;
            std::int32_t high = at;
            for (std::int64_t other = 0; other < n; ++other) {
                std::int32_t nearest = -size;
                for (std::int32_t to = 0; to < size; ++to) {
                    if (stems_[to] == others[other] && std::abs(to - at) < std::abs(nearest - at)) {
                        nearest = to;
                    }
                }
                low = std::min(low, nearest);
                high = std::max(high, nearest);
            }
            if (high - low < best_high - best_low) {
                best_low = low;
                best_high = high;
            }
        }
        const auto n_stems = static_cast<float>(n + 1);
        return {name,
                best_low,
                best_high,
                n_words_ + best_low,
                n_stems / static_cast<float>(size),
                n_stems / static_cast<float>(best_high - best_low + 1),
                title,
                false};
    }

    /// Marks the hits of a sentence that lie within a longer name whose words follow each other.
    void mark_inside(std::int64_t first_hit) {
        furthest_.assign(stems_.size() + 1, -1);  // the last word of such names that begin before
        for (std::int64_t i = first_hit; i < hits_.size(); ++i) {
            const Hit& hit = hits_[i];
            if (hit.density >= 1.0F && hit.high > hit.low) {
                furthest_[hit.low + 1] = std::max(furthest_[hit.low + 1], hit.high);
            }
        }
        for (std::int64_t i = 1; i < furthest_.size(); ++i) {
            furthest_[i] = std::max(furthest_[i], furthest_[i - 1]);
        }
        for (std::int64_t i = first_hit; i < hits_.size(); ++i) {
            Hit& hit = hits_[i];
            hit.inside = furthest_[hit.low] >= hit.high || furthest_[hit.low + 1] > hit.high;
        }
    }

    /// Joins the hits of each name.
    void join(NameMatches& found) {
        std::sort(hits_.begin(), hits_.end(), [](const Hit& a, const Hit& b) {
            return a.name != b.name ? a.name < b.name : a.place < b.place;
        });
        for (std::int64_t i = 0; i < hits_.size();) {
            const std::int64_t begin = i;
            Hit best = hits_[i];
            for (++i; i < hits_.size() && hits_[i].name == best.name; ++i) {
                best.cover = std::max(best.cover, hits_[i].cover);
                best.density = std::max(best.density, hits_[i].density);
                best.title = best.title || hits_[i].title;
                best.inside = best.inside && hits_[i].inside;
            }
            found.names.push_back(best.name);
            found.times.push_back(static_cast<std::int32_t>(i - begin));
            found.title.push_back(best.title ? 1 : 0);
            found.inside.push_back(best.inside ? 1 : 0);
            found.first.push_back(static_cast<float>(best.place) / static_cast<float>(n_words_));
            found.cover.push_back(best.cover);
            found.density.push_back(best.density);
        }
    }

    const NameIndex& index_;
    Words words_;
    Vector<std::int32_t> stems_;     // of the sentence
    Vector<std::int32_t> distinct_;  // the same, sorted
    Vector<std::int32_t> furthest_;
    Vector<Hit> hits_;
    std::int32_t n_words_ = 0;  // of the text so far
};

template <class T>
void append(Vector<T>& all, const Vector<T>& some) {
    all.insert(all.end(), some.begin(), some.end());
}

}  // namespace

NameIndex::NameIndex(const Texts& names) {
    if (names.size() > INT32_MAX) throw std::length_error("more than 2^31 - 1 names");
    Words words;
    Vector<std::int32_t> stems;  // of one name after the other
    Vector<std::int32_t> own;
    for (const std::string_view name : names) {
        words.split(name);
        own.clear();
        for (std::int64_t w = 0; w < words.size(); ++w) {
            own.push_back(stems_.intern(stem_of(words[w])));
        }
        sort_unique(own);
        append(stems, own);
        sizes_.push_back(static_cast<std::int32_t>(own.size()));
    }
    Vector<std::int32_t> frequency(stems_.size());
    for (const std::int32_t stem : stems) ++frequency[stem];
    Vector<std::int32_t> rarest;
    first_.resize(stems_.size() + 1);
    const std::int32_t* at = stems.data();
    for (const std::int32_t size : sizes_) {
        const std::int32_t* found =
            std::min_element(at, at + size, [&](std::int32_t one, std::int32_t other) {
                return frequency[one] < frequency[other];
            });
        rarest.push_back(size == 0 ? -1 : *found);
        if (size > 0) ++first_[*found + 1];
        at += size;
    }
    for (std::int64_t stem = 1; stem < first_.size(); ++stem) first_[stem] += first_[stem - 1];
    Vector<std::int64_t> next(first_.begin(), first_.end() - 1);
    Vector<std::int64_t> begins(first_[stems_.size()]);  // of the stems of each name
    names_.resize(begins.size());
    std::int64_t begin = 0;
    for (std::int64_t name = 0; name < sizes_.size(); begin += sizes_[name++]) {
        if (rarest[name] < 0) continue;
        const std::int64_t place = next[rarest[name]]++;
        names_[place] = static_cast<std::int32_t>(name);
        begins[place] = begin;
    }
    for (std::int64_t i = 0; i < names_.size(); ++i) {
        for (std::int64_t s = begins[i]; s < begins[i] + sizes_[names_[i]]; ++s) {
            if (stems[s] != rarest[names_[i]]) others_.push_back(stems[s]);
        }
        ends_.push_back(others_.size());
    }
}

std::int32_t NameIndex::stem(std::string_view word) const { return stems_.find(stem_of(word)); }

NameMatches find_names(const Context& context, const Texts& texts, const NameIndex& index) {
    context.expect(texts.size());
    PerWorker<NameFinder> finders(context, [&] { return NameFinder(index); });
    Vector<NameMatches> blocks((texts.size() + kTextsPerBlock - 1) / kTextsPerBlock);
    for_each(context, texts.size(), kTextsPerBlock, [&](std::int64_t i, unsigned worker) {
        finders[worker].find(texts[i], blocks[i / kTextsPerBlock]);
    });
    NameMatches all;
    for (NameMatches& block : blocks) {
        for (std::int64_t& end : block.ends) end += all.names.size();
        append(all.ends, block.ends);
        append(all.names, block.names);
        append(all.times, block.times);
        append(all.title, block.title);
        append(all.inside, block.inside);
        append(all.first, block.first);
        append(all.cover, block.cover);
        append(all.density, block.density);
        block = NameMatches();
    }
    return all;
}

}  // namespace defrag
