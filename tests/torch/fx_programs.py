"""Programs over torch.fx: what they print, and the numbers they compute. They run under PyTorch, which records the answers
(record_fx.py), and under weft.torch (test_fx.py)."""
# ruff: noqa: UP006, UP007, UP035

import copy
import enum
import hashlib
import io
import math
import operator
import pickle
import typing
from collections import namedtuple

PROGRAMS = {}
Pair = namedtuple("Pair", "first second")


class Mode(enum.Enum):
    FAST = 1


def helper(x):
    return x


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def error(function):
    """The class and message of what a call raises."""
    try:
        return repr(function())
    except Exception as raised:
        return f"{type(raised).__name__}: {raised}"


def numbers(tensor):
    return [round(float(one), 4) for one in tensor.detach().flatten()]


def texts(module):
    return [module.code, str(module.graph)]


def small_model(torch):
    nn, F = torch.nn, torch.nn.functional

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(4, 4)
            self.w = nn.Parameter(torch.ones(4))
            self.sub = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
            self.register_buffer("b", torch.ones(4) * 2)

        def forward(self, x):
            return F.relu(self.sub(self.lin(x)) * self.w + self.b)

    model = Model().eval()
    for parameter in model.parameters():
        parameter.data.fill_(0.5)
    return model, torch.arange(8.0).reshape(2, 4)


@program
def everything(torch):
    nn, F = torch.nn, torch.nn.functional

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(4, 4)
            self.seq = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU())
            self.w = nn.Parameter(torch.ones(4))
            self.register_buffer("b", torch.ones(4))

        def forward(
            self, x: torch.Tensor, y: typing.Optional[torch.Tensor] = None, n: int = 3, *args, **kwargs
        ):
            z = F.relu(self.lin(x) + self.w * 2 - n, inplace=True)
            z = torch.cat([z, y], dim=1)
            a, b = z.chunk(2, 1)[0], z.shape[0]
            c = z[:, 1:2, ..., None]
            z = -z
            z = z.view(b, -1)
            z += 1
            self.seq(z)
            torch.add(1, z)
            w = 3 / z
            w = 3**z
            w = z @ z
            w = w < 3
            z.to(torch.float32)
            z.to(device="cpu", dtype=torch.float16)
            torch.zeros(3) + z
            torch.sum(z, dim=(0, 1))
            k = z.size(0) // 2
            k % 3
            float("inf") * z
            z * float("nan")
            z.float().masked_fill(z == 0, -1e9)
            j = F.conv2d(F.gelu(z), self.w)
            j = F.linear(j, self.w)
            j = F.scaled_dot_product_attention(j, j, j)
            p = F.softmax(torch.split(j, 2)[0], -1)
            g = torch.linalg.norm(torch.einsum("ij->i", p))
            torch.fft.fft(g)
            torch._assert(b == 3, "x")
            self.w.sum()
            ~z
            abs(z)
            z << 2
            z & 1
            return {"a": z, "b": (a, c)}, kwargs

    traced = torch.fx.symbolic_trace(Model())
    readable = traced.print_readable(print_output=False)
    stacks = [
        [(key, path, kind.__name__) for key, (path, kind) in node.meta["nn_module_stack"].items()]
        for node in traced.graph.nodes
        if "nn_module_stack" in node.meta
    ]
    return [*texts(traced), readable, str(traced), stacks]


@program
def constant_tensors(torch):
    c = torch.ones(3)

    def function(x):
        (
            c + x,
            c - x,
            c * x,
            c / x,
            c // x,
            c**x,
            c % x,
            c @ x,
            c < x,
            c == x,
            c != x,
            c >= x,
            c & x,
            c | x,
            c ^ x,
        )
        (
            c << x,
            c >> x,
            c[x],
            c.add(x),
            c.view(x.shape[0]),
            torch.add(c, x),
            c.masked_fill(x, 0),
            c.expand(x.shape),
        )
        c.to(x), x.size(), c.size(), c.where(x, c), c.expand_as(x), c.type_as(x), c.add_(x)
        torch.nn.init.ones_(x)
        return c

    return texts(torch.fx.symbolic_trace(function))


