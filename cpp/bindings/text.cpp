// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "bindings/csr_caster.hpp"
#include "bindings/run.hpp"
#include "core/text/counts.hpp"
#include "core/text/names.hpp"

using namespace nanobind::literals;
using namespace defrag;

namespace {

/// Returns views of the UTF-8 of Python strings, valid as long as the list. CPython caches the
/// UTF-8 of a non-ASCII string in the string object on the first call.
Texts text_views(const nb::list& texts) {
    Texts views;
    views.reserve(static_cast<std::int64_t>(nb::len(texts)));
    for (const nb::handle text : texts) {
        Py_ssize_t size = 0;
        const char* bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
        if (bytes == nullptr) throw nb::python_error();
        views.emplace_back(bytes, static_cast<std::size_t>(size));
    }
    return views;
}

/// Texts in one of the forms in which Python has them: a list of strings, or the attributes `data`
/// and `offsets` of strings that may be mapped from files, of which there is never a view each.
class GivenTexts {
 public:
    explicit GivenTexts(const nb::object& texts) {
        if (nb::isinstance<nb::list>(texts)) {
            views_ = text_views(nb::cast<nb::list>(texts));
            n_texts_ = views_.size();
            return;
        }
        data_ = nb::cast<Array<std::uint8_t>>(texts.attr("data"));
        offsets_ = nb::cast<Array<std::int64_t>>(texts.attr("offsets"));
        n_texts_ = n_items(offsets_) - 1;
        require(n_texts_ >= 0 && offsets_.data()[0] >= 0 &&
                    offsets_.data()[n_texts_] <= n_items(data_) &&
                    std::is_sorted(offsets_.data(), offsets_.data() + offsets_.size()),
                "offsets of texts must increase within their bytes");
    }

    std::int64_t size() const { return n_texts_; }

    /// Calls take(views) for the texts, some at a time.
    template <class Take>
    void each_part(Take take) const {
        constexpr std::int64_t kTextsPerPart = 64 * TextCorpus::kTextsPerBlock;
        if (!data_.is_valid()) return take(views_);
        const auto* bytes = reinterpret_cast<const char*>(data_.data());
        Texts part;
        for (std::int64_t i = 0; i < n_texts_; ++i) {
            const std::int64_t begin = offsets_.data()[i], end = offsets_.data()[i + 1];
            part.emplace_back(bytes + begin, static_cast<std::size_t>(end - begin));
            if (part.size() < kTextsPerPart && i + 1 < n_texts_) continue;
            take(part);
            part.clear();
        }
    }

    TextCorpus split(const Context& context) const {
        context.expect(n_texts_);
        TextSplitter splitter(context);
        each_part([&](const Texts& part) { splitter.add(context, part); });
        return splitter.finish(context);
    }

    /// Returns the texts, which are few.
    const Texts& all() {
        if (data_.is_valid())
            each_part([&](Texts part) {
                for (const std::string_view text : part) views_.push_back(text);
            });
        return views_;
    }

