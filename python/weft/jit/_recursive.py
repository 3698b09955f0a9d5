"""Modules of Python compiled: their attributes, parameters, sub-modules and, as they are used, their methods."""

import functools
import inspect
import types
import typing
import weakref

import weft
from weft._C import _jit
from weft.nn import Module
from weft.nn.modules import container

from . import _definitions, _marks, _types
from ._module import RecursiveScriptModule, ScriptModule
from ._values import Error, called_from

_LISTS = (container.ModuleList, container.Sequential, container.ParameterList)
_DICTS = (container.ModuleDict, container.ParameterDict)


class ModuleClass:
    """The TorchScript class of modules of one Python class whose attributes have the same types and constants."""

    def __init__(self, module, key, name):
        self.python_class = type(module)
        self.key = key
        self.type = _jit.define_module(name)
        self.functions = {}  # attributes that are callables, by name
        self.failed = {}  # why an attribute has no type, by name
        self.forward = None  # the function that the objects' forward() is
        self.members = {}  # descriptions of the members that were asked for

    def has_member(self, name):
        return name in self.functions or isinstance(
            _class_attribute(self, name), (types.FunctionType, staticmethod)
        )

    def member(self, name, place):
        """What `name` is, which is no attribute of the class: see describe()."""
        if name not in self.members:
            with called_from(place):
                self.members[name] = _describe_member(self, name, place)
        return self.members[name]


# Those of a Python class.
_by_class = weakref.WeakKeyDictionary()


def _forget(known):
    _definitions.module_classes.pop(known.type.name, None)
    _by_class[known.python_class].remove(known)


# ---- what a module holds ---------------------------------------------------------------------------------------


class _Contents:
    """A module's attributes by what they become: entries of `attributes` are (name, kind, type, value)."""

    def __init__(self, module):
        self.module = module
        self.attributes = []
        self.persistent = {}
        self.constants = {}
        self.functions = {}
        self.failed = {}
        self.children = {}
        self._annotations = _annotations_of(type(module))
        self._scope = _definitions.Scope.of_class(type(module), _definitions.session.outer)
        self._collect()

    def key(self):
        """Equal for modules whose classes may be one."""
        attributes = tuple((name, kind, str(found)) for name, kind, found, _ in self.attributes)
        constants = tuple((name, repr(value), type(value)) for name, value in self.constants.items())
        functions = tuple((name, id(function)) for name, function in self.functions.items())
        hooks = tuple(
            id(hook)
            for store in ("_forward_pre_hooks", "_forward_hooks")
            for hook in getattr(self.module, store).values()
        )
        return (
            attributes,
            constants,
            functions,
            id(_forward_of(self.module)),
            hooks,
            tuple(self.failed),
            tuple(sorted(self.persistent.items())),
        )

    def _collect(self):
        module = self.module
        for name, value in module._parameters.items():
            self._add(name, "parameter", value)
        for name, value in module._buffers.items():
            self._add(name, "buffer", value)
            self.persistent[name] = name not in module._non_persistent_buffers_set
        for name, child in module._modules.items():
            self._add_child(name, child)
        constants = set(getattr(type(module), "__constants__", ()))
        skipped = set(getattr(type(module), "__jit_ignored_attributes__", ()))
        for name, value in self._values(constants):
            if name in skipped or any(name == known for known, *_ in self.attributes):
                continue
            if name in constants or self._is_final(name):
                self._add_constant(name, value)
            else:
                self._add_attribute(name, value)

    def _values(self, constants):
        """Attributes of the object, then those of its class that are named as constants or annotated."""
        module = self.module
        internal = (
            "_parameters",
            "_buffers",
            "_modules",
            "_forward_hooks",
            "_forward_pre_hooks",
            "_non_persistent_buffers_set",
        )
        for name, value in module.__dict__.items():
            if name not in internal and not (name == "forward" and isinstance(value, types.MethodType)):
                yield name, value
        for name in [*constants, *self._annotations]:
            if (
                name not in module.__dict__
                and hasattr(type(module), name)
                and not isinstance(getattr(type(module), name), property)
            ):
                yield name, getattr(type(module), name)

    def _is_final(self, name):
        annotation = self._annotations.get(name)
        if isinstance(annotation, str):
            return annotation.partition("[")[0].rpartition(".")[2] == "Final"
        return annotation is typing.Final or typing.get_origin(annotation) is typing.Final

    def _declared(self, name):
        """The type by the class's annotation of the name; None where it has none."""
        annotation = self._annotations.get(name)
        if annotation is None:
            return None
        found = _definitions.type_of_annotation(annotation, self._scope)
        if found is None:
            raise Error(
                f"attribute '{name}' of {type(self.module).__name__}: {annotation!r} is not a type of TorchScript"
            )
        return found

    def _add(self, name, kind, value):
        found = self._declared(name) if name in self._annotations else None
        if found is None:
            found = _types.Type.none() if value is None else _types.Type.tensor()
        self.attributes.append((name, kind, found, value))

    def _add_child(self, name, child):
        declared = self._annotations.get(name)
        is_interface = isinstance(declared, type) and _marks.is_interface(declared)
        if child is None:
            self.attributes.append((name, "module", self._declared(name) or _types.Type.none(), None))
            return
        try:
            compiled = self.children[name] = script_module(child)
        except Error as error:
            if hasattr(error, "add_note"):
                error.add_note(f"compiled as '{name}' of {type(self.module).__name__}")
            raise
        found = compiled._c.type
        if is_interface:
            wanted = self._declared(name)
            for method in wanted.method_names():
                _definitions.member_of_module(found.name, method, "")
            found = wanted
        self.attributes.append((name, "module", found, compiled))

    def _add_constant(self, name, value):
        if isinstance(value, (weft.Tensor, Module)):
            return
        try:
            _definitions.type_of_value(value) if value not in ([], (), {}) else None
        except _types.NoType as reason:
            raise Error(f"constant '{name}' of {type(self.module).__name__}: {reason}") from None
        self.constants[name] = value

    def _add_attribute(self, name, value):
        declared = None
        if isinstance(value, _marks.Attribute):
            value, annotation = value
            declared = _definitions.type_of_annotation(annotation, self._scope)
        declared = declared or self._declared(name)
        if declared is None and _is_function(value):
            self.functions[name] = value
            return
        try:
            self.attributes.append((name, "attribute", declared or _definitions.type_of_value(value), value))
        except _types.NoType as reason:
            self.failed[name] = str(reason)


