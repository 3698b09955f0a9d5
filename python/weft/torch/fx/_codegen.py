"""Python source from graphs: names, constants and their globals, statements, parameters of trees."""

import builtins
import enum
import inspect
import keyword
import math
import re
import types
import typing
from dataclasses import dataclass

import weft

from .node import _get_qualified_name, _type_repr

EMPTY = inspect.Signature.empty

# What is printed for functions of operator; of the reflectable ones, what Proxy calls from the right, too.
REFLECTABLE = {
    "add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "floordiv": "{} // {}", "truediv": "{} / {}", "div": "{} / {}",
    "mod": "{} % {}", "pow": "{} ** {}", "lshift": "{} << {}", "rshift": "{} >> {}", "and_": "{} & {}", "or_": "{} | {}",
    "xor": "{} ^ {}", "getitem": "{}[{}]", "matmul": "{} @ {}",
}  # fmt: skip
MAGIC = {
    "eq": "{} == {}", "ne": "{} != {}", "lt": "{} < {}", "gt": "{} > {}", "le": "{} <= {}", "ge": "{} >= {}", "pos": "+{}",
    "neg": "-{}", "invert": "~{}", **REFLECTABLE,
}  # fmt: skip
INPLACE = {
    "iadd": "{} += {}", "iand": "{} &= {}", "ifloordiv": "{} //= {}", "ilshift": "{} <<= {}", "imod": "{} %= {}",
    "imul": "{} *= {}", "imatmul": "{} @= {}", "ior": "{} |= {}", "ipow": "{} **= {}", "irshift": "{} >>= {}",
    "isub": "{} -= {}", "itruediv": "{} /= {}", "ixor": "{} ^= {}", "setitem": "{}[{}] = {}",
}  # fmt: skip


def short_name(target):
    """The last part of a function's name, as PyTorch's function has it."""
    from weft.torch import _function_names

    public = _function_names.public_name(target)
    return public.rpartition(".")[2] if public else getattr(target, "__name__", type(target).__name__)


def snake_case(text):
    """CamelCase in lower case, with underscores between the words."""
    found = []
    before = text[:1]
    for at, letter in enumerate(text):
        follows_lower = at > 0 and before.islower()
        if letter.isupper() and follows_lower:
            found.append("_")
        found.append(letter.lower())
        before = letter
    return "".join(found)


# ---- names ---------------------------------------------------------------------------------------------------


@dataclass
class PythonCode:
    """src: the source; globals: what it needs; _lineno_map: from lines of the body to numbers of nodes."""

    src: str
    globals: dict
    _lineno_map: dict = None
    _prologue_start: int = 0


def _custom_builtins():
    from weft import torch
    from weft.torch.fx import _pytree as fx_pytree
    from weft.torch.utils import _pytree as pytree

    return {
        "inf": ("from math import inf", math.inf),
        "nan": ("from math import nan", math.nan),
        "NoneType": ("NoneType = type(None)", type(None)),
        "torch": ("import torch", torch),
        "device": ("from torch import device", weft.device),
        "fx_pytree": ("import torch.fx._pytree as fx_pytree", fx_pytree),
        "pytree": ("import torch.utils._pytree as pytree", pytree),
    }


_NAMES = ("inf", "nan", "NoneType", "torch", "device", "fx_pytree", "pytree")


class _Namespace:
    """Names that are given once each."""

    def __init__(self):
        self._of = {}
        self._used = set()
        self._count = {}

    def create_name(self, candidate, obj):
        """A name for the object: the candidate, or with a number behind it where that is taken or means something in Python."""
        if obj is not None and obj in self._of:
            return self._of[obj]
        candidate = re.sub("[^0-9a-zA-Z_]+", "_", candidate) or "_unnamed"
        if candidate[0].isdigit():
            candidate = f"_{candidate}"
        found = re.match(r"(.*)_(\d+)$", candidate)
        base, number = (candidate, 0) if found is None else (found.group(1), int(found.group(2)))
        name, number = candidate, number or self._count.get(base, 0)
        while name in self._used or self._is_taken(name, obj):
            number += 1
            name = f"{base}_{number}"
        self._used.add(name)
        self._count[base] = number
        if obj is not None:
            self._of[obj] = name
        return name

    def associate(self, name, obj):
        self._of.setdefault(obj, name)
        self._used.add(name)

    def _is_taken(self, name, obj):
        if keyword.iskeyword(name):
            return True
        if name in vars(builtins):
            return getattr(obj, "value", None) is not vars(builtins)[name]
        return name in _NAMES and obj is None

    def _rename_object(self, obj, name):
        self._of[obj] = name
        self._used.add(name)


