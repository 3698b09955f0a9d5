"""Modules that run a graph, by the code generated from it."""

import copy
import linecache
import sys
import traceback
from pathlib import Path

import weft
from weft import nn
from weft._generated import function_of

from .graph import Graph, _PyTreeCodeGen

_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"

__all__ = ["GraphModule", "reduce_deploy_graph_module", "reduce_graph_module", "reduce_package_graph_module"]


def _forward_from_src(src, globals, co_fields=None):
    return function_of(src, globals)


def _copy_attribute(source, target, path):
    """What is at the path in one module, at the path in the other; modules on the way are made."""
    *before, name = path.split(".")
    for atom in before:
        following = getattr(source, atom)
        if following is getattr(target, atom, None):
            return
        if not hasattr(target, atom):
            setattr(target, atom, nn.Module())
        source, target = following, getattr(target, atom)
    value = getattr(source, name)
    if isinstance(value, weft.Tensor) and not isinstance(value, nn.Parameter):
        target.register_buffer(name, value)
    else:
        setattr(target, name, value)


_copy_attr = _copy_attribute


def _assign_attr(value, target, path):
    *before, name = path.split(".")
    for atom in before:
        if not hasattr(target, atom):
            setattr(target, atom, nn.Module())
        target = getattr(target, atom)
    if isinstance(value, weft.Tensor) and not isinstance(value, nn.Parameter):
        target.register_buffer(name, value)
    else:
        setattr(target, name, value)


class _WrappedCall:
    """Calls a graph's module; an error within generated code says which line of it."""

    def __init__(self, cls, cls_call):
        self.cls, self.cls_call = cls, cls_call

    @staticmethod
    def _report(frame):
        lines = linecache.getlines(frame.filename)
        line = frame.lineno
        text = "\n".join(traceback.format_list([frame]))
        around = "".join(lines[max(0, line - 3) : line])
        return f"Call using an FX-traced Module, line {line} of the traced Module's generated forward function:\n{around}\n{text}"

    def __call__(self, module, *args, **kwargs):
        try:
            if self.cls_call is not None:
                return self.cls_call(module, *args, **kwargs)
            return super(self.cls, module).__call__(*args, **kwargs)
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)
            inner = [frame for frame in frames if "<eval_with_key>" in frame.filename]
            if inner and not getattr(error, "_fx_reported", False):
                try:
                    error._fx_reported = True
                except AttributeError:
                    pass
                else:
                    print(self._report(inner[-1]), file=sys.stderr)
            raise


