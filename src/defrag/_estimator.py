"""Base class of estimators: parameter rules, atomic fitting, saving."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Concatenate, ParamSpec, TypeVar

from scipy import sparse

from defrag import _native, persistence
from defrag._parameters import Int, check_value, declare, fitted, param, parameters_of, rules_of
from defrag._scikit import BaseEstimator, TransformerMixin, check_is_fitted, import_scikit
from defrag._validation import check_features
from defrag.io.files import PathLike
from defrag.typing import Csr, MatrixLike

if TYPE_CHECKING:
    from sklearn.utils import Tags
    from typing_extensions import dataclass_transform

    P = ParamSpec("P")
    E = TypeVar("E", bound="Estimator")
    R = TypeVar("R")
else:

    def dataclass_transform(**_: Any) -> Callable[[E], E]:
        """Return a decorator that changes nothing: only type checkers read it."""
        return lambda cls: cls


@dataclass_transform(eq_default=False, kw_only_default=True, field_specifiers=(param, fitted))
class Estimator(BaseEstimator, ABC):
    """Base class of estimators, whose parameters are fields; see :mod:`defrag._parameters`.

    Methods that fit are wrapped by :func:`all_or_nothing`, public methods that read the fitted
    state by :func:`on_snapshot`. Together they guarantee that a ``fit`` that fails or is
    interrupted leaves the estimator unchanged, and that a thread that predicts while another
    one refits uses either the old model or the new one, never a mixture.
    """

    n_jobs: int | None = param(
        Int(none=True), "Number of threads, as in scikit-learn; -1 for all.", default=None
    )

    _part_names: ClassVar[tuple[str, ...]] = ()
    """Attributes that hold fitted estimators."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "_parameters" not in vars(cls):  # it is called again when scikit-learn is imported
            declare(cls)

    @property
    def _threads(self) -> int:
        """Number of threads of a kernel."""
        return _native.n_threads(self.n_jobs)

    def _fitted_parts(self) -> list[BaseEstimator]:
        """Return the fitted estimators that this one is composed of."""
        return [getattr(self, name) for name in self._part_names if hasattr(self, name)]

    def _default_parts(self) -> dict[str, Callable[[], Any]]:
        """Return what makes each part that is used if its parameter is None."""
        return {}

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: FBT002 - of scikit-learn
        """Return the parameters.

        Parameters
        ----------
        deep : bool, default=True
            Whether to add those of parts, as ``part__name``; of default parts, too.

        Returns
        -------
        params : dict
            Names and values.
        """
        found: dict[str, Any] = super().get_params(deep)
        for part, make in self._default_parts().items() if deep else ():
            if getattr(self, part) is None:
                own = make().get_params()
                found |= {f"{part}__{name}": value for name, value in own.items()}
        return found

    def set_params(self, **params: Any) -> Any:
        """Set parameters; ``n_jobs`` is also set in the fitted parts.

        Parameters
        ----------
        **params : dict
            Parameters of this estimator, or ``part__name`` for those of a part, which becomes
            the default part if it is None.

        Returns
        -------
        self : estimator
            The estimator.
        """
        if parameters_of(type(self)).keys() >= params.keys():
            for name, value in params.items():  # without scikit-learn, which has to be imported
                setattr(self, name, value)
        else:
            inner = {name.partition("__")[0] for name in params if "__" in name} - set(params)
            for part, make in self._default_parts().items():
                if part in inner and getattr(self, part) is None:
                    setattr(self, part, make())
            import_scikit()
            super().set_params(**params)
        if "n_jobs" in params:
            for part in self._fitted_parts():
                part.set_params(n_jobs=params["n_jobs"])
        return self

    def _check_parameters(self) -> None:
        """Raise ValueError for the first parameter that violates its rule."""
        for name, rule in rules_of(type(self)).items():
            check_value(type(self).__name__, name, rule, getattr(self, name))

    def _check_parameter(self, name: str) -> Any:
        """Return a parameter after checking its rule, since it may have changed after ``fit``."""
        value = getattr(self, name)
        rule = parameters_of(type(self))[name].rule
        if rule is not None:
            check_value(type(self).__name__, name, rule, value)
        return value

    def save(self, path: PathLike) -> None:
        """Write the fitted model to one file; :func:`defrag.load` reads it.

        Parameters
        ----------
        path : path
            The file, usually ``*.safetensors``. It is written atomically, and equal models give
            equal bytes. ``n_jobs`` and ``verbose`` are not stored.
        """
        save_model(self, path)


