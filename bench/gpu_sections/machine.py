"""What this GPU does at best, as the two sides measure it; shares are of the better one."""


def cases(side):
    torch = side.torch
    count, size = side.size(1 << 28, 1 << 12), side.size(8192, 64)

    def copying():
        x = side.uniform((count,), "float32")
        return {"seconds": side.seconds(x.clone), "bytes": 8 * count, "peak": "copy"}

    def reading():
        x = side.uniform((count,), "float32")
        return {"seconds": side.seconds(lambda: torch.sum(x)), "bytes": 4 * count, "peak": "read"}

    def product():
        a, b = side.uniform((size, size)), side.uniform((size, size), seed=2)
        return {"seconds": side.seconds(lambda: a @ b.T), "flops": 2 * size**3, "peak": "bfloat16 rate"}

    for case, measure in (
        ("a copy", copying),
        ("a sum, which reads", reading),
        (f"bfloat16 product of {size} cubed", product),
    ):
        yield case, side.ways(compiled=False)[0][0], measure
