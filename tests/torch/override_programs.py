"""Programs over __torch_function__ and torch.overrides: what classes and modes are told, and what becomes of the results. They run
under PyTorch, which records the answers (record_fx.py), and under weft.torch (test_overrides.py)."""

PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def error(function):
    """The class of what a call raises, and how the message begins."""
    try:
        return repr(function())
    except Exception as raised:
        return type(raised).__name__


def overrides_of(torch):
    return __import__(f"{torch.__name__}.overrides", fromlist=["TorchFunctionMode"])


def logging_mode(torch, seen):
    overrides = overrides_of(torch)

    class Logging(overrides.TorchFunctionMode):
        def __init__(self, name=""):
            super().__init__()
            self.name = name

        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append([self.name, overrides.resolve_name(func), len(args), sorted(kwargs or {})])
            return func(*args, **(kwargs or {}))

    return Logging


@program
def modes_see_calls(torch):
    F = torch.nn.functional
    seen, x = [], torch.ones(2, 2)
    Logging = logging_mode(torch, seen)
    with Logging("a"):
        (
            torch.add(x, 1),
            x + 1,
            1 + x,
            x.sum(),
            torch.zeros(2),
            F.relu(x),
            F.linear(x, x),
            x.view(4),
            x[0],
            x.t(),
        )
        (
            torch.cat([x, x]),
            torch.rand(2),
            torch.ones(2, dtype=torch.int),
            x.to(torch.float64),
            -x,
            x @ x,
            torch.matmul(x, x),
        )
        torch.linalg.norm(x), x.add_(1), torch.split(x, 1), torch.arange(3), torch.randn(2), x.reshape(4)
        (
            torch.full((2,), 1.0),
            torch.empty(2),
            x.expand(2, 2),
            torch.stack([x]),
            x.masked_fill(x > 0, 1),
            x.clone(),
            x.float(),
        )
        (
            x.max(),
            torch.max(x, dim=0),
            torch.softmax(x, 0),
            x.softmax(0),
            F.softmax(x, dim=0),
            torch.einsum("ij->i", x),
        )
        F.max_pool2d(torch.ones(1, 1, 4, 4), 2, return_indices=True)
        with Logging("b"):
            torch.neg(x)
        torch.exp(x)
    torch.neg(x)
    return seen


