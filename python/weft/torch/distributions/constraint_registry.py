"""torch.distributions.constraint_registry: the transform from all real numbers to where a constraint's values lie."""

from . import constraints, transforms

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """Calling it with a constraint gives a transform whose codomain it is; `register` adds a class of constraints."""

    def __init__(self):
        self._registry = {}

    def register(self, constraint, factory=None):
        """Of a class of constraints, or of the class of one: factory(constraint) makes the transform. Without a factory it is
        a decorator.

        raises: TypeError for what is no constraint.
        """
        if factory is None:
            return lambda function: self.register(constraint, function)
        if isinstance(constraint, constraints.Constraint):
            constraint = type(constraint)
        if not isinstance(constraint, type) or not issubclass(constraint, constraints.Constraint):
            raise TypeError(
                f"Expected constraint to be either a Constraint subclass or instance, but got {constraint}"
            )
        self._registry[constraint] = factory
        return factory

    def __call__(self, constraint):
        """raises: NotImplementedError for a class of constraints that is not registered."""
        try:
            factory = self._registry[type(constraint)]
        except KeyError:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints") from None
        return factory(constraint)


biject_to, transform_to = ConstraintRegistry(), ConstraintRegistry()  # bijective; and with numbers to spare


def _register(constraint, factory):
    biject_to.register(constraint, factory)
    transform_to.register(constraint, factory)


def _independent(registry):
    return lambda c: transforms.IndependentTransform(registry(c.base_constraint), c.reinterpreted_batch_ndims)


def _above(constraint):
    bound = transforms.AffineTransform(constraint.lower_bound, 1)
    return transforms.ComposeTransform([transforms.ExpTransform(), bound])


def _below(constraint):
    bound = transforms.AffineTransform(constraint.upper_bound, -1)
    return transforms.ComposeTransform([transforms.ExpTransform(), bound])


def _between(constraint):
    low, high = constraint.lower_bound, constraint.upper_bound
    if isinstance(low, (int, float)) and low == 0 and isinstance(high, (int, float)) and high == 1:
        return transforms.SigmoidTransform()
    within = transforms.AffineTransform(low, high - low)
    return transforms.ComposeTransform([transforms.SigmoidTransform(), within])


_register(constraints.real, lambda c: transforms.identity_transform)
for _registry in (biject_to, transform_to):
    _registry.register(constraints.independent, _independent(_registry))
    _registry.register(
        constraints.cat,
        lambda c, to=_registry: transforms.CatTransform([to(each) for each in c.cseq], c.dim, c.lengths),
    )
    _registry.register(
        constraints.stack,
        lambda c, to=_registry: transforms.StackTransform([to(each) for each in c.cseq], c.dim),
    )
for _constraint in (constraints.positive, constraints.nonnegative):
    _register(_constraint, _above)
_register(constraints.less_than, _below)
for _constraint in (constraints.unit_interval, constraints.half_open_interval):
    _register(_constraint, _between)
biject_to.register(constraints.simplex, lambda c: transforms.StickBreakingTransform())
transform_to.register(constraints.simplex, lambda c: transforms.SoftmaxTransform())
transform_to.register(constraints.lower_cholesky, lambda c: transforms.LowerCholeskyTransform())
for _constraint in (constraints.positive_definite, constraints.positive_semidefinite):
    transform_to.register(_constraint, lambda c: transforms.PositiveDefiniteTransform())
_register(constraints.corr_cholesky, lambda c: transforms.CorrCholeskyTransform())
