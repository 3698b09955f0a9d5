"""A copy of an array whose elements repeat, and a view of the copy, are returned."""

from program_fuzz import Argument, Program

PROGRAM = Program(
    [
        Argument(dtype="int64", shape=(17,), layout="C", special=False, seed=349387674, same_as=-1),
        Argument(dtype="uint8", shape=(17,), layout="C", special=False, seed=842419052, same_as=-1),
    ],
    ["v0 = a1 * a0", "v1 = a1 < a1", "v2 = np.meshgrid(v1, v0)[0]", "v3 = v2[7, :-12:2]"],
    ["v2", "v3"],
    {},
    False,
)
