"""Run by scripts/test in an environment that has the wheel and nothing of the checkout: compile, and compare."""

import pathlib

import numpy as np
import weft


def kmeans(X, means):
    return np.argmin(np.linalg.norm(X - means[:, None], axis=2), axis=0)


rng = np.random.default_rng(0)
X, means = rng.standard_normal((1000, 2)), rng.standard_normal((3, 2))
assert "site-packages" in weft.__file__, weft.__file__
assert np.array_equal(weft.compile(kmeans, fullgraph=True)(X, means), kmeans(X, means))
assert not list(pathlib.Path(weft.__file__).parent.rglob("*.cc"))
print(
    f"wheel: weft {weft.__version__} in {pathlib.Path(weft.__file__).parent} compiles and agrees with NumPy"
)
