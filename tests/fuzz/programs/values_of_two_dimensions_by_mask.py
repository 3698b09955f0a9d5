"""NumPy has an error of its own for values of two dimensions through a mask of the whole array."""

from program_fuzz import Argument, Program

PROGRAM = Program(
    [
        Argument(dtype="int64", shape=(9, 33), layout="C", special=False, seed=736115547, same_as=-1),
    ],
    ["v2 = np.ascontiguousarray(a0)", "v4 = v2[np.array([], dtype=int)]", "v2[v2 == v2] = v4"],
    ["v2"],
    {},
    False,
)