def _is_function(value):
    if isinstance(value, (types.FunctionType, types.BuiltinFunctionType, weft.Operator)):
        return True
    return callable(value) and isinstance(getattr(value, "_c", None), _jit.Function)


def _annotations_of(cls):
    found = {}
    for base in reversed(cls.__mro__):
        if base not in (object, Module):
            found.update(inspect.get_annotations(base))
    found.pop("training", None)
    return found


# ---- classes and objects ---------------------------------------------------------------------------------------


def script_module(module):
    """The ScriptModule of a weft.nn.Module; the module itself if it is one."""
    if isinstance(module, ScriptModule) and "_c" in module.__dict__:
        return module
    if not hasattr(module, "_parameters"):
        raise Error(f"{type(module).__name__}: Module.__init__() was not called")
    with _definitions.compiling():
        contents = _Contents(module)
        known = _class_of(module, contents)
        values = {name: value for name, _, _, value in contents.attributes}
        c = _jit.create_module(known.type, values)
        compiled = RecursiveScriptModule._weft_of(c)
        compiled._weft_adopt(module, contents.children)
        return compiled


# Modules of classes derived from ScriptModule are compiled when they are made.
ScriptModule._weft_compiler = staticmethod(script_module)


def _class_of(module, contents):
    key = contents.key()
    same = _by_class.setdefault(type(module), [])
    for known in same:
        if known.key == key:
            return known
    known = ModuleClass(module, key, _definitions.qualified_name(type(module)))
    _definitions.module_classes[known.type.name] = known
    same.append(known)
    _definitions.on_failure(functools.partial(_forget, known))
    for name, kind, found, _ in contents.attributes:
        known.type.add_attribute(name, found, kind, contents.persistent.get(name, True))
    for name, value in contents.constants.items():
        known.type.add_constant(name, value)
    if isinstance(module, _LISTS + _DICTS):
        known.type.set_container("dict" if isinstance(module, _DICTS) else "list")
    known.functions, known.failed = contents.functions, contents.failed
    known.forward = _forward_of(module)
    _define_members(known, module)
    return known


