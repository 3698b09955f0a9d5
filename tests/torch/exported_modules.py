"""Small modules that are exported: by weft.torch here, and run by PyTorch (run_exported.py) where it is installed."""

import collections
import dataclasses
import typing

Pair = collections.namedtuple("Pair", "first second")


@dataclasses.dataclass
class Box:
    content: typing.Any
    weight: typing.Any
    scale: float = 2.0


def register(torch):
    """What files call the classes."""
    torch.utils._pytree._register_namedtuple(Pair, serialized_type_name="exported_modules.Pair")
    torch.export.register_dataclass(Box, serialized_type_name="exported.Box")


def values(torch, *shape, scale=1.0, dtype=None):
    """Numbers that are the same everywhere."""
    count = 1
    for size in shape:
        count *= size
    numbers = torch.sin(torch.arange(count, dtype=torch.float32) * 0.7 + 0.3).reshape(shape) * scale
    return numbers if dtype is None else numbers.to(dtype)


def indices(torch, *shape, below):
    count = 1
    for size in shape:
        count *= size
    return (torch.arange(count) * 7 % below).reshape(shape)


def fill(torch, module):
    """Parameters and buffers that are the same everywhere."""
    with torch.no_grad():
        for at, (_, tensor) in enumerate(module.named_parameters()):
            tensor.copy_(values(torch, *tensor.shape, scale=0.2 + 0.05 * at))
    return module.eval()


