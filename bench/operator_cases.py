"""What bench/operators.py times: groups of calls, and the operands they are written over.

Of a group, x and y are two tensors of its shape and dtype, p is positive, u in (-1, 1), b bool. The first group has more:
i of int64, g positions along a row, h of bfloat16, s of 8 x 16, and what products, convolutions and attention take.
"""

UNARY = (
    "abs neg exp exp2 expm1 log log1p log2 sqrt rsqrt sin cos tan asin acos atan sinh cosh tanh asinh atanh erf erfc "
    "lgamma digamma sigmoid floor round trunc frac sign reciprocal square relu isnan"
).split()
ON_UNIT = {"asin", "acos", "atanh"}
POSITIVE = {"log", "log1p", "log2", "sqrt", "rsqrt", "lgamma", "digamma", "reciprocal"}
FUNCTIONAL = (
    "gelu silu elu selu softplus mish hardswish hardsigmoid leaky_relu relu6 logsigmoid softsign tanhshrink celu"
).split()
DEFAULT = {
    name: f"torch.{name}({'u' if name in ON_UNIT else 'p' if name in POSITIVE else 'x'})" for name in UNARY
}
DEFAULT |= {name: f"F.{name}(x)" for name in FUNCTIONAL}
DEFAULT |= {
    name: f"torch.{name}(x, y)" for name in "add sub mul div maximum minimum atan2 fmod lt eq".split()
}
DEFAULT |= {
    "gelu tanh": "F.gelu(x, approximate='tanh')",
    "pow": "torch.pow(p, y)",
    "pow 2.5": "torch.pow(p, 2.5)",
    "add number": "x + 1.5",
    "add row": "x + y[0]",
    "where": "torch.where(b, x, y)",
    "clamp": "torch.clamp(x, -0.5, 0.5)",
    "lerp": "torch.lerp(x, y, 0.3)",
    "addcmul": "torch.addcmul(x, y, p, value=0.5)",
    "to bf16": "x.to(torch.bfloat16)",
    "from bf16": "h.to(torch.float32)",
    "bf16 add": "h + h",
    "bf16 gelu": "F.gelu(h)",
    "to int": "x.to(torch.int32)",
    "sum": "x.sum()",
    "sum rows": "x.sum(-1)",
    "sum columns": "x.sum(0)",
    "mean rows": "x.mean(-1)",
    "amax rows": "x.amax(-1)",
    "max rows": "x.max(-1)",
    "argmax rows": "x.argmax(-1)",
    "amax columns": "x.amax(0)",
    "prod rows": "x.prod(-1)",
    "any": "b.any()",
    "std rows": "x.std(-1)",
    "var rows": "x.var(-1)",
    "norm": "torch.linalg.vector_norm(x)",
    "norm rows": "torch.linalg.vector_norm(x, dim=-1)",
    "logsumexp": "torch.logsumexp(x, -1)",
    "softmax": "torch.softmax(x, -1)",
    "log_softmax": "torch.log_softmax(x, -1)",
    "softmax columns": "torch.softmax(x, 0)",
    "small softmax": "torch.softmax(s, -1)",
    "cumsum": "torch.cumsum(x, -1)",
    "layer_norm": "F.layer_norm(x, (1024,), y[0], y[1])",
    "rms_norm": "F.rms_norm(x, (1024,), y[0])",
    "group_norm": "F.group_norm(x.view(8, 64, 1024), 8)",
    "batch_norm": "F.batch_norm(x.view(8, 64, 32, 32), y[0, :64], p[0, :64])",
    "tril": "torch.tril(x)",
    "flip": "torch.flip(x, [1])",
    "roll": "torch.roll(x, 3, 1)",
    "repeat": "x.repeat(2, 2)",
    "cat": "torch.cat([x, y], 1)",
    "stack": "torch.stack([x, y])",
    "contiguous": "x.t().contiguous()",
    "clone": "x.clone()",
    "index rows": "x[i]",
    "gather": "torch.gather(x, 1, g)",
    "embedding": "F.embedding(i, x)",
    "one_hot": "F.one_hot(i, 1000)",
    "masked_fill": "x.masked_fill(b, 0.0)",
    "sort": "torch.sort(x, -1)",
    "topk": "torch.topk(x, 10)",
    "pad": "F.pad(x, (1, 1, 1, 1))",
    "matmul": "x @ w",
    "small matmul": "s @ s.t()",
    "linear": "F.linear(x, w.t(), y[0, :256])",
    "conv 3x3": "F.conv2d(c, k3, padding=1)",
    "conv 1x1": "F.conv2d(c, k1)",
    "max_pool": "F.max_pool2d(c, 2)",
    "avg_pool": "F.avg_pool2d(c, 2)",
    "interpolate": "F.interpolate(c, scale_factor=2.0, mode='bilinear')",
    "attention": "F.scaled_dot_product_attention(q, q, q)",
}

