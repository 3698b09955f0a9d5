"""Distributions of vectors and matrices, registries of transforms, and distributions of programs' own; numbers of PyTorch 2.15."""

import pytest
import weft.torch as torch
from weft.torch import distributions
from weft.torch.distributions import biject_to, constraints, transform_to, transforms


def near(found, expected):
    torch.testing.assert_close(found.flatten(), torch.tensor(expected), atol=2e-5, rtol=2e-5)


def low_rank():
    factor = torch.tensor([[1.0, 0.0], [0.5, -1.0], [0.25, 2.0]])
    loc, diagonal = torch.tensor([0.5, -1.0, 2.0]), torch.tensor([0.5, 1.0, 2.0])
    return distributions.LowRankMultivariateNormal(loc, factor, diagonal)


def test_low_rank_multivariate_normal():
    d = low_rank()
    near(d.log_prob(torch.tensor([[0.0, 0.0, 0.0], [1.0, -1.0, 2.0]])), [-4.532119, -4.138578])
    near(d.entropy().reshape(1), [5.541688])
    near(d.variance, [1.5, 2.25, 6.0625])
    near(torch.linalg.inv(d.precision_matrix), d.covariance_matrix.flatten().tolist())
    near(d.scale_tril, [1.224745, 0.0, 0.0, 0.408248, 1.443376, 0.0, 0.204124, -1.356773, 2.044505])
    torch.manual_seed(3)
    near(d.sample((2,)), [1.335932, -2.141455, 3.027776, 1.303945, -1.776972, 2.177106])
    wide = d.expand((4,))
    assert wide.batch_shape == (4,) and wide.log_prob(torch.zeros(3)).shape == (4,)
    with pytest.raises(ValueError, match="batch of matrices"):
        distributions.LowRankMultivariateNormal(torch.zeros(3), torch.ones(2, 1), torch.ones(3))
    with pytest.raises(ValueError, match="cov_diag"):
        distributions.LowRankMultivariateNormal(torch.zeros(3), torch.ones(3, 1), -torch.ones(3))


def test_lkj_cholesky():
    d = distributions.LKJCholesky(3, torch.tensor([0.5, 2.0]))
    torch.manual_seed(3)
    drawn = d.sample()
    expected = [1.0, 0.0, 0.0, 0.337103, 0.941468, 0.0, 0.545854, -0.529161, 0.64964]
    near(drawn[0], expected)
    near(d.log_prob(drawn), [-2.099687, -1.381008])
    near((drawn @ drawn.mT).diagonal(dim1=-1, dim2=-2), [1.0] * 6)
    assert d.expand((3, 2)).sample().shape == (3, 2, 3, 3)
    with pytest.raises(ValueError, match="dim"):
        distributions.LKJCholesky(1)


def test_factors_of_correlations():
    t, x = transforms.CorrCholeskyTransform(), torch.tensor([[0.5, -1.0, 2.0]])
    y = t(x)
    near(y, [1.0, 0.0, 0.0, 0.462117, 0.886819, 0.0, -0.761594, 0.624742, 0.172254])
    near(t.log_abs_det_jacobian(x, y), [-4.191577])
    near(t.inv(y), [0.5, -1.0, 2.0])
    assert t.forward_shape((2, 6)) == (2, 4, 4) and t.inv.forward_shape((2, 4, 4)) == (2, 6)
    with pytest.raises(ValueError, match="lower-diagonal"):
        t.forward_shape((4,))


@pytest.mark.parametrize(
    ("constraint", "bijective"),
    [
        (constraints.real, True),
        (constraints.positive, True),
        (constraints.greater_than_eq(-1.0), True),
        (constraints.less_than(3.0), True),
        (constraints.unit_interval, True),
        (constraints.interval(-1.0, 2.0), True),
        (constraints.simplex, True),
        (constraints.lower_cholesky, False),
        (constraints.positive_definite, False),
        (constraints.independent(constraints.positive, 1), True),
        (constraints.cat([constraints.positive, constraints.unit_interval], -1), True),
        (constraints.stack([constraints.positive, constraints.real], -1), True),
    ],
    ids=repr,
)
def test_registries(constraint, bijective):
    torch.manual_seed(0)
    x = torch.randn(2, 2)
    assert constraint.check(transform_to(constraint)(x)).all()
    if bijective:
        t = biject_to(constraint)
        y = t(x)
        assert constraint.check(y).all()
        torch.testing.assert_close(t.inv(y), x, atol=1e-4, rtol=1e-4)
    else:
        with pytest.raises(NotImplementedError, match="Cannot transform"):
            biject_to(constraint)


def test_constraints_of_programs_are_registered():
    class Even(constraints.Constraint):
        def check(self, value):
            return value % 2 == 0

    with pytest.raises(NotImplementedError, match="Even"):
        transform_to(Even())

    @transform_to.register(Even)
    def even(constraint):
        return transforms.AffineTransform(0, 2)

    assert transform_to(Even())(torch.tensor(3.0)).item() == 6
    with pytest.raises(TypeError, match="Constraint"):
        transform_to.register(int, even)


def test_caches_of_transforms():
    t, x = transforms.ExpTransform(cache_size=1), torch.randn(3)
    y = t(x)
    assert t(x) is y and t.inv(y) is x and t.with_cache(0).with_cache()._cache_size == 1
    assert transforms.ExpTransform().inv(y) is not x
    whole = transforms.ComposeTransform(
        [transforms.ExpTransform(), transforms.AffineTransform(1.0, 2.0)], cache_size=1
    )
    assert all(part._cache_size == 1 for part in whole.parts) and whole.with_cache(0)._cache_size == 0
    with pytest.raises(ValueError, match="cache_size"):
        transforms.ExpTransform(cache_size=2)


def test_distributions_of_programs_expand():
    class Shifted(distributions.Independent):
        def __init__(self, loc):
            super().__init__(distributions.Normal(loc, 1.0), 1)

        def expand(self, batch_shape, new=None):
            new = self._get_checked_instance(Shifted, new)
            return super().expand(batch_shape, new)

    class Unready(distributions.Normal):
        def __init__(self, loc):
            super().__init__(loc, 1.0)

    class Alike(distributions.Normal):
        pass

    wide = Shifted(torch.zeros(3)).expand((4,))
    assert type(wide) is Shifted and wide.batch_shape == (4,) and wide.log_prob(torch.ones(3)).shape == (4,)
    alike = Alike(torch.zeros(1), torch.ones(1)).expand((2,))
    assert type(alike) is Alike and alike.loc.shape == (2,)
    with pytest.raises(NotImplementedError, match="custom .expand"):
        Unready(torch.zeros(2)).expand((3, 2))


def test_names_from_the_modules():
    names = {}
    exec(
        "from weft.torch.distributions.transforms import *\nfrom weft.torch.distributions.constraints import *",
        names,
    )
    assert "torch" not in names and "weft" not in names and "ExpTransform" in names and "positive" in names
    assert constraints.interval(lower_bound=0.0, upper_bound=1.0).upper_bound == 1.0
    with pytest.raises(TypeError):
        constraints.interval(0.0)
    with pytest.raises(TypeError):
        constraints.greater_than(0.0, lower_bound=1.0)
