"""NumPy has an error of its own for values of two dimensions through a mask of a mask."""

from program_fuzz import Argument, Program

PROGRAM = Program(
    [
        Argument(dtype="int32", shape=(33, 8), layout="C", special=False, seed=282135503, same_as=-1),
        Argument(dtype="float64", shape=(), layout="C", special=False, seed=0, same_as=-1),
        Argument(dtype="int64", shape=(33, 8), layout="C", special=False, seed=1000466708, same_as=-1),
    ],
    ["v0 = a0 * a2", "v2 = a1 <= v0", "v2[v2 == v2] = v0"],
    ["v0"],
    {},
    False,
)