# ---- statements ----------------------------------------------------------------------------------------------


class _Writer:
    """Writes the code of one graph: statements, and the globals that they need."""

    def __init__(self, namespace, root_module, verbose):
        self.namespace, self.root, self.verbose = namespace, root_module, verbose
        self.globals, self.wrapped = {}, {}
        for name, (_, value) in _custom_builtins().items():
            self.add_global(name, value)

    def add_global(self, hint, value):
        """The name under which code finds a value."""
        if value is not weft.device and _is_of_torch(value):
            # torch.float32, torch.relu, …: under their own names, below the module torch.
            return _get_qualified_name(value)
        name = self.namespace.create_name(hint, _Identity(value))
        if name in self.globals:
            assert self.globals[name] is value
            return name
        self.globals[name] = value
        return name

    def type_text(self, kind):
        text = _type_repr(kind)
        origin = typing.get_origin(kind)
        if origin is None:
            return self.add_global(text, kind)
        if isinstance(kind, getattr(types, "UnionType", ())):
            origin = typing.Union
        origin = _ORIGINS.get(origin, origin) if not isinstance(kind, types.GenericAlias) else origin
        name = self.add_global(_type_repr(origin), origin)
        args = [self.type_text(one) for one in typing.get_args(kind)]
        return f"{name}[{','.join(args)}]" if args else name

    def value(self, arg):
        """An argument as source."""
        if isinstance(arg, tuple) and hasattr(arg, "_fields"):
            name = self.add_global(_get_qualified_name(type(arg)), type(arg))
            return f"{name}({', '.join(self.value(one) for one in arg)})"
        if isinstance(arg, tuple):
            items = ", ".join(self.value(one) for one in arg)
            return f"({items},)" if len(arg) == 1 else f"({items})"
        if isinstance(arg, list):
            return f"[{', '.join(self.value(one) for one in arg)}]"
        if isinstance(arg, dict):
            return "{" + ", ".join(f"{key!r}: {self.value(value)}" for key, value in arg.items()) + "}"
        if isinstance(arg, slice):
            return f"slice({self.value(arg.start)}, {self.value(arg.stop)}, {self.value(arg.step)})"
        if isinstance(arg, enum.Enum):
            kind = type(arg)
            return f"{self.add_global(kind.__qualname__.rpartition('.')[2], kind)}.{arg.name}"
        if isinstance(arg, complex):
            return f"complex({arg.real}, {arg.imag})"
        if type(arg).__name__ in ("OpOverload", "OpOverloadPacket"):
            return _get_qualified_name(arg)
        return repr(arg)

    def arguments(self, args, kwargs):
        items = [self.value(one) for one in args]
        return ", ".join(items + [f"{key} = {self.value(value)}" for key, value in kwargs.items()])

    def statement(self, node, parameters):
        """The node's line."""
        annotation = "" if node.type is None else f" : {self.type_text(node.type)}"
        if self.verbose and hasattr(node.meta.get("val"), "annotation"):
            annotation = f': "{node.meta["val"].annotation()}"'
        if node.op == "placeholder":
            default = f" = {self.value(node.args[0])}" if node.args else ""
            parameters.append(f"{node.target}{annotation}{default}")
            raw = node.target.replace("*", "")
            return f"{node!r} = {raw}\n" if raw != repr(node) else ""
        if node.op == "output":
            self.result = annotation.replace(" : ", " -> ", 1)
            return self.return_statement(node)
        if node.op == "get_attr":
            return f"{node!r}{annotation} = {_path(self.root, node.target)}"
        if node.op == "call_method":
            rest = self.arguments(node.args[1:], node.kwargs)
            return f"{node!r}{annotation} = {_attribute(self.value(node.args[0]), node.target)}({rest})"
        if node.op == "call_module":
            return f"{node!r}{annotation} = {_path(self.root, node.target)}({self.arguments(node.args, node.kwargs)})"
        return self.call(node, annotation)

    def call(self, node, annotation):
        module, name = getattr(node.target, "__module__", None), getattr(node.target, "__name__", None)
        if module == "_operator" and name in MAGIC:
            return f"{node!r}{annotation} = {MAGIC[name].format(*map(self.value, node.args))}"
        if module == "_operator" and name in INPLACE:
            text = INPLACE[name].format(*map(self.value, node.args))
            return f"{text};  {node!r}{annotation} = {self.value(node.args[0])}"
        qualified = _get_qualified_name(node.target)
        written = self.add_global(qualified, node.target)
        if written == "getattr" and isinstance(node.args, tuple) and isinstance(node.args[1], str):
            if node.args[1].isidentifier() and len(node.args) == 2:
                return f"{node!r}{annotation} = {_attribute(self.value(node.args[0]), node.args[1])}"
        if node.meta.get("is_wrapped"):
            self.wrapped.setdefault(written)
        return f"{node!r}{annotation} = {written}({self.arguments(node.args, node.kwargs)})"


