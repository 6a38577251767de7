// SPDX-License-Identifier: BSD-3-Clause
#include <nanobind/stl/string.h>

#include <exception>
#include <string>
#include <string_view>

#include "bindings/csr_caster.hpp"
#include "bindings/run.hpp"
#include "core/formats/bit_fields.hpp"
#include "core/formats/json_lines.hpp"
#include "core/formats/xmc_parser.hpp"
#include "core/formats/xmc_writer.hpp"
#include "core/text/vocabulary.hpp"

using namespace nanobind::literals;
using namespace defrag;

namespace {

std::string_view view_of(const nb::bytes& text) { return {text.c_str(), text.size()}; }

/// Throws a ValueError unless [begin, end) are valid rows of a matrix. Only these rows are checked,
/// because a large matrix is written in many calls.
void check_rows(const ModelCsr& matrix, std::int64_t begin, std::int64_t end) {
    const CsrView& view = matrix.view;
    bool fit = begin >= 0 && begin <= end && end <= view.n_rows;
    for (std::int64_t row = begin; fit && row < end; ++row) {
        fit = view.begin(row) >= 0 && view.begin(row) <= view.end(row) &&
              view.end(row) <= matrix.n_stored;
    }
    require(fit, "rows to be written must be rows of the matrix");
}

using Widths = Array<std::uint8_t>;

BitRuns bit_runs(const Array<std::int64_t>& ends, const Widths& widths) {
    require(ends.size() == widths.size(), "ends and widths must have one item per run");
    return {ends.data(), widths.data(), n_items(ends)};
}

/// Translates ParseError of core/formats/error.hpp to `_core.ParseError(line, message)`.
void translate_parse_error(const std::exception_ptr& pointer, void* type) {
    try {
        std::rethrow_exception(pointer);
    } catch (const ParseError& error) {
        const nb::tuple arguments = nb::make_tuple(error.line, error.what());
        PyErr_SetObject(static_cast<PyObject*>(type), arguments.ptr());
    }
}

/// Calls a method that returns rows, and converts the result to a tuple: pairs, labels, the
/// declared number of rows or None, and the tallies.
template <ParsedText (TextParser::*method)()>
auto take(TextParser& self) {
    ParsedText parsed;
    {
        const ReleasedGil released;
        parsed = (self.*method)();
    }
    const std::int64_t declared = parsed.declared_rows;
    return std::tuple(std::move(parsed.pairs), std::move(parsed.labels),
                      declared >= 0 ? std::optional(declared) : std::nullopt,
                      parsed.repeated_features, parsed.repeated_labels, parsed.non_finite,
                      parsed.skipped_lines);
}

/// Lines of JSON as Python objects; the string of a label is made once.
class JsonLines {
 public:
    JsonLines(const nb::bytes& text_key, const std::optional<nb::bytes>& labels_key)
        : has_labels_(labels_key), line_(std::string(view_of(text_key)), string_of(labels_key)) {}

    JsonLines(const JsonLines&) = delete;
    JsonLines& operator=(const JsonLines&) = delete;

    /// Returns (text, labels) for each line that is plain, and the bytes of any other.
    nb::list parse(const nb::bytes& run) {
        const std::string_view text = view_of(run);
        nb::list found;
        for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
            end = std::min(text.find('\n', begin), text.size());
            const std::string_view line = text.substr(begin, end - begin);
            if (is_utf8(line) && line_.read(line)) {
                found.append(document());
            } else {
                found.append(nb::bytes(line.data(), line.size()));
            }
        }
        return found;
    }

 private:
    static std::optional<std::string> string_of(const std::optional<nb::bytes>& key) {
        return key ? std::optional(std::string(view_of(*key))) : std::nullopt;
    }

    static bool is_utf8(std::string_view text) {
        unsigned char bits = 0;
        for (const char c : text) bits |= static_cast<unsigned char>(c);
        if (bits < 0x80) return true;
        const auto size = static_cast<Py_ssize_t>(text.size());
        const nb::object decoded = nb::steal(PyUnicode_DecodeUTF8(text.data(), size, nullptr));
        if (!decoded.is_valid()) PyErr_Clear();
        return decoded.is_valid();
    }