 private:
    Texts views_;
    Array<std::uint8_t> data_;
    Array<std::int64_t> offsets_;
    std::int64_t n_texts_ = 0;
};

nb::list to_strings(const StringList& words) {
    nb::list result;
    for (std::int64_t i = 0; i < words.size(); ++i) {
        result.append(nb::str(words[i].data(), words[i].size()));
    }
    return result;
}

template <class T>
Vector<T> to_vector(const Array<T>& array) {
    return Vector<T>(array.data(), array.data() + array.size());
}

/// Returns the words of a text, and the code points at which they begin and end.
auto split_words(std::string_view text) {
    Words words;
    words.split_with_places(text);
    StringList strings;
    Vector<std::size_t> begins;
    Vector<std::size_t> ends;
    for (std::int64_t w = 0; w < words.size(); ++w) {
        strings.push(words[w]);
        begins.push_back(words.place(w).begin);
        ends.push_back(words.place(w).end);
    }
    return std::tuple(to_strings(strings), to_numpy(code_points_before(text, begins)),
                      to_numpy(code_points_before(text, ends)));
}

/// Numbers the strings in lists by the order of their bytes. Returns the strings, the numbers and
/// the offsets of the lists, or nothing if an item is no string of valid characters.
using Numbered = std::tuple<nb::list, Numpy<std::int32_t, 1>, Numpy<std::int64_t, 1>>;

std::optional<Numbered> number_names(const nb::list& rows) {
    Vocabulary names;
    Vector<std::int32_t> numbers;
    Vector<std::int64_t> offsets{0};
    for (const nb::handle row : rows) {
        for (const nb::handle name : nb::cast<nb::list>(row)) {
            Py_ssize_t size = 0;
            const char* bytes = PyUnicode_CheckExact(name.ptr())
                                    ? PyUnicode_AsUTF8AndSize(name.ptr(), &size)
                                    : nullptr;
            if (bytes == nullptr) {
                PyErr_Clear();
                return std::nullopt;
            }
            numbers.push_back(names.intern({bytes, static_cast<std::size_t>(size)}));
        }
        offsets.push_back(numbers.size());
    }
    const Vector<std::int32_t> order = order_by_bytes(names.strings());
    Vector<std::int32_t> rank(order.size());
    nb::list sorted;
    for (std::int32_t i = 0; i < names.size(); ++i) {
        rank[order[i]] = i;
        sorted.append(nb::str(names[order[i]].data(), names[order[i]].size()));
    }
    for (std::int32_t& number : numbers) number = rank[number];
    return Numbered(sorted, to_numpy(std::move(numbers)), to_numpy(std::move(offsets)));
}

void bind_strings(nb::module_& m) {
    m.def("number_names", &number_names, "rows"_a);
    nb::class_<StringList>(m, "StringList")
        .def(
            "__init__",
            [](StringList* self, const nb::list& strings) {
                StringList list;
                for (const std::string_view string : text_views(strings)) list.push(string);
                new (self) StringList(std::move(list));
            },
            "strings"_a)
        .def(
            "__init__",
            [](StringList* self, const Array<std::uint8_t>& data,
               const Array<std::int64_t>& offsets) {
                StringList list;
                const auto* bytes = reinterpret_cast<const char*>(data.data());
                for (std::size_t i = 1; i < offsets.size(); ++i) {
                    const std::int64_t begin = offsets.data()[i - 1], end = offsets.data()[i];
                    require(0 <= begin && begin <= end && end <= n_items(data),
                            "offsets of strings must increase within their bytes");
                    list.push({bytes + begin, static_cast<std::size_t>(end - begin)});
                }
                new (self) StringList(std::move(list));
            },
            "data"_a.noconvert(), "offsets"_a.noconvert())
        .def("__len__", &StringList::size)
        .def("__iter__", [](const StringList& self) { return nb::iter(to_strings(self)); });
}

void bind_corpus(nb::module_& m) {
    nb::class_<TextCorpus>(m, "TextCorpus")
        .def(
            "__init__",
            [](TextCorpus* self, const nb::object& texts, unsigned n_threads,
               const nb::object& progress) {
                const GivenTexts given(texts);
                new (self) TextCorpus(run(n_threads, progress, [&](const Context& context) {
                    return given.split(context);
                }));
            },
            "texts"_a, nb::kw_only(), "n_threads"_a, "progress"_a = nb::none())
        .def("words", [](const TextCorpus& self) { return to_strings(self.words); })
        .def(
            "replace_words",
            [](TextCorpus& self, const nb::list& words, unsigned n_threads) {
                const Texts views = text_views(words);
                run(n_threads, nb::none(),
                    [&](const Context& context) { self.replace_words(context, views); });
            },
            "words"_a, nb::kw_only(), "n_threads"_a)
        .def(
            "choose_terms",
            [](TextCorpus& self, bool pairs, std::int32_t least, std::int32_t most,
               std::int32_t min_df, std::optional<std::int64_t> max_features, unsigned n_threads) {
                TermOptions options{pairs, {least, most}, min_df};
                if (max_features) options.max_features = *max_features;
                Terms terms = run(n_threads, nb::none(), choose_terms, self, options);
                return std::tuple(std::move(terms.words), to_numpy(std::move(terms.word_feature)),
                                  to_numpy(std::move(terms.pairs)), to_numpy(std::move(terms.idf)));
            },
            nb::kw_only(), "pairs"_a, "least"_a, "most"_a, "min_df"_a, "max_features"_a.none(),
            "n_threads"_a);
}

void bind_features(nb::module_& m) {
    nb::class_<TextFeatures>(m, "TextFeatures")
        .def(
            "__init__",
            [](TextFeatures* self, const StringList& words, const Array<std::int32_t>& word_feature,
               const Array<std::int32_t>& pairs, const Array<float>& idf, std::int32_t least,
               std::int32_t most) {
                new (self) TextFeatures(words, to_vector(word_feature), to_vector(pairs),
                                        to_vector(idf), {least, most});
            },
            "words"_a, "word_feature"_a.noconvert(), "pairs"_a.noconvert(), "idf"_a.noconvert(),
            nb::kw_only(), "least"_a, "most"_a)
        .def(
            "weigh",
            [](const TextFeatures& self, const nb::object& texts, unsigned n_threads) {
                GivenTexts given(texts);
                const Texts& views = given.all();
                return KernelRows{run(n_threads, nb::none(), [&](const Context& context) {
                    return weigh_features(context, views, self);
                })};
            },
            "texts"_a, nb::kw_only(), "n_threads"_a)
        .def(
            "weigh_corpus",
            [](const TextFeatures& self, TextCorpus& corpus, unsigned n_threads) {
                TextCorpus own = std::exchange(corpus, TextCorpus());
                return run(n_threads, nb::none(), [&](const Context& context) {
                    return weigh_features(context, std::move(own), self);
                });
            },
            "corpus"_a, nb::kw_only(), "n_threads"_a)
        .def(
            "find",
            [](const TextFeatures& self, const nb::list& words) {
                Occurrences found = find_features(text_views(words), self);
                return std::tuple(to_numpy(std::move(found.feature)),
                                  to_numpy(std::move(found.first)), to_numpy(std::move(found.last)),
                                  to_numpy(std::move(found.begin)), to_numpy(std::move(found.end)));
            },
            "words"_a);
}

void bind_names(nb::module_& m) {
    nb::class_<NameMatches>(m, "NameMatches")
        .def_prop_ro("ends", array_of(&NameMatches::ends))
        .def_prop_ro("names", array_of(&NameMatches::names))
        .def_prop_ro("times", array_of(&NameMatches::times))
        .def_prop_ro("title", array_of(&NameMatches::title))
        .def_prop_ro("inside", array_of(&NameMatches::inside))
        .def_prop_ro("first", array_of(&NameMatches::first))
        .def_prop_ro("cover", array_of(&NameMatches::cover))
        .def_prop_ro("density", array_of(&NameMatches::density));
    nb::class_<NameIndex>(m, "NameIndex")
        .def(
            "__init__",
            [](NameIndex* self, const nb::list& names) { new (self) NameIndex(text_views(names)); },
            "names"_a)
        .def(
            "find",
            [](const NameIndex& self, const nb::list& texts, unsigned n_threads) {
                const Texts views = text_views(texts);
                return run(n_threads, nb::none(), find_names, views, self);
            },
            "texts"_a, nb::kw_only(), "n_threads"_a);
}

}  // namespace

void bind_text(nb::module_& m) {
    m.def(
        "split_words",
        [](const nb::str& text) {
            Py_ssize_t size = 0;
            const char* bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
            if (bytes == nullptr) throw nb::python_error();
            return split_words({bytes, static_cast<std::size_t>(size)});
        },
        "text"_a);
    bind_strings(m);
    bind_corpus(m);
    bind_features(m);
    bind_names(m);
}
