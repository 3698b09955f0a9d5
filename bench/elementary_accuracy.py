"""The largest error of the elementary functions, in units in the last place, against the C library's long double.

    python bench/elementary_accuracy.py [name …] [--count N]

Arguments are dense and random over each function's domain, powers of two and their neighbours, and special values,
which must give NumPy's.
"""

import argparse
import warnings

import numpy as np
import weft

# name: reference on long double, and intervals to sample.
EVERYWHERE = [(-1e-300, 1e-300), (-1e-3, 1e-3), (-1, 1), (-20, 20), (-800, 800)]
POSITIVE = [(1e-310, 1e-300), (1e-3, 1), (0.5, 2), (0.98, 1.04), (1, 1e3), (1, 1e300)]
UNIT = [(-1, 1), (-0.01, 0.01), (0.4, 0.6), (0.95, 1), (-1, -0.95)]
ANGLES = [(-1e-3, 1e-3), (-1.6, 1.6), (-10, 10), (-1000, 1000), (-1e6, 1e6), (-1e12, 1e12), (1, 1e300)]
FUNCTIONS = {
    "exp": EVERYWHERE, "exp2": [*EVERYWHERE, (-1100, 1100)], "expm1": EVERYWHERE,
    "sinh": EVERYWHERE, "cosh": EVERYWHERE, "tanh": EVERYWHERE,
    "log": POSITIVE, "log2": POSITIVE, "log10": POSITIVE,
    "log1p": [(-1, 1), (-1, -0.9), (-1e-3, 1e-3), (-0.05, 0.05), (0, 1e3), (0, 1e300)],
    "sin": ANGLES, "cos": ANGLES, "tan": ANGLES,
    "arcsin": UNIT, "arccos": UNIT, "arctan": [*EVERYWHERE, (-5, 5), (-1e10, 1e10)], "arctanh": UNIT,
    "arcsinh": [*EVERYWHERE, (-1e10, 1e10)], "arccosh": [(1, 1.001), (1, 10), (1, 1e10)],
    "cbrt": [*EVERYWHERE, (-1e300, 1e300)],
    "power": None, "arctan2": None, "fmod": None, "hypot": None,
}  # fmt: skip


def around(values, dtype):
    """The values and their neighbours."""
    values = np.asarray(values, dtype)
    with np.errstate(over="ignore"):
        return np.concatenate(
            [values, np.nextafter(values, dtype(np.inf)), np.nextafter(values, dtype(-np.inf))]
        )


def special(dtype):
    info = np.finfo(dtype)
    values = [
        0,
        1,
        2,
        0.5,
        np.pi,
        10,
        88.7,
        103.9,
        709.7,
        745.1,
        1e30,
        np.inf,
        np.nan,
        info.max,
        info.tiny,
        info.smallest_subnormal,
    ]
    values = around(values, dtype)
    return np.concatenate([values, -values])


def arguments(intervals, dtype, count, seed=0):
    random = np.random.default_rng(seed)
    limit = float(np.finfo(dtype).max)
    parts = [
        special(dtype),
        around(2.0 ** np.arange(np.finfo(dtype).minexp - 20, np.finfo(dtype).maxexp), dtype),
    ]
    for low, high in intervals:
        low, high = max(low, -limit), min(high, limit)
        parts.append(random.uniform(low, high, count).astype(dtype))
        if low >= 0 and high / max(low, 1e-300) > 1e3:
            parts.append(np.exp(random.uniform(np.log(max(low, 1e-300)), np.log(high), count)).astype(dtype))
    return np.concatenate(parts)


def pairs(name, dtype, count, seed=0):
    random = np.random.default_rng(seed)
    a, b = (each.ravel() for each in np.meshgrid(special(dtype), special(dtype)))
    x, y = random.standard_normal((2, count)).astype(dtype) * dtype(3)
    scale = np.exp2(random.uniform(-60, 60, count)).astype(dtype)
    if name == "power":
        near = (1 + random.uniform(-1e-3, 1e-3, count)).astype(dtype)
        xs = [a, np.abs(x), np.abs(x), near, np.abs(scale), x]
        ys = [b, y, y * 100, y * 10000, y, np.rint(y * 5)]
    else:
        xs, ys = [a, x, x, x * scale, x], [b, y, np.abs(y), y, y * scale]
    return np.concatenate(xs), np.concatenate(ys)


def errors(got, exact, dtype):
    """In units in the last place; below the smallest normal number, in units of that."""
    rounded = exact.astype(dtype)
    finite = np.isfinite(exact) & np.isfinite(rounded) & np.isfinite(got)
    spacing = np.spacing(np.maximum(np.abs(rounded[finite]), np.finfo(dtype).tiny)).astype(np.longdouble)
    result = np.zeros(got.shape)
    result[finite] = np.abs(got[finite].astype(np.longdouble) - exact[finite]) / spacing
    # Where either is infinite or NaN both must be the same; at the limit of the range one may have rounded up.
    same = (got == rounded) | (np.isnan(got) & np.isnan(exact)) | (np.abs(exact) >= np.finfo(dtype).max)
    zero = (rounded == 0) & (got == 0) & (np.signbit(rounded) != np.signbit(got))
    result[~finite & ~same] = np.inf
    result[zero] = np.inf
    return result


def measure(name, dtype, count):
    """(largest error, its argument, what came, what is exact)"""
    function = getattr(np, name)
    compiled = weft.compile(eval(f"lambda *arguments: np.{name}(*arguments)", {"np": np}))
    intervals = FUNCTIONS[name]
    operands = pairs(name, dtype, count) if intervals is None else (arguments(intervals, dtype, count),)
    with np.errstate(all="ignore"):
        got = compiled(*operands)
        exact = function(*(each.astype(np.longdouble) for each in operands))
        error = errors(got, exact, dtype)
    worst = int(np.argmax(error))
    return error[worst], [each[worst] for each in operands], got[worst], exact[worst]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--count", type=int, default=1_000_000)
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    for name in options.names or FUNCTIONS:
        for dtype in (np.float64, np.float32):
            error, at, got, exact = measure(name, dtype, options.count)
            print(
                f"{dtype.__name__} {name:8s} {error:8.3f} ULP at {', '.join(map(str, at))}: {got}, exactly {exact}"
            )


if __name__ == "__main__":
    main()
