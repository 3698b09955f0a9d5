"""What bench/gpu.py measures, a file per section.

A section is `cases(side)`, a generator of (case, way, measure): `way` is whose time it is (weft, numpy, torch, torch_compile),
`measure()` gives a dict with `seconds` and what the table makes of it (table.py). Both sides run the same text: weft's under
`python -m weft.torch`, where `import torch` gives weft's names. They run in this order: those that PyTorch compiles longest come last.
"""

SECTIONS = {
    "machine": "bandwidth of copies and of reading, rate of bfloat16 products: what shares are of",
    "kmeans": "k-means, fused elementwise, reductions of rows, beside NumPy",
    "latency": "first call, host time of a cached call and of a recorded one",
    "products": "products of 4096 cubed and of Llama's shapes",
    "attention": "scaled_dot_product_attention: a causal prompt, and one token over a cache",
    "llm": "Llama-7B's shape, batch 1: decode and prefill",
    "sam": "Segment Anything: the image encoder, and the steps of weft bench sam",
}
# Seconds that a section may take on weft's side and on PyTorch's.
LIMITS = {
    "machine": (30, 30),
    "kmeans": (60, 60),
    "latency": (30, 40),
    "products": (40, 40),
    "attention": (20, 20),
    "llm": (120, 120),
    "sam": (120, 90),
}
