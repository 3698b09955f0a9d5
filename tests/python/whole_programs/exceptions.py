# ruff: noqa: B018
"""Exceptions that are raised and caught."""

from .program import X, program


@program(X)
def try_else(x):
    try:
        y = x.sum()
    except ValueError:
        return None
    else:
        z = y * 2
    finally:
        w = 1
    return z + w


@program(X)
def raise_from(x):
    try:
        try:
            {}["a"]
        except KeyError as e:
            raise ValueError("bad", 3) from e
    except ValueError as e:
        return x * e.args[1], type(e.__cause__).__name__, str(e.__cause__)


class MyError(Exception):
    def __init__(self, code, msg=""):
        super().__init__(msg)
        self.code = code


@program(X)
def custom_error(x):
    try:
        raise MyError(4, msg="m")
    except MyError as e:
        return x * e.code, str(e)


@program(X)
def exc_value(x):
    errors = []
    for v in ("1", "a", "3"):
        try:
            errors.append(int(v))
        except ValueError as e:
            errors.append(repr(e))
    return x, errors


@program(X)
def zero_div(x):
    try:
        1 // 0
    except ZeroDivisionError as e:
        return x, str(e)


@program(X)
def shape_error(x):
    try:
        return x @ x
    except ValueError:
        return x @ x.T


@program(X)
def index_error(x):
    try:
        return x[10]
    except IndexError as e:
        return x + 1, str(e)


@program(X)
def finally_order(x):
    log = []

    def f():
        try:
            return 1
        finally:
            log.append("f")

    f()
    for i in range(3):
        try:
            if i == 1:
                continue
            log.append(i)
        finally:
            log.append("l")
    return x, log


@program(X)
def reraise(x):
    def f():
        try:
            [][0]
        except IndexError:
            raise

    try:
        f()
    except LookupError as e:
        return x, str(e)


@program(X)
def exc_group_like(x):
    def check(v):
        if v < 0:
            raise ValueError(f"negative: {v}")
        return v

    out = 0
    for v in (1, -2, 3):
        try:
            out += check(v)
        except ValueError as e:
            out -= len(str(e))
    return x * out


@program(X)
def assert_msg(x):
    try:
        assert x.ndim == 3, f"ndim is {x.ndim}"
    except AssertionError as e:
        return x, str(e)
