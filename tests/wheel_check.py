"""Run by scripts/test where weft comes from its wheel: wheel_check.py compiler|none.

`compiler`: kernels are compiled in this process; `none`: nothing here can compile, and results are the same.
"""

import pathlib
import subprocess
import sys

import numpy as np
import weft
import weft.models  # and the libraries of language models


def kmeans(X, means):
    return np.argmin(np.linalg.norm(X - means[:, None], axis=2), axis=0)


def elementary(x):
    return np.sin(x) + np.exp(-x * x) + np.arctan2(x, 2.0) + np.cbrt(x)


def solve(a, b):
    return np.linalg.solve(a @ a.T + np.eye(len(a)), b)


def sorted_sum(x):
    return np.cumsum(np.sort(x))


def info():
    return subprocess.run(["weft", "info"], capture_output=True, text=True, check=True).stdout


def main(wanted):
    package = pathlib.Path(weft.__file__).parent
    assert "site-packages" in weft.__file__, weft.__file__
    assert not list(package.rglob("*.cc"))
    random = np.random.default_rng(0)
    X, means = random.standard_normal((1000, 2)), random.standard_normal((3, 2))
    square, vector = random.standard_normal((40, 40)), random.standard_normal(40)
    # Products and decompositions the BLAS', sorting Highway's.
    for function, arguments in [
        (kmeans, (X, means)),
        (elementary, (X,)),
        (solve, (square, vector)),
        (sorted_sum, (X.ravel(),)),
    ]:
        compiled = weft.compile(function)
        np.testing.assert_allclose(compiled(*arguments), function(*arguments), rtol=1e-9, atol=1e-12)
    compiles = bool(weft.compiler.explain(kmeans)(X, means).kernels)
    assert compiles == (wanted == "compiler"), info()
    text = info()
    assert ("can compile kernels: functions run operator by operator" in text) == (wanted == "none"), text
    assert ("the wheel weft-compiler, weft[compiler], brings it" in " ".join(text.split())) == (
        wanted == "none"
    )
    print(f"wheel: weft {weft.__version__} in {package} agrees with NumPy, toolchain: {wanted}")
    print(text)


if __name__ == "__main__":
    main(sys.argv[1])
