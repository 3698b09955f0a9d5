"""torch.distributions' names: sampling, log_prob, entropy, moments and divergences.

Numbers are drawn as PyTorch draws them on the CPU. source: PyTorch's documentation, the distributions' definitions.
"""

from . import constraint_registry, constraints, kl, transforms  # noqa: F401
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
from ._matrices import LKJCholesky, LowRankMultivariateNormal, MultivariateNormal, Wishart  # noqa: F401
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
from .constraint_registry import biject_to, transform_to  # noqa: F401
from .transforms import (  # noqa: F401
    AbsTransform,
    AffineTransform,
    CatTransform,
    ComposeTransform,
    CorrCholeskyTransform,
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