class _Identity:
    """An object as a key: the same object is equal, and no other."""

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return isinstance(other, _Identity) and self.value is other.value

    def __hash__(self):
        return id(self.value)

    def __getattr__(self, name):
        raise AttributeError(name)


_ORIGINS = {
    kind: getattr(typing, name)
    for kind, name in (
        (list, "List"),
        (dict, "Dict"),
        (set, "Set"),
        (frozenset, "FrozenSet"),
        (tuple, "Tuple"),
    )
}


def _is_of_torch(value):
    """Is it found below torch, whose name generated code knows?"""
    from weft.torch import _function_names

    if isinstance(value, types.ModuleType):
        return False
    if isinstance(value, type) or callable(value):
        if _function_names.public_name(value):
            return True
        module = getattr(value, "__module__", None)
        if type(value).__name__ in ("OpOverload", "OpOverloadPacket"):
            return True
        if module is None or getattr(value, "__name__", "<") == "<lambda>":
            return False
        base = module.partition(".")[0]
        return base in ("torch", "weft") and not module.startswith(
            ("weft.torchvision", "torch.fx.", "weft.torch.fx.")
        )
    return False


def _attribute(owner, name):
    return f"{owner}.{name}" if name.isidentifier() else f'getattr({owner}, "{name}")'


def _path(root, target):
    """An attribute's path as source: getattr for parts that are no identifiers."""
    text = root
    for atom in target.split("."):
        text = f'getattr({text}, "{atom}")' if not atom.isidentifier() else f"{text}.{atom}"
    return text


def _last_uses(nodes):
    """From each node to those whose last user it is."""
    seen, last = set(), {}
    for node in reversed(nodes):
        for argument in node.all_input_nodes:
            if argument not in seen:
                seen.add(argument)
                last.setdefault(node, []).append(argument)
    return last


