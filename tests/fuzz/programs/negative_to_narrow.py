"""Floating numbers outside an integer's range keep their low bits when they are stored in one or two bytes."""

from program_fuzz import Argument, Program

PROGRAM = Program(
    [Argument("float64", (9,), "C", False, 2), Argument("float32", (8, 17), "C", False, 3)],
    [
        "v0 = np.trunc(a0).astype(np.uint16)",
        "v1 = (np.trunc(a1) * 100).astype(np.int8)",
        "v2 = (np.trunc(a1) * 100).astype(np.uint8)",
    ],
    ["v0", "v1", "v2"],
)
