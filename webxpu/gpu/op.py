"""The `@op` form: one public function with one contract, one NumPy body, one spec and one plan.

    @op
    def scale(x, *, by=1.0): ...        # the NumPy definition
    @scale.spec
    def _(x, *, by=1.0): ...            # every check; returns the output Specs; runs for arrays and tensors alike
    @scale.plan
    def _(gpu, out, x, *, by=1.0): ...  # gpu and Specs in, Plan out; needs no browser

Positional parameters are arrays, and one with the default None is optional; what stands after the `*` are plain Python
values. Called with NumPy arrays (or `Blocks`) an op computes its definition; called with `Tensor`s it dispatches. An op
without array parameters is marked `@op(generates=True)`: its parameters are all plain values, and `device=` says where
the result is made, None for an array.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

import numpy as np

from webxpu.errors import ShapeError
from webxpu.gpu.plan import Plan, Spec
from webxpu.gpu.target import Gpu
from webxpu.quant.ggml import Blocks

OPS: dict[str, Op] = {}


class Op:
    """A public operation. `spec_of` and `plan_of` are for programs and tests; users only call it."""

    def __init__(self, body: Callable[..., Any], writes: tuple[str, ...] = (), *, generates: bool = False) -> None:
        functools.update_wrapper(self, body)
        self.name = body.__name__
        self.body = body
        self.writes = writes
        self.generates = generates
        self._signature = inspect.signature(body)
        arrays = (
            [] if generates else [n for n, p in self._signature.parameters.items() if p.kind is p.POSITIONAL_OR_KEYWORD]
        )
        self.arrays: tuple[str, ...] = tuple(arrays)
        self._written = {arrays.index(name) for name in writes}
        self._spec: Callable[..., Any] | None = None
        self._plan: Callable[..., Plan] | None = None
        if generates:
            device = inspect.Parameter("device", inspect.Parameter.KEYWORD_ONLY, default=None)
            self.__signature__ = self._signature.replace(parameters=[*self._signature.parameters.values(), device])
        OPS[self.name] = self

    def spec(self, function: Callable[..., Any]) -> Op:
        self._spec = function
        return self

    def plan(self, function: Callable[..., Plan]) -> Op:
        self._plan = function
        return self

    def spec_of(self, *args: Spec | None, **kwargs: Any) -> tuple[Spec, ...]:
        """The output specs for argument specs. Raises ShapeError for whatever does not fit."""
        assert self._spec is not None, f"{self.name} has no spec"
        outputs = self._spec(*args, **kwargs)
        return outputs if isinstance(outputs, tuple) else (outputs,)

    def plan_of(self, gpu: Gpu, *args: Spec | None, **kwargs: Any) -> tuple[tuple[Spec, ...], Plan]:
        """The output specs and the plan for argument specs on a device. None stands for an optional array left out."""
        outputs = self.spec_of(*args, **kwargs)
        assert self._plan is not None, f"{self.name} has no plan"
        return outputs, self._plan(gpu, outputs, *args, **kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.generates:
            return self._generate(args, kwargs)
        args, kwargs = self.bind(args, kwargs)
        given = [a for a in args if a is not None]
        tensors = [a for a in given if _is_tensor(a)]
        if not tensors:
            arrays = [a if i in self._written else canonical(a) for i, a in enumerate(args)]
            self.spec_of(*map(spec, arrays), **kwargs)
            return self.body(*arrays, **kwargs)
        if len(tensors) != len(given):
            odd = next(a for a in given if not _is_tensor(a))
            raise ShapeError(
                f"{self.name}: arguments must all be tensors or all arrays, got a tensor and {type(odd).__name__}"
            )
        return tensors[0].device.dispatch(self, args, kwargs)

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The array arguments in order, None for each left out, and the keyword arguments. Raises TypeError."""
        if len(args) == len(self.arrays) and kwargs.keys().isdisjoint(self.arrays):
            return tuple(args), dict(kwargs)
        try:
            bound = self._signature.bind(*args, **kwargs).arguments
        except TypeError as e:
            raise TypeError(f"{self.name}: {e}") from e
        arrays = tuple(bound.pop(name, None) for name in self.arrays)
        return arrays, bound

    def _generate(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        options = dict(kwargs)
        device = options.pop("device", None)
        try:
            values = self._signature.bind(*args, **options).arguments
        except TypeError as e:
            raise TypeError(f"{self.name}: {e}") from e
        if device is not None:
            return device.dispatch(self, (), values)
        self.spec_of(**values)
        return self.body(**values)

    def __repr__(self) -> str:
        return f"<op {self.name}>"


@overload
def op(body: Callable[..., Any]) -> Op: ...
@overload
def op(*, writes: tuple[str, ...] = (), generates: bool = False) -> Callable[[Callable[..., Any]], Op]: ...
def op(body: Callable[..., Any] | None = None, *, writes: tuple[str, ...] = (), generates: bool = False) -> Any:
    """Makes a function an operation. `writes` names the arguments it changes in place; one that `generates` takes no
    arrays."""
    return (lambda b: Op(b, writes, generates=generates)) if body is None else Op(body, writes, generates=generates)


def spec(value: Any) -> Any:
    """The Spec of an array, a Blocks weight or a tensor; None of None."""
    if value is None:
        return None
    return Spec(tuple(value.shape), value.type if isinstance(value, Blocks) else str(value.dtype))


def check(condition: object, op_name: str, argument: str, rule: str, got: object) -> None:
    """Raises ShapeError("{op}: {argument} must be {rule}, got {value}") unless the condition holds."""
    if not condition:
        raise ShapeError(f"{op_name}: {argument} must be {rule}, got {got}")


def canonical(value: Any) -> Any:
    """An array argument in a dtype that kernels know: float64 as float32, int64 as int32 (values must fit)."""
    if value is None or isinstance(value, Blocks):
        return value
    array = np.asarray(value)
    if array.dtype == np.float64:
        return array.astype(np.float32)
    if array.dtype == np.int64:
        if array.size and (array.min() < -(2**31) or array.max() >= 2**31):
            raise ShapeError(f"int64 values must fit int32, got {array.min()} to {array.max()}")
        return array.astype(np.int32)
    return array


def _is_tensor(value: Any) -> bool:
    return hasattr(type(value), "storage")
