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
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

import numpy as np

from webxpu.errors import ShapeError
from webxpu.gpu.plan import Plan, Spec
from webxpu.gpu.target import Gpu
from webxpu.quant.ggml import Blocks

OPS: dict[str, Op] = {}
# By annotation, what a plain value must be: in words, and its types. The others are the spec's to check.
_PLAIN: dict[str, tuple[str, tuple[type, ...]]] = {
    "int": ("a whole number", (int, np.integer)),
    "float": ("a number", (int, float, np.integer, np.floating)),
    "str": ("a string", (str,)),
    "Sequence[int]": ("a tuple of whole numbers", (Sequence,)),
}


class Op:
    """A public operation. `spec_of` and `plan_of` are for programs and tests; users only call it."""

    def __init__(self, body: Callable[..., Any], writes: tuple[str, ...] = (), *, generates: bool = False) -> None:
        functools.update_wrapper(self, body)
        self.name = body.__name__
        self.body = body
        self.writes = writes
        self.generates = generates
        self._signature = inspect.signature(body)
        parameters = self._signature.parameters
        arrays = [] if generates else [n for n, p in parameters.items() if p.kind is p.POSITIONAL_OR_KEYWORD]
        self.arrays: tuple[str, ...] = tuple(arrays)
        self._written = {arrays.index(name) for name in writes}
        self._plain = {n: str(p.annotation) for n, p in parameters.items() if n not in arrays}
        needed = {n for n, p in parameters.items() if p.default is p.empty}
        self._arrays_needed = [i for i, name in enumerate(arrays) if name in needed]
        self._options_needed = needed & self._plain.keys()
        self._spec: Callable[..., Any] | None = None
        self._plan: Callable[..., Plan] | None = None
        if generates:
            device = inspect.Parameter("device", inspect.Parameter.KEYWORD_ONLY, default=None)
            self.__signature__ = self._signature.replace(parameters=[*self._signature.parameters.values(), device])
        text = textwrap.indent(inspect.cleandoc(body.__doc__ or ""), "    ")
        self.__doc__ = f"{signature(self.name, self)}\n\n{text}"  # as help() knows no parameters of an object
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
        try:
            outputs = self._spec(*args, **kwargs)
        except TypeError:
            self._check_plain(kwargs)
            raise
        self._check_plain(kwargs)
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
            for i in self._written:
                fits = args[i] is None or isinstance(args[i], np.ndarray)
                check(fits, self.name, self.arrays[i], "an array, which is written into", type(args[i]).__name__)
            arrays = [a if i in self._written else canonical(a, self.name, self.arrays[i]) for i, a in enumerate(args)]
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
        bound = dict(kwargs)
        if len(args) == len(self.arrays) and self._options_needed <= kwargs.keys() <= self._plain.keys():
            arrays = tuple(args)
        else:
            bound = self._bound(args, kwargs)
            arrays = tuple(bound.pop(name, None) for name in self.arrays)
        for i in self._arrays_needed:
            check(arrays[i] is not None, self.name, self.arrays[i], "an array or a tensor", None)
        return arrays, _python_numbers(bound)

    def _generate(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        options = dict(kwargs)
        device = options.pop("device", None)
        check(device is None or hasattr(device, "dispatch"), self.name, "device", "an open device", repr(device))
        values = _python_numbers(self._bound(args, options))
        if device is not None:
            return device.dispatch(self, (), values)
        self.spec_of(**values)
        return self.body(**values)

    def _bound(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments by name. Raises TypeError, which shows how the op is called."""
        try:
            return self._signature.bind(*args, **kwargs).arguments
        except TypeError as e:
            raise TypeError(f"{self.name}: {e}; it is {signature(self.name, self)}") from e

    def _check_plain(self, values: Mapping[str, Any]) -> None:
        for name, value in values.items():
            annotation = self._plain.get(name, "")
            rule, types = _PLAIN.get(annotation.removesuffix(" | None"), ("", (object,)))
            fits = isinstance(value, types) or (value is None and annotation.endswith("| None"))
            check(fits, self.name, name, rule, repr(value))

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


def signature(name: str, function: Callable[..., Any]) -> str:
    """A call with its parameters and their defaults: `softmax(x)`."""
    found = inspect.signature(function)
    bare = [p.replace(annotation=p.empty) for p in found.parameters.values()]
    return f"{name}{inspect.Signature(bare)}"


def whole(value: object) -> bool:
    """Whether a value is a whole number, of Python or of NumPy."""
    return isinstance(value, (int, np.integer))


def spec(value: Any) -> Any:
    """The Spec of an array, a Blocks weight or a tensor; None of None."""
    if value is None:
        return None
    return Spec(tuple(value.shape), value.type if isinstance(value, Blocks) else str(value.dtype))


def check(condition: object, op_name: str, argument: str, rule: str, got: object) -> None:
    """Raises ShapeError("{op}: {argument} must be {rule}, got {value}") unless the condition holds."""
    if not condition:
        raise ShapeError(f"{op_name}: {argument} must be {rule}, got {got}")


def _python_numbers(values: Mapping[str, Any]) -> dict[str, Any]:
    """The same values: a number of NumPy's, as a size or a product of sizes may be, is one of Python's."""
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in values.items()}


def canonical(value: Any, op_name: str = "tensor", argument: str = "array") -> Any:
    """An array argument in a dtype that kernels know: float64 as float32, int64 as int32 (values must fit)."""
    if value is None or isinstance(value, Blocks):
        return value
    try:
        array = np.asarray(value)
    except ValueError as e:  # lists of different lengths
        raise ShapeError(f"{op_name}: {argument} must be an array, got {type(value).__name__}: {e}") from e
    if array.dtype == np.float64:
        return array.astype(np.float32)
    if array.dtype == np.int64:
        least, most = (array.min(), array.max()) if array.size else (0, 0)
        fits = least >= -(2**31) and most < 2**31
        check(fits, op_name, argument, "within the range of int32", f"int64 from {least} to {most}")
        return array.astype(np.int32)
    return array


def _is_tensor(value: Any) -> bool:
    return hasattr(type(value), "storage")
