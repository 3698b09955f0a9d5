"""A view of an argument that was updated goes on looking at the argument, across a graph break too."""

from program_fuzz import Argument, Program

PROGRAM = Program(
    [Argument("float16", (9, 4), "C", False, 931678913)],
    [
        "a0[None, -1::-1, 0] *= 0.5",
        "v1 = a0[:, :2]",
        "v2 = a0.ravel()",
        "np.geterr()",
        "a0[::2] = 3",
        "v2[1] = 7",
    ],
    ["v1", "v2"],
)
