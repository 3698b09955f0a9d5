"""torch.testing's names."""

import cmath
import numbers

import weft

__path__ = []

_TOLERANCES = {
    weft.float16: (1e-3, 1e-5),
    weft.bfloat16: (1.6e-2, 1e-5),
    weft.float32: (1.3e-6, 1e-5),
    weft.float64: (1e-7, 1e-7),
    weft.complex64: (1.3e-6, 1e-5),
    weft.complex128: (1e-7, 1e-7),
}


def _tolerances(dtypes, rtol, atol):
    if (rtol is None) != (atol is None):
        raise ValueError(
            f"Both 'rtol' and 'atol' must be either specified or unspecified, but got no {'rtol' if rtol is None else 'atol'}"
        )
    if rtol is not None:
        return rtol, atol
    found = [_TOLERANCES.get(dtype, (0.0, 0.0)) for dtype in dtypes]
    return max(one[0] for one in found), max(one[1] for one in found)


def _message(msg, default, where):
    if where:
        default += f"\n\nThe failure occurred for item {where}"
    return default if msg is None else msg(default) if callable(msg) else msg


def _attribute(name, left, right):
    return f"The values for attribute '{name}' do not match: {left} != {right}."


def _tensor_difference(actual, expected, rtol, atol, equal_nan):
    """What is wrong with the elements; None where nothing is."""
    from weft import torch

    if actual.numel() == 0:
        return None
    close = torch.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan)
    if bool(torch.all(close)):
        return None
    wide = weft.complex128 if actual.is_complex() else weft.float64
    left, right = actual.to(wide), expected.to(wide)
    count, total = int(torch.sum(~close)), actual.numel()
    zeros = torch.zeros_like(torch.abs(left))
    difference = torch.where(close, zeros, torch.abs(left - right))
    relative = torch.where(close, zeros, difference / torch.abs(right))

    def place(values):
        best = values.reshape(-1).tolist()
        index = max(range(len(best)), key=lambda i: (best[i] != best[i], best[i]))
        flat, where = index, []
        for size in reversed(tuple(values.shape)):
            where.insert(0, flat % size)
            flat //= size
        return best[index], tuple(where)

    kind = "equal" if rtol == atol == 0 else "close"
    absolute, at = place(difference)
    ratio, at_ratio = place(relative)
    allowed = "" if kind == "equal" else f" (up to {atol} allowed)"
    allowed_ratio = "" if kind == "equal" else f" (up to {rtol} allowed)"
    if actual.ndim == 0:
        return (
            f"Scalars are not {kind}!\n\nExpected {expected.item()} but got {actual.item()}.\n"
            f"Absolute difference: {absolute}{allowed}\nRelative difference: {ratio}{allowed_ratio}"
        )
    return (
        f"Tensor-likes are not {kind}!\n\nMismatched elements: {count} / {total} ({count / total:.1%})\n"
        f"Greatest absolute difference: {absolute} at index {at}{allowed}\n"
        f"Greatest relative difference: {ratio} at index {at_ratio}{allowed_ratio}"
    )


