"""Imports inside functions: what sys.modules, packages and hooks say at that moment."""

import importlib
import sys
import types

LOG = []


def _module(name, **attributes):
    module = types.ModuleType(name)
    vars(module).update(attributes)
    return module


class _Missing(types.ModuleType):
    def __getattr__(self, name):
        LOG.append(name)
        if name.startswith("__"):
            raise AttributeError(name)
        return 21


def _install():
    sys.modules["weft_m"] = _module("weft_m", K=1, f=lambda v: v + 1)
    sys.modules["weft_p"] = package = _module("weft_p", K=2, __path__=[])
    package.sub = sys.modules["weft_p.sub"] = _module("weft_p.sub", K=3)
    package.sub.deep = sys.modules["weft_p.sub.deep"] = _module("weft_p.sub.deep", K=4)


_install()


def module_replaced(x):
    import weft_m

    y = x + weft_m.K
    sys.modules["weft_m"] = _module("weft_m", K=weft_m.K + 10)
    import weft_m as again

    return y, x + again.K, again is weft_m


def module_replaced_between_calls(x):
    import weft_m

    y = x + weft_m.K
    sys.modules["weft_m"] = _module("weft_m", K=weft_m.K + 1)
    return y


def module_read_first(x):
    import weft_m

    return x + weft_m.K


def from_import_after_replacement(x):
    from weft_m import K

    y = x + K
    sys.modules["weft_m"] = _module("weft_m", K=K * 2)
    from weft_m import K as L

    return y, x + L


def from_import_after_change(x):
    from weft_m import K

    sys.modules["weft_m"].K = K + 5
    from weft_m import K as L

    return x + K, x + L


def from_import_missing(x):
    try:
        from weft_m import nope
    except ImportError as error:
        return x, str(error), error.name
    return nope


def from_import_missing_let_go(x):
    y = x + 1
    from weft_m import nope

    return y, nope


def module_removed(x):
    module = sys.modules.pop("weft_m")
    try:
        import weft_m
    except ImportError as error:
        sys.modules["weft_m"] = module
        return x, str(error), type(error).__name__, error.name
    return x, weft_m


def module_is_none(x):
    module = sys.modules["weft_m"]
    sys.modules["weft_m"] = None
    try:
        import weft_m
    except ImportError as error:
        sys.modules["weft_m"] = module
        return x, str(error), type(error).__name__
    return x, weft_m


def module_is_an_instance(x):
    class Fake:
        K = 5

    module = sys.modules["weft_m"]
    sys.modules["weft_m"] = Fake()
    import weft_m
    from weft_m import K

    sys.modules["weft_m"] = module
    return x + weft_m.K + K


def module_of_own_class(x):
    module = sys.modules["weft_m"]
    sys.modules["weft_m"] = _Missing("weft_m")
    import weft_m
    from weft_m import anything

    sys.modules["weft_m"] = module
    return x + weft_m.thing + anything


def dotted(x):
    import weft_p.sub.deep

    return x + weft_p.K + weft_p.sub.K + weft_p.sub.deep.K


def dotted_as(x):
    import weft_p.sub as s
    import weft_p.sub.deep as d

    return x + s.K + d.K


def dotted_as_replaced(x):
    import weft_p.sub as s

    y = x + s.K
    sys.modules["weft_p"].sub = _module("other", K=100)
    import weft_p.sub as t

    sys.modules["weft_p"].sub = s
    return y, x + t.K


def dotted_replaced_in_modules(x):
    old = sys.modules["weft_p.sub"]
    sys.modules["weft_p.sub"] = _module("weft_p.sub", K=50)
    import weft_p.sub
    import weft_p.sub as s
    from weft_p import sub

    sys.modules["weft_p.sub"] = old
    return x + weft_p.sub.K, s.K, sub.K


def dotted_parent_replaced(x):
    old = sys.modules["weft_p"]
    sys.modules["weft_p"] = _module("weft_p", K=60, __path__=[])
    import weft_p.sub

    sys.modules["weft_p"] = old
    return x + weft_p.K, hasattr(weft_p, "sub")


def dotted_attribute_missing(x):
    old = sys.modules["weft_p"].sub
    del sys.modules["weft_p"].sub
    import weft_p.sub as s
    from weft_p import sub

    sys.modules["weft_p"].sub = old
    return x + s.K, sub is old


