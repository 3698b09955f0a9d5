"""Operators of a program's own: what is known of them, and how they are called."""

import functools

import weft
from weft import _C
from weft._C import _jit
from weft._errors import ArgumentError, ArgumentTypeError
from weft.jit import _tracer

from ._schema import Schema, check_argument, check_results, numbered

_operators = {}  # "namespace::name", or with ".overload", to its Operator


def split_name(qualname):
    """The namespace and the name of "namespace::name"; ValueError for other text."""
    namespace, separator, name = qualname.partition("::") if isinstance(qualname, str) else ("", "", "")
    plain = name.replace(".", "_")
    if not separator or not namespace.isidentifier() or not plain.isidentifier():
        raise ArgumentError(f"expected the operator's name as 'namespace::name', got {qualname!r}")
    return namespace, name


class Operator:
    """An operator that the program has made: weft.library.custom_op and define make them.

    Called like a function, by position and by keyword, with the schema's defaults. It runs the kernel for the device of its
    tensors; with tensors of the device meta, and where nothing but shapes is asked for, its fake function.
    """

    def __init__(self, schema):
        self._schema = schema
        self._qualname = schema.name
        self.__name__ = schema.name.partition("::")[2]
        self._kernels = {}  # device type, or None for all, to a function
        self._disabled = set()
        self._fake = self._init_fn = None
        self._tags = ()

    # ---- what PyTorch's operators have, too ------------------------------------------------------------------
    @property
    def default(self):
        return self

    @property
    def op(self):
        return self

    def name(self):
        return self._qualname

    @property
    def namespace(self):
        return self._qualname.partition("::")[0]

    @property
    def tags(self):
        return list(self._tags)

    def overloads(self):
        start = f"{self._qualname}."
        named = [name.removeprefix(start) for name in _operators if name.startswith(start)]
        return (["default"] if self._qualname in _operators else []) + named

    def __getattr__(self, name):
        found = None if name.startswith("_") else _operators.get(f"{self.__dict__.get('_qualname')}.{name}")
        if found is None:
            raise AttributeError(f"operator {self.__dict__.get('_qualname')} has no attribute '{name}'")
        return found

    def __repr__(self):
        return f"<operator {self._schema.text}>"

    # ---- calls -----------------------------------------------------------------------------------------------
    def __call__(self, *args, **kwargs):
        if weft.compiler.is_compiling():
            args, keywords = self._bound(args, kwargs)
            return check_results(self._schema, self._kernel("cpu")(*args, **keywords))
        tracer = _tracer.current()
        if tracer is not None:
            tracer.mark()
            return tracer.recorder.call(self._qualname, *args, **kwargs)
        args, keywords = self._bound(args, kwargs)
        return self._carry_out(args, keywords)

    def _bound(self, args, kwargs):
        """(positional arguments, keywords), each parameter of the schema given once."""
        parameters, count = self._schema.parameters, self._schema.num_positional
        if len(args) > count:
            raise ArgumentTypeError(
                f"{self._qualname}: takes {count} arguments by position, {len(args)} were given\n  {self._schema.text}"
            )
        if kwargs or len(args) < len(parameters):
            args, kwargs = self._filled(args, kwargs)
        else:
            kwargs = {}
        for parameter, value in zip(parameters, args):
            check_argument(self._qualname, parameter, value)
        for parameter in parameters[count:]:
            check_argument(self._qualname, parameter, kwargs[parameter.name])
        return args, kwargs

    def _filled(self, args, kwargs):
        parameters, count = self._schema.parameters, self._schema.num_positional
        values, keywords, used = list(args), {}, 0
        for number, parameter in enumerate(parameters):
            if number < len(args):
                if parameter.name in kwargs:
                    raise ArgumentTypeError(f"{self._qualname}: argument '{parameter.name}' was given twice")
                continue
            if parameter.name in kwargs:
                value = kwargs[parameter.name]
                used += 1
            elif parameter.has_default:
                value = parameter.default
            else:
                raise ArgumentTypeError(
                    f"{self._qualname}: argument '{parameter.name}' is missing\n  {self._schema.text}"
                )
            if number < count:
                values.append(value)
            else:
                keywords[parameter.name] = value
        if used < len(kwargs):
            names = [parameter.name for parameter in parameters]
            unknown = [name for name in kwargs if name not in names]
            raise ArgumentTypeError(
                f"{self._qualname}: there is no argument '{unknown[0]}'\n  {self._schema.text}"
            )
        return tuple(values), keywords

    def _kernel(self, device):
        function = self._kernels.get(device)
        if function is None or device in self._disabled:
            function = self._kernels.get(None)
        if function is None:
            others = ", ".join(f"'{one}'" for one in self._kernels if one is not None)
            raise NotImplementedError(
                f"{self._qualname} has no kernel for the device '{device}'"
                + (f", only for {others}" if others else "")
                + "; weft.library.register_kernel gives one"
            )
        return function

    def _fake_function(self):
        if self._fake is None:
            raise NotImplementedError(
                f"{self._qualname} has no fake function, which says the shapes and dtypes of its results without computing them; "
                "register_fake gives one"
            )
        return self._fake

    def _carry_out(self, args, keywords):
        device = "cpu"
        for value in (*args, *keywords.values()):
            for one in value if isinstance(value, (list, tuple)) else (value,):
                if isinstance(one, weft.Tensor):
                    device = one.device.type
        if device == "meta" and "meta" not in self._kernels:
            function = self._fake_function()
        else:
            function = self._kernel(device)
        if not _C._is_recording():
            results = function(*args, **keywords)
        else:
            opened = _C._open_range(self._qualname)
            try:
                results = function(*args, **keywords)
            finally:
                opened.end()
        results = check_results(self._schema, results)
        self._check_not_given(results, args)
        return results

    def _check_not_given(self, results, args):
        given = [id(one) for one in args if isinstance(one, weft.Tensor)]
        for one in results if isinstance(results, (tuple, list)) else (results,):
            if isinstance(one, weft.Tensor) and id(one) in given:
                raise ArgumentError(
                    f"{self._qualname}: a result is one of the arguments; return a copy, or name the argument in mutates_args and "
                    "return nothing"
                )

    def _call_from_script(self, *values):
        """All arguments by position, as TorchScript has them."""
        parameters, count = self._schema.parameters, self._schema.num_positional
        values = [_of_script(parameter.word, value) for parameter, value in zip(parameters, values)]
        keywords = {parameter.name: value for parameter, value in zip(parameters[count:], values[count:])}
        if _tracer.current() is None:
            return self._carry_out(tuple(values[:count]), keywords)
        with _tracer.paused():
            return self._carry_out(tuple(values[:count]), keywords)

    # ---- what it is made of ----------------------------------------------------------------------------------
    def register_kernel(self, device_types, fn=None, /):
        """A kernel for devices: "cpu", "meta", several of them, or None for all. A decorator without fn."""

        def register(function):
            for device in device_types if isinstance(device_types, (list, tuple)) else (device_types,):
                if device is not None and not isinstance(device, str):
                    raise TypeError(
                        f"register_kernel: expected the name of a device, got {type(device).__name__}"
                    )
                self._kernels[device if device not in ("default", "") else None] = function
            return function

        return register if fn is None else register(fn)

    def register_fake(self, fn, /):
        """How results come out for tensors without elements: a function of the same arguments, which makes tensors of
        their shapes and dtypes (weft.empty_like(x)). It runs with tensors of the device meta."""
        self._fake = fn
        return fn


