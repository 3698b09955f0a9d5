"""int32 sums wrap before they are widened to int64."""

from program_fuzz import Argument, Program

PROGRAM = Program(
    [Argument("uint32", (1,), "C", False, 1), Argument("int32", (1,), "C", False, 2)],
    ["v0 = a1 * 0 + np.int32(2147483647)", "v1 = v0 + 3", "v2 = v1 - a0"],
    ["v2"],
)
