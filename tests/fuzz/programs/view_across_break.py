"""A view keeps looking at its array's memory across a graph break."""

from program_fuzz import Argument, Program

PROGRAM = Program(
    [Argument("float32", (17, 5), "F", True, 492748524)],
    [
        "v1 = np.stack([a0, a0])",
        "v2 = v1 * 2",
        "v5 = v2[:, -11:8]",
        "v8 = np.nan_to_num(v1)",
        "v2[-1, :, :] -= 2",
    ],
    ["v5"],
)
