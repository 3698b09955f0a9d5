"""What `import triton` finds under `weft torch` where no Triton is installed: kernels can be defined, not launched.

A program's kernels for GPUs are mostly one way among others, and defined when it is imported; launching one says which it is.
"""

import functools
import inspect

from . import language  # noqa: F401

__version__ = "3.9.0"


def _where(function):
    code = getattr(function, "__code__", None)
    return f" ({code.co_filename}:{code.co_firstlineno})" if code is not None else ""


class JITFunction:
    """A kernel of a program. `kernel[grid](…)` raises NotImplementedError."""

    def __init__(self, fn):
        self.fn = fn
        functools.update_wrapper(self, fn)
        self.arg_names = list(inspect.signature(fn).parameters)

    def __getitem__(self, grid):
        return functools.partial(self.run, grid=grid)

    def run(self, *args, grid=None, **kwargs):
        raise NotImplementedError(
            f"the Triton kernel {self.__name__}{_where(self.fn)} is launched here, and there is no Triton: install it, let the "
            "program take another way, or write the kernel with weft.kernel"
        )

    warmup = run

    def __call__(self, *args, **kwargs):
        raise RuntimeError("Cannot call @triton.jit'd outside of the scope of a kernel")

    def __repr__(self):
        return f"JITFunction({self.__module__}:{self.__qualname__})"


class Config:
    """Meta-parameters of a kernel, of which autotune() would choose."""

    def __init__(self, kwargs, num_warps=4, num_stages=3, num_ctas=1, maxnreg=None, pre_hook=None, **others):
        self.kwargs, self.num_warps, self.num_stages = kwargs, num_warps, num_stages
        self.num_ctas, self.maxnreg, self.pre_hook = num_ctas, maxnreg, pre_hook
        vars(self).update(others)

    def all_kwargs(self):
        return {
            **self.kwargs,
            "num_warps": self.num_warps,
            "num_ctas": self.num_ctas,
            "num_stages": self.num_stages,
        }

    def __repr__(self):
        return ", ".join(f"{name}: {value}" for name, value in self.all_kwargs().items())


class Autotuner(JITFunction):
    """A kernel with the configurations that were to be tried."""

    def __init__(self, kernel, configs, key):
        super().__init__(getattr(kernel, "fn", kernel))
        self.configs, self.keys = list(configs), key


def jit(fn=None, **options):
    """A function as a kernel; with options, a decorator."""
    return JITFunction(fn) if fn is not None else JITFunction


def autotune(configs, key, **options):
    return lambda kernel: Autotuner(kernel, configs, key)


def heuristics(values):
    return lambda kernel: kernel


def cdiv(x, y):
    """x / y, rounded up."""
    return (x + y - 1) // y


def next_power_of_2(n):
    """The smallest power of two that is not less than n."""
    return 1 << (n - 1).bit_length() if n > 0 else 0
