// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <type_traits>

#include "bindings/arrays.hpp"

namespace defrag {

/// A named option: a member of an options struct, or a function that maps the struct to a reference
/// to one of its parts.
template <class Access>
struct Option {
    const char* name;
    Access access;
};

template <class Access>
Option<Access> option(const char* name, Access access) {
    return {name, access};
}

/// Binds an options struct as a Python class whose constructor takes the options as keywords, with
/// the defaults of the struct, so that a default is stated only in cpp/core. Objects are immutable;
/// `replace` returns a copy with some options changed.
template <class Options, class... Access>
void bind_options(nb::module_& m, const char* name, Option<Access>... options) {
    Options defaults;
    nb::class_<Options> bound(m, name);
    bound.def(
        "__init__",
        [options...](Options* self,
                     std::decay_t<std::invoke_result_t<Access, Options&>>... values) {
            Options result;
            ((std::invoke(options.access, result) = values), ...);
            new (self) Options(std::move(result));
        },
        nb::kw_only(), (nb::arg(options.name) = std::invoke(options.access, defaults))...);
    const auto bind_property = [&bound](const char* property, auto access) {
        bound.def_prop_ro(property, [access](Options& self) {
            return std::decay_t<decltype(std::invoke(access, self))>(std::invoke(access, self));
        });
    };
    (bind_property(options.name, options.access), ...);
    bound.def("replace", [options...](Options& self, const nb::kwargs& changes) {
        nb::dict values;
        ((values[options.name] = nb::cast(std::invoke(options.access, self))), ...);
        values.update(changes);
        return nb::cast<Options>(nb::type<Options>()(**values));
    });
}

}  // namespace defrag
