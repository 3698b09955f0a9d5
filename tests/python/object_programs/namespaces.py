"""Globals, modules, classes and instances changed through their dicts, and by other means than plain assignment."""

import sys
import types

LOG = []
K = 1
UNSET = []
other = types.ModuleType("other_namespace")
other.K = 10
other.f = lambda v: v + 1


class Plain:
    level = 1

    def __init__(self):
        self.a = 2
        self.b = 3

    def get(self):
        return self.a

    def other_get(self):
        return -self.a


class Slots:
    __slots__ = ("a", "__dict__")


class Second(Plain):
    level = 5

    def get(self):
        return 100 * self.a


class Meta(type):
    def __setattr__(cls, name, value):
        LOG.append(("meta", name))
        super().__setattr__(name, value)


class WithMeta(metaclass=Meta):
    level = 1


one = Plain()


def globals_item(x):
    globals()["K"] = 7
    return x + K, K


def globals_item_read_before(x):
    before = K
    globals()["K"] = before + 1
    return x + K, before, K


def globals_item_in_variable(x):
    g = globals()
    g["K"] = 3.5
    y = x * K
    g["K"] = 4.5
    return y, x * K, g["K"]


def globals_update(x):
    globals().update(K=20, NEW=30)
    return x + K + NEW  # noqa: F821


def globals_del(x):
    globals()["K"] = 5
    y = x + K
    del globals()["K"]
    try:
        return y, K
    except NameError as error:
        globals()["K"] = 1
        return y, str(error)


def globals_del_builtin_behind(x):
    globals()["len"] = lambda v: 42
    y = len(x)
    del globals()["len"]
    return x * y, len(x)


def globals_setdefault(x):
    return x + globals().setdefault("LATER", 2) + LATER  # noqa: F821


def globals_pop(x):
    globals()["TEMPORARY"] = 4
    y = x + TEMPORARY  # noqa: F821
    return y, globals().pop("TEMPORARY"), "TEMPORARY" in globals()


def globals_order(x):
    globals()["Z1"] = 1
    globals()["A1"] = 2
    y = x + Z1 + A1  # noqa: F821
    return y, [name for name in globals() if name in ("Z1", "A1")]


def globals_ior(x):
    g = globals()
    g |= {"K": 99}
    return x + K


def globals_passed(x):
    def change(d):
        d["K"] = d["K"] + 1

    change(globals())
    return x + K


def global_statement_and_dict(x):
    global K
    K = 50
    y = x + globals()["K"]
    globals()["K"] = 60
    return y, x + K


def global_statement_then_read_dict(x):
    global K
    g = globals()
    K = 70
    return x + g["K"], g.get("K"), K


def exec_changes_global(x):
    exec("K = 15", globals())
    return x + K


def eval_reads_global(x):
    global K
    K = 16
    return x + eval("K")


def function_replaced(x):
    globals()["_helper"] = lambda v: v * 10
    return _helper(x)


def _helper(v):
    return v


def setattr_module(x):
    setattr(sys.modules[__name__] if __name__ in sys.modules else other, "K", 8)  # noqa: B010
    return x + other.K


def module_attribute(x):
    other.K = 11
    y = x + other.K
    other.K = 12
    return y, x + other.K


def module_setattr(x):
    before = other.K
    setattr(other, "K", before + 1)  # noqa: B010
    return x + other.K, before


def module_dict_item(x):
    before = other.K
    other.__dict__["K"] = before * 2
    return x + other.K


def module_vars(x):
    d = vars(other)
    d["K"] = 33
    d["fresh"] = 44
    return x + other.K + other.fresh, d["K"]


def module_vars_function(x):
    y = other.f(x)
    vars(other)["f"] = lambda v: v - 1
    return y, other.f(x)


def module_delattr(x):
    other.temporary = 3
    y = x + other.temporary
    del other.temporary
    return y, hasattr(other, "temporary"), getattr(other, "temporary", None)


def module_of_function(x):
    _helper.__globals__["K"] = 77
    return x + K


def instance_dict_item(x):
    p = Plain()
    p.__dict__["a"] = 5
    return x + p.a, p.get()


def instance_dict_held(x):
    p = Plain()
    d = p.__dict__
    y = x + p.a
    d["a"] = 7
    z = x + p.a
    p.a = 8
    return y, z, d["a"], d


def instance_dict_of_global(x):
    before = one.a
    one.__dict__["a"] = before + 1
    return x + one.a, one.get()


def instance_vars_update(x):
    vars(one).update(a=10, c=4)
    return x + one.a + one.c


def instance_vars_pop(x):
    p = Plain()
    vars(p).pop("a")
    return x, hasattr(p, "a"), getattr(p, "a", "gone")


def instance_dict_replaced(x):
    p = Plain()
    p.__dict__ = {"a": 40}
    return x + p.a, hasattr(p, "b")


def instance_dict_shared(x):
    p, q = Plain(), Plain()
    q.__dict__ = p.__dict__
    p.a = 9
    return x + q.a


def instance_dict_del(x):
    p = Plain()
    del p.__dict__["b"]
    try:
        return x + p.b
    except AttributeError as error:
        return x, str(error)


def instance_dict_shadows_method(x):
    p = Plain()
    p.__dict__["get"] = lambda: 1234
    return x + p.get()