@program
def what_cannot_be_traced(torch):
    def trace(function):
        return error(lambda: torch.fx.symbolic_trace(function).code)

    def written(x):
        x[0] = 1
        return x

    return [
        trace(lambda x: 1 if x else 2),
        trace(lambda x: [one for one in x]),
        trace(lambda x: len(x)),
        trace(lambda x: int(x)),
        trace(lambda x: range(x)),
        trace(lambda x: 3 in x),
        trace(written),
        trace(lambda x: math.sqrt(x)),
        trace(lambda x: torch.zeros(x)),
        trace(lambda x: torch.full((2, 3), x)),
        trace(lambda x: x + {x: 1}),
    ]


@program
def unpacking(torch):
    def function(x):
        a, b = x
        (c, *_), d = a, b
        return c + d

    def pair(x):
        a, b = x
        return a + b

    return [error(lambda: torch.fx.symbolic_trace(function).code), *texts(torch.fx.symbolic_trace(pair))]


@program
def known_arguments(torch):
    fx = torch.fx

    def function(x, y, z=3):
        if y:
            return x + z
        return x - z

    def tree(x):
        return {"sum": x["a"] + x["b"], "b": [x["b"]]}

    class Model(torch.nn.Module):
        def forward(self, x, flag: bool = True, scale=None):
            return x * 2 if flag else x

    traced = fx.symbolic_trace(tree, concrete_args={"x": {"a": fx.PH, "b": fx.PH}})
    module = fx.symbolic_trace(Model(), concrete_args={"flag": False})
    given = traced({"a": torch.ones(2), "b": torch.zeros(2)})
    return [
        fx.symbolic_trace(function, concrete_args={"y": True}).code,
        fx.symbolic_trace(function, concrete_args={"y": False, "z": 4}).code,
        *texts(traced),
        sorted(given), numbers(given["sum"]),
        *texts(module),
    ]  # fmt: skip


@program
def graph_by_hand(torch):
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    y = graph.placeholder("y", default_value=3)
    a = graph.call_function(torch.relu, (x,))
    b = graph.call_method("add", (a, y), {"alpha": 2})
    graph.get_attr("w")
    c = graph.call_module("lin", (b,))
    d = graph.call_function(operator.getitem, (c, (slice(None, x, None), 0)))
    graph.output((d, [a, b], {"k": c}))
    graph.lint()
    found = [str(graph), graph.python_code("self").src, graph.python_code("self", verbose=True).src]
    found += [
        [node.format_node(), str(node.all_input_nodes), str(list(node.users)), str(node.prev), str(node.next)]
        for node in graph.nodes
    ]
    found += [str(graph.find_nodes(op="call_function", target=torch.relu)), str(graph.output_node()), len(graph.nodes),
              str(list(reversed(graph.nodes)))]  # fmt: skip
    found += [
        error(lambda: graph.erase_node(a)),
        error(lambda: graph.create_node("bad", "x")),
        graph.placeholder("x").name, graph.placeholder("self").name, graph.placeholder("for").name,
        graph.call_function(torch.relu, (x,), name="my").name, graph.call_function(len, (x,)).name,
        error(lambda: a.update_arg(0, y)), str(a.args), error(lambda: a.insert_arg(1, y)), str(a.args),
        error(lambda: a.update_kwarg("k", x)), str((a.kwargs, list(x.users))),
        str(a.replace_all_uses_with(x)), error(lambda: graph.erase_node(a)), str(graph),
    ]  # fmt: skip
    with graph.inserting_before(b):
        z = graph.call_function(torch.tanh, (x,))
    with graph.inserting_after(b):
        graph.call_function(torch.sigmoid, (z,))
    found.append([node.name for node in graph.nodes])
    b.append(z)
    found += [[node.name for node in graph.nodes], b < z, str(sorted([z, b]))]
    other = torch.fx.Graph()
    found += [str(other.graph_copy(graph, {})), str(other), str(copy.deepcopy(graph))]
    empty = torch.fx.Graph()
    found.append(empty.python_code("self").src)
    empty.output(None)
    found.append(empty.python_code("self").src)
    return found


