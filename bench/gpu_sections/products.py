"""Products, beside PyTorch's: of 4096 cubed, and of the layers of Llama-7B."""

import importlib

from .llm_program import make_linear, scheme_bytes

LAYERS = {"gate and up": (22016, 4096), "down": (4096, 11008), "head": (32000, 4096)}  # rows, columns


def square(side, dtype):
    torch, size = side.torch, side.size(4096, 32)
    if dtype == "int8":
        a, b = side.integers((size, size), "int8", -127, 128), side.integers((size, size), "int8", -127, 128)
        product = torch._int_mm if not side.is_weft else importlib.import_module("weft")._int_mm
        seconds = side.seconds(lambda: product(a, b.T))
    else:
        a, b = side.uniform((size, size), dtype), side.uniform((size, size), dtype, seed=2)
        seconds = side.seconds(lambda: a @ b.T)
    return {"seconds": seconds, "flops": 2 * size**3, "share_of": "bfloat16 rate"}


def layer(side, scheme, rows, sizes, compiled):
    """A layer of few rows reads its weights, of many it multiplies."""
    out, columns = (side.size(n, 64) for n in sizes)
    linear = make_linear(side, scheme)(out, columns)
    x = side.uniform((rows, columns))
    run = side.compile(lambda x: linear(x)) if compiled else linear
    figures = {"seconds": side.seconds(lambda: run(x))}
    if rows == 1:
        return {**figures, "bytes": out * columns * scheme_bytes(scheme), "share_of": "read"}
    return {**figures, "flops": 2 * rows * out * columns, "share_of": "bfloat16 rate"}


def cases(side):
    size = side.size(4096, 32)
    for dtype in ("bfloat16", "float16", "int8", "float32"):
        yield f"{size} cubed, {dtype}", side.ways(False)[0][0], lambda dtype=dtype: square(side, dtype)
    for rows in side.size((1, 512, 2048), (1, 8)):
        for name, sizes in LAYERS.items():
            for scheme in ("bfloat16", "int8", "int4-g32"):
                if rows > 1 and (scheme != "bfloat16" or name == "head"):
                    continue
                for way, compiled in side.ways(compiled=scheme == "int8" and not side.is_weft):
                    yield (
                        f"{name}, {rows} row{'s' * (rows > 1)}, {scheme}",
                        way,
                        lambda a=(scheme, rows, sizes, compiled): layer(side, *a),
                    )
