"""Modules that exist in PyTorch and are found here as the table says: regroupings of names that are elsewhere, and modules
whose names raise with the reason when they are used.
"""

import abc
import importlib
import importlib.machinery
import sys
import types

# Modules whose names are those of other modules: "module" or "module other …", asked in order.
REGROUPED = {
    "amp.autocast_mode": "weft.torch.amp",
    "amp.grad_scaler": "weft.torch.amp",
    "autograd.forward_ad": "weft.torch.autograd._forward_ad",
    "autograd.function": "weft.torch.autograd",
    "autograd.grad_mode": "weft.torch.autograd",
    "autograd.variable": "weft.torch.autograd",
    "autograd.profiler_util": "weft.torch.profiler",
    "cuda.amp.autocast_mode": "weft.torch.cuda.amp",
    "cuda.amp.grad_scaler": "weft.torch.cuda.amp",
    "cuda.amp.common": "weft.torch.cuda.amp",
    "cuda.graphs": "weft.torch.cuda",
    "cuda.memory": "weft.torch.cuda",
    "cuda.random": "weft.torch.cuda",
    "cuda.streams": "weft.torch.cuda",
    "cpu.amp": "weft.torch.amp._cpu",
    "cpu.amp.autocast_mode": "weft.torch.amp._cpu",
    "cpu.amp.grad_scaler": "weft.torch.amp._cpu",
    "xpu.memory": "weft.torch.xpu",
    "xpu.random": "weft.torch.xpu",
    "xpu.streams": "weft.torch.xpu",
    "distributed.distributed_c10d": "weft.torch.distributed",
    "distributed.constants": "weft.torch.distributed",
    "distributed.c10d_logger": "weft.torch.distributed",
    "distributed._tensor": "weft.torch.distributed.tensor",
    "distributed.tensor.placement_types": "weft.torch.distributed.tensor",
    "fx.experimental.proxy_tensor": "weft.torch._proxy_tensor",
    "jit._script": "weft.torch.jit weft.jit",
    "jit.annotations": "weft.torch.jit weft.jit typing weft.nn._types",
    "_dynamo.decorators": "weft.torch._dynamo",
    "_jit_internal": "weft.torch.jit weft.jit",
    "_tensor": "weft.torch",
    "functional": "weft.torch",
    "_compile": "weft.torch._dynamo",
    "nn.grad": "weft.nn.functional",
    "onnx": "weft.torch._onnx",
    "onnx.symbolic_helper": "weft.torch._onnx",
    "nn.modules.adaptive": "weft.nn weft.nn.modules",
    "nn.modules.batchnorm": "weft.nn weft.nn.modules weft.nn.modules.normalization",
    "nn.modules.channelshuffle": "weft.nn",
    "nn.modules.distance": "weft.nn",
    "nn.modules.flatten": "weft.nn",
    "nn.modules.fold": "weft.nn",
    "nn.modules.instancenorm": "weft.nn weft.nn.modules.normalization",
    "nn.modules.pixelshuffle": "weft.nn",
    "nn.modules.upsampling": "weft.nn",
    "nn.modules.utils": "weft.torch._nn_utils",
    "_subclasses.fake_tensor": "weft.torch._fake_tensor",
    "profiler.profiler": "weft.torch.profiler",
    "profiler.itt": "weft.torch.profiler",
    "sparse": "weft.sparse._coo weft.torch._semi_structured",
    "sparse.semi_structured": "weft.torch._semi_structured",
    "ao.nn.quantized.modules": "weft.torch.ao.nn.quantized",
    "ao.nn.quantized.modules.activation": "weft.torch.ao.nn.quantized.activation",
    "ao.nn.quantized.modules.batchnorm": "weft.torch.ao.nn.quantized.activation",
    "ao.nn.quantized.modules.conv": "weft.torch.ao.nn.quantized.conv",
    "ao.nn.quantized.modules.embedding_ops": "weft.torch.ao.nn.quantized.embedding_ops",
    "ao.nn.quantized.modules.functional_modules": "weft.torch.ao.nn.quantized.functional_modules",
    "ao.nn.quantized.modules.linear": "weft.torch.ao.nn.quantized.linear",
    "ao.nn.quantized.modules.normalization": "weft.torch.ao.nn.quantized.activation",
    "ao.nn.quantized.modules.utils": "weft.torch.ao.nn.quantized._weights",
    "ao.nn.quantized.dynamic.modules": "weft.torch.ao.nn.quantized.dynamic",
    "ao.nn.quantized.dynamic.modules.linear": "weft.torch.ao.nn.quantized.dynamic.linear",
    "ao.nn.quantized.dynamic.modules.rnn": "weft.torch.ao.nn.quantized.dynamic.rnn",
    "ao.nn.intrinsic.modules": "weft.torch.ao.nn.intrinsic",
    "ao.nn.intrinsic.modules.fused": "weft.torch.ao.nn.intrinsic",
    "ao.nn.intrinsic.quantized.modules": "weft.torch.ao.nn.intrinsic.quantized",
    "nn.quantized": "weft.torch.ao.nn.quantized",
    "nn.quantized.dynamic": "weft.torch.ao.nn.quantized.dynamic",
    "nn.quantized.modules": "weft.torch.ao.nn.quantized",
    "nn.intrinsic": "weft.torch.ao.nn.intrinsic",
    "nn.intrinsic.quantized": "weft.torch.ao.nn.intrinsic.quantized",
    "quantization": "weft.torch.ao.quantization",
    "quantization.fuse_modules": "weft.torch.ao.quantization.fuse_modules",
    "quantization.observer": "weft.torch.ao.quantization.observer",
    "quantization.qconfig": "weft.torch.ao.quantization.qconfig",
    "quantization.quantize": "weft.torch.ao.quantization.quantize",
    "quantization.stubs": "weft.torch.ao.quantization.stubs",
    "ao.quantization.fx": "weft.torch.ao._decomposed",
    "ao.quantization.fx._decomposed": "weft.torch.ao._decomposed",
    "ao.pruning.sparsifier": "weft.torch.ao.pruning",
    "ao.pruning.sparsifier.base_sparsifier": "weft.torch.ao.pruning",
    "ao.pruning.sparsifier.utils": "weft.torch.ao.pruning",
    "ao.pruning.sparsifier.weight_norm_sparsifier": "weft.torch.ao.pruning",
    "testing._comparison": "weft.torch.testing",
    "torch_version": "weft.torch.version",
    "utils.data.dataloader": "weft.torch.utils.data",
    "utils.data.dataset": "weft.torch.utils.data",
    "utils.data.distributed": "weft.torch.utils.data",
    "utils.data.sampler": "weft.torch.utils.data",
    "utils.data._utils": "weft.torch.utils.data",
    "utils.data._utils.collate": "weft.torch.utils.data weft.torch.utils.data._collate",
    "utils.data._utils.worker": "weft.torch.utils.data",
    "utils.model_zoo": "weft.torch.hub",
    "utils.checkpoint": "weft.torch.utils._checkpoint",
    "utils._device": "weft.torch.utils",
    "multiprocessing.spawn": "weft.torch.multiprocessing",
    "_library": "weft.torch.library",
    "_library.custom_ops": "weft.torch.library",
    "_library.infer_schema": "weft.torch.library",
    "_custom_ops": "weft.torch.library",
    "_VF": "weft.torch",
    "return_types": "weft.return_types",
    "_C._nn": "weft.nn.functional",
    "_C._cpu": "weft.torch.cpu",
    **{
        f"distributions.{name}": "weft.torch.distributions"
        for name in """
        bernoulli beta binomial categorical cauchy chi2 continuous_bernoulli dirichlet distribution exp_family exponential
        fishersnedecor gamma generalized_pareto geometric gumbel half_cauchy half_normal independent inverse_gamma kl
        kumaraswamy laplace lkj_cholesky log_normal logistic_normal lowrank_multivariate_normal mixture_same_family
        multinomial multivariate_normal negative_binomial normal one_hot_categorical pareto poisson relaxed_bernoulli
        relaxed_categorical studentT transformed_distribution transforms uniform von_mises weibull wishart
        """.split()
    },
}