class _Comparison:
    def __init__(
        self,
        allow_subclasses,
        rtol,
        atol,
        equal_nan,
        check_device,
        check_dtype,
        check_layout,
        check_stride,
        msg,
    ):
        self.allow_subclasses, self.rtol, self.atol, self.equal_nan = allow_subclasses, rtol, atol, equal_nan
        self.check_dtype, self.check_stride, self.msg = check_dtype, check_stride, msg

    def fail(self, text, where):
        raise AssertionError(_message(self.msg, text, where))

    def compare(self, actual, expected, where=""):
        if isinstance(actual, dict) and isinstance(expected, dict):
            if set(actual) != set(expected):
                missing, extra = sorted(set(expected) - set(actual)), sorted(set(actual) - set(expected))
                self.fail(
                    "The keys of the mappings do not match:\n"
                    f"Missing keys in the actual mapping: {missing}\nAdditional keys in the actual mapping: {extra}",
                    where,
                )
            for key in expected:
                self.compare(actual[key], expected[key], f"{where}[{key!r}]")
        elif _is_sequence(actual) and _is_sequence(expected):
            if len(actual) != len(expected):
                self.fail(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", where)
            for index, (left, right) in enumerate(zip(actual, expected, strict=True)):
                self.compare(left, right, f"{where}[{index}]")
        elif actual is None or expected is None:
            if actual is not expected:
                self.fail(f"None mismatch: {actual} is not {expected}", where)
        elif isinstance(actual, bool) and isinstance(expected, bool):
            if actual is not expected:
                self.fail(f"Booleans mismatch: {actual} is not {expected}", where)
        elif _is_number(actual) and _is_number(expected):
            self.numbers(actual, expected, where)
        else:
            self.tensors(actual, expected, where)

    def numbers(self, actual, expected, where):
        if self.check_dtype and type(actual) is not type(expected):
            self.fail(f"The (d)types do not match: {type(actual)} != {type(expected)}.", where)
        dtypes = [
            {int: weft.int64, float: weft.float64, complex: weft.complex128}.get(type(x), weft.float64)
            for x in (actual, expected)
        ]
        rtol, atol = _tolerances(dtypes, self.rtol, self.atol)
        if actual == expected or (self.equal_nan and cmath.isnan(actual) and cmath.isnan(expected)):
            return
        difference = abs(actual - expected)
        if cmath.isfinite(difference) and difference <= atol + rtol * abs(expected):
            return
        kind = "equal" if rtol == atol == 0 else "close"
        ratio = difference / abs(expected) if expected else float("inf")
        self.fail(
            f"Scalars are not {kind}!\n\nExpected {expected} but got {actual}.\nAbsolute difference: {difference}"
            + (f" (up to {atol} allowed)" if kind == "close" else "")
            + f"\nRelative difference: {ratio}"
            + (f" (up to {rtol} allowed)" if kind == "close" else ""),
            where,
        )

    def tensors(self, actual, expected, where):
        directly = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
        kinds = (weft.Tensor,)
        if not directly and not (isinstance(actual, kinds) and isinstance(expected, kinds)):
            raise TypeError(
                f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}."
            )
        if not isinstance(actual, weft.Tensor):
            if not type(actual).__module__.startswith("numpy"):
                raise TypeError(
                    f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}."
                )
            actual, expected = weft.as_tensor(actual), weft.as_tensor(expected)
        if tuple(actual.shape) != tuple(expected.shape):
            self.fail(
                _attribute(
                    "shape", f"torch.Size({list(actual.shape)})", f"torch.Size({list(expected.shape)})"
                ),
                where,
            )
        if self.check_dtype and actual.dtype != expected.dtype:
            names = (str(tensor.dtype).replace("weft.", "torch.") for tensor in (actual, expected))
            self.fail(_attribute("dtype", *names), where)
        if self.check_stride and tuple(actual.stride()) != tuple(expected.stride()):
            self.fail(_attribute("stride()", actual.stride(), expected.stride()), where)
        rtol, atol = _tolerances((actual.dtype, expected.dtype), self.rtol, self.atol)
        if actual.dtype != expected.dtype:
            dtype = weft.promote_types(actual.dtype, expected.dtype)
            actual, expected = actual.to(dtype), expected.to(dtype)
        difference = _tensor_difference(actual, expected, rtol, atol, self.equal_nan)
        if difference:
            self.fail(difference, where)


def _is_sequence(value):
    return isinstance(value, (list, tuple))


def _is_number(value):
    return isinstance(value, numbers.Number) and not isinstance(value, bool)


def assert_close(
    actual,
    expected,
    *,
    allow_subclasses=True,
    rtol=None,
    atol=None,
    equal_nan=False,
    check_device=True,
    check_dtype=True,
    check_layout=True,
    check_stride=False,
    msg=None,
):
    """raises: AssertionError with the greatest differences, unless the tensors, numbers or containers of these are close."""
    comparison = _Comparison(
        allow_subclasses, rtol, atol, equal_nan, check_device, check_dtype, check_layout, check_stride, msg
    )
    comparison.compare(actual, expected)


def assert_allclose(actual, expected, rtol=None, atol=None, equal_nan=True, msg=""):
    """assert_close, with dtypes that need not be equal."""
    assert_close(
        weft.as_tensor(actual),
        weft.as_tensor(expected),
        rtol=rtol,
        atol=atol,
        equal_nan=equal_nan,
        check_dtype=False,
        msg=msg or None,
    )


def make_tensor(
    *shape, dtype, device="cpu", low=None, high=None, requires_grad=False, noncontiguous=False, exclude_zero=False,
    memory_format=None,
):  # fmt: skip
    """A tensor of random elements within [low, high)."""
    from weft import torch

    sizes = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], (list, tuple)) else shape
    is_floating = dtype in _TOLERANCES
    low = low if low is not None else (0 if dtype in (weft.bool, weft.uint8) else -9)
    high = high if high is not None else (2 if dtype is weft.bool else 10)
    values = (
        torch.rand(sizes) * (high - low) + low if is_floating else torch.randint(int(low), int(high), sizes)
    )
    values = values.to(dtype)
    if exclude_zero:
        values = torch.where(values == 0, torch.ones_like(values), values)
    return values


class FileCheck:
    """raises: NotImplementedError; it checks text of PyTorch's own compiler."""

    def __init__(self):
        raise NotImplementedError("torch.testing.FileCheck is PyTorch's, but not weft's")
