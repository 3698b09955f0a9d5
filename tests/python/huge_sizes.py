"""Calls of every operator and builtin with a size that no machine has memory for, one after the other in a process.

`python huge_sizes.py TABLE [FIRST]` writes the number of each call before it is made and what came of it behind it; the
test that runs it (test_huge_sizes.py) sees which one does not come back.
"""

import ast
import itertools
import random
import re
import resource
import sys
import warnings

import numpy as np
import weft

# More bytes than any machine has, and numbers whose products and sums leave 64 bits.
HUGE = [2**40, 2**62, 2**63 - 1, -(2**40)]
# A call that keeps less than this has not begun to work on the size.
MOST_BYTES = 1 << 29


def arange(*shape, dtype=np.float32):
    return weft.from_numpy(np.arange(1, int(np.prod(shape)) + 1).reshape(shape).astype(dtype))


TENSORS = [
    arange(1, 2, 4, 4),
    arange(4, 4),
    arange(6),
    arange(6, dtype=np.int64),
    arange(2, 4, 4),
    arange(1, 2, 4, 4, 4),
    arange(2, 2, dtype=np.int64),
    arange(dtype=np.float32),
    arange(4, 4, dtype=np.complex64),
    arange(4, 4, dtype=bool),
    arange(2, 2, 2, 2),
    arange(2, 2, 2),
    arange(2, 2, 2, 2, 2),
    arange(2, 2, 3),
]
# By type: what a valid call may be made of.
VALUES = {
    "int": [1, 2, 0, -1],
    "int[]": [[1], [1, 1], [2, 2], [0], [1, 1, 1], [1, 2, 4, 4], [4, 4], []],
    "float": [1.0, 0.5],
    "number": [1, 2.0],
    "Scalar": [1, 2.0],
    "bool": [False, True],
    "str": ["constant", "nearest", "reflect", "mean", "fro"],
    "float[]": [[1.0], [1.0, 1.0]],
    "bool[]": [[False], [True, False]],
    "number[]": [[1], [1, 2.0]],
    "complex": [1j],
    "t[]": [[1, 2], ["a"]],
    "t": [1],
    "dtype": [weft.float32, weft.int64],
}
MOST_TRIES = 2000


class Parameter:
    def __init__(self, text):
        text, _, default = text.partition("=")
        kind, _, self.name = text.strip().rpartition(" ")
        kind = re.sub(r"\([a-z!]+\)|[?]$", "", kind).strip()
        kind = re.sub(r"\[\d+\]", "[]", kind)
        kind = re.sub(r"^Optional\[(.*)\]$", r"\1", kind)
        kind = re.sub(r"^List\[(.*)\]$", r"\1[]", kind)
        self.type = kind.split("|")[0]
        self.has_default = bool(default)
        self.is_size = self.type in ("int", "int[]", "Scalar", "number", "number[]")

    def candidates(self):
        if self.type == "Tensor":
            return TENSORS
        if self.type == "Tensor[]":
            return [[tensor, tensor] for tensor in TENSORS]
        return VALUES.get(self.type, [None])


def parameters_of(schema):
    """Of "name(parameters) -> results"."""
    depth, parts, part = 0, [], ""
    for character in schema[schema.index("(") + 1 :]:
        if character == ")" and depth == 0:
            break
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0:
            parts, part = [*parts, part], ""
        else:
            part += character
    return [Parameter(part) for part in [*parts, part] if part.strip() and part.strip() != "*"]


def attempt(function, arguments):
    """Whether the call is valid. Tensors are copies: some are written to."""

    def own(value):
        if isinstance(value, weft.Tensor):
            return value.clone()
        return [own(item) for item in value] if isinstance(value, list) else value

    try:
        function(**{name: own(value) for name, value in arguments.items()})
    except Exception:
        return False
    return True


def valid_calls(function, parameters):
    """Arguments that the function takes: with its defaults, and with every size given."""
    found = []
    for given in (parameters, [p for p in parameters if not p.has_default or p.is_size]):
        if any(p.candidates() == [None] for p in given if not p.has_default):
            continue
        rng = random.Random(len(given))
        for _ in range(MOST_TRIES):
            arguments = {p.name: rng.choice(p.candidates()) for p in given}
            arguments = {name: value for name, value in arguments.items() if value is not None}
            if attempt(function, arguments):
                found.append(arguments)
                break
    return found


