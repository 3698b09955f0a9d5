"""torch.distributions' names: sampling, log_prob, entropy, mean and variance of the common distributions."""

import importlib

from ._base import Distribution, ExponentialFamily, Independent, kl_divergence, register_kl  # noqa: F401
from ._continuous import (  # noqa: F401
    Beta,
    Cauchy,
    Chi2,
    Dirichlet,
    Exponential,
    Gamma,
    Gumbel,
    HalfNormal,
    Laplace,
    LogNormal,
    MultivariateNormal,
    Normal,
    Uniform,
)
from ._discrete import (  # noqa: F401
    Bernoulli,
    Categorical,
    Geometric,
    Multinomial,
    OneHotCategorical,
    Poisson,
)

_LEFT_OUT = frozenset(
    """
    AbsTransform AffineTransform Binomial CatTransform ComposeTransform ContinuousBernoulli CorrCholeskyTransform
    CumulativeDistributionTransform ExpTransform FisherSnedecor GeneralizedPareto HalfCauchy IndependentTransform
    InverseGamma Kumaraswamy LKJCholesky LogisticNormal LogitRelaxedBernoulli LowRankMultivariateNormal
    LowerCholeskyTransform MixtureSameFamily NegativeBinomial OneHotCategoricalStraightThrough Pareto
    PositiveDefiniteTransform PowerTransform RelaxedBernoulli RelaxedOneHotCategorical ReshapeTransform SigmoidTransform
    SoftmaxTransform SoftplusTransform StackTransform StickBreakingTransform StudentT TanhTransform Transform
    TransformedDistribution VonMises Weibull Wishart biject_to identity_transform transform_to
    """.split()
)


def __getattr__(name):
    if name in _LEFT_OUT:
        from .. import _absent

        return _absent.absent(f"torch.distributions.{name}", "not written yet", __name__)
    if not name.startswith("__"):
        try:
            return importlib.import_module(f"{__name__}.{name}")
        except ModuleNotFoundError:
            pass
    raise AttributeError(f"module 'torch.distributions' has no attribute {name!r}")
