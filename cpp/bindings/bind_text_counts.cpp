// SPDX-License-Identifier: BSD-3-Clause
#include "bindings/arrays.hpp"
#include "core/text_counts.hpp"

using namespace nanobind::literals;
using namespace defrag;

namespace {

/// Views of the UTF-8 of Python's strings, which live as long as the list. Strings that are not
/// ASCII keep their UTF-8 from the first call on.
Texts text_views(const nb::list& texts) {
    Texts views;
    views.reserve(nb::len(texts));
    for (const nb::handle text : texts) {
        Py_ssize_t size = 0;
        const char* bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
        if (bytes == nullptr) throw nb::python_error();
        views.emplace_back(bytes, static_cast<std::size_t>(size));
    }
    return views;
}

nb::list to_strings(const std::vector<std::string>& words) {
    nb::list result;
    for (const std::string& word : words) result.append(nb::str(word.data(), word.size()));
    return result;
}

}  // namespace

void bind_text_counts(nb::module_& m) {
    m.def(
        "tokenize",
        [](const nb::list& texts, unsigned n_threads, const nb::object& progress) {
            const Texts views = text_views(texts);
            TokenizedTexts found = run(n_threads, progress, [&](const Context& context) {
                return tokenize(context, views);
            });
            return nb::make_tuple(to_strings(found.words), to_numpy(std::move(found.indptr)),
                                  to_numpy(std::move(found.tokens)));
        },
        "texts"_a, nb::kw_only(), "n_threads"_a, "progress"_a.none());

    nb::class_<TextFeatures>(m, "TextFeatures")
        .def(
            "__init__",
            [](TextFeatures* self, const nb::list& words, const Array<std::int32_t>& word_feature,
               const Array<std::int32_t>& pairs, const Array<std::int32_t>& pair_feature,
               std::int32_t n_features) {
                const Texts views = text_views(words);
                if (word_feature.size() != views.size() ||
                    pairs.size() != 2 * pair_feature.size()) {
                    throw nb::value_error("words and pairs must have a feature each");
                }
                new (self)
                    TextFeatures(views, word_feature.data(), pairs.data(), pair_feature.data(),
                                 static_cast<std::int64_t>(pair_feature.size()), n_features);
            },
            "words"_a, "word_feature"_a.noconvert(), "pairs"_a.noconvert(),
            "pair_feature"_a.noconvert(), nb::kw_only(), "n_features"_a)
        .def(
            "count",
            [](const TextFeatures& self, const nb::list& texts, unsigned n_threads) {
                const Texts views = text_views(texts);
                return to_numpy(run(n_threads, nb::none(), [&](const Context& context) {
                    return count_features(context, views, self);
                }));
            },
            "texts"_a, nb::kw_only(), "n_threads"_a);
}