def modules(torch):
    """{name: (module, [(args, kwargs)], dynamic_shapes)}: exported with the first call, run with all."""
    nn, functional = torch.nn, torch.nn.functional
    export = torch.export
    Dim = export.Dim
    found = {}

    def add(name, module, *calls, shapes=None):
        calls = [call if len(call) == 2 and isinstance(call[1], dict) else (call, {}) for call in calls]
        found[name] = (fill(torch, module), calls, shapes)

    def of(forward, **attributes):
        """A module whose forward is the function."""

        class Function(nn.Module):
            def __init__(self):
                super().__init__()
                for name, value in attributes.items():
                    setattr(self, name, value)

        Function.forward = forward
        return Function()

    def x(*shape, **options):
        return values(torch, *shape, **options)

    add("linear", nn.Linear(4, 3), (x(5, 4),))

    class Conv(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(3, 6, 3, stride=2, padding=1, bias=False)
            self.norm = nn.BatchNorm2d(6)

        def forward(self, x):
            return functional.relu(self.norm(self.conv(x))).mean((2, 3))

    add("conv_norm", Conv(), (x(2, 3, 9, 9),), (x(5, 3, 9, 9),), shapes={"x": {0: Dim("batch", max=16)}})
    side = Dim("side", min=6, max=64)
    add("conv_sizes", Conv(), (x(2, 3, 9, 9),), (x(2, 3, 12, 12),), shapes={"x": {2: side, 3: side}})

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.into, self.out = nn.Linear(8, 24), nn.Linear(8, 8)
            self.norm = nn.LayerNorm(8)

        def forward(self, x):
            batch, length, width = x.shape
            q, k, v = (
                each.view(batch, length, 2, width // 2).transpose(1, 2)
                for each in self.into(self.norm(x)).chunk(3, -1)
            )
            mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            return x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))

    add("attention", Attention(), (x(2, 5, 8),))
    add(
        "attention_sequence", Attention(), (x(2, 5, 8),), (x(3, 9, 8),), (x(2, 2, 8),),
        shapes=({0: Dim.DYNAMIC, 1: Dim("sequence", min=2, max=128)},),
    )  # fmt: skip

    class Words(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.places = nn.Embedding(11, 6), nn.Embedding(16, 6)
            self.norm = nn.LayerNorm(6)

        def forward(self, ids):
            places = torch.arange(ids.shape[1], device=ids.device)
            return self.norm(self.words(ids) + self.places(places)[None])

    add(
        "embedding", Words(), (indices(torch, 2, 5, below=11),), (indices(torch, 3, 8, below=11),),
        shapes={"ids": {0: Dim("batch"), 1: Dim("length", max=16)}},
    )  # fmt: skip

    def masked(self, x, *, mask=None, scale=2.0):
        x = x * scale
        return x if mask is None else x.masked_fill(mask, -1.0)

    add("keywords", of(masked), ((x(3, 4),), {"mask": x(3, 4) > 0}), ((x(3, 4) + 1,), {"mask": x(3, 4) < 0}))

    def nested(self, both, more):
        return {"sum": both["a"] + both["b"], "rest": [more[0] * 2, (more[1], None)]}

    add("dictionaries", of(nested), ({"a": x(3), "b": x(3) * 2}, [x(2), x(4)]))

    class Counter(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(3))
            self.register_buffer("seen", torch.zeros(1), persistent=False)

        def forward(self, x):
            self.count.add_(x)
            self.seen = self.seen + 1
            return self.count * self.seen

    add("buffers", Counter(), (x(3),), (x(3) * 2,), (x(3),))

    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.words = nn.Embedding(7, 4)
            self.head = nn.Linear(4, 7, bias=False)
            self.head.weight = self.words.weight

        def forward(self, ids):
            return self.head(self.words(ids))

    add("tied", Tied(), (indices(torch, 2, 3, below=7),))

    def constants(self, x):
        return x + self.table + torch.tensor([1.0, 2.0, 3.0]) * 2, torch.ones(3), 5, None

    add("constants", of(constants, table=x(3, scale=0.5)), (x(3),))

    def several(self, x):
        first, second = x.split([1, 3], dim=1)
        top = torch.topk(x, 2, dim=1)
        return first, second, top[0], top[1], x.max(), torch.sort(x, dim=1)[0]

    add("several", of(several), (x(3, 4),), (x(6, 4),), shapes={"x": {0: Dim("rows")}})

    def derived(self, x, y, z):
        return x + y[::2], z[1:] * x

    half = Dim("half", min=2, max=20)
    add(
        "derived", of(derived), (x(4), x(8), x(5)), (x(6), x(12), x(7)), shapes=({0: half}, {0: 2 * half}, {0: half + 1})
    )  # fmt: skip

    def changed(self, x):
        x.add_(1)
        return x * 2

    add("argument_changed", of(changed), (x(3),))

    def sizes(self, x):
        rows, columns = x.shape
        return (
            torch.zeros(rows, 2),
            x.reshape(rows * columns),
            x.sum() / rows,
            torch.cat([x, x]).shape[0],
            rows,
        )

    add("sizes", of(sizes), (x(4, 3),), (x(7, 3),), shapes={"x": {0: Dim("rows", min=1)}})

    def automatic(self, x, y):
        return x @ y

    add(
        "automatic", of(automatic), (x(4, 3), x(3, 5)), (x(7, 6), x(6, 2)),
        shapes=({0: Dim.AUTO, 1: Dim.AUTO}, {0: Dim.AUTO, 1: Dim.AUTO}),
    )  # fmt: skip

    def indexed(self, x, at):
        y = x.clone()
        y[:, 1] = 0.0
        y[at] += 1
        return y[at], x[..., None], x[:, -2:], x[x > 0].sum()

    add("indexing", of(indexed), (x(5, 4), indices(torch, 3, below=5)))

    def scattered(self, x, at):
        reduced = torch.zeros(3, 4).scatter_reduce(
            0, at[:, None].expand(-1, 4), x, "amax", include_self=False
        )
        return (
            reduced,
            torch.zeros(3, 4).index_add(0, at, x),
            torch.zeros(3, 4).index_reduce(0, at, x, "prod"),
        )

    add("reductions_by_index", of(scattered), (x(5, 4), indices(torch, 5, below=3)))

    def numbers(self, x):
        return (
            x.to(torch.float16) * 2,
            x.double(),
            (x * 10).to(torch.int64) // 3,
            x > 0,
            x.to(torch.bfloat16),
            1 - x,
            x**2,
        )

    add("dtypes", of(numbers), (x(4, 3),))

    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(3, 4, batch_first=True)

        def forward(self, x):
            out, (h, c) = self.lstm(x)
            return out, h, c

    add("lstm", Recurrent(), (x(2, 5, 3),))

    class Drop(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 2))

        def forward(self, x):
            return functional.softmax(self.layers(x), dim=-1)

    add("sequential", Drop(), (x(3, 4),), (x(1, 4),), shapes=({0: Dim("batch", min=1, max=64)},))

    def resized(self, x):
        y = functional.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
        return functional.pad(y, (1, 2)), functional.max_pool2d(y, 2), functional.adaptive_avg_pool2d(x, 2)

    add("images", of(resized), (x(1, 2, 6, 5),), (x(4, 2, 6, 5),), shapes={"x": {0: Dim("batch", min=1)}})

    def pairs(self, x):
        return Pair(x + 1, x * 2)

    add("named_tuple", of(pairs), (x(3),))

    def boxes(self, pair, box, *, other=None):
        if other is not None:
            box = Box(box.content + other[0].content, box.weight, box.scale)
        return Pair(box, Box(pair.first * box.scale, None)), {"second": [pair.second]}

    rows = [{0: Dim("rows", min=2, max=9)}, None, None]
    add("classes", of(boxes), (Pair(x(2, 3), x(3)), Box(x(2, 3), x(4))), (Pair(x(5, 3), x(3)), Box(x(5, 3), x(4))),
        shapes={"pair": Pair(rows[0], None), "box": rows})  # fmt: skip
    add("nested_classes", of(boxes), ((Pair(x(3), x(2)), Box(x(3), None, 0.5)), {"other": [Box(x(3), None)]}))
    return found