    nb::tuple document() {
        const nb::str text(line_.text().data(), line_.text().size());
        if (!has_labels_) return nb::make_tuple(text, nb::none());
        nb::list labels;
        for (const std::string_view label : line_.labels()) {
            const std::int32_t number = numbers_.intern(label);
            if (number == names_.size()) names_.push_back(nb::str(label.data(), label.size()));
            labels.append(names_[number]);
        }
        return nb::make_tuple(text, labels);
    }

    bool has_labels_;
    PlainLine line_;
    Vocabulary numbers_;
    Vector<nb::object> names_;
};

void bind_parser(nb::module_& m) {
    nb::class_<JsonLines>(m, "JsonLines")
        .def(nb::init<const nb::bytes&, const std::optional<nb::bytes>&>(), "text_key"_a,
             "labels_key"_a.none())
        .def("parse", &JsonLines::parse, "run"_a);
    nb::enum_<TextLayout>(m, "TextLayout")
        .value("combined", TextLayout::kCombined)
        .value("features", TextLayout::kFeatures)
        .value("labels", TextLayout::kLabels)
        .value("svmlight", TextLayout::kSvmlight)
        .value("scores", TextLayout::kScores);
    nb::class_<Tally>(m, "Tally")
        .def_ro("count", &Tally::count)
        .def_ro("first_line", &Tally::first_line);
    nb::class_<TextParser>(m, "TextParser")
        .def(
            "__init__",
            [](TextParser* self, TextLayout layout, std::optional<std::int64_t> n_features,
               std::optional<std::int64_t> n_labels, std::int64_t first_feature,
               std::int64_t first_label, bool drop_non_finite) {
                const ParseOptions unknown;
                const ParseOptions options{layout,
                                           n_features.value_or(unknown.n_features),
                                           n_labels.value_or(unknown.n_labels),
                                           first_feature,
                                           first_label,
                                           drop_non_finite};
                new (self) TextParser(options);
            },
            "layout"_a, nb::kw_only(), "n_features"_a = nb::none(), "n_labels"_a = nb::none(),
            "first_feature"_a = ParseOptions().first_feature,
            "first_label"_a = ParseOptions().first_label,
            "drop_non_finite"_a = ParseOptions().drop_non_finite)
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
        .def("take_rows", take<&TextParser::take_rows>)
        .def("finish", take<&TextParser::finish>);
}

}  // namespace

void bind_formats(nb::module_& m) {
    const std::string name = nb::cast<std::string>(m.attr("__name__")) + ".ParseError";
    PyObject* type = PyErr_NewException(name.c_str(), PyExc_ValueError, nullptr);
    if (type == nullptr) throw nb::python_error();
    m.attr("ParseError") = nb::steal(type);
    nb::register_exception_translator(translate_parse_error, type);
    bind_parser(m);
    m.def(
        "pack_bits",
        [](const Array<std::uint32_t>& values, const Array<std::int64_t>& ends,
           const Widths& widths) {
            const BitRuns runs = bit_runs(ends, widths);
            require(runs.n_items() == n_items(values), "runs of bits must hold the values");
            return to_numpy(pack_bits(runs, values.data()));
        },
        "values"_a, "ends"_a, "widths"_a);
    m.def(
        "unpack_bits",
        [](const Array<std::uint8_t>& packed, const Array<std::int64_t>& ends,
           const Widths& widths) {
            return to_numpy(unpack_bits(bit_runs(ends, widths), packed.data(), n_items(packed)));
        },
        "packed"_a, "ends"_a, "widths"_a);
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
    const FormatOptions defaults;
    m.def(
        "format_rows",
        [](const ModelCsr& features, const ModelCsr& labels, TextLayout layout,
           std::int64_t first_feature, std::int64_t first_label, std::int64_t begin,
           std::int64_t end) {
            if (layout != TextLayout::kLabels) check_rows(features, begin, end);
            if (layout != TextLayout::kFeatures) check_rows(labels, begin, end);
            const FormatOptions options{layout, first_feature, first_label};
            std::string text;
            {
                const ReleasedGil released;
                text = format_rows(features.view, labels.view, options, begin, end);
            }
            return nb::bytes(text.data(), text.size());
        },
        "features"_a, "labels"_a, nb::kw_only(), "layout"_a,
        "first_feature"_a = defaults.first_feature, "first_label"_a = defaults.first_label,
        "begin"_a, "end"_a);
}