@program
def constants_in_code(torch):
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    for value in (torch.float32, torch.device("cpu"), torch.device("cuda:1"), Mode.FAST, Pair(1, x), int, float("inf"), 1j,
                  torch.channels_last, torch.strided, range(3), [x, {"a": x}], "str'q", b"b", None, Ellipsis, slice(0, x), (x,),
                  (), [], {}, {1: 2}, list[int], frozenset([1]), (slice(None), None), float("nan"), -1.5, True):  # fmt: skip
        graph.call_function(helper, (value,))
    graph.call_function(operator.iadd, (x, 1))
    graph.call_function(operator.setitem, (x, 0, 1))
    graph.call_function(getattr, (x, "a b"))
    graph.call_function(getattr, (x, "ab", 3))
    graph.call_function(math.sqrt, (x,))
    graph.call_function(Mode, (1,))
    graph.call_function(torch.nn.ReLU, ())
    graph.call_method("a b", (x,))
    graph.call_module("a.0.b", (x,))
    graph.get_attr("a.0.w")
    graph.call_function(Pair, (x, 1))
    graph.call_function(dict, (), {"a": x})
    graph.call_function(torch.nn.init.ones_, (x,))
    graph.call_function(operator.contains, (x, 1))
    graph.call_function(torch._C._nn.gelu, (x,))
    graph.call_function(torch.cuda.is_available)
    graph.output(x)
    code = graph.python_code("self")
    return [str(graph), code.src, sorted(code.globals), [node.name for node in graph.nodes]]


@program
def types_in_code(torch):
    def function(a: int, b: torch.Tensor, c: typing.List[int], d: typing.Optional[int], e: typing.Tuple[int, ...],
                 f: typing.Any, g: typing.Dict[str, torch.Tensor], h: typing.Union[int, str], i: torch.nn.Linear,
                 j: list[int] = None) -> torch.Tensor:  # fmt: skip
        return a + b

    return texts(torch.fx.symbolic_trace(function))


@program
def arguments_of_nodes(torch):
    fx = torch.fx
    graph = fx.Graph()
    x = graph.placeholder("x")
    node = graph.call_function(torch.cat, ([x, x],), {"out": {"a": (x,)}})
    return [
        type(node.args).__name__, type(node.args[0]).__name__, type(node.kwargs).__name__,
        error(lambda: node.args[0].append(1)).split(". ")[0], error(lambda: node.kwargs.update(a=1)).split(". ")[0],
        str(fx.map_arg([node, (1, {"a": node})], lambda one: one.name)),
        str(fx.node.map_aggregate((1, [2], slice(3, None, None)), lambda one: one and one + 1)),
        str(node.all_input_nodes), error(lambda: fx.map_arg([node], 1)),
    ]  # fmt: skip


@program
def module_and_copies(torch):
    model, x = small_model(torch)
    traced = torch.fx.symbolic_trace(model)
    copied, unpickled = copy.deepcopy(traced), pickle.loads(pickle.dumps(traced))
    file = io.BytesIO()
    torch.save(traced, file)
    file.seek(0)
    loaded = torch.load(file, weights_only=False)
    return [
        *texts(traced), str(traced), type(traced).__name__, numbers(traced(x)), traced.lin is model.lin,
        *texts(copied), type(copied).__name__, numbers(copied(x)), copied.lin is traced.lin,
        *texts(unpickled), type(unpickled).__name__, numbers(unpickled(x)), *texts(loaded), numbers(loaded(x)),
        [name for name, _ in traced.named_parameters()], [name for name, _ in traced.named_buffers()],
    ]  # fmt: skip


