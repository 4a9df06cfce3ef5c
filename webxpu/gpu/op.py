"""The `@op` form: one public function with one contract, one NumPy body, one spec and one plan.

    @op
    def scale(x, *, by=1.0): ...        # the NumPy definition
    @scale.spec
    def _(x, *, by=1.0): ...            # every check; returns the output Specs; runs for arrays and tensors alike
    @scale.plan
    def _(gpu, out, x, *, by=1.0): ...  # gpu and Specs in, Plan out; needs no browser

Called with NumPy arrays (or `Blocks`) an op computes its definition; called with `Tensor`s it dispatches.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, overload

import numpy as np

from webxpu.errors import ShapeError
from webxpu.gpu.plan import Plan, Spec
from webxpu.gpu.target import Gpu
from webxpu.quant.ggml import Blocks

OPS: dict[str, Op] = {}


class Op:
    """A public operation. `spec_of` and `plan_of` are for programs and tests; users only call it."""

    def __init__(self, body: Callable[..., Any], writes: tuple[str, ...]) -> None:
        functools.update_wrapper(self, body)
        self.name = body.__name__
        self.body = body
        self.writes = writes
        names = list(inspect.signature(body).parameters)
        self._written = {names.index(name) for name in writes}
        self._spec: Callable[..., Any] | None = None
        self._plan: Callable[..., Plan] | None = None
        OPS[self.name] = self

    def spec(self, function: Callable[..., Any]) -> Op:
        self._spec = function
        return self

    def plan(self, function: Callable[..., Plan]) -> Op:
        self._plan = function
        return self

    def spec_of(self, *args: Spec, **kwargs: Any) -> tuple[Spec, ...]:
        """The output specs for argument specs. Raises ShapeError for whatever does not fit."""
        assert self._spec is not None, f"{self.name} has no spec"
        outputs = self._spec(*args, **kwargs)
        return outputs if isinstance(outputs, tuple) else (outputs,)

    def plan_of(self, gpu: Gpu, *args: Spec, **kwargs: Any) -> tuple[tuple[Spec, ...], Plan]:
        """The output specs and the plan for argument specs on a device."""
        outputs = self.spec_of(*args, **kwargs)
        assert self._plan is not None, f"{self.name} has no plan"
        return outputs, self._plan(gpu, outputs, *args, **kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        tensors = [a for a in args if _is_tensor(a)]
        if not tensors:
            arrays = [a if i in self._written else canonical(a) for i, a in enumerate(args)]
            self.spec_of(*map(spec, arrays), **kwargs)
            return self.body(*arrays, **kwargs)
        if len(tensors) != len(args):
            odd = next(a for a in args if not _is_tensor(a))
            raise ShapeError(
                f"{self.name}: arguments must all be tensors or all arrays, got a tensor and {type(odd).__name__}"
            )
        return tensors[0].device.dispatch(self, args, kwargs)

    def __repr__(self) -> str:
        return f"<op {self.name}>"


@overload
def op(body: Callable[..., Any]) -> Op: ...
@overload
def op(*, writes: tuple[str, ...]) -> Callable[[Callable[..., Any]], Op]: ...
def op(body: Callable[..., Any] | None = None, *, writes: tuple[str, ...] = ()) -> Any:
    """Makes a function an operation. `writes` names the arguments it changes in place."""
    return (lambda b: Op(b, writes)) if body is None else Op(body, writes)


def spec(value: Any) -> Spec:
    """The Spec of an array, a Blocks weight or a tensor."""
    return Spec(tuple(value.shape), value.type if isinstance(value, Blocks) else str(value.dtype))


def check(condition: object, op_name: str, argument: str, rule: str, got: object) -> None:
    """Raises ShapeError("{op}: {argument} must be {rule}, got {value}") unless the condition holds."""
    if not condition:
        raise ShapeError(f"{op_name}: {argument} must be {rule}, got {got}")


def canonical(value: Any) -> Any:
    """An array argument in a dtype that kernels know: float64 as float32, int64 as int32 (values must fit)."""
    if isinstance(value, Blocks):
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