def with_huge_sizes(arguments, parameters):
    """Of valid arguments, those with one size replaced."""
    for parameter in parameters:
        value = arguments.get(parameter.name)
        if not parameter.is_size or value is None:
            continue
        for huge in HUGE:
            if isinstance(value, list):
                for at in range(len(value)):
                    yield {**arguments, parameter.name: [*value[:at], huge, *value[at + 1 :]]}
                yield {**arguments, parameter.name: [huge] * len(value)}
            else:
                yield {**arguments, parameter.name: huge}


def operators():
    for name in sorted(dir(weft)):
        operator = getattr(weft, name)
        if isinstance(operator, weft.Operator):
            yield name, operator, operator.schema


def builtins():
    for schema in weft._C._builtin_schemas():
        name = re.split(r"[.(]", schema)[0]
        # Those that end the process, wait for others or print.
        if name.split("::")[-1] in ("sleep", "exit", "_exit", "wait", "warn", "print", "input", "save"):
            continue

        def call(name=name, **arguments):
            return weft._C._call_builtin(name, **arguments)

        yield schema, call, schema


PER_SCHEMA = 100_000  # numbers of one schema's calls


def of_schemas(table, first):
    """The search for valid arguments is a call as well: it makes many that are not."""
    for index, (name, function, schema) in enumerate(table):
        parameters, start = parameters_of(schema), index * PER_SCHEMA
        if not any(p.is_size for p in parameters) or first == start + 1:
            continue
        if first >= start + PER_SCHEMA:
            continue
        found = []
        yield start, name, lambda: found.extend(valid_calls(function, parameters))  # noqa: B023
        calls = [huge for arguments in found for huge in with_huge_sizes(arguments, parameters)]
        for number, huge in enumerate(calls, start + 2):
            shown = {k: v for k, v in huge.items() if not isinstance(v, weft.Tensor)}
            yield number, f"{name} {shown}", lambda: function(**huge)  # noqa: B023


class Larger(ast.NodeTransformer):
    """Replaces the `number`-th whole number of an expression."""

    def __init__(self, number, huge):
        self.left, self.huge = number, huge

    def visit_Constant(self, node):
        if type(node.value) is not int:
            return node
        self.left -= 1
        return ast.copy_location(ast.Constant(self.huge), node) if self.left == -1 else node

    def visit_Subscript(self, node):
        return node  # a position is no size


def of_expressions(texts, scope):
    numbering = itertools.count()
    for text in texts:
        tree = ast.parse(text, mode="eval")
        if not isinstance(tree.body, ast.Call):
            continue
        numbers = sum(isinstance(n, ast.Constant) and type(n.value) is int for n in ast.walk(tree))
        for number, huge in itertools.product(range(numbers), HUGE):
            larger = Larger(number, huge).visit(ast.parse(text, mode="eval"))
            code = compile(ast.fix_missing_locations(larger), "<call>", "eval")
            yield next(numbering), ast.unparse(larger), lambda code=code: eval(code, scope)


# What the samples of the namespace's own tests leave out.
MORE_OF_NUMPY = """np.zeros(3); np.ones((2, 3)); np.full(3, 1.0); np.empty(3); np.arange(3); np.arange(0, 3); np.arange(0, 9, 1); np.linspace(0, 1, 3)
np.eye(3); np.eye(3, 2); np.eye(3, k=1); np.tri(3); np.tri(3, 3, 1); np.tril(f, k=1); np.triu(f, k=1); np.tile(v, 3); np.tile(v, (2, 1)); np.repeat(v, 3); np.repeat(f, 2, axis=0)
np.broadcast_to(v, (3, 6)) + 1; np.pad(v, 2); np.pad(v, (2, 1)); np.pad(f, ((1, 0), (0, 1))); np.roll(v, 3); np.kron(v, np.ones(3)); np.vander(v, 3); np.indices((2, 3))
np.bincount(h, minlength=4); np.histogram(v, 4); np.histogram(v, bins=4, range=(0, 5)); np.resize(v, 9); np.resize(v, (3, 3)); np.reshape(v, (3, 2)); np.identity(3)
np.logspace(0, 1, 3); np.geomspace(1, 2, 3); np.hanning(4); np.hamming(4); np.blackman(4); np.bartlett(4); np.kaiser(4, 2.0); np.diag(v, 1); np.diagflat(v, 1)
np.fft.fft(v, 8); np.fft.rfft(v, 8); np.fft.irfft(z[0], 8); np.fft.fftn(f, (4, 4)); np.fft.fftfreq(6); np.fft.rfftfreq(6); np.fft.hfft(z[0], 6); np.fft.ihfft(v, 6)
np.diff(v, n=2); np.take(v, h + 1); np.linalg.matrix_power(m, 3); np.rot90(f, 3); np.cumulative_sum(v, axis=0); np.interp(v, w, w); np.percentile(f, 30); np.tri(3, 4)
np.tril_indices(3); np.triu_indices(3, 1); np.mask_indices(3, np.triu); np.unravel_index(5, (3, 3)); np.split(v, 3); np.array_split(v, 4); np.zeros((2, 3, 4)); np.full((2, 2), 7)"""