class _Absent(abc.ABCMeta):
    """The class of stand-ins for what is not there: they can be named, subclassed and asked about, not called."""

    def __call__(cls, *args, **kwargs):
        owner = "torchvision" if cls._name.startswith("torchvision.") else "PyTorch"
        raise NotImplementedError(f"{cls._name} is {owner}'s, but not weft's: {cls._reason}")

    def __repr__(cls):
        return f"<{cls._name}: not weft's>"


def absent(name, reason, module):
    """What is found under a public name of PyTorch that weft does not have."""
    short = name.rpartition(".")[2]
    attributes = {"__module__": module, "_name": name, "_reason": reason, "__doc__": f"Not weft's: {reason}."}
    if short.endswith(("Error", "Exception")):
        return type(short, (RuntimeError,), attributes)
    return _Absent(short, (), attributes)


def _make_lazy(module, places, public, reason):
    """Gives the module names that are made when they are first used. (A plain module: weft.compile reads those.)"""
    title = module.__name__.removeprefix("weft.")

    def find(name):
        for place in places:
            value = getattr(importlib.import_module(place), name, None)
            if value is not None:
                return value
        if name in public:
            return absent(f"{title}.{name}", reason, module.__name__)
        try:
            return importlib.import_module(f"{module.__name__}.{name}")
        except ModuleNotFoundError:
            return None

    def __getattr__(name):
        value = None if name.startswith("__") else find(name)
        if value is None:
            raise AttributeError(f"module '{title}' has no attribute {name!r}", name=name, obj=module)
        setattr(module, name, value)
        return value

    def __dir__():
        return sorted(
            {
                *vars(module),
                *public,
                *(name for place in places for name in dir(importlib.import_module(place))),
            }
        )

    module.__getattr__, module.__dir__ = __getattr__, __dir__