# What each of the other groups has, beside what is about its own dtype or layout.
ARITHMETIC = {
    "abs": "abs(x)",
    "add": "x + y",
    "mul": "x * y",
    "add number": "x + 1",
    "add row": "x + y[0]",
    "add column": "x + y[:, :1]",
    "lt": "x < y",
    "where": "torch.where(b, x, y)",
    "clamp": "torch.clamp(x, -1, 1)",
    "sum": "x.sum()",
    "sum rows": "x.sum(-1)",
    "sum columns": "x.sum(0)",
    "amax rows": "x.amax(-1)",
    "argmax rows": "x.argmax(-1)",
    "cumsum": "torch.cumsum(x, -1)",
    "clone": "x.clone()",
    "cat": "torch.cat([x, y], 1)",
}
FLOATING = ARITHMETIC | {
    "exp": "torch.exp(x)",
    "tanh": "torch.tanh(x)",
    "sqrt": "torch.sqrt(p)",
    "gelu": "F.gelu(x)",
    "silu": "F.silu(x)",
    "mean rows": "x.mean(-1)",
    "var rows": "x.var(-1)",
    "norm": "torch.linalg.vector_norm(x)",
    "softmax": "torch.softmax(x, -1)",
    "logsumexp": "torch.logsumexp(x, -1)",
    "layer_norm": "F.layer_norm(x, x.shape[-1:], y[0], y[1])",
    "rms_norm": "F.rms_norm(x, x.shape[-1:], y[0])",
}
# Calls of which the time is that of the call.
SMALL = FLOATING | {
    "add_": "x.add_(0)",
    "pow 2": "x ** 2",
    "minus": "-x",
    "index": "x[1]",
    "slice": "x[:, 2:5]",
    "reshape": "x.reshape(16, 8)",
    "transpose": "x.transpose(0, 1)",
    "unsqueeze": "x.unsqueeze(0)",
    "to float64": "x.to(torch.float64)",
    "stack": "torch.stack([x, y])",
    "linear": "F.linear(x, x)",
    "matmul": "x @ y.t()",
    "shape": "x.shape",
    "zeros": "torch.zeros(8, 16)",
    "item": "n.item()",
    "add numbers": "n + n",
}
# Operands that are not contiguous: every second column, transposed, a column or a row for all, reversed, unaligned.
LAYOUTS = {
    "add steps": "x[:, ::2] + y[:, ::2]",
    "exp steps": "torch.exp(x[:, ::2])",
    "add of transposed": "x.t() + y.t()",
    "add to transposed": "q + q.t()",
    "exp of transposed": "torch.exp(x.t())",
    "mul row": "x * y[0]",
    "mul column": "x * y[:, :1]",
    "outer": "x[:, :1] + y[0]",
    "where row": "torch.where(b[0], x, y)",
    "where column": "torch.where(b[:, :1], x, 0.0)",
    "middle": "x.view(32, 16, 1024) * y[:32, :1024].unsqueeze(1)",
    "add slice": "x[:, 1:1000] + y[:, 3:1002]",
    "exp slice": "torch.exp(x[1:, 1:1000])",
    "add flipped": "x + torch.flip(y, [1])",
    "expand": "x[0].expand(512, 1024) * 2",
    "sum of slice rows": "x[:, 1:1000].sum(-1)",
    "sum of transposed rows": "x.t().sum(-1)",
    "sum of steps": "x[:, ::2].sum(-1)",
    "sum middle": "x.view(8, 64, 1024).sum(1)",
    "sum outer": "x.view(8, 64, 1024).sum((0, 2))",
    "softmax of slice": "torch.softmax(x[:, 1:1000], -1)",
    "softmax of transposed": "torch.softmax(x.t(), -1)",
    "softmax middle": "torch.softmax(x.view(8, 64, 1024), 1)",
    "argmax columns": "x.argmax(0)",
    "max columns": "x.max(0)",
    "cumsum columns": "torch.cumsum(x, 0)",
    "layer_norm of slice": "F.layer_norm(x[:, :1000], (1000,))",
    "contiguous slice": "x[:, 1:1000].contiguous()",
    "contiguous steps": "x[:, ::2].contiguous()",
    "permute": "x.view(8, 64, 1024).permute(1, 0, 2).contiguous()",
    "permute images": "x.view(8, 64, 32, 32).permute(0, 2, 3, 1).contiguous()",
    "index_add": "torch.index_add(x, 0, i, y)",
    "scatter_add": "torch.scatter_add(x, 1, g, y)",
    "masked_select": "x[b]",
    "copy to slice": "w[:, 1:1000].copy_(x[:, :999])",
    "add_ slice": "w[:, 1:1000].add_(0)",
}
INTEGERS = ARITHMETIC | {
    "floor divide": "x // p",
    "remainder": "x % p",
    "and": "x & y",
    "shift": "x >> 3",
    "to float32": "x.to(torch.float32)",
    "to int32": "x.to(torch.int32)",
    "eq number": "x == 3",
    "unique": "torch.unique(x % 100)",
    "bincount": "torch.bincount(p.reshape(-1))",
    "sort": "torch.sort(x[:64], -1)",
}
LARGE = {
    name: FLOATING[name]
    for name in (
        "abs, add, add number, add row, lt, where, exp, tanh, gelu, sum, sum rows, sum columns, mean rows, softmax, "
        "layer_norm, clone, cat"
    ).split(", ")
} | {
    "transposed": "x.t().contiguous()",
    "add_": "x.add_(0)",
    "to bf16": "x.to(torch.bfloat16)",
    "tril": "torch.tril(x)",
    "flip": "torch.flip(x, [1])",
    "roll": "torch.roll(x, 3, 1)",
}
# From a group to its shape, dtype and calls.
GROUPS = {
    "512x1024 float32": ((512, 1024), "float32", DEFAULT),
    "8x16 float32": ((8, 16), "float32", SMALL),
    "4096x4096 float32": ((4096, 4096), "float32", LARGE),
    "512x1024 float64": ((512, 1024), "float64", FLOATING),
    "512x1024 bfloat16": ((512, 1024), "bfloat16", FLOATING),
    "512x1024 float16": ((512, 1024), "float16", FLOATING),
    "512x1024 int64": ((512, 1024), "int64", INTEGERS),
    "layouts": ((512, 1024), "float32", LAYOUTS),
}


