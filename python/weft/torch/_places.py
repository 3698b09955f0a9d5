"""The modules in which PyTorch defines the classes that weft has: a program that asks a class finds PyTorch's name there, and so
do its pickles and torch.serialization.safe_globals.
"""

# Those that weft defines in a file of another name, by PyTorch's module below torch.
_ELSEWHERE = {
    "nn.modules.module": "_IncompatibleKeys",
    "distributions.bernoulli": "Bernoulli",
    "distributions.beta": "Beta",
    "distributions.binomial": "Binomial",
    "distributions.categorical": "Categorical",
    "distributions.cauchy": "Cauchy",
    "distributions.chi2": "Chi2",
    "distributions.continuous_bernoulli": "ContinuousBernoulli",
    "distributions.dirichlet": "Dirichlet",
    "distributions.distribution": "Distribution",
    "distributions.exp_family": "ExponentialFamily",
    "distributions.exponential": "Exponential",
    "distributions.fishersnedecor": "FisherSnedecor",
    "distributions.gamma": "Gamma",
    "distributions.generalized_pareto": "GeneralizedPareto",
    "distributions.geometric": "Geometric",
    "distributions.gumbel": "Gumbel",
    "distributions.half_cauchy": "HalfCauchy",
    "distributions.half_normal": "HalfNormal",
    "distributions.independent": "Independent",
    "distributions.inverse_gamma": "InverseGamma",
    "distributions.kumaraswamy": "Kumaraswamy",
    "distributions.laplace": "Laplace",
    "distributions.lkj_cholesky": "LKJCholesky",
    "distributions.log_normal": "LogNormal",
    "distributions.logistic_normal": "LogisticNormal",
    "distributions.lowrank_multivariate_normal": "LowRankMultivariateNormal",
    "distributions.mixture_same_family": "MixtureSameFamily",
    "distributions.multinomial": "Multinomial",
    "distributions.multivariate_normal": "MultivariateNormal",
    "distributions.negative_binomial": "NegativeBinomial",
    "distributions.normal": "Normal",
    "distributions.one_hot_categorical": "OneHotCategorical OneHotCategoricalStraightThrough",
    "distributions.pareto": "Pareto",
    "distributions.poisson": "Poisson",
    "distributions.relaxed_bernoulli": "RelaxedBernoulli",
    "distributions.relaxed_categorical": "RelaxedOneHotCategorical",
    "distributions.studentT": "StudentT",
    "distributions.transformed_distribution": "TransformedDistribution",
    "distributions.uniform": "Uniform",
    "distributions.von_mises": "VonMises",
    "distributions.weibull": "Weibull",
    "distributions.wishart": "Wishart",
    "nn.modules.activation": "MultiheadAttention",
    "nn.modules.adaptive": "AdaptiveLogSoftmaxWithLoss",
    "nn.modules.batchnorm": "BatchNorm1d BatchNorm2d BatchNorm3d LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d SyncBatchNorm _BatchNorm _NormBase",
    "nn.modules.channelshuffle": "ChannelShuffle",
    "nn.modules.conv": "LazyConv1d LazyConv2d LazyConv3d LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d",
    "nn.modules.distance": "CosineSimilarity PairwiseDistance",
    "nn.modules.flatten": "Flatten Unflatten",
    "nn.modules.fold": "Fold Unfold",
    "nn.modules.instancenorm": "InstanceNorm1d InstanceNorm2d InstanceNorm3d LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d _InstanceNorm",
    "nn.modules.linear": "LazyLinear",
    "nn.modules.linear_cross_entropy_options": "LinearCrossEntropyOptions",
    "nn.modules.pixelshuffle": "PixelShuffle PixelUnshuffle",
    "nn.modules.upsampling": "Upsample UpsamplingBilinear2d UpsamplingNearest2d",
    "nn.parallel.data_parallel": "DataParallel",
    "nn.parallel.distributed": "DistributedDataParallel",
    "utils.data.dataloader": "DataLoader",
    "utils.data.dataset": "ChainDataset ConcatDataset Dataset IterableDataset StackDataset Subset TensorDataset",
    "utils.data.distributed": "DistributedSampler",
    "utils.data.sampler": "BatchSampler RandomSampler Sampler SequentialSampler SubsetRandomSampler WeightedRandomSampler",
}  # fmt: skip
_PLACES = {name: f"torch.{module}" for module, names in _ELSEWHERE.items() for name in names.split()}
# What stands for a package under PyTorch's name for it; the longest that fits counts.
_PACKAGES = {
    "weft.torch.ao.nn.quantized.dynamic": "torch.ao.nn.quantized.dynamic.modules",
    "weft.torch.ao.nn.quantized": "torch.ao.nn.quantized.modules",
    "weft.torch": "torch",
    "weft.nn": "torch.nn",
    "weft.torchvision": "torchvision",
}


def _package_of(module):
    """(weft's package, PyTorch's name for it) of a module of weft's; None for one that PyTorch does not have."""
    for own, name in _PACKAGES.items():
        if module == own or module.startswith(own + "."):
            return own, name
    return None


def place_of(cls):
    """PyTorch's module for a class of weft's; None for one of a private file that PyTorch does not have."""
    found = _package_of(cls.__module__)
    if found is None:
        return None
    own, name = found
    if own != "weft.torchvision" and cls.__name__ in _PLACES:
        return _PLACES[cls.__name__]
    rest = cls.__module__[len(own) :]
    return None if "._" in rest else name + rest


torchvision_is_weft_s = True  # or else the package that is installed (_program.stand_in)


def own_module(module):
    """The module here for one of PyTorch's."""
    if module.partition(".")[0] == "torchvision" and not torchvision_is_weft_s:
        return module
    for own, name in _PACKAGES.items():
        if own.startswith("weft.torch") and (module == name or module.startswith(name + ".")):
            return own + module[len(name) :]
    return f"weft.{module}"


def name_classes(module):
    """Classes of the module say from now on that PyTorch's defines them."""
    for value in list(vars(module).values()):
        if isinstance(value, type) and value.__module__ == module.__name__:
            place = place_of(value)
            if place is not None:
                value.__module__ = place
