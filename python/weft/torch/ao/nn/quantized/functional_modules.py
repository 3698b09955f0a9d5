"""Sums, products and joins as modules, so that their results can be observed, and their quantized counterparts."""

import weft
from weft import nn
from weft.ops import quantized as _ops

from ._weights import ScaledModule


class FXFloatFunctional(nn.Module):
    """The functions, which observe nothing."""

    def forward(self, x):
        raise RuntimeError(
            f"{type(self).__name__} is not intended to use the 'forward'. Please use the underlying operation"
        )

    def _seen(self, x):
        return x

    def add(self, x, y):
        return self._seen(x + y)

    def add_scalar(self, x, y):
        return x + y

    def mul(self, x, y):
        return self._seen(x * y)

    def mul_scalar(self, x, y):
        return x * y

    def cat(self, x, dim=0):
        return self._seen(weft.concatenate(list(x), dim=dim))

    def add_relu(self, x, y):
        return self._seen(weft.relu(x + y))

    def matmul(self, x, y):
        return self._seen(weft.matmul(x, y))


class FloatFunctional(FXFloatFunctional):
    """The functions, whose results an observer sees."""

    def __init__(self):
        super().__init__()
        self.activation_post_process = nn.Identity()

    def _seen(self, x):
        return self.activation_post_process(x)


class QFunctional(ScaledModule):
    """The functions over quantized tensors."""

    def __init__(self):
        super().__init__()
        self.activation_post_process = nn.Identity()

    def _get_name(self):
        return "QFunctional"

    def extra_repr(self):
        return f"scale={self.scale}, zero_point={self.zero_point}"

    def forward(self, x):
        raise RuntimeError(
            "Functional is not intended to use the 'forward'. Please use the underlying operation"
        )

    def add(self, x, y):
        return self.activation_post_process(_ops.add(x, y, self.scale, self.zero_point))

    def add_scalar(self, x, y):
        return _ops.add_scalar(x, y)

    def mul(self, x, y):
        return self.activation_post_process(_ops.mul(x, y, self.scale, self.zero_point))

    def mul_scalar(self, x, y):
        return _ops.mul_scalar(x, y)

    def cat(self, x, dim=0):
        return self.activation_post_process(_ops.cat(list(x), dim, self.scale, self.zero_point))

    def add_relu(self, x, y):
        return self.activation_post_process(_ops.add_relu(x, y, self.scale, self.zero_point))

    def matmul(self, x, y):
        return _ops.matmul(x, y, self.scale, self.zero_point)

    @classmethod
    def from_float(cls, mod, use_precomputed_fake_quant=False):
        if type(mod) is not FloatFunctional:
            raise AssertionError(
                f"QFunctional.from_float expects an instance of FloatFunctional, got {type(mod).__name__}"
            )
        made = cls()
        scale, zero_point = mod.activation_post_process.calculate_qparams()
        made.scale, made.zero_point = float(scale), int(zero_point)
        return made