# Functions of weft.nn.functional, x being float32[1, 2, 4, 4] and so on.
OF_FUNCTIONAL = """F.adaptive_avg_pool1d(l, 3); F.adaptive_avg_pool2d(x, (3, 3)); F.adaptive_avg_pool2d(x, 3); F.adaptive_avg_pool3d(c, (2, 2, 2)); F.adaptive_max_pool1d(l, 3)
F.adaptive_max_pool2d(x, (3, 3)); F.adaptive_max_pool2d(x, (3, 3), True); F.adaptive_max_pool3d(c, 2); F.avg_pool1d(l, 2, 1, 1); F.avg_pool2d(x, 2, 1, 1); F.avg_pool2d(x, (2, 2), (1, 1), (1, 1))
F.avg_pool3d(c, 2, 1, 1); F.max_pool1d(l, 2, 1, 1, 1); F.max_pool2d(x, 2, 1, 1, 1); F.max_pool2d(x, (2, 2), (1, 1), (1, 1), (1, 1)); F.max_pool3d(c, 2, 1, 1, 1); F.lp_pool1d(l, 2, 2, 1)
F.lp_pool2d(x, 2, 2, 1); F.interpolate(x, 3); F.interpolate(x, (3, 3)); F.interpolate(x, scale_factor=2); F.interpolate(x, scale_factor=(2, 2)); F.interpolate(x, (3, 3), mode='bilinear')
F.interpolate(x, (3, 3), mode='bicubic'); F.interpolate(l, 3, mode='linear'); F.interpolate(c, (2, 2, 2), mode='trilinear'); F.interpolate(x, (3, 3), mode='area'); F.upsample(x, (3, 3)); F.pad(x, (1, 1))
F.pad(x, (1, 1, 1, 1)); F.pad(x, (1, 1, 1, 1), mode='reflect'); F.pad(x, (1, 1, 1, 1), mode='replicate'); F.pad(x, (1, 1, 1, 1), mode='circular'); F.unfold(x, 2, 1, 1, 1); F.unfold(x, (2, 2), (1, 1), (1, 1), (1, 1))
F.fold(b, (4, 4), (2, 2), 1, 0, 2); F.fold(b, 4, 2, 1, 0, 2); F.one_hot(i, 9); F.conv1d(l, l, None, 1, 0, 1, 1); F.conv2d(x, x, None, 1, 0, 1, 1); F.conv2d(x, x, None, (1, 1), (1, 1), (1, 1)); F.conv3d(c, c, None, 1, 1, 1)
F.conv_transpose1d(l, l.transpose(0, 1), None, 1, 0, 0, 1, 1); F.conv_transpose2d(x, x.transpose(0, 1), None, 2, 0, 1, 1, 2); F.conv_transpose2d(x, x.transpose(0, 1), None, (2, 2), (0, 0), (1, 1), 1, (2, 2))
F.conv_transpose3d(c, c.transpose(0, 1), None, 2, 0, 1, 1, 2); F.pixel_shuffle(x.reshape([1, 8, 2, 2]), 2); F.pixel_unshuffle(x, 2); F.channel_shuffle(x, 2); F.local_response_norm(x, 2); F.group_norm(x, 2)
F.max_unpool1d(l, j, 2, 2, 0); F.max_unpool1d(l, j, 2, 2, 0, (8,)); F.max_unpool2d(x, k, 2, 2, 0); F.max_unpool2d(x, k, 2, 2, 0, (8, 8)); F.affine_grid(a, (1, 1, 3, 3)); F.glu(x, 1); F.softmax(x, 1)
F.embedding(i, s, 1); F.cosine_similarity(x, x, 1); F.layer_norm(x, (4,)); F.normalize(x, 2.0, 1); F.bilinear(s, s, arange(2, 4, 4)); F.multi_margin_loss(s, arange(4, dtype=np.int64) - 1, 1); F.gumbel_softmax(s, 1.0)"""