class GraphModule(nn.Module):
    """A module that runs `graph`: forward is compiled from `code`, which recompile() makes.

    root: the module that the graph's targets are found in, or a dict from paths to values. What the graph names is copied, not
    cloned: parameters are shared with the root. raises: RuntimeError where a dict lacks a target.
    """

    def __new__(cls, *args, **kwargs):
        # A class of its own: forward is a method of the class, and each module has another one.
        for base in cls.__mro__:
            name = base.__qualname__.split(".")[-1]
            if name != "GraphModuleImpl":
                cls = base
                break

        class GraphModuleImpl(cls):
            pass

        return super().__new__(GraphModuleImpl)

    def __init__(self, root, graph, class_name="GraphModule"):
        super().__init__()
        self.__class__.__name__ = class_name
        if isinstance(root, nn.Module):
            if hasattr(root, "training"):
                self.training = root.training
            if isinstance(root, _CodeOnlyModule):
                for name, child in root.named_children():
                    setattr(self, name, child)
                for name, value in root.named_buffers(recurse=False):
                    self.register_buffer(name, value)
                for name, value in root.named_parameters(recurse=False):
                    setattr(self, name, value)
            for node in graph.nodes:
                if node.op in ("get_attr", "call_module"):
                    _copy_attribute(root, self, node.target)
        elif isinstance(root, dict):
            targets = []
            for node in graph.nodes:
                if node.op in ("get_attr", "call_module"):
                    if node.target not in root:
                        raise RuntimeError(
                            f"Node {node} referenced target {node.target} but that target was not provided in ``root``!"
                        )
                    targets.append(node.target)
            for target in sorted(targets, key=lambda path: path.count(".")):
                _assign_attr(root[target], self, target)
        else:
            raise RuntimeError(f"Unsupported type {root} passed for root!")
        self.graph = graph
        self._tracer_cls = None
        if self.graph._tracer_cls and "<locals>" not in self.graph._tracer_cls.__qualname__:
            self._tracer_cls = self.graph._tracer_cls
        self._tracer_extras = self.graph._tracer_extras or {}
        self.meta = {}
        self._replace_hooks, self._create_node_hooks, self._erase_node_hooks = [], [], []

    # TorchScript looks for attributes of these as constants.
    __jit_unused_properties__ = ["graph", "code"]

    @property
    def graph(self):
        """The graph; to set one compiles it."""
        return self._graph

    @graph.setter
    def graph(self, g):
        if not isinstance(g, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(g)}")
        self._graph = g
        g.owning_module = self
        self.recompile()

    @property
    def code(self):
        """The source that forward is compiled from."""
        if not hasattr(self, "_code"):
            raise RuntimeError("Code has not been generated! Please report a bug: a GraphModule without code")
        return self._code

    def recompile(self):
        """Makes the code again, after the graph was changed; the code and its globals."""
        if isinstance(self._graph._codegen, _PyTreeCodeGen):
            self._in_spec = self._graph._codegen.pytree_info.in_spec
            self._out_spec = self._graph._codegen.pytree_info.out_spec
        made = self._graph.python_code(root_module="self")
        self._code, self._lineno_map = made.src, made._lineno_map
        cls = type(self)
        cls.forward = function_of(self._code, made.globals, self._graph._codegen._func_name)
        if "_wrapped_call" not in vars(cls):
            own_call = vars(cls).get("__call__")
            cls._wrapped_call = _WrappedCall(cls, own_call)

            def call_wrapped(self, *args, **kwargs):
                return self._wrapped_call(self, *args, **kwargs)

            cls.__call__ = call_wrapped
        return made

    def _recompile_submodules(self):
        return [
            (name, module.recompile())
            for name, module in self.named_children()
            if isinstance(module, GraphModule)
        ]

    # ---- submodules ------------------------------------------------------------------------------------------

    def add_submodule(self, target, m):
        """Puts a module at the path; whether it could."""
        *before, name = target.split(".")
        module = self
        for atom in before:
            following = getattr(module, atom, _NOTHING)
            if following is _NOTHING:
                following = nn.Module()
                setattr(module, atom, following)
            if not isinstance(following, nn.Module):
                return False
            module = following
        module.add_module(name, m)
        return True

    def delete_submodule(self, target):
        """Removes the module at the path; whether there was one."""
        *before, name = target.split(".")
        module = self
        for atom in before:
            if not isinstance(getattr(module, atom, None), nn.Module):
                return False
            module = getattr(module, atom)
        if not isinstance(getattr(module, name, None), nn.Module):
            return False
        delattr(module, name)
        return True

    def delete_all_unused_submodules(self):
        """Removes the modules that no node calls or takes something from."""
        used = set()
        for node in self.graph.nodes:
            if node.op not in ("call_module", "get_attr"):
                continue
            atoms = node.target.split(".")
            used.update(".".join(atoms[: at + 1]) for at in range(len(atoms)))
            if node.op == "call_module":
                try:
                    module = self.get_submodule(node.target)
                except AttributeError:
                    return  # the graph is not whole
                used.update(f"{node.target}.{name}" for name, _ in module.named_modules() if name)
        for name in [name for name, _ in self.named_modules() if name not in used]:
            self.delete_submodule(name)

    # ---- copies ----------------------------------------------------------------------------------------------

    def __deepcopy__(self, memo):
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        root = _CodeOnlyModule(
            copy.deepcopy({key: value for key, value in vars(self).items() if key != "_graph"}, memo)
        )
        extra = {
            name: vars(root)[name]
            for name in ("_state_dict_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks",
                         "_non_persistent_buffers_set", "_forward_pre_hooks", "_forward_hooks")
            if name in vars(root)
        }  # fmt: skip
        # A copy of the graph of its own: nodes are not in the memo of the caller.
        GraphModule.__init__(made, root, copy.deepcopy(self._graph))
        vars(made).update(extra)
        made.meta = getattr(root, "meta", {})
        for name, value in root.__dict__.items():
            if name not in vars(made) and name not in ("_code", "_lineno_map") and not name.startswith("__"):
                vars(made)[name] = value
        return made

    def __copy__(self):
        made = GraphModule(self, self.graph)
        made.meta = self.meta
        return made

    def __reduce__(self):
        state = dict(vars(self))
        made = self._graph.python_code(root_module="self")
        state["_code"] = made.src
        del state["_graph"]
        return reduce_graph_module, (state, _import_block(made.globals))

    # ---- text ------------------------------------------------------------------------------------------------

    def print_readable(self, print_output=True, include_stride=False, include_device=False, colored=False, *,
                       fast_sympy_print=False, expanded_def=False, additional_meta=None):  # fmt: skip
        """The code of the module and of the graphs' modules below, as text, printed unless print_output is false."""
        text = self._weft_readable(type(self).__name__)
        if print_output:
            print(text)
        return text

    def _weft_readable(self, name):
        made = self._graph.python_code(root_module="self", verbose=True)
        code = made.src.lstrip("\n")
        text = f"class {name}(torch.nn.Module):\n" + _indented(code)
        children = [
            module._weft_readable(child)
            for child, module in self.named_children()
            if isinstance(module, GraphModule)
        ]
        return text + "".join("\n" + _indented(child) for child in children)

    def __str__(self):
        return "\n".join(
            [
                super().__str__(),
                self._code,
                "# To see more debug info, please use `graph_module.print_readable()`",
            ]
        )

    def to_folder(self, folder, module_name="FxModule"):
        """Writes the module as a package: its source, and its state."""
        folder = Path(folder)
        folder.mkdir(exist_ok=True, parents=True)
        weft.torch.save(self.state_dict(), folder / "state_dict.pt")
        lines = []
        for name, module in self.named_children():
            file = folder / f"{name}.pt"
            weft.torch.save(module, file)
            lines.append(
                f"self.{name} = torch.load(r'{file}', weights_only=False) # {str(module).splitlines()[0]}"
            )
        for kind, values in (("buffer", self._buffers), ("parameter", self._parameters)):
            for name, value in values.items():
                if value is None:
                    continue
                made = f"torch.empty({list(value.shape)}, dtype={value.dtype})"
                lines.append(
                    f"self.register_buffer('{name}', {made})"
                    if kind == "buffer"
                    else f"self.{name} = torch.nn.Parameter({made})"
                )
        body = "\n".join(f"        {line}" for line in lines)
        text = (
            "import torch\nfrom torch.nn import *\n\n"
            f"class {module_name}(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n{body}\n"
            f"        self.load_state_dict(torch.load(r'{folder}/state_dict.pt'))\n\n"
        )
        made = self._graph.python_code(root_module="self")
        imports = _import_block(made.globals)
        (folder / "module.py").write_text(imports + "\n" + text + _indented(made.src) + "\n")
        (folder / "__init__.py").write_text("from .module import *")

    def _replicate_for_data_parallel(self):
        made = copy.copy(self)
        made._is_replica = True
        return made

    def _register_replace_node_hook(self, f):
        self._replace_hooks.append(f)

    def _unregister_replace_node_hook(self, f):
        self._replace_hooks.remove(f)

    def _register_create_node_hook(self, f):
        self._create_node_hooks.append(f)

    def _unregister_create_node_hook(self, f):
        self._create_node_hooks.remove(f)