def operands(torch, group):
    shape, name, _ = GROUPS[group]
    dtype = getattr(torch, name)
    torch.manual_seed(0)
    x, y = torch.randn(shape) * 3, torch.randn(shape) * 3
    found = {
        "x": x.to(dtype),
        "y": y.to(dtype),
        "p": (x.abs() + (1 if name == "int64" else 0.1)).to(dtype),
        "b": x > 0,
    }
    if group == "8x16 float32":
        found["n"] = torch.tensor(1.5)
    if group == "layouts":
        found["q"], found["w"] = torch.randn(1024, 1024), torch.zeros(512, 1024)
        found["i"], found["g"] = torch.randint(0, 512, (512,)), torch.randint(0, 1024, shape)
    if group == "512x1024 float32":
        found |= more_operands(torch)
    return found


def more_operands(torch):
    x, y = torch.randn(512, 1024), torch.randn(512, 1024)
    return {
        "x": x,
        "y": y,
        "p": x.abs() + 0.1,
        "u": torch.rand(512, 1024) * 1.9 - 0.95,
        "b": x > 0,
        "h": x.to(torch.bfloat16),
        "i": torch.randint(0, 512, (512,)),
        "g": torch.randint(0, 1024, (512, 1024)),
        "s": torch.randn(8, 16),
        "w": torch.randn(1024, 256),
        "c": torch.randn(1, 64, 56, 56),
        "k3": torch.randn(64, 64, 3, 3),
        "k1": torch.randn(128, 64, 1, 1),
        "q": torch.randn(1, 8, 128, 64),
    }