def _of_script(word, value):
    """TorchScript has numbers for dtypes."""
    if word.startswith("ScalarType") and isinstance(value, int):
        return _jit.dtype_of_number(value)
    return value


class CustomOp(Operator):
    """What weft.library.custom_op makes of a function."""

    def __init__(self, schema, function):
        super().__init__(schema)
        name = self.__name__
        functools.update_wrapper(self, function, updated=())
        self.__name__ = name
        self._init_fn = function


def find(namespace, name):
    """The operator namespace::name: the one without overload name, or the first that was defined; None where there is none."""
    exact = _operators.get(f"{namespace}::{name}")
    if exact is not None:
        return exact
    start = f"{namespace}::{name}."
    return next((found for key, found in _operators.items() if key.startswith(start)), None)


def namespaces():
    """Names of the namespaces in which there are operators of the program's."""
    return {name.partition("::")[0] for name in _operators}


def names_in(namespace):
    """Names of the program's operators in a namespace."""
    start = f"{namespace}::"
    return sorted(
        {name.removeprefix(start).partition(".")[0] for name in _operators if name.startswith(start)}
    )


def get(qualname):
    """The operator of a name, or the operator itself; ValueError where there is none."""
    if isinstance(qualname, Operator):
        return qualname
    namespace, name = split_name(qualname)
    found = find(namespace, name)
    if found is None:
        raise ArgumentError(f"there is no operator {qualname!r}; weft.library.define or custom_op makes one")
    return found


def add(operator):
    """Makes an operator known under its name; one that is there already is replaced."""
    schema = operator._schema
    full = schema.name + (f".{schema.overload}" if schema.overload else "")
    _jit.define_operator(numbered(schema.text), operator._call_from_script)
    _operators[full] = operator
    return operator


def remove(full):
    """Forgets the operator "namespace::name" or "namespace::name.overload"."""
    _operators.pop(full, None)


def read_schema(name, schema):
    """The Schema of an operator by its qualified name and text with or without a name before the parenthesis."""
    split_name(name)
    text = schema if isinstance(schema, str) else str(schema)
    at = text.find("(")
    if at < 0:
        raise ArgumentError(f"schema '{text}': column {len(text) + 1}: expected '('")
    own = text[:at].strip()
    if own and own.partition(".")[0].rpartition("::")[2] != name.partition("::")[2].partition(".")[0]:
        raise ArgumentError(f"schema '{text}': column 1: expected no name, or that of {name}, got '{own}'")
    return Schema(name + text[at:])
