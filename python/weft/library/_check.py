"""opcheck: does an operator do what its schema and its fake function say, everywhere?"""

import numpy

import weft
from weft import _C
from weft._errors import ArgumentError

from ._operators import get


class OpCheckError(AssertionError):
    """An operator does not do what its schema or its fake function says."""


def _mapped(value, function):
    if isinstance(value, weft.Tensor):
        return function(value)
    if isinstance(value, (list, tuple)):
        return type(value)(_mapped(one, function) for one in value)
    return value


def _tensors(value):
    if isinstance(value, weft.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [tensor for one in value for tensor in _tensors(one)] if isinstance(value, (list, tuple)) else []


class _Call:
    """Arguments of a call, copied for each run: what one writes the next does not see."""

    def __init__(self, operator, args, kwargs):
        self.operator = operator
        self.args, self.keywords = operator._bound(tuple(args), dict(kwargs or {}))

    def copies(self, function=lambda tensor: tensor.clone()):
        args = tuple(_mapped(one, function) for one in self.args)
        return args, {name: _mapped(one, function) for name, one in self.keywords.items()}

    def named(self, args, keywords):
        """(name, value, is written) of each argument."""
        parameters = self.operator._schema.parameters
        values = [*args, *(keywords[parameter.name] for parameter in parameters[len(args) :])]
        return [(parameter.name, value, parameter.is_written) for parameter, value in zip(parameters, values)]


def _elements(tensor):
    """NumPy's view of them, of their bits where NumPy has no such dtype."""
    return (tensor.view(weft.int16) if tensor.dtype == weft.bfloat16 else tensor).numpy()


def _bits(tensor):
    return numpy.ascontiguousarray(_elements(tensor)).tobytes()


def _describe(tensor):
    return f"{str(tensor.dtype).rpartition('.')[2]}{list(tensor.shape)}"


def _test_schema(call, atol, rtol):
    """Only arguments that the schema marks are written to; results are of its types, and no views of arguments."""
    name = call.operator._qualname
    args, keywords = call.copies()
    before = [[_bits(tensor) for tensor in _tensors([value])] for _, value, _ in call.named(args, keywords)]
    results = call.operator(*args, **keywords)
    for (argument, value, is_written), bits in zip(call.named(args, keywords), before):
        if not is_written and [_bits(tensor) for tensor in _tensors([value])] != bits:
            raise OpCheckError(
                f"{name}: the kernel writes to argument '{argument}', which the schema does not mark: '(a!)' there, or mutates_args"
            )
    for argument, value, _ in call.named(args, keywords):
        for tensor in _tensors([value]):
            for result in _tensors([results]):
                if numpy.may_share_memory(_elements(result), _elements(tensor)):
                    raise OpCheckError(
                        f"{name}: a result shares memory with argument '{argument}'; return a copy"
                    )


def _test_fake(call, atol, rtol):
    """The fake function gives the number, shapes and dtypes of the results."""
    name = call.operator._qualname
    args, keywords = call.copies()
    expected = _tensors([call.operator(*args, **keywords)])
    args, keywords = call.copies(lambda tensor: tensor.to("meta"))
    given = _tensors([args, keywords])
    found = (
        _tensors([call.operator(*args, **keywords)])
        if given
        else _tensors([call.operator._fake_function()(*args, **keywords)])
    )
    if len(found) != len(expected):
        raise OpCheckError(
            f"{name}: the fake function gives {len(found)} tensors, the kernel {len(expected)}"
        )
    for number, (fake, real) in enumerate(zip(found, expected)):
        if list(fake.shape) != list(real.shape) or fake.dtype != real.dtype:
            raise OpCheckError(
                f"{name}: result {number}: the fake function says {_describe(fake)}, the kernel returned {_describe(real)}"
            )


def _close(one, other, atol, rtol):
    if one.dtype == weft.bfloat16:
        one, other = one.to(weft.float32), other.to(weft.float32)
    return numpy.allclose(one.numpy(), other.numpy(), rtol=rtol, atol=atol, equal_nan=True)


def _same(name, found, expected, atol, rtol, where):
    if len(found) != len(expected):
        raise OpCheckError(f"{name}: {len(found)} tensors {where}, {len(expected)} eagerly")
    for number, (one, other) in enumerate(zip(found, expected)):
        if one.dtype != other.dtype or list(one.shape) != list(other.shape):
            raise OpCheckError(
                f"{name}: tensor {number} is {_describe(one)} {where}, {_describe(other)} eagerly"
            )
        if not _close(one, other, 1e-6 if atol is None else atol, 1e-5 if rtol is None else rtol):
            raise OpCheckError(f"{name}: tensor {number} has other elements {where} than eagerly")


def _outcome(call, function):
    """Tensors of the results and of what was written, from one run."""
    args, keywords = call.copies()
    results = function(*args, **keywords)
    written = [value for _, value, is_written in call.named(args, keywords) if is_written]
    return _tensors([results, written])


def _test_compiled(dynamic):
    def test(call, atol, rtol):
        operator = call.operator

        def function(*args, **keywords):
            return operator(*args, **keywords)

        compiled = weft.compile(function, fullgraph=True, dynamic=dynamic)
        expected = _outcome(call, operator)
        for _ in range(2):
            found = _outcome(call, compiled)
            _same(operator._qualname, found, expected, atol, rtol, "in a compiled function")

    return test


def _test_script(call, atol, rtol):
    """TorchScript's call of it gives the same."""

    def script(*args, **keywords):
        return _C._call_builtin(call.operator._qualname, *args, **keywords)

    _same(
        call.operator._qualname,
        _outcome(call, script),
        _outcome(call, call.operator),
        atol,
        rtol,
        "in a script",
    )


def _test_gradients(call, atol, rtol):
    """There are none in weft."""


TESTS = {
    "test_schema": _test_schema,
    "test_autograd_registration": _test_gradients,
    "test_faketensor": _test_fake,
    "test_aot_dispatch_static": _test_compiled(False),
    "test_aot_dispatch_dynamic": _test_compiled(True),
    "test_script": _test_script,
}


def opcheck(op, args, kwargs=None, *, test_utils=tuple(TESTS), raise_exception=True, atol=None, rtol=None):
    """Tests an operator of the program's on one call, and returns {test: "SUCCESS" or the error}.

    test_schema: it writes only to what the schema marks, and its results are of the schema's types and no views of arguments;
    test_faketensor: the fake function gives the results' shapes and dtypes; test_aot_dispatch_static and _dynamic: compiled
    functions with fullgraph=True give what the kernel gives; test_script: so does TorchScript; test_autograd_registration: PyTorch's,
    holds always. Arguments are copied for each run. atol, rtol: of comparisons, 1e-6 and 1e-5 if not given.

    OpCheckError names the test's rule and what was found, NotImplementedError a fake function that is missing; with
    raise_exception=False they are the values. ValueError for a test that there is not.
    """
    operator = get(getattr(op, "_operator", op))
    tests = (test_utils,) if isinstance(test_utils, str) else tuple(test_utils)
    for name in tests:
        if name not in TESTS:
            raise ArgumentError(f"opcheck: there is no test {name!r}; tests are {', '.join(TESTS)}")
    call = _Call(operator, args, kwargs)
    outcomes = {}
    for name in tests:
        try:
            TESTS[name](call, atol, rtol)
            outcomes[name] = "SUCCESS"
        except Exception as error:
            if raise_exception:
                raise
            outcomes[name] = error
    return outcomes