@program
def modes_replace_calls(torch):
    overrides, F = overrides_of(torch), torch.nn.functional
    x, found = torch.ones(2), []

    class Replacing(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            if func is torch.add:
                return "replaced"
            if func is F.relu:
                return "relu", sorted(kwargs)
            return func(*args, **(kwargs or {}))

    class Refusing(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return NotImplemented

    with Replacing():
        found += [torch.add(x, x), list(F.relu(x)), torch.mul(x, 2).tolist()]
        with overrides.BaseTorchFunctionMode():
            found.append(torch.add(x, x))
    with Refusing():
        found.append(error(lambda: torch.add(x, x)))
    try:
        with Replacing():
            raise ValueError
    except ValueError:
        found.append(torch.add(x, x).tolist())
    with Replacing(), torch._C.DisableTorchFunction():
        found.append(torch.add(x, x).tolist())
    return found


def logging_class(torch, seen):
    overrides = overrides_of(torch)

    class Logged(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            name = overrides.resolve_name(func)
            if not name.endswith("__get__"):
                seen.append([cls.__name__, name, [kind.__name__ for kind in types]])
            return super().__torch_function__(func, types, args, kwargs or {})

    return Logged


@program
def subclasses_see_calls(torch):
    F = torch.nn.functional
    seen, kinds = [], []
    Logged = logging_class(torch, seen)
    m, x = torch.ones(2).as_subclass(Logged), torch.ones(2, 2)
    for result in (m + 1, torch.add(m, 1), F.relu(m), m.sum(), 1 + m, x[0] + m, torch.cat([m, m]), m.view(2, 1), m[0],
                   m.to(torch.float64), torch.max(m, dim=0)[0], torch.exp(m), m.exp(), F.softmax(m, dim=0), torch.stack([x[0], m]),
                   m.clone(), -m, m * m, m.reshape(1, 2), m.unsqueeze(0), torch.where(m > 0, m, m)):  # fmt: skip
        kinds.append(type(result).__name__)
    with torch._C.DisableTorchFunctionSubclass():
        kinds.append(type(m + 1).__name__)
    kinds += [type(m.numpy()).__name__, m.tolist(), list(m.shape)]
    return [kinds, [one for one in seen if one[1] not in ("torch.Tensor.numpy", "torch.Tensor.tolist")]]


@program
def subclasses_of_subclasses(torch):
    seen = []
    Logged = logging_class(torch, seen)

    class Below(Logged):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append("below")
            return super().__torch_function__(func, types, args, kwargs)

    class Other(torch.Tensor):
        pass

    m, s, o = (torch.ones(2).as_subclass(kind) for kind in (Logged, Below, Other))
    return [type(m + s).__name__, type(torch.add(m, s)).__name__, error(lambda: torch.add(m, o)), seen]


@program
def plain_subclasses(torch):
    overrides, F = overrides_of(torch), torch.nn.functional

    class Plain(torch.Tensor):
        def double_sum(self):
            return (self + self).sum()

    class Disabled(torch.Tensor):
        __torch_function__ = torch._C._disabled_torch_function_impl

    p, d, x = torch.ones(2).as_subclass(Plain), torch.ones(2).as_subclass(Disabled), torch.ones(2)
    parameter = torch.nn.Parameter(torch.ones(2), requires_grad=False)
    return [
        [type(one).__name__ for one in (p + 1, torch.exp(p), p.view(2, 1), F.relu(p), p.double_sum(), x + p, d + 1, torch.exp(d))],
        float(p.double_sum()), type(parameter + 1).__name__, type(parameter.view(2, 1)).__name__,
        [overrides.has_torch_function((one,)) for one in (p, d, x, parameter, 3)],
    ]  # fmt: skip


@program
def metadata_on_tensors(torch):
    """PyTorch's documentation: tensors that carry something, which results inherit."""

    class Metadata:
        def __init__(self, data, metadata=None):
            self._t, self._metadata = torch.as_tensor(data), metadata

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            found = tuple(one._metadata for one in args if hasattr(one, "_metadata"))
            args = [getattr(one, "_t", one) for one in args]
            return Metadata(func(*args, **(kwargs or {})), metadata=found[0])

    m, t = Metadata([[1.0], [2.0]], "owner"), torch.tensor([[1.0, 2.0]])
    added, multiplied, flat = torch.add(t, m), torch.mul(t, m), torch.flatten(m)
    return [
        added._metadata,
        added._t.tolist(),
        multiplied._t.tolist(),
        flat._t.tolist(),
        torch.nn.functional.relu(m)._metadata,
    ]


@program
def classes_are_made(torch):
    class Named(torch.Tensor):
        def __new__(cls, data, *, tag, scale=1):
            made = torch.as_tensor(data).as_subclass(cls)
            made.tag, made.scale = tag, scale
            return made

    class Labelled(torch.Tensor):
        @staticmethod
        def __new__(cls, data, label, *args, **kwargs):
            return super().__new__(cls, data, *args, **kwargs)

        def __init__(self, data, label):
            super().__init__()
            self.label = label

    class Plain(torch.Tensor):
        pass

    named, labelled = Named([1, 2], tag="a", scale=3), Labelled([1.0, 2.0], "b")
    return [
        named.tolist(), named.tag, named.scale, str(named.dtype), labelled.tolist(), labelled.label, Plain([1, 2]).tolist(),
        list(Plain(2, 3).shape), list(Plain().shape), Plain(torch.ones(2)).tolist(), type(Plain([1.0]) + 1).__name__,
        error(lambda: Plain([1], tag="c")), error(lambda: Named([1])),
    ]  # fmt: skip


@program
def objects_take_functions_over(torch):
    F = torch.nn.functional
    handled = {}

    class Diagonal:
        def __init__(self, n, value):
            self._N, self._value = n, value

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func not in handled or not all(issubclass(kind, (torch.Tensor, Diagonal)) for kind in types):
                return NotImplemented
            return handled[func](*args, **(kwargs or {}))

    handled[torch.mean] = lambda one: float(one._value) / one._N
    handled[torch.add] = lambda a, b: ["sum", getattr(a, "_value", 0), getattr(b, "_value", 0)]
    handled[F.softmax] = lambda one, **others: ["softmax", sorted(others)]
    handled[torch.split] = lambda one, size, **others: ["split", size, others]
    handled[torch.cat] = lambda tensors, dim=0: ["cat", len(tensors), dim]
    handled[torch.Tensor.add] = lambda a, b: ["method", b._value]
    d, x = Diagonal(5, 2), torch.ones(2)
    return [
        torch.mean(d), torch.add(d, d), torch.add(x, d), F.softmax(d, dim=0), torch.split(d, 2), torch.cat([x, d], dim=1),
        torch.cat((d, d)), x + d, x.add(d), error(lambda: torch.mul(d, 2)), error(lambda: F.gelu(d)),
        error(lambda: torch.median(d)), error(lambda: d + 1),
    ]  # fmt: skip


@program
def questions(torch):
    overrides = overrides_of(torch)

    class Like:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return getattr(func, "__name__", "?"), len(args)

    def double(x):
        if overrides.has_torch_function((x,)):
            return overrides.handle_torch_function(double, (x,), x)
        return x * 2

    @overrides.wrap_torch_function(lambda x: (x,))
    def triple(x):
        return x * 3

    like, x = Like(), torch.ones(2)
    with overrides.BaseTorchFunctionMode():
        within = overrides.has_torch_function((x,))
    return [
        list(double(like)), double(x).tolist(), list(triple(like)), triple(x).tolist(), within,
        overrides.has_torch_function((x,)), overrides.has_torch_function((like, x)),
        overrides.is_tensor_like(like), overrides.is_tensor_like(x), overrides.is_tensor_like([1]),
        overrides.is_tensor_method_or_property(torch.Tensor.add), overrides.is_tensor_method_or_property(torch.add),
        torch.add in overrides.get_overridable_functions()[torch], torch.zeros in overrides.get_ignored_functions(),
        torch.Tensor.exp in overrides.get_overridable_functions()[torch.Tensor], torch.add in overrides.get_testing_overrides(),
        overrides.resolve_name(torch.Tensor.exp), overrides.resolve_name(torch.exp),
        overrides.resolve_name(torch.nn.functional.linear),
    ]  # fmt: skip