@program
def submodules(torch):
    nn = torch.nn
    model, x = small_model(torch)
    traced = torch.fx.symbolic_trace(model)
    found = [
        traced.add_submodule("a.b", nn.ReLU()),
        traced.delete_submodule("a.b"),
        traced.delete_submodule("zz"),
    ]
    traced.add_submodule("more.here", nn.ReLU())
    found.append([name for name, _ in traced.named_modules()])
    traced.delete_all_unused_submodules()
    found.append([name for name, _ in traced.named_modules()])
    made = torch.fx.GraphModule({"lin": model.lin, "sub.0": model.sub[0], "sub.1": model.sub[1], "w": model.w, "b": model.b},
                                torch.fx.Tracer().trace(model))  # fmt: skip
    found += [numbers(made(x)), [name for name, _ in made.named_modules()]]
    found.append(error(lambda: torch.fx.GraphModule({"lin": model.lin}, traced.graph)))
    found.append(error(lambda: torch.fx.GraphModule(3, traced.graph)))
    return found


@program
def changed_graph(torch):
    model, x = small_model(torch)
    traced = torch.fx.symbolic_trace(model)
    graph = traced.graph
    for node in graph.nodes:
        if node.target is torch.nn.functional.relu:
            with graph.inserting_after(node):
                made = graph.call_function(torch.tanh, (node.args[0],))
            node.replace_all_uses_with(made)
            graph.erase_node(node)
    graph.lint()
    traced.recompile()
    found = [*texts(traced), numbers(traced(x))]
    with graph.inserting_before(graph.output_node()):
        graph.call_function(torch.sigmoid, (next(iter(graph.nodes)),))
        graph.call_function(torch._assert, (True, "kept"))
    found += [str(graph), graph.eliminate_dead_code(), str(graph), graph.eliminate_dead_code()]
    graph.on_generate_code(lambda current: lambda body: ["# generated\n", *body])
    traced.recompile()
    return [*found, traced.code]


@program
def broken_graphs(torch):
    model, x = small_model(torch)
    traced = torch.fx.symbolic_trace(model)
    graph = traced.graph
    nodes = list(graph.nodes)
    nodes[2].prepend(nodes[4])
    found = [error(graph.lint).split("\n")[0]]
    nodes[3].append(nodes[4])
    graph.lint()
    other = torch.fx.Graph()
    stranger = other.placeholder("stranger")
    nodes[4].args = (stranger, 1)
    found.append(error(graph.lint).split("\n")[0])
    nodes[4].args = (nodes[2], nodes[3])
    nodes[1].target = "nowhere"
    return [*found, error(graph.lint), error(lambda: nodes[1].prepend(stranger))]


@program
def interpreted(torch):
    fx, F = torch.fx, torch.nn.functional
    model, x = small_model(torch)
    traced = fx.symbolic_trace(model)
    seen = []

    class Negating(fx.Interpreter):
        def run_node(self, node):
            seen.append(node.name)
            return super().run_node(node)

        def call_function(self, target, args, kwargs):
            if target is F.relu:
                return torch.neg(*args)
            return super().call_function(target, args, kwargs)

    def default(x, y=2, *rest):
        return x * y

    return [
        numbers(fx.Interpreter(traced).run(x)), numbers(Negating(traced).run(x)), seen,
        numbers(fx.Interpreter(fx.symbolic_trace(default)).run(x)), error(lambda: fx.Interpreter(traced).run()).split("\n")[0],
        numbers(fx.Interpreter(traced, garbage_collect_values=False).run(x, initial_env={list(traced.graph.nodes)[1]: x})),
    ]  # fmt: skip