class CodeGen:
    """Makes the source of a graph; subclasses change the parameters and the result."""

    def __init__(self):
        self._body_transformer = None

    def gen_fn_def(self, free_vars, maybe_return_annotation, *, expanded_def=False):
        """The first line of the function, and what goes before the body."""
        if not free_vars or free_vars[0] != "self":
            free_vars.insert(0, "self")
        return f"def {self._func_name}({', '.join(free_vars)}){maybe_return_annotation}:"

    _func_name = "forward"

    def generate_output(self, output_args, *, descs=None, repr_fn=repr):
        """The statement that returns the result."""
        return f"return {repr_fn(output_args)}"

    def process_inputs(self, *args):
        """The arguments of a call as the parameters take them."""
        return args

    def process_outputs(self, outputs):
        """The result as callers get it."""
        return outputs

    def additional_globals(self):
        """[(name, value)] that the code needs beside the graph's."""
        return []

    def _gen_python_code(self, nodes, root_module, namespace, *, verbose=False, include_stride=False, include_device=False,
                         colored=False, expanded_def=False):  # fmt: skip
        writer = _Writer(namespace, root_module, verbose)
        writer.result = ""
        writer.return_statement = lambda node: self.generate_output(node.args[0], repr_fn=writer.value)
        for name, value in self.additional_globals():
            writer.add_global(name, value)
        nodes = list(nodes)
        last, body, parameters, numbers, line, before = _last_uses(nodes), [], [], {}, 1, _UNSAID
        for at, node in enumerate(nodes):
            start = len(body)
            if verbose:
                before = _place(node, body, before)
            numbers[line] = at
            body.append(writer.statement(node, parameters))
            if node.op == "output":
                body.append("\n")
            elif node.op != "placeholder":
                unused = last.get(node, []) + ([] if node.users else [node])
                body.append(f";  {' = '.join([*map(repr, unused), 'None'])}\n" if unused else "\n")
            line += sum(text.count("\n") for text in body[start:])
        numbers[line] = len(nodes) - 1
        if not body:
            body.append("pass\n")
        if self._body_transformer is not None:
            body = self._body_transformer(body)
        wrapped = [f'torch.fx._symbolic_trace.wrap("{name}")' for name in writer.wrapped]
        prologue = self.gen_fn_def(parameters, writer.result, expanded_def=expanded_def)
        code = "".join(body).lstrip("\n")
        code = "\n".join("    " + line for line in code.split("\n"))
        wrap_text = "\n".join(wrapped) + "\n"
        return PythonCode(f"\n{wrap_text}\n{prologue}\n{code}", writer.globals, numbers)


_UNSAID = object()


def _place(node, body, before):
    """Comments on where the program makes the calls."""
    if node.op not in ("placeholder", "output"):
        trace = node.stack_trace
        if trace and trace != before:
            said = _summary(trace)
            body.append(f"\n# {said}\n" if said else "\n")
            return trace
        if not trace and before is not None:
            body.append("\n# No stacktrace found for following nodes\n")
            return None
    return before


def _summary(trace):
    """File, line and code of the innermost call in a trace."""
    found = re.findall(r'File "(.*?)", line (\d+), in (.*)\n\s*(.*)', trace)
    if not found:
        return ""
    name, line, function, code = found[-1]
    return f"File: {name}:{line} in {function}, code: {code.strip()}"


# ---- trees ---------------------------------------------------------------------------------------------------


@dataclass
class _PyTreeInfo:
    """orig_args: the names of the parameters that trees are given for; in_spec, out_spec: the trees' forms."""

    orig_args: list
    in_spec: object
    out_spec: object


class _PyTreeCodeGen(CodeGen):
    """Of functions whose arguments are trees: they are flattened in front, the result is put together behind."""

    def __init__(self, pytree_info):
        super().__init__()
        self.pytree_info = pytree_info

    def process_inputs(self, *inputs):
        from . import _pytree as fx_pytree

        return fx_pytree.tree_flatten_spec(inputs, self.pytree_info.in_spec)

    def process_outputs(self, out):
        from weft.torch.utils import _pytree as pytree

        if not isinstance(out, (list, tuple)):
            out = [out]
        return pytree.tree_unflatten(out, self.pytree_info.out_spec)

    def gen_fn_def(self, free_vars, maybe_return_annotation, *, expanded_def=False):
        if self.pytree_info is None:
            return super().gen_fn_def(free_vars, maybe_return_annotation, expanded_def=expanded_def)
        names = list(self.pytree_info.orig_args)
        had_self = names and names[0] == "self"
        if had_self:
            names = names[1:]
        text = super().gen_fn_def(list(self.pytree_info.orig_args), maybe_return_annotation)
        if free_vars:
            plain = [
                one.split(" = ")[0].split(" :")[0].split(":")[0].strip() for one in free_vars if one != "self"
            ]
            text += f"\n    {', '.join(plain)}, = fx_pytree.tree_flatten_spec([{', '.join(names)}], self._in_spec)"
        return text

    def generate_output(self, output_args, *, descs=None, repr_fn=repr):
        if self.pytree_info is not None and self.pytree_info.out_spec:
            return f"return pytree.tree_unflatten({repr_fn(output_args)}, self._out_spec)"
        return super().generate_output(output_args, repr_fn=repr_fn)


__all__ = ["CodeGen", "PythonCode"]