def _absent_module(name, table="weft.torch._absent_names"):
    """(names, reason) of a module that is not weft's; None of any other."""
    for reason, modules in importlib.import_module(table).MODULES.items():
        if name in modules:
            return frozenset(modules[name].split()), reason
        if any(other.startswith(name + ".") for other in modules):
            return frozenset(), reason
    return None


_PACKAGES = ("weft.torch", "weft.torchvision")


class _Finder:
    """On sys.meta_path, after Python's own: modules below weft.torch and weft.torchvision of which there is no file."""

    def find_spec(self, fullname, path=None, target=None):
        package = next((one for one in _PACKAGES if fullname.startswith(one + ".")), None)
        if package is None:
            return None
        name = fullname[len(package) + 1 :]
        places = REGROUPED.get(name, "") if package == "weft.torch" else ""
        found = _absent_module(name, f"{package}._absent_names")
        if places:
            found = found or (frozenset(), "")
        if found is None:
            return None
        spec = importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        spec.loader_state = (places, *found)
        return spec

    def create_module(self, spec):
        return types.ModuleType(spec.name)

    def exec_module(self, module):
        places, public, reason = module.__spec__.loader_state
        module.__all__ = sorted(public)
        _make_lazy(module, places.split(), public, reason)


_FINDER = _Finder()


def install():
    if _FINDER not in sys.meta_path:
        sys.meta_path.append(_FINDER)


def names(module):
    """For a module with a file of its own: a __getattr__ for its public names that the table has as absent."""
    package = next(one for one in _PACKAGES if module.startswith(one + "."))
    short, title = module.removeprefix(package + "."), module.removeprefix("weft.")

    def find(name):
        found = None if name.startswith("__") else _absent_module(short, f"{package}._absent_names")
        if found is not None and name in found[0]:
            value = absent(f"{title}.{name}", found[1], module)
            setattr(sys.modules[module], name, value)  # one object, which captured functions find again
            return value
        if not name.startswith("__"):
            try:
                return importlib.import_module(f"{module}.{name}")
            except ModuleNotFoundError as error:
                if error.name != f"{module}.{name}":
                    raise
        raise AttributeError(f"module '{title}' has no attribute {name!r}")

    return find