@program
def transformed(torch):
    fx, F = torch.fx, torch.nn.functional
    model, x = small_model(torch)

    class Smooth(fx.Transformer):
        def call_function(self, target, args, kwargs):
            if target is F.relu:
                return super().call_function(torch.sigmoid, args, {})
            return super().call_function(target, args, kwargs)

        def call_module(self, target, args, kwargs):
            return torch.neg(super().call_module(target, args, kwargs))

    made = Smooth(fx.symbolic_trace(model)).transform()
    return [*texts(made), numbers(made(x))]


@program
def tracers(torch):
    fx, nn = torch.fx, torch.nn
    model, x = small_model(torch)

    class Through(fx.Tracer):
        def is_leaf_module(self, module, path):
            return False

    class Whole(fx.Tracer):
        def is_leaf_module(self, module, path):
            return isinstance(module, nn.Sequential)

        def create_node(self, kind, target, args, kwargs, name=None, type_expr=None):
            node = super().create_node(kind, target, args, kwargs, name, type_expr)
            node.meta["mark"] = kind
            return node

    class Branching(fx.Tracer):
        def to_bool(self, value):
            return True

        def iter(self, value):
            return iter([value[0], value[1]])

    def branches(x):
        if x > 0:
            return [one + 1 for one in x]
        return x

    whole = Whole().trace(model)
    return [
        str(Through().trace(model)), str(whole), [node.meta["mark"] for node in whole.nodes],
        numbers(fx.GraphModule(model, whole)(x)), str(Branching().trace(branches)),
        str(fx.Tracer(autowrap_functions=(helper,)).trace(lambda x: helper(x))),
        str(fx.Tracer(param_shapes_constant=True).trace(model)),
    ]  # fmt: skip


@program
def loops_and_containers(torch):
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(2)])
            self.named = nn.ModuleDict({"a": nn.ReLU(), "b": nn.Identity()})
            self.weights = nn.ParameterList([nn.Parameter(torch.ones(4)) for _ in range(2)])
            self.constant = torch.ones(4)

        def forward(self, x, *, k=2):
            for layer, weight in zip(self.layers, self.weights):
                x = layer(x) * weight
            for name, module in self.named.items():
                x = module(x)
            return {"out": x * k + self.constant, "pair": Pair(x, 1)}

    return texts(torch.fx.symbolic_trace(Model()))


@program
def method_calls(torch):
    def function(x, y):
        x = x.transpose(1, 2).contiguous().view(x.size(0), -1, x.size(1) * 2)
        x = x.permute(0, 2, 1).unsqueeze(-1)[..., 0].float().mean(dim=[1, 2], keepdim=True)
        x.add_(y).mul_(2)
        return x.T, x.shape, x.device, x.dtype, x.new_zeros(3), x.foo.bar(1), y.data

    return texts(torch.fx.symbolic_trace(function))


@program
def functions_written_in_python(torch):
    F = torch.nn.functional

    def function(x, y):
        F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
        F.max_pool2d(x, 2)
        F.max_pool2d(x, 2, return_indices=True)
        F.adaptive_avg_pool2d(x, (1, 1))
        F.pad(x, (1, 1))
        F.cross_entropy(x, y)
        F.layer_norm(x, (4,), y)
        F.batch_norm(x, y, y, training=False)
        F.embedding(x, y)
        F.dropout(x, 0.1, True)
        F.normalize(x)
        F.hardswish(x)
        F.sigmoid(x)
        F.log_softmax(x, dim=1)
        F.one_hot(x, 3)
        F.avg_pool2d(x, 2)
        F.softplus(x)
        F.relu_(x)
        F.pixel_shuffle(x, 2)
        F.unfold(x, 2)
        F.grid_sample(x, y)
        F.silu(x)
        F.mse_loss(x, y)
        torch.meshgrid(x, y, indexing="ij")
        torch.split(x, [1, 2], dim=1)
        torch.einsum("ij,jk->ik", x, y)
        torch.einsum("ij,jk->ik", (x, y))
        torch.norm(x, dim=1)
        torch.unique(x, return_counts=True)
        torch.tensordot(x, y, dims=1)
        torch.broadcast_tensors(x, y)
        torch.cdist(x, y)
        torch.stack([x, y], dim=0)
        torch.where(x > 0, x, y)
        torch.clamp(x, min=0)
        torch.softmax(x, dim=1)
        torch.bmm(x, y)
        torch.flatten(x, 1)
        torch.topk(x, 2)
        torch.matmul(x, y)
        torch.max(x, dim=1)
        return torch.chunk(x, 2, dim=1)

    return texts(torch.fx.symbolic_trace(function))


