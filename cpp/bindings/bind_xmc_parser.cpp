// SPDX-License-Identifier: BSD-3-Clause
#include <nanobind/stl/string.h>

#include <exception>
#include <string>
#include <string_view>

#include "bindings/arrays.hpp"
#include "core/xmc_parser.hpp"
#include "core/xmc_writer.hpp"

using namespace nanobind::literals;
using namespace defrag;

namespace {

std::string_view view_of(const nb::bytes& text) { return {text.c_str(), text.size()}; }

nb::tuple to_python(const Tally& tally) { return nb::make_tuple(tally.count, tally.first_line); }

nb::dict to_python(ParsedText&& parsed) {
    nb::dict result;
    result["declared_rows"] = parsed.declared_rows;
    result["n_pairs"] = parsed.pairs.n_cols;
    result["n_labels"] = parsed.labels.n_cols;
    result["repeated_features"] = to_python(parsed.repeated_features);
    result["repeated_labels"] = to_python(parsed.repeated_labels);
    result["non_finite"] = to_python(parsed.non_finite);
    result["skipped_lines"] = to_python(parsed.skipped_lines);
    result["pairs"] = to_numpy(std::move(parsed.pairs));
    result["labels"] = to_numpy(std::move(parsed.labels));
    return result;
}

/// Raises core/error.hpp's ParseError as `_core.ParseError(line, message)`.
void translate_parse_error(const std::exception_ptr& pointer, void* type) {
    try {
        std::rethrow_exception(pointer);
    } catch (const ParseError& error) {
        const nb::tuple arguments = nb::make_tuple(error.line, error.what());
        PyErr_SetObject(static_cast<PyObject*>(type), arguments.ptr());
    }
}

void bind_parser(nb::module_& m) {
    nb::class_<TextParser>(m, "TextParser")
        .def(
            "__init__",
            [](TextParser* self, int layout, std::int64_t n_features, std::int64_t n_labels,
               std::int64_t first_feature, std::int64_t first_label, bool drop_non_finite) {
                const ParseOptions options{static_cast<TextLayout>(layout),
                                           n_features,
                                           n_labels,
                                           first_feature,
                                           first_label,
                                           drop_non_finite};
                new (self) TextParser(options);
            },
            nb::kw_only(), "layout"_a, "n_features"_a, "n_labels"_a, "first_feature"_a,
            "first_label"_a, "drop_non_finite"_a)
        .def(
            "feed",
            [](TextParser& self, const nb::bytes& text) {
                const std::string_view view = view_of(text);
                if (!view.empty() && view.back() != '\n') {
                    throw std::invalid_argument("text must end with a line feed");
                }
                const ReleasedGil released;
                self.feed(view);
            },
            "text"_a)
        .def("finish", [](TextParser& self) {
            ParsedText parsed;
            {
                const ReleasedGil released;
                parsed = self.finish();
            }
            return to_python(std::move(parsed));
        });
}

}  // namespace

void bind_xmc_parser(nb::module_& m) {
    const std::string name = nb::cast<std::string>(m.attr("__name__")) + ".ParseError";
    PyObject* type = PyErr_NewException(name.c_str(), PyExc_ValueError, nullptr);
    if (type == nullptr) throw nb::python_error();
    m.attr("ParseError") = nb::steal(type);
    nb::register_exception_translator(translate_parse_error, type);
    bind_parser(m);
    m.def(
        "parse_values",
        [](const nb::bytes& text) {
            Vector<float> values;
            {
                const ReleasedGil released;
                values = parse_values(view_of(text));
            }
            return to_numpy(std::move(values));
        },
        "text"_a);
    m.def(
        "format_rows",
        [](const CsrArrays& features, const CsrArrays& labels, int layout,
           std::int64_t first_feature, std::int64_t first_label, std::int64_t begin,
           std::int64_t end) {
            const CsrView feature_view = model_view(features, kAnyWidth);
            const CsrView label_view = model_view(labels, kAnyWidth);
            const auto with_rows = [&](const CsrView& matrix, std::size_t n_stored) {
                CsrView part = matrix;
                part.n_rows = end - begin;
                part.indptr += begin;
                bool rises = begin >= 0 && begin <= end && end <= matrix.n_rows;
                for (std::int64_t row = 0; rises && row < part.n_rows; ++row) {
                    rises = part.begin(row) >= 0 && part.begin(row) <= part.end(row) &&
                            part.end(row) <= static_cast<std::int64_t>(n_stored);
                }
                require(rises, "rows to be written must be rows of the matrix");
            };
            const auto text_layout = static_cast<TextLayout>(layout);
            if (text_layout != TextLayout::kLabels)
                with_rows(feature_view, std::get<1>(features).size());
            if (text_layout != TextLayout::kFeatures)
                with_rows(label_view, std::get<1>(labels).size());
            const FormatOptions options{static_cast<TextLayout>(layout), first_feature,
                                        first_label};
            std::string text;
            {
                const ReleasedGil released;
                text = format_rows(feature_view, label_view, options, begin, end);
            }
            return nb::bytes(text.data(), text.size());
        },
        "features"_a.noconvert(), "labels"_a.noconvert(), nb::kw_only(), "layout"_a,
        "first_feature"_a, "first_label"_a, "begin"_a, "end"_a);
}
