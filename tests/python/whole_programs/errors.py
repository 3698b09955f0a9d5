# ruff: noqa: B018, E741, F841
"""Exceptions of the program's own classes and NumPy's."""

import numpy as np

from .program import X, program


class SolverError(Exception):
    def __init__(self, code, msg="", *, data=None):
        super().__init__(msg)
        self.code = code
        self.data = data

    def __str__(self):
        return f"[{self.code}] {self.args[0]}"

    @property
    def fatal(self):
        return self.code > 5

    def describe(self):
        return "solver " + str(self)


class Sub(SolverError):
    limit = 3

    def __init__(self, x):
        Exception.__init__(self, "sub", 2)
        self.x = x
        self.code = 1


class Plain(ValueError):
    pass


class Attr(RuntimeError):
    def __init__(self, a, b):
        self.a = a
        self.b = b


@program(X)
def custom(x):
    try:
        raise SolverError(7, msg="m", data=x * 2)
    except SolverError as e:
        return x * e.code, str(e), e.fatal, e.describe(), e.data, e.args, f"{e}", repr(e)


@program(X)
def sub(x):
    try:
        raise Sub(x)
    except SolverError as e:
        return e.x + e.limit, e.args, e.code, isinstance(e, Exception)


@program(X)
def noinit(x):
    try:
        raise Attr(1, b=x)
    except Attr as e:
        return e.a, e.b + 1, e.args


@program(X)
def cls_only(x):
    try:
        raise Plain
    except ValueError as e:
        return x, e.args, str(e), type(e).__name__


@program(X)
def stored(x):
    errors = []
    for k in range(4):
        try:
            if k % 2:
                raise SolverError(k, "odd")
            errors.append(x[k].sum())
        except SolverError as e:
            errors.append((e.code, str(e)))
    return errors


@program(X)
def real_index(x):
    out = []
    for k in (0, 5, 1, -7):
        try:
            out.append(x[k].sum())
        except IndexError as e:
            out.append(str(e))
    return out


@program(X)
def real_shape(x):
    try:
        y = x @ x
    except ValueError as e:
        y = x @ x.T
        n = len(e.args)
        m = "mismatch" in str(e)
    else:
        n = 0
        m = False
    finally:
        z = 1
    return y * z, n, m


@program(X)
def real_then_more(x):
    total = x
    for k in range(3):
        try:
            if k == 1:
                np.linalg.inv(x)
            total = total + 1
        except np.linalg.LinAlgError as e:
            total = total * 2
            s = str(e)
    return total, s


@program(X)
def containers(x):
    out = []
    for f in (lambda: [].pop(), lambda: [1].pop(4), lambda: {}.pop("k"), lambda: [1].remove(3)):
        try:
            f()
        except (IndexError, KeyError, ValueError) as e:
            out.append((type(e).__name__, str(e)))
    try:
        a, b = [1, 2, 3]
    except ValueError as e:
        out.append(str(e))
    try:
        a, *b, c = [1]
    except ValueError as e:
        out.append(str(e))
    d = {}
    try:
        del d["q"]
    except KeyError as e:
        out.append(e.args)
    l = [1]
    try:
        l[4] = 2
    except IndexError as e:
        out.append(str(e))
    try:
        if x.ndim == 3:
            late = 1
        late
    except UnboundLocalError as e:
        out.append(str(e))
    return x * 2, out


@program(X)
def chained(x):
    try:
        try:
            {}["a"]
        except KeyError as e:
            raise SolverError(3, "from") from e
    except SolverError as e:
        return (
            x,
            type(e.__cause__).__name__,
            type(e.__context__).__name__,
        )


@program(X)
def implicit_context(x):
    try:
        try:
            {}["a"]
        except KeyError:
            [][1]
    except IndexError as e:
        return x, type(e.__context__).__name__, e.__cause__


@program(X)
def nested_finally(x):
    log = []

    def g(k):
        try:
            log.append("try")
            if k:
                raise SolverError(k)
            return "ok"
        except SolverError as e:
            log.append(e.code)
            return "err"
        else:
            log.append("else")
        finally:
            log.append("fin")

    return g(0), g(2), log, x + 1


@program(X)
def returned(x):
    try:
        raise SolverError(4, "kept")
    except SolverError as e:
        err = e
    return [type(err).__name__, err.code, err.args], x


@program(X)
def attrerr(x):
    class_ = SolverError(1)
    try:
        class_.nothing
    except AttributeError as e:
        return str(e), x


@program(X)
def reraised(x):
    def inner():
        try:
            {}["k"]
        except KeyError:
            raise

    def outer():
        try:
            inner()
        except KeyError as e:
            raise SolverError(9, "outer") from e

    try:
        outer()
    except SolverError as e:
        return e.code, repr(e.__cause__), x * 2


def is_definite(a):
    try:
        np.linalg.cholesky(a)
    except np.linalg.LinAlgError:
        return False
    return True


@program(np.eye(3))
def unused_factor(a):
    return is_definite(a), is_definite(-a)


@program(X)
def real_reraised(x):
    def inner(k):
        try:
            return np.linalg.cholesky(-np.eye(k)) + 1
        except np.linalg.LinAlgError as e:
            raise SolverError(2, str(e)) from e

    try:
        return inner(2), x
    except SolverError as e:
        return e.code, str(e), type(e.__cause__).__name__, x * 2
