"""Base classes of scikit-learn, which is imported only when somebody needs it; see decision 028.

Importing scikit-learn takes several times as long as loading a model and predicting with it. So
estimators are made with stand-ins as bases. When scikit-learn is imported, by the program or for a
name that only it has, its own classes take the place of the stand-ins.
"""

from __future__ import annotations

import copy
import importlib
import importlib.util
import re
import sys
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

    from sklearn.base import (
        BaseEstimator,
        ClassifierMixin,
        OneToOneFeatureMixin,
        TransformerMixin,
        clone,
    )
    from sklearn.utils.metaestimators import available_if
    from sklearn.utils.validation import check_is_fitted

__all__ = [
    "BaseEstimator",
    "ClassifierMixin",
    "OneToOneFeatureMixin",
    "TransformerMixin",
    "available_if",
    "check_is_fitted",
    "clone",
    "import_scikit",
]

_BASE = "sklearn.base"
_OF_SCIKIT = re.compile(
    "_repr_|_html_|_doc_link|_sklearn|_get_|_validate|_build|_check_feature|[gs]et_|fit_"
)
"""Beginnings of the names that the classes of scikit-learn add; a test knows them all."""


def import_scikit() -> None:
    """Import scikit-learn, so that ``super()`` of an estimator is of its classes."""
    importlib.import_module(_BASE)


# --- Functions that call those of scikit-learn, if at all, when they are called.

if not TYPE_CHECKING:

    def clone(estimator: Any) -> Any:
        """Return an unfitted copy with the same parameters."""
        if isinstance(estimator, _Estimator):  # before scikit-learn is imported, and without it
            values = estimator.get_params(deep=False).items()
            return type(estimator)(**{name: _copy(value) for name, value in values})
        return importlib.import_module(_BASE).clone(estimator)

    def check_is_fitted(estimator: Any) -> None:
        """Raise NotFittedError of scikit-learn unless the estimator is fitted."""
        if not any(name[-1] == "_" and name[:2] != "__" for name in estimator.__dict__):
            importlib.import_module("sklearn.utils.validation").check_is_fitted(estimator)

    def available_if(check: Callable[[Any], bool]) -> Callable[[Any], Any]:
        """Return a decorator of methods that instances have if they pass a check."""
        return lambda method: _Available(check, method)


def _copy(value: Any) -> Any:
    """Return a copy of the value of a parameter."""
    return clone(value) if isinstance(value, _Estimator) else copy.deepcopy(value)


class _Available:
    """A method that instances have if they pass a check."""

    def __init__(self, check: Callable[[Any], bool], method: Any) -> None:
        self._check, self._method = check, method
        self.__doc__ = method.__doc__

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        if owner is not None and not self._check(owner):
            raise AttributeError(f"{kind} has no attribute {self._method.__name__!r}")
        return self._method.__get__(owner, kind)


# --- Stand-ins.


class _Estimator:
    """What an estimator must have before scikit-learn is imported."""

    def __getattr__(self, name: str) -> Any:
        """Return what only the class of scikit-learn has."""
        if _OF_SCIKIT.match(name) and not hasattr(type(self), name):
            import_scikit()
        return object.__getattribute__(self, name)

    _parameters: ClassVar[dict[str, Any]]

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: FBT002 - of scikit-learn
        """Return the parameters by name, and ``part__name`` for those of parts."""
        found: dict[str, Any] = {}
        for name in sorted(self._parameters):
            value = getattr(self, name)
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                inner = value.get_params().items()
                found |= {f"{name}__{key}": one for key, one in inner}
            found[name] = value
        return found

    def __dir__(self) -> list[str]:
        importlib.import_module(_BASE)
        return dir(self)

    def __repr__(self) -> str:
        importlib.import_module(_BASE)
        return repr(self)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__.copy()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


class _Classifier:
    """What a classifier must have in addition, because its own method calls it."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        import_scikit()
        accuracy: float = _stand_ins["ClassifierMixin"].score(self, X, y, sample_weight)
        return accuracy


_stand_ins: dict[str, type[Any]] = {
    "BaseEstimator": _Estimator,
    "ClassifierMixin": _Classifier,
    "OneToOneFeatureMixin": type("OneToOneFeatureMixin", (), {}),
    "TransformerMixin": type("TransformerMixin", (), {}),
}
"""Under each name, the stand-in, and then the class of scikit-learn."""


def __getattr__(name: str) -> Any:
    """Return a class of scikit-learn if this is imported, otherwise its stand-in."""
    if name not in _stand_ins:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _stand_ins[name]


def _replace_stand_ins(base: ModuleType) -> None:
    """Put the bases of scikit-learn on all classes, in place of the stand-ins."""
    real = {stand_in: getattr(base, name) for name, stand_in in _stand_ins.items()}
    _stand_ins.update({name: getattr(base, name) for name in _stand_ins})
    changed = {cls: None for stand_in in real for cls in _below(stand_in)}  # in this order
    for cls in changed:
        bases = tuple(real.get(one, one) for one in cls.__bases__)
        if bases != cls.__bases__:
            cls.__bases__ = bases
    for cls in changed:
        super(cls, cls).__init_subclass__()  # scikit-learn adds methods of its own here


def _below(cls: type[Any]) -> Iterator[type[Any]]:
    """Yield the classes below a class, bases before the classes that have them."""
    for one in cls.__subclasses__():
        yield one
        yield from _below(one)


class _Watch:
    """A finder of modules that only sees when :mod:`sklearn.base` has been imported."""

    @staticmethod
    def find_spec(
        name: str,
        path: Sequence[str] | None = None,  # noqa: ARG004 - of all finders
        target: ModuleType | None = None,  # noqa: ARG004
    ) -> ModuleSpec | None:
        """Return how to import :mod:`sklearn.base`, None for all other modules."""
        if name != _BASE:
            return None
        sys.meta_path.remove(_Watch)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_and_replace(module: ModuleType) -> None:
                execute(module)
                _replace_stand_ins(module)

            spec.loader.exec_module = execute_and_replace  # type: ignore[method-assign]
        return spec


if _BASE in sys.modules:
    _replace_stand_ins(sys.modules[_BASE])
else:
    sys.meta_path.insert(0, _Watch)
