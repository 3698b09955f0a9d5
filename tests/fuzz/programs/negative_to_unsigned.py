"""Negative floating numbers wrap when they are stored as unsigned integers."""

from program_fuzz import Argument, Program

PROGRAM = Program(
    [Argument("uint32", (8, 9), "C", False, 1), Argument("float64", (9,), "C", False, 2)],
    [
        "a0[:, ::-1] = np.trunc(a1)",
        "v0 = np.trunc(a1).astype(np.uint64)",
        "v1 = np.trunc(a1).astype(np.uint8)",
    ],
    ["v0", "v1"],
)
