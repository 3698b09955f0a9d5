"""Which parameters of a test the quick tier keeps."""

import pytest


def long_but(values, *quick, unpack=False):
    """Parameters of a test that are left to `make test-long`, but for `quick`; `unpack`: each is a tuple for several names."""
    values = list(values)
    assert all(value in values for value in quick), quick
    return [
        value if value in quick else pytest.param(*(value if unpack else (value,)), marks=pytest.mark.long)
        for value in values
    ]
