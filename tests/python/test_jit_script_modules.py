"""weft.jit.script of weft.nn modules: attributes, methods, containers, hooks and what is saved."""

import io
import math
from typing import Dict, Final, List, NamedTuple, Optional, Tuple

import numpy as np
import pytest
import weft
from weft import Tensor, nn


def ramp(*shape):
    return weft.tensor(np.linspace(-1, 1, math.prod(shape), dtype=np.float32).reshape(shape))


def array(value):
    return np.asarray(value)


def reload(module):
    return weft.jit.load(io.BytesIO(module.save_to_buffer()))


def check_module(module, *arguments):
    """The compiled module, its archive and its frozen form give what Python gives."""
    compiled = weft.jit.script(module)
    expected = module(*arguments)
    for one in (
        compiled,
        reload(compiled),
        weft.jit.freeze(weft.jit.script(module.eval())) if not module.training else compiled,
    ):
        found = one(*arguments)
        if isinstance(expected, Tensor):
            np.testing.assert_array_equal(array(found), array(expected))
        else:
            assert found == expected
    return compiled


class Scale(nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.weight = nn.Parameter(weft.ones((3,)) * factor)
        self.register_buffer("shift", weft.zeros((3,)))
        self.register_buffer("scratch", weft.zeros((1,)), persistent=False)
        self.register_parameter("bias", None)

    def forward(self, x):
        y = x * self.weight + self.shift
        if self.bias is not None:
            y = y + self.bias
        return y


class Everything(nn.Module):
    __constants__ = ["count", "names"]
    limit: Final[float]
    table: Dict[str, int]
    maybe: Optional[Tensor]
    level = 7

    def __init__(self):
        super().__init__()
        self.count = 2
        self.names = ("a", "b")
        self.limit = 0.5
        self.table = {}
        self.maybe = None
        self.sizes = [1, 2]
        self.scale = Scale(2.0)
        self.activation = weft.tanh
        self.typed = weft.jit.Attribute([], List[int])
        self.unusable = object()

    @property
    def doubled(self) -> int:
        return self.count * 2

    @doubled.setter
    def doubled(self, value: int):
        self.sizes.append(value)

    def helper(self, x, times: int = 1):
        for _ in range(times):
            x = self.activation(x)
        return x

    def forward(self, x):
        x = self.helper(self.scale(x), times=self.count) + self.doubled + self.level
        if self.training:
            x = x + 100
        if self.maybe is None and len(self.table) == 0:
            x = x * self.limit
        for name in self.names:
            x = x + len(name)
        return x

    @weft.jit.export
    def record(self, key: str, value: int) -> Dict[str, int]:
        self.table[key] = value
        self.sizes.append(value)
        self.doubled = 9
        return self.table

    @weft.jit.export
    def set_maybe(self, x: Tensor):
        self.maybe = x


def test_attributes_and_methods():
    module = Everything()
    compiled = check_module(module, ramp(2, 3))
    assert (
        compiled.record("k", 5) == {"k": 5} and compiled.table == {"k": 5} and compiled.sizes == [1, 2, 5, 9]
    )
    assert compiled.count == 2 and compiled.names == ("a", "b") and compiled.typed == []
    assert compiled.level == 7 and compiled.maybe is None
    compiled.set_maybe(ramp(3))
    assert compiled.maybe.shape == (3,)
    module.training = False
    check_module(module.eval(), ramp(2, 3))


def test_parameters_are_shared():
    module = Scale(3.0)
    compiled = weft.jit.script(module)
    assert list(dict(compiled.named_parameters())) == ["weight"]
    assert list(compiled.state_dict()) == list(module.state_dict()) == ["weight", "shift"]
    module.weight.copy_(weft.zeros((3,)))
    assert not array(compiled(ramp(2, 3))).any()
    compiled.load_state_dict({"weight": weft.ones((3,)), "shift": weft.zeros((3,))})
    np.testing.assert_array_equal(array(module(ramp(2, 3))), array(ramp(2, 3)))


def test_modules_of_one_class_share_a_type():
    class Pair(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = Scale(1.0), Scale(2.0)

        def forward(self, x):
            return self.a(x) + self.b(x)

    compiled = weft.jit.script(Pair())
    assert compiled.a._c.type_name == compiled.b._c.type_name
    changed = Scale(1.0)
    changed.bias = nn.Parameter(weft.ones((3,)))
    assert weft.jit.script(changed)._c.type_name != compiled.a._c.type_name


class Containers(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Scale(1.0), nn.Tanh(), Scale(3.0)])
        self.named = nn.ModuleDict({"one": Scale(1.5), "two": nn.Tanh()})
        self.chain = nn.Sequential(nn.Tanh(), Scale(0.5))
        self.own = Chain(Scale(1.0), Scale(2.0))

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            x = layer(x) + i
        for name, layer in self.named.items():
            x = layer(x) + len(name)
        for key in self.named:
            x = x + len(key)
        for layer in self.layers[1:]:
            x = layer(x)
        for scale, layer in zip([0.5, 2.0, 1.0], self.layers):
            x = layer(x) * scale
        assert "one" in self.named and len(self.chain) == 2
        return self.chain(x) + self.layers[-1](x) + self.named["one"](x) + self.own(x)


class Chain(nn.Sequential):
    def forward(self, x):
        for layer in self:
            x = layer(x) + 1
        return x


def test_containers_are_unrolled():
    compiled = check_module(Containers(), ramp(2, 3))
    assert (
        len(compiled.layers) == 3
        and len(list(compiled.chain)) == 2
        and list(compiled.named) == ["one", "two"]
    )


def test_ignored_and_unused_methods():
    class Mixed(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = Scale(2.0)
            self.log = []

        @weft.jit.ignore
        def note(self, x, n: int) -> Tensor:
            self._python.log.append(n)
            return x + self.scale.weight.sum() + n

        @weft.jit.unused
        def never(self, x):
            return open(x)

        def forward(self, x, n: int):
            if n < 0:
                return self.never(x)
            return self.note(x, n)

    module = Mixed()
    compiled = weft.jit.script(module)
    np.testing.assert_array_equal(array(compiled(ramp(3), 2)), array(ramp(3) + 8))
    assert module.log == [2]
    with pytest.raises(weft.jit.Error, match="unused"):
        compiled(ramp(3), -1)
    with pytest.raises(ValueError, match="'note'"):
        compiled.save_to_buffer()


def test_hooks_are_compiled():
    def before(self, input: Tuple[Tensor]) -> Tuple[Tensor]:
        return (input[0] * 2,)

    def after(self, input: Tuple[Tensor], output: Tensor) -> Tensor:
        return output + input[0].sum()

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = Scale(2.0)
            self.scale.register_forward_pre_hook(before)
            self.scale.register_forward_hook(after)

        def forward(self, x):
            return self.scale(x) + 1

    check_module(Outer(), ramp(2, 3))
    check_module(Outer().scale, ramp(2, 3))


class State(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = weft.ones((2,))
        self.training = False

    def forward(self, x):
        return x + self.weight

    @weft.jit.export
    def __getstate__(self) -> Tuple[Tensor, bool]:
        return self.weight * 2, self.training

    @weft.jit.export
    def __setstate__(self, state: Tuple[Tensor, bool]):
        self.weight = state[0]
        self.training = state[1]


def test_state_methods():
    loaded = reload(weft.jit.script(State()))
    np.testing.assert_array_equal(array(loaded(weft.zeros((2,)))), [2.0, 2.0])


@weft.jit.interface
class Transform(nn.Module):
    def apply_to(self, x: Tensor, n: int) -> Tensor:
        pass


class Doubler(nn.Module):
    def apply_to(self, x: Tensor, n: int) -> Tensor:
        return x * 2 * n


class Negative(nn.Module):
    def apply_to(self, x: Tensor, n: int) -> Tensor:
        return -x * n


class UsesInterface(nn.Module):
    impl: Transform

    def __init__(self):
        super().__init__()
        self.impl = Doubler()

    def forward(self, x):
        return self.impl.apply_to(x, 3)


def test_module_interfaces():
    module = UsesInterface()
    compiled = weft.jit.script(module)
    np.testing.assert_array_equal(array(compiled(ramp(3))), array(ramp(3) * 6))
    np.testing.assert_array_equal(array(reload(compiled)(ramp(3))), array(ramp(3) * 6))


class Result(NamedTuple):
    value: Tensor
    count: int


class Forks(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = Scale(2.0)

    def one(self, x, n: int) -> Tensor:
        return self.scale(x) * n

    def forward(self, x) -> Result:
        futures = [weft.jit.fork(self.one, x, i) for i in range(3)]
        total = weft.jit.wait(weft.jit.fork(self.scale, x))
        for future in futures:
            total = total + weft.jit.wait(future)
        return Result(total, len(futures))


def test_forks_and_named_tuples():
    compiled = weft.jit.script(Forks())
    for module in (compiled, reload(compiled), weft.jit.freeze(compiled.eval())):
        result = module(ramp(2, 3))
        np.testing.assert_allclose(array(result.value), array(ramp(2, 3)) * 8, rtol=1e-6)
        assert result.count == 3
    assert type(compiled(ramp(2, 3))) is Result


def test_method_overloads():
    class Overloaded(nn.Module):
        @weft.jit._overload_method
        def twice(self, x: int) -> int: ...

        @weft.jit._overload_method
        def twice(self, x: Tensor) -> Tensor: ...

        def twice(self, x):
            return x * 2

        def forward(self, x):
            return self.twice(x) + self.twice(3)

    check_module(Overloaded(), ramp(3))


class Written(weft.jit.ScriptModule):
    __constants__ = ["count"]

    def __init__(self, count):
        super().__init__()
        self.count = count
        self.weight = nn.Parameter(weft.ones((3,)))
        self.inner = Scale(2.0)

    @weft.jit.script_method
    def forward(self, x):
        for _ in range(self.count):
            x = self.helper(x)
        return self.inner(x)

    @weft.jit.script_method
    def helper(self, x):
        return x + self.weight


def test_script_module_as_base():
    module = Written(3)
    assert isinstance(module, nn.Module) and isinstance(module.inner, weft.jit.ScriptModule)
    expected = (array(ramp(2, 3)) + 3) * 2
    np.testing.assert_allclose(array(module(ramp(2, 3))), expected, rtol=1e-6)
    np.testing.assert_allclose(array(reload(module)(ramp(2, 3))), expected, rtol=1e-6)
    assert "self.weight" in module.helper.code and list(module.state_dict()) == [
        "weight",
        "inner.weight",
        "inner.shift",
    ]
    with pytest.raises(TypeError, match="fixed"):
        module.register_buffer("more", ramp(2))


def test_script_modules_inside_of_python_modules():
    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = weft.jit.script(Scale(2.0))

        def forward(self, x):
            return self.inner(x) + 1

    module = Outer()
    assert list(module.state_dict()) == ["inner.weight", "inner.shift"]
    check_module(module, ramp(2, 3))


def test_errors():
    class Fails(nn.Module):
        def __init__(self):
            super().__init__()
            self.things = object()
            self.empty = []

        def forward(self, x):
            return self.things

    with pytest.raises(
        weft.jit.Error, match="attribute 'things' of Fails cannot be used in a script"
    ) as caught:
        weft.jit.script(Fails())
    assert f"{__file__}:{Fails.forward.__code__.co_firstlineno + 1}:" in str(caught.value)

    class Empty(nn.Module):
        def __init__(self):
            super().__init__()
            self.empty = []

        def forward(self, x):
            return len(self.empty)

    with pytest.raises(weft.jit.Error, match="element type of an empty list is not known"):
        weft.jit.script(Empty())

    class NotThere(nn.Module):
        def forward(self, x):
            return self.missing(x)

    for _ in range(2):
        with pytest.raises(weft.jit.Error, match="no attribute 'missing'"):
            weft.jit.script(NotThere())

    class Unready(nn.Module):
        def __init__(self):
            pass

    with pytest.raises(weft.jit.Error, match=r"__init__\(\) was not called"):
        weft.jit.script(Unready())
    compiled = weft.jit.script(Scale(1.0))
    with pytest.raises(TypeError, match="weight"):
        compiled.weight = 3


class WithDefault(nn.Module):
    def forward(self, x: Tensor, state: Tensor = weft.ones(2), count: int = 3) -> Tensor:
        return x + state * count


def test_tensors_are_defaults_of_arguments():
    module = weft.jit.script(WithDefault())
    for _ in range(3):  # as written here, loaded, and loaded again
        np.testing.assert_array_equal(array(module(weft.zeros(2))), [3, 3])
        np.testing.assert_array_equal(array(module(weft.zeros(2), weft.ones(2) * 2, 1)), [2, 2])
        assert "state: Tensor=CONSTANTS.c0" in module.code
        file = io.BytesIO()
        weft.jit.save(module, file)
        file.seek(0)
        module = weft.jit.load(file)