def _define_members(known, module):
    """Properties, forward(), exported methods and hooks; all other methods are compiled as they are used."""
    cls = known.python_class
    skipped = set(getattr(cls, "__jit_unused_properties__", ()))
    for name in dir(cls):
        value = inspect.getattr_static(cls, name)
        if (
            isinstance(value, property)
            and not hasattr(ScriptModule, name)
            and name not in skipped
            and _marks.mark_of(value) is None
        ):
            _define_property(known, name, value)
    names = [
        name for name in dir(cls) if _marks.mark_of(inspect.getattr_static(cls, name)) is _marks.Mark.EXPORT
    ]
    compiles_all = not issubclass(cls, ScriptModule)  # whose @script_method methods are marked as exported
    forward = _forward_of(module)
    if compiles_all and forward is not Module.forward and _marks.mark_of(forward) is None:
        names = ["forward", *(name for name in names if name != "forward")]
    for name in names:
        known.member(name, "")
    for store, is_pre_hook in (("_forward_pre_hooks", True), ("_forward_hooks", False)):
        for hook in getattr(module, store).values():
            _define_hook(known, hook, is_pre_hook)


def _forward_of(module):
    """The function that forward() is: that of a method which __init__ chose, one that the object writes for scripts, or the
    class's."""
    chosen = module.__dict__.get("forward")
    if isinstance(chosen, types.MethodType) and chosen.__self__ is module:
        return chosen.__func__
    written = getattr(type(module), "_weft_scripted_forward", None)
    return type(module).forward if written is None else written(module)


def _define_property(known, name, value):
    define = _definitions.define
    getter = define(value.fget, f"{known.type.name}.__get_{name}", self_type=known.type, is_method=True)
    setter = None
    if value.fset is not None and _marks.mark_of(value.fset) is None:
        setter = define(value.fset, f"{known.type.name}.__set_{name}", self_type=known.type, is_method=True)
    known.type.add_property(name, getter, setter)


def _define_hook(known, hook, is_pre_hook):
    if not isinstance(hook, types.FunctionType):
        raise Error(
            f"a hook of {known.python_class.__name__}: expected a function, got {type(hook).__name__}"
        )
    name = hook.__name__
    if known.type.has_method(name):
        raise Error(f"the hook '{name}' of {known.python_class.__name__} has the name of a method")
    known.type.add_hook(
        _definitions.define(hook, f"{known.type.name}.{name}", self_type=known.type, is_method=True),
        is_pre_hook,
    )


# ---- members as they are used ----------------------------------------------------------------------------------


def _class_attribute(known, name):
    if name == "forward":
        return known.forward
    return inspect.getattr_static(known.python_class, name, None)


def _describe_member(known, name, place):
    if name in known.functions:
        return _definitions.describe(known.functions[name], place, f"self.{name}")
    if name in known.failed:
        return (
            "error",
            f"attribute '{name}' of {known.python_class.__name__} cannot be used in a script: {known.failed[name]}",
        )
    value = _class_attribute(known, name)
    if isinstance(value, staticmethod):
        return _definitions.describe(value.__func__, place, name)
    if isinstance(value, types.FunctionType):
        return _describe_method(known, name, value)
    if isinstance(value, classmethod) or value is None:
        return None
    if isinstance(value, property):
        return (
            "error",
            f"property '{name}' of {known.python_class.__name__} is not compiled (@weft.jit.unused or @weft.jit.ignore)",
        )
    return _definitions.describe(value, place, name)


def _describe_method(known, name, function):
    mark = _marks.mark_of(function)
    if mark is _marks.Mark.UNUSED:
        return ("unused", name, _definitions.signature_types(function, known.type)[1])
    if mark is _marks.Mark.IGNORE:
        return ("python", _definitions.python_function(function, known.type))
    declarations = _marks.overloads_of(function)
    if declarations:
        compiled = [
            _definitions.define(
                function,
                f"{known.type.name}.{name}__{i}",
                self_type=known.type,
                overload=declaration,
                is_method=True,
            )
            for i, declaration in enumerate(declarations)
        ]
        return ("overloads", compiled)
    known.members[name] = ("method", name)  # it may call itself
    _definitions.define(function, f"{known.type.name}.{name}", self_type=known.type, is_method=True)
    return ("method", name)