def dotted_missing(x):
    texts = []
    try:
        import weft_p.nope  # noqa: F401
    except ImportError as error:
        texts.append((str(error), error.name))
    try:
        import weft_m.nope  # noqa: F401
    except ImportError as error:
        texts.append((str(error), error.name))
    try:
        from weft_p import nope  # noqa: F401
    except ImportError as error:
        texts.append((str(error), error.name))
    return x, texts


def import_module_function(x):
    y = x + importlib.import_module("weft_m").K
    sys.modules["weft_m"] = _module("weft_m", K=70)
    z = x + importlib.import_module("weft_m").K
    _install()
    return y, z, importlib.import_module("weft_p.sub").K


def import_builtin_function(x):
    y = x + __import__("weft_m").K
    sys.modules["weft_m"] = _module("weft_m", K=80)
    z = x + __import__("weft_m").K
    _install()
    return y, z, __import__("weft_p.sub").K, __import__("weft_p.sub", fromlist=["K"]).K


def import_hook_replaced(x):
    import builtins

    original = builtins.__import__

    def hook(name, *rest):
        LOG.append(name)
        return original(name, *rest)

    builtins.__import__ = hook
    try:
        import weft_m
        from weft_p import sub
    finally:
        builtins.__import__ = original
    return x + weft_m.K + sub.K


def import_hook_fakes(x):
    import builtins

    original = builtins.__import__
    builtins.__import__ = lambda *rest: _module("fake", K=90)
    try:
        import weft_m
    finally:
        builtins.__import__ = original
    return x + weft_m.K


def reloaded(x, name="weft_reloaded"):
    import importlib.util

    source = "COUNT = globals().get('COUNT', 0) + 1"
    if name not in sys.modules:

        class Loader:
            def create_module(self, spec):
                return None

            def exec_module(self, module):
                LOG.append("exec")
                exec(source, vars(module))

        class Finder:
            def find_spec(self, wanted, path=None, target=None):
                return importlib.util.spec_from_loader(wanted, Loader()) if wanted == name else None

        sys.meta_path.append(Finder())
    import weft_reloaded

    y = x + weft_reloaded.COUNT
    importlib.reload(weft_reloaded)
    z = x + weft_reloaded.COUNT
    from weft_reloaded import COUNT

    sys.meta_path.pop() if len(LOG) > 1 else None
    return y, z, COUNT


def star_of_executed(x):
    space = {}
    exec("from weft_m import *", space)
    return x + space["K"]


def math_replaced(x):
    import math

    fake = _module("math", sqrt=lambda v: 1000)
    sys.modules["math"] = fake
    try:
        import math as again

        return x + again.sqrt(4), math.sqrt(4)
    finally:
        sys.modules["math"] = math


def numpy_replaced(x):
    import numpy

    sys.modules["numpy"] = _module("numpy", sin=lambda v: v * 0)
    try:
        import numpy as np

        return np.sin(x), numpy.sin(x)
    finally:
        sys.modules["numpy"] = numpy


def numpy_submodule(x):
    import numpy.linalg
    from numpy import linalg
    from numpy.linalg import norm

    return numpy.linalg.norm(x), linalg.norm(x), norm(x)


def numpy_submodule_as(x):
    import numpy.linalg as la

    return la.norm(x)


def modules_dict_replaced_entry(x):
    sys.modules.update({"weft_m": _module("weft_m", K=33)})
    import weft_m

    y = x + weft_m.K
    _install()
    import weft_m as again

    return y, x + again.K


def import_in_loop(x):
    found = []
    for k in (1, 2, 3):
        sys.modules["weft_m"] = _module("weft_m", K=k)
        import weft_m

        found.append(weft_m.K)
    return x, found


def import_in_helper(x):
    def helper():
        import weft_m

        return weft_m.K

    y = helper()
    sys.modules["weft_m"].K = 500
    z = helper()
    _install()
    return x + y, x + z


def global_import(x):
    global weft_m
    import weft_m

    return x + weft_m.K, "weft_m" in globals()


def module_attribute_changed_by_helper(x):
    import weft_m

    def change():
        sys.modules["weft_m"].K += 1

    y = weft_m.K
    change()
    return x + y, x + weft_m.K


def import_sets_parent_attribute(x):
    parent = _module("weft_q", __path__=[])
    sys.modules["weft_q"] = parent
    sys.modules["weft_q.sub"] = _module("weft_q.sub", K=1)
    import weft_q.sub  # noqa: F401

    return x, hasattr(parent, "sub")


def relative_import(x):
    try:
        exec("from . import nope", {"__name__": "alone", "__package__": None})
    except ImportError as error:
        return x, str(error)