_NOTHING = object()


def _indented(text):
    return "\n".join(f"    {line}" if line.strip() else "" for line in text.split("\n"))


def _import_block(scope):
    """Source that imports the globals of a graph's code, where modules have them."""
    from ._codegen import _custom_builtins
    from .node import _get_qualified_name

    fixed = _custom_builtins()
    lines = []
    for name, value in scope.items():
        if name in fixed:
            lines.append(fixed[name][0])
            continue
        qualified = _get_qualified_name(value)
        module, _, attribute = qualified.rpartition(".")
        if not module:
            lines.append(
                f"{name} = {qualified}" if name != qualified else f"from builtins import {qualified}"
            )
        elif name == attribute:
            lines.append(f"from {module} import {attribute}")
        else:
            lines.append(f"from {module} import {attribute} as {name}")
    return "\n".join(lines)


class _CodeOnlyModule(nn.Module):
    """A module with the state of a graph's module, until its graph is there."""

    def __init__(self, body):
        super().__init__()
        vars(self).update(body)

    @classmethod
    def _get_name(cls):
        return "CodeOnlyModule"


def reduce_graph_module(body, import_block):
    """A graph's module from a pickle: its code is run, and traced."""
    body = dict(body)
    source = body.pop("_code")
    scope = {}
    _execute(import_block, scope)
    return _traced_again(function_of(source, scope), body)


def _execute(import_block, scope):
    """Runs the imports; torch is weft.torch, whatever it is called in the program."""
    from ._codegen import _custom_builtins

    for name, (_, value) in _custom_builtins().items():
        scope[name] = value
    fixed = {line for line, _ in _custom_builtins().values()}
    for line in import_block.split("\n"):
        if line and line not in fixed:
            if line.startswith("from torch") and "torch" not in sys.modules:
                line = line.replace("from torch", "from weft.torch", 1)
            exec(line, scope)


def _traced_again(forward, body):
    class CodeOnlyModule(_CodeOnlyModule):
        pass

    CodeOnlyModule.forward = forward
    root = CodeOnlyModule(body)
    tracer_cls = body.get("_tracer_cls") or weft.torch.fx.Tracer

    class KeepModules(tracer_cls):
        def is_leaf_module(self, _, __):
            return True

    graph = KeepModules().trace(root, **(body.get("_tracer_extras") or {}))
    graph._tracer_cls = tracer_cls
    made = GraphModule(root, graph)
    for name, value in vars(root).items():
        if name not in vars(made):
            vars(made)[name] = value
    return made


reduce_package_graph_module = reduce_deploy_graph_module = reduce_graph_module
