"""Fields of kernels as parameters of the estimator, so that they can be searched."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, Self

from sklearn.base import BaseEstimator

from shlcore.kernels import Kernel


class KernelParameters(BaseEstimator):
    """Gives the fields of given kernels names, such as ``kernels__0__sigma``."""

    kernels: Any  # a name, or kernels

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: FBT001, FBT002 (sklearn's)
        """Return the parameters; deep ones are those of given kernels, as ``kernels__0__sigma``.

        Returns
        -------
        dict
        """
        found: dict[str, Any] = super().get_params(deep=deep)
        kernels = found.get("kernels")
        if deep and isinstance(kernels, list | tuple):
            given = [kernel for kernel in kernels if isinstance(kernel, Kernel)]
            for place, kernel in enumerate(given if len(given) == len(kernels) else []):
                for field in fields(kernel):
                    found[f"kernels__{place}__{field.name}"] = getattr(kernel, field.name)
        return found

    def set_params(self, **params: object) -> Self:
        """Set parameters, those of given kernels among them: ``kernels__0__sigma=2.0``.

        Returns
        -------
        self
        """
        inner = {name: params.pop(name) for name in [*params] if name.startswith("kernels__")}
        super().set_params(**params)
        known = self.get_params()
        for name, value in inner.items():
            if name not in known:
                raise ValueError(f"{name}: wanted a field of a given kernel, got another name")
            _, place, field = name.split("__")
            kernels = list(self.kernels)
            kernels[int(place)] = replace(kernels[int(place)], **{field: value})
            self.kernels = kernels
        return self
