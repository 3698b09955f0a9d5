"""TorchScript modules recorded for export: their graphs are performed node by node, Python's values for everything but
tensors, so that branches and loops are those that the example takes."""

import inspect
import operator

import weft
from weft.jit._tracer import current, paused

from ._tracing import Place, SymInt

# Operations on lists, dictionaries, tuples and texts.
_CONTAINERS = {
    "aten::append": lambda values, value: values.append(value) or values,
    "aten::extend": lambda values, others: values.extend(others),
    "aten::insert": lambda values, at, value: values.insert(at, value),
    "aten::pop": lambda values, *at: values.pop(*at),
    "aten::clear": lambda values: values.clear(),
    "aten::reverse": lambda values: values.reverse(),
    "aten::copy": lambda values: values.copy(),
    "aten::list": list,
    "aten::len": len,
    "aten::add": lambda one, other: one + other,
    "aten::add_": operator.iadd,
    "aten::mul": lambda values, times: values * times,
    "aten::__getitem__": lambda values, key: values[key],
    "aten::_set_item": operator.setitem,
    "aten::__contains__": lambda values, key: key in values,
    "aten::slice": lambda values, start=None, end=None, step=1: values[start:end:step],
    "aten::keys": lambda values: list(values),
    "aten::values": lambda values: list(values.values()),
    "aten::items": lambda values: list(values.items()),
    "aten::get": lambda values, key, default=None: values.get(key, default),
    "aten::update": lambda values, others: values.update(others),
    "aten::Delete": operator.delitem,
    "aten::eq": operator.eq,
    "aten::ne": operator.ne,
}
_INTEGERS = {
    "aten::add": operator.add, "aten::sub": operator.sub, "aten::mul": operator.mul, "aten::floordiv": operator.floordiv,
    "aten::remainder": operator.mod, "aten::neg": operator.neg, "aten::eq": operator.eq, "aten::ne": operator.ne,
    "aten::lt": operator.lt, "aten::le": operator.le, "aten::gt": operator.gt, "aten::ge": operator.ge,
    "prim::min": min, "prim::max": max, "aten::Int": lambda value: value,
}  # fmt: skip
_VALUES = {
    "aten::Bool",
    "aten::Int",
    "aten::Float",
    "aten::Complex",
    "aten::item",
    "aten::is_nonzero",
    "aten::tolist",
}


def signature_of(module):
    """The parameters of a script module's forward."""
    arguments = module.forward._function._c.inlined_nodes()["arguments"][1:]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Signature(
        [
            inspect.Parameter(name, kind, default=default if has_default else inspect.Parameter.empty)
            for name, has_default, default in arguments
        ]
    )


def _holds_tensor(value):
    if isinstance(value, (list, tuple)):
        return any(_holds_tensor(each) for each in value)
    return isinstance(value, weft.Tensor)


class Performed:
    """A script module's forward, for the thread that records."""

    def __init__(self, module):
        self.module = module
        self.graph = module.forward._function._c.inlined_nodes()

    def __call__(self, *args, **kwargs):
        bound = signature_of(self.module).bind(*args, **kwargs)
        bound.apply_defaults()
        block, values = self.graph["block"], dict(self.graph["constants"])
        values.update(zip(block[0], [self.module, *bound.arguments.values()]))
        with current().at(None):
            return self._block(block, values)[0]

    def _block(self, block, values):
        for node, text, blocks in block[1]:
            self._node(node, text, blocks, values)
        return [values[number] for number in block[2]]

    def _node(self, node, text, blocks, values):
        name, overload, arguments, results, file, line = node
        operands = [
            values[operand] if isinstance(operand, int) else operand for _, _, _, operand in arguments
        ]
        current().script_place = Place(file, line, "forward")
        if name == "if":
            found = self._block(blocks[0 if operands[0] else 1], values)
        elif name == "loop":
            found = self._loop(operands, blocks[0], values)
        elif name.startswith("prim::") and name not in _INTEGERS and not _is_builtin(name):
            found = self._structure(name, text, operands, results)
        else:
            found = self._call(name, overload, arguments, operands, results)
        values.update(zip(results, found, strict=True))

    def _loop(self, operands, body, values):
        """(trip count, condition, carried…)"""
        count, condition, *carried = operands
        at = 0
        while at < count and condition:
            values.update(zip(body[0], [at, *carried], strict=True))
            condition, *carried = self._block(body, values)
            at += 1
        return carried

    def _structure(self, name, text, operands, results):
        """Nodes of the language itself."""
        kind = name.partition("::")[2]
        if kind == "GetAttr":
            return [getattr(operands[0], text)]
        if kind == "ListConstruct":
            return [list(operands)]
        if kind == "TupleConstruct":
            return [tuple(operands)]
        if kind == "DictConstruct":
            return [dict(zip(operands[::2], operands[1::2]))]
        if kind in ("ListUnpack", "TupleUnpack"):
            return list(operands[0])
        if kind == "TupleIndex":
            return [operands[0][operands[1]]]
        if kind == "unchecked_cast":
            return [operands[0]]
        if kind == "Uninitialized":
            return [None]  # no branch that is taken reads it
        if kind == "RaiseException":
            raise RuntimeError(f"the program raises {text}: {operands[0] if operands else ''}")
        raise NotImplementedError(
            f"torch.export.export: {name} of the archive has no place in an exported program\n  {current().place()}"
        )

    def _call(self, name, overload, arguments, operands, results):
        types = [self.graph["types"][number] for number in results]
        tensors = [each for each in operands if _holds_tensor(each)]
        if operands and name in _CONTAINERS and isinstance(operands[0], (list, dict, tuple, str)):
            return _results(_CONTAINERS[name](*operands), results)
        if name in ("aten::__is__", "aten::__isnot__"):
            return [(operands[0] is operands[1]) == (name == "aten::__is__")]
        if name == "prim::device" and tensors:
            return [tensors[0].device]
        if name == "aten::str":
            return [str(operands[0])]
        if name in _INTEGERS and all(
            isinstance(each, int) and not isinstance(each, bool) for each in operands
        ):
            return [_INTEGERS[name](*operands)]
        if tensors and name == "aten::size":
            sizes = list(tensors[0].shape)
            return [sizes if len(operands) == 1 else sizes[operands[1]]]
        if tensors and name == "aten::len":
            return [tensors[0].shape[0]]
        if tensors and name == "aten::numel":
            return [tensors[0].numel()]
        if tensors and name in _VALUES:
            computed = current().recorder.is_computed(tensors[0])
            if computed:
                current().warns("", True)  # raises
        makes_tensors = any("Tensor" in each for each in types)
        if makes_tensors or (tensors and not types):
            qualified = f"{name}.{overload}" if overload else name
            positional = [
                value for value, (_, by_keyword, _, _) in zip(operands, arguments) if not by_keyword
            ]
            named = {
                argument: value
                for value, (argument, by_keyword, _, _) in zip(operands, arguments)
                if by_keyword
            }
            return _results(current().call_builtin(qualified, *positional, **named), results)
        # What does not depend on what tensors hold is as it is in the example.
        plain = [int.__index__(each) if isinstance(each, SymInt) else each for each in operands]
        space, _, short = name.partition("::")
        with paused():
            return _results(getattr(getattr(weft.ops, space), short)(*plain), results)


def _is_builtin(name):
    try:
        return callable(getattr(weft.ops.prim, name.partition("::")[2], None))
    except AttributeError:
        return False


def _results(found, results):
    if len(results) == 1:
        return [
            list(found) if isinstance(found, tuple) and len(found) != 1 and _holds_tensor(found) else found
        ]
    return [] if not results else list(found)
