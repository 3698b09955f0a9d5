"""torch.distributions' names: sampling, log_prob, entropy, moments and divergences.

Numbers are drawn as PyTorch draws them on the CPU. source: PyTorch's documentation, the distributions' definitions.
"""

from . import constraints, kl, transforms  # noqa: F401
from ._base import Distribution, ExponentialFamily, Independent, kl_divergence, register_kl  # noqa: F401
from ._continuous import (  # noqa: F401
    Beta,
    Cauchy,
    Chi2,
    Dirichlet,
    Exponential,
    FisherSnedecor,
    Gamma,
    GeneralizedPareto,
    Laplace,
    MultivariateNormal,
    Normal,
    StudentT,
    Uniform,
    VonMises,
)
from ._discrete import (  # noqa: F401
    Bernoulli,
    Binomial,
    Categorical,
    ContinuousBernoulli,
    Geometric,
    Multinomial,
    NegativeBinomial,
    OneHotCategorical,
    OneHotCategoricalStraightThrough,
    Poisson,
)
from ._transformed import (  # noqa: F401
    Gumbel,
    HalfCauchy,
    HalfNormal,
    InverseGamma,
    Kumaraswamy,
    LogisticNormal,
    LogNormal,
    MixtureSameFamily,
    Pareto,
    RelaxedBernoulli,
    RelaxedOneHotCategorical,
    TransformedDistribution,
    Weibull,
)
from .transforms import (  # noqa: F401
    AbsTransform,
    AffineTransform,
    CatTransform,
    ComposeTransform,
    CumulativeDistributionTransform,
    ExpTransform,
    IndependentTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    PowerTransform,
    ReshapeTransform,
    SigmoidTransform,
    SoftmaxTransform,
    SoftplusTransform,
    StackTransform,
    StickBreakingTransform,
    TanhTransform,
    Transform,
    identity_transform,
)

_LEFT_OUT = frozenset(
    "CorrCholeskyTransform LKJCholesky LowRankMultivariateNormal Wishart biject_to transform_to".split()
)


def __getattr__(name):
    if name in _LEFT_OUT:
        from .. import _absent

        return _absent.absent(f"torch.distributions.{name}", "not written yet", __name__)
    raise AttributeError(f"module 'torch.distributions' has no attribute {name!r}")