# Constructors and methods of tensors, and modules.
OF_TENSORS = """weft.zeros(3); weft.zeros(3, 3); weft.zeros((3, 3)); weft.ones((3, 3)); weft.empty((3, 3)); weft.full((3, 3), 1.0); weft.arange(3); weft.arange(0, 3); weft.arange(0, 3, 1); weft.linspace(0, 1, 3)
weft.logspace(0, 1, 3); weft.eye(3); weft.eye(3, 3); weft.tri(3); weft.tril(s, 1); weft.triu(s, 1); weft.vander(v, 3); weft.kron(v, v.repeat(2)); weft.bincount(i, None, 9); weft.bincount(i, minlength=9)
weft.histc(v, 4); weft.histc(v, bins=4, min=0, max=5); v.repeat(3); v.repeat(3, 3); s.repeat((2, 2)); v.expand(3, 6).clone(); v.expand((3, 6)) + 1; v.expand(3, 6).contiguous(); v.reshape(3, 2); v.tile((3, 2))
v.repeat_interleave(3); weft.repeat_interleave(v, 3); weft.repeat_interleave(s, 3, dim=0); weft.one_hot(i, 9); v.unfold(0, 2, 1); v.narrow(0, 1, 1); v.select(0, 1); v.view(3, 2); v.unflatten(0, (3, 2)); v.chunk(3); v.split(3)
weft.tensor_split(v, 3); v.roll(1); s.rot90(1); v.topk(1); weft.fft_c2c(v.to(weft.complex64), 8); weft.fft_r2c(v, 8); weft.fft_c2r(v.to(weft.complex64), 8); weft.combinations(v, 2); weft.iota(3, 0, 1, weft.int64)
v.new_zeros((3, 3)); v.new_full((3, 3), 1.0); v.new_empty(3); v.new_ones(3); weft.matrix_power(s, 3); weft.diag(v, 1); weft.affine_grid(a, (1, 1, 3, 3), False); weft.multinomial(v, 2); weft.randperm(3); v.diff(1)
nn.Linear(3, 3); nn.Conv2d(2, 2, 2, 1, 1)(x); nn.Embedding(9, 3); nn.LSTM(3, 3, 1); nn.GRU(3, 3, 1); nn.MultiheadAttention(4, 2); nn.LayerNorm(3); nn.BatchNorm2d(3); nn.Upsample(3)(x); nn.ZeroPad2d(1)(x)
nn.AdaptiveAvgPool2d(3)(x); nn.Bilinear(3, 3, 3); nn.TransformerEncoderLayer(4, 2, 8); nn.ConstantPad1d(1, 1.0)(l); nn.Flatten(1)(x); nn.Unflatten(1, (1, 2))(x); nn.PixelShuffle(1)(x); nn.Fold(4, 2, 1, 0, 2)(b); nn.Unfold(2)(x)"""


def split(text):
    return [call.strip() for call in text.replace("\n", ";").split(";") if call.strip()]


def namespace():
    import test_numpy_namespace as samples
    import weft.numpy as wnp

    scope = {name: weft.tensor(array) for name, array in samples.ARRAYS.items()}
    return of_expressions([*samples.CALLS, *split(MORE_OF_NUMPY)], {**scope, "np": wnp})


def names_of_tensors():
    import weft.nn as nn
    import weft.nn.functional as F

    return {
        "F": F, "nn": nn, "weft": weft, "np": np, "arange": arange, "x": arange(1, 2, 4, 4), "l": arange(1, 2, 4), "c": arange(1, 2, 4, 4, 4),
        "b": arange(1, 8, 4), "s": arange(4, 4), "v": arange(6), "i": arange(6, dtype=np.int64), "a": arange(1, 2, 3),
        "j": arange(1, 2, 4, dtype=np.int64) % 8, "k": arange(1, 2, 4, 4, dtype=np.int64) % 64,
    }  # fmt: skip


TABLES = {
    "operators": lambda first: of_schemas(operators(), first),
    "builtins": lambda first: of_schemas(builtins(), first),
    "numpy": lambda first: namespace(),
    "functional": lambda first: of_expressions(split(OF_FUNCTIONAL), names_of_tensors()),
    "tensors": lambda first: of_expressions(split(OF_TENSORS), names_of_tensors()),
}


def main(table, first):
    warnings.simplefilter("ignore")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number, text, call in TABLES[table](first):
        is_search = number % PER_SCHEMA == 0
        if number < first and not (is_search and number + PER_SCHEMA > first):
            continue
        print(f"{number} {text}", flush=True)
        try:
            call()
            outcome = "returned"
        except Exception as error:
            outcome = f"{type(error).__name__}: {error}".split("\n")[0][:300]
        before, peak = peak, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        if (peak - before) * 1024 > MOST_BYTES:
            outcome = f"took {(peak - before) >> 10} MiB; {outcome}"
        print(f"  {outcome}", flush=True)
    print("done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0)