declare(Estimator)  # __init_subclass__ is called for all others


def save_model(estimator: Estimator, path: PathLike, **options: Any) -> None:
    """Write a fitted estimator with the options of :func:`defrag.persistence.save`."""
    persistence.save(snapshot(estimator), path, **options)


def load_model(path: PathLike) -> Any:
    """Read an estimator from a model file; see :func:`defrag.load`."""
    return persistence.load(path)


def all_or_nothing(learn: Callable[Concatenate[E, P], Any]) -> Callable[Concatenate[E, P], E]:
    """Wrap a method that fits so that it changes the estimator only if it succeeds.

    The method runs on a copy with parameters but without fitted attributes. Its state replaces
    that of the estimator in one assignment, after the method has returned.
    """

    @functools.wraps(learn)
    def run(self: E, /, *args: P.args, **kwargs: P.kwargs) -> E:
        learner = _unfitted(self)
        learn(learner, *args, **kwargs)
        self.__dict__ = learner.__dict__
        return self

    return run


def on_snapshot(read: Callable[Concatenate[E, P], R]) -> Callable[Concatenate[E, P], R]:
    """Wrap a method that reads the fitted state so that a call uses a single state."""

    @functools.wraps(read)
    def run(self: E, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return read(snapshot(self), *args, **kwargs)

    return run


def snapshot(estimator: E) -> E:
    """Return an estimator with the current state, which it keeps when the original is refitted.

    Nothing is copied: both share the dictionary of attributes, which :func:`all_or_nothing`
    replaces but never modifies.
    """
    state = estimator.__dict__
    mapped = state.get("mapped_file_")  # set by load
    if mapped is not None:
        mapped.check()
    return _with_state(estimator, state)


def _unfitted(estimator: E) -> E:
    """Return a copy without fitted attributes, whose names end with an underscore."""
    state = estimator.__dict__
    return _with_state(estimator, {name: state[name] for name in state if name[-1] != "_"})


def _with_state(estimator: E, state: dict[str, Any]) -> E:
    twin: E = object.__new__(type(estimator))
    twin.__dict__ = state
    return twin


class RowTransformer(TransformerMixin, Estimator):
    """Base class of transformers of points: Focus, Fiat, and whatever replaces features by groups.

    A subclass learns in :meth:`_learn` and transforms in :meth:`_apply`, both on checked matrices.
    """

    n_features_in_: int = fitted("int", "Number of features.")

    @abstractmethod
    def _learn(self, X: Csr, Y: Any) -> Any:
        """Learn from points and labels."""

    @abstractmethod
    def _apply(self, X: Csr) -> Csr:
        """Transform the rows of a checked matrix."""

    @all_or_nothing
    def _fit_canonical(self, X: Csr, Y: Any = None) -> Any:
        """Learn from checked points and labels, as part of a composite."""
        self._check_parameters()
        self.n_features_in_ = X.shape[1]
        self._learn(X, Y)
        return self

    @on_snapshot
    def transform(self, X: MatrixLike) -> Any:
        """Transform points.

        Parameters
        ----------
        X : sparse or dense matrix, shape (n_points, n_features)
            Points with the features of ``fit``.

        Returns
        -------
        Xt : csr_array, or ndarray for dense X, shape (n_points, n_features_out)
            The transformed points, float32.
        """
        check_is_fitted(self)
        result = self._apply(check_features(self, X, reset=False))
        return result if sparse.issparse(X) else result.toarray()

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = self._needs_positive()
        tags.target_tags.required = self._needs_labels()
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags

    def _needs_labels(self) -> bool:
        """Return whether ``fit`` must be given labels."""
        return False

    def _needs_positive(self) -> bool:
        """Return whether ``fit`` refuses negative values."""
        return False