@program
def replaced_patterns(torch):
    fx = torch.fx
    rewriter = __import__(f"{fx.__name__}.subgraph_rewriter", fromlist=["replace_pattern_with_filters"])

    def sums(x, w1, w2):
        m1 = torch.cat([w1, w2]).sum()
        m2 = torch.cat([w2, w1]).sum()
        return x + torch.max(m1) + torch.max(m2)

    def twice(x):
        v = torch.neg(x) + torch.relu(x)
        return v + v

    def kept(x):
        return x.sum(dim=1, keepdim=True), torch.sum(x, dim=1)

    class Activation(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.g = torch.nn.GELU()

        def forward(self, x):
            return self.g(x)

    found = []
    for function, pattern, replacement in (
        (sums, lambda a, b: torch.cat([a, b]).sum(), lambda a, b: torch.stack([a, b])),
        (twice, lambda x: torch.neg(x) + torch.relu(x), lambda x: torch.relu(x)),
        (kept, lambda x: x.sum(dim=1, keepdim=True), lambda x: x.mean(1)),
        (lambda x: torch.relu(torch.relu(x)), lambda x: torch.relu(torch.relu(x)), lambda x: x),
        (lambda x: (x + 1) * (x + 2), lambda x: x + 1, lambda x: x - 1),
        (lambda x: torch.nn.functional.gelu(x) * 2, lambda x: torch.nn.functional.gelu(x), Activation()),
    ):
        traced = fx.symbolic_trace(function)
        matches = fx.replace_pattern(traced, pattern, replacement)
        found += [[(str(match.anchor), str(match.nodes_map)) for match in matches], *texts(traced)]
    traced = fx.symbolic_trace(lambda x: torch.relu(torch.tanh(torch.relu(x))))
    matches = rewriter.replace_pattern_with_filters(
        traced, lambda x: torch.relu(x), lambda x: torch.sigmoid(x),
        match_filters=[lambda match, graph, pattern: match.placeholder_nodes[0].op != "placeholder"],
    )  # fmt: skip
    return [*found, [str(match.replacements) for match in matches], traced.code]


@program
def shapes(torch):
    passes = __import__(f"{torch.fx.__name__}.passes.shape_prop", fromlist=["ShapeProp"])
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(2, 2, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(18, 3)
    ).eval()
    with torch.no_grad():
        traced = torch.fx.symbolic_trace(model)
        passes.ShapeProp(traced).propagate(torch.ones(2, 2, 8, 8).to(memory_format=torch.channels_last))
    return [
        (node.name, node.meta["type"].__name__, tuple(node.meta["tensor_meta"].shape), str(node.meta["tensor_meta"].dtype),
         tuple(node.meta["tensor_meta"].stride))
        for node in traced.graph.nodes
    ]  # fmt: skip


def convolutions(torch):
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.c, self.bn, self.r, self.d = nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Dropout()
            self.c2, self.bn2 = nn.Conv2d(2, 2, 1), nn.BatchNorm2d(2)

        def forward(self, x):
            y = self.d(self.r(self.bn(self.c(x))))
            return self.bn2(self.c2(y)) + y.sigmoid()

    model = Model().eval()
    for at, parameter in enumerate(model.parameters()):
        parameter.data.copy_((torch.arange(parameter.numel()).reshape(parameter.shape) % 5 - at % 3) / 4)
    for name, buffer in model.named_buffers():
        if "running" in name:
            buffer.fill_(0.75)
    return model, torch.arange(50.0).reshape(2, 1, 5, 5) / 50


@program
def fused(torch):
    module = __import__(f"{torch.fx.__name__}.experimental.optimization", fromlist=["fuse"])
    model, x = convolutions(torch)
    made = module.fuse(model)
    return [*texts(made), numbers(made(x)), module.remove_dropout(model).code]


@program
def split(torch):
    module = __import__(f"{torch.fx.__name__}.passes.split_module", fromlist=["split_module"])
    model, x = convolutions(torch)
    traced = torch.fx.symbolic_trace(model)
    parts = {"c": 0, "bn": 0, "r": 1, "d": 1}
    names = {}
    three = module.split_module(traced, model, lambda node: parts.get(node.name, 2), qualname_map=names)
    two = module.split_module(
        traced, model, lambda node: int(node.name not in ("c", "bn", "r")), keep_original_order=True
    )
    return [
        *texts(three), three.submod_0.code, three.submod_1.code, three.submod_2.code, names, numbers(three(x)),
        *texts(two), two.submod_0.code, two.submod_1.code,
        error(lambda: module.split_module(traced, model, lambda node: int(node.name in ("r", "c")))),
    ]  # fmt: skip


@program
def proxies(torch):
    fx = torch.fx
    graph = fx.Graph()
    x = fx.Proxy(graph.placeholder("x"))
    y = torch.relu(x) + x.sum(dim=0) * 2
    attribute = x.shape
    graph.output((y.node, attribute.node))
    return [repr(y), repr(attribute), str(graph), fx.GraphModule(torch.nn.Module(), graph).code,
            error(lambda: bool(x)), error(lambda: len(x)), error(lambda: x[0].missing.node.name)]  # fmt: skip


@program
def returned_types(torch):
    nn = torch.nn

    class Model(nn.Module):
        def forward(self, x: torch.Tensor) -> typing.Tuple[torch.Tensor, int]:
            return x, 1

    def nothing(x) -> None:
        torch.relu(x)

    return [*texts(torch.fx.symbolic_trace(Model())), *texts(torch.fx.symbolic_trace(nothing))]


@program
def functions_as_values(torch):
    """has_torch_function's family, and objects that take functions over."""
    overrides = __import__(f"{torch.__name__}.overrides", fromlist=["has_torch_function"])

    class Number:
        def __init__(self, value):
            self.value = value

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            values = [one.value if isinstance(one, Number) else one for one in args]
            return (getattr(func, "__name__", "?"), values, kwargs or {}, [kind.__name__ for kind in types])

    n = Number(2.0)
    t = torch.ones(2)
    return [
        str(torch.add(n, 1)), str(torch.mean(n)), str(torch.exp(n)), str(torch.cat([n, n])[0]),
        overrides.has_torch_function((n,)), overrides.has_torch_function((t,)), overrides.is_tensor_like(n),
        overrides.is_tensor_like(t), overrides.is_tensor_like(3),
    ]  # fmt: skip


MODELS = """resnet18 resnet50 swin_t swin_v2_t vit_b_16 mobilenet_v2 mobilenet_v3_small efficientnet_b0 densenet121 googlenet
    inception_v3 shufflenet_v2_x0_5 squeezenet1_0 convnext_tiny regnet_y_400mf mnasnet0_5 alexnet vgg11""".split()


def node_names(torchvision, name):
    """What get_graph_node_names gives for a model: the number of names and a digest in each mode; resnet18's whole."""
    arguments = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
    model = getattr(torchvision.models, name)(weights=None, **arguments)
    names = torchvision.models.feature_extraction.get_graph_node_names(model, suppress_diff_warning=True)
    if name == "resnet18":
        return list(names)
    return [[len(each), hashlib.sha256("\n".join(each).encode()).hexdigest()] for each in names]