def instance_dict_shadows_class(x):
    p = Plain()
    y = x + p.level
    p.__dict__["level"] = 6
    return y, x + p.level, Plain.level


def object_setattr(x):
    p = Plain()
    object.__setattr__(p, "a", 21)
    object.__setattr__(one, "a", 22)
    return x + p.a + one.a


def object_delattr(x):
    p = Plain()
    object.__delattr__(p, "a")
    return x, hasattr(p, "a")


def object_getattribute(x):
    return x + object.__getattribute__(one, "a")


def slots_and_dict(x):
    s = Slots()
    s.a = 1
    s.b = 2
    s.__dict__["b"] = 3
    return x + s.a + s.b, s.__dict__


def class_attribute_set(x):
    p = Plain()
    y = x + p.level
    Plain.level = Plain.level + 1
    return y, x + p.level, x + Plain.level


def class_setattr(x):
    setattr(Plain, "level", 12)  # noqa: B010
    return x + one.level


def class_type_setattr(x):
    type.__setattr__(Plain, "level", 13)
    return x + one.level


def class_delattr(x):
    Plain.temporary = 1
    y = x + one.temporary
    del Plain.temporary
    return y, hasattr(one, "temporary")


def class_meta_setattr(x):
    WithMeta.level = 14
    return x + WithMeta.level


def class_method_patched(x):
    y = one.get()
    Plain.get = Plain.other_get
    z = one.get()
    Plain.get = lambda self: self.b
    return x + y, x + z, x + one.get()


def class_property_added(x):
    y = one.b
    Plain.b = property(lambda self: 555)
    z = one.b
    del Plain.b
    return x + y, x + z, one.b


def class_getattr_added(x):
    Plain.__getattr__ = lambda self, name: (name, 5)
    y = one.missing
    del Plain.__getattr__
    return x, y, getattr(one, "missing", None)


def class_operator_added(x):
    Plain.__add__ = lambda self, other: self.a + other
    y = one + 10
    del Plain.__add__
    try:
        one + 10
    except TypeError as error:
        return x + y, str(error)


def class_dict_is_read_only(x):
    try:
        Plain.__dict__["level"] = 3
    except TypeError as error:
        return x, str(error)


def class_bases_changed(x):
    class A:
        v = 1

    class B:
        v = 2

    class C(A):
        pass

    y = C.v
    C.__bases__ = (B,)
    return x + y, x + C.v


def class_assignment(x):
    p = Plain()
    y = p.get()
    p.__class__ = Second
    return x + y, x + p.get(), p.level, type(p).__name__


def class_assignment_of_global(x):
    one.__class__ = Second if type(one) is Plain else Plain
    return x + one.get(), one.level, isinstance(one, Second)


def class_assignment_by_setattr(x):
    p = Plain()
    object.__setattr__(p, "__class__", Second)
    return x + p.get(), type(p).__name__


def function_attributes(x):
    _counted.calls = getattr(_counted, "calls", 0) + 1
    return x + _counted.calls, _counted.__dict__


def _counted():
    pass


def function_defaults_changed(x):
    y = _defaulted()
    _defaulted.__defaults__ = (9,)
    z = _defaulted()
    _defaulted.__defaults__ = (2,)
    return x + y, x + z


def _defaulted(v=2):
    return v


def function_code_changed(x):
    y = _coded()
    _coded.__code__ = (lambda: 3).__code__
    z = _coded()
    _coded.__code__ = (lambda: 1).__code__
    return x + y, x + z


def _coded():
    return 1


def numpy_patched(x):
    import numpy

    original = numpy.sin
    numpy.sin = lambda v: v + 1000
    try:
        return numpy.sin(x), original(x)
    finally:
        numpy.sin = original


def numpy_dict_patched(x):
    import numpy

    original = numpy.cos
    numpy.__dict__["cos"] = lambda v: v + 2000
    y = numpy.cos(x)
    numpy.__dict__["cos"] = original
    return y, numpy.cos(x)


def builtins_patched(x):
    import builtins

    original = builtins.len
    builtins.len = lambda v: 3
    try:
        return x + len(x)
    finally:
        builtins.len = original


def builtins_dict_patched(x):
    g = __builtins__ if isinstance(__builtins__, dict) else vars(__builtins__)
    original = g["abs"]
    g["abs"] = lambda v: 4
    y = abs(x)
    g["abs"] = original
    return y, abs(x)


def closure_cell_changed(x):
    k = 1

    def add(v):
        return v + k

    y = add(x)
    add.__closure__[0].cell_contents = 100
    return y, add(x), k


def locals_are_a_copy(x):
    k = 1
    locals()["k"] = 5
    return x + k, sorted(name for name in locals())


def setattr_in_loop(x):
    p = Plain()
    for name in ("a", "b", "c"):
        setattr(p, name, ord(name))
    return x + p.a + p.b + p.c, p.__dict__


def attribute_set_while_dict_is_iterated(x):
    p = Plain()
    found = []
    try:
        for name in p.__dict__:
            found.append(name)
            p.c = 1
    except RuntimeError as error:
        found.append(str(error))
    return x, found


def dir_of_instance(x):
    p = Plain()
    p.zz = 1
    return x, [name for name in dir(p) if not name.startswith("_")]
