// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/text/corpus.hpp"

namespace defrag {

/// The names found in some texts: those of text i are [ends[i - 1], ends[i]), by number.
struct NameMatches {
    Vector<std::int64_t> ends;
    Vector<std::int32_t> names;
    Vector<std::int32_t> times;   ///< sentences that have the name
    Vector<std::uint8_t> title;   ///< whether one of them is in the title
    Vector<std::uint8_t> inside;  ///< whether it is always a part of a longer name
    Vector<float> first;          ///< where it is first found: words before it / words of the text
    Vector<float> cover;          ///< largest share of its words in the words of a sentence
    Vector<float> density;        ///< its words / words from its first to its last, at best 1
};

/// An index of names by their rarest stem. A stem is a word without the "s", "es" or "y" of its
/// end, which joins the numbers of English nouns: measured against a Snowball stemmer and prefixes
/// of five to eight letters, it finds as many of the labels and fewer others (decision 034).
class NameIndex {
 public:
    /// Numbers the names in their order; one without a word is never found. O(bytes + n log n).
    /// Memory: 16 bytes per name, 4 per word, and the distinct stems.
    explicit NameIndex(const Texts& names);

    /// Returns the number of the stem of a word, or -1.
    std::int32_t stem(std::string_view word) const;

    std::int64_t n_names() const { return sizes_.size(); }
    /// Returns the number of distinct stems of a name.
    std::int32_t size(std::int32_t name) const { return sizes_[name]; }

    /// Calls visit(name, others, n_others) for the names whose rarest stem is this one; `others`
    /// are their other stems.
    template <class Visit>
    void visit(std::int32_t stem, Visit visit) const {
        for (std::int64_t i = first_[stem]; i < first_[stem + 1]; ++i) {
            const std::int64_t begin = i == 0 ? 0 : ends_[i - 1];
            visit(names_[i], others_.data() + begin, ends_[i] - begin);
        }
    }

 private:
    Vocabulary stems_;
    Vector<std::int32_t> sizes_;
    Vector<std::int64_t> first_;   ///< the first name of each stem, among those sorted by stem
    Vector<std::int32_t> names_;   ///< names by their rarest stem
    Vector<std::int64_t> ends_;    ///< where the other stems of each end
    Vector<std::int32_t> others_;  ///< the other stems
};

/// Finds the names all of whose stems occur in one sentence. A sentence ends at a line feed, at one
/// of `.!?;:` before a space, or after 40 words. The title is the first line, or the first sentence
/// of a text of one line. O(bytes + names that share a rarest stem with a sentence). Memory: the
/// result, and the words of a sentence per worker.
NameMatches find_names(const Context& context, const Texts& texts, const NameIndex& index);

}  // namespace defrag
