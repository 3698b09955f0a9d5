"""A plugin of pytest: NumPy's own tests, which are installed with NumPy, with each test function under weft.compile.

`scripts/test numpy_tests` runs MODULES; `tests/numpy/compiled_tests.py MODULE… [pytest's arguments]` some of them.
differences.txt names the tests that fail under weft.compile, and why. It is exact: a test that fails and is not in it
fails, so does one that is in it and passes, and a line of it that names no test is an error. `not run: ` stands before
tests whose failure would end the process.
"""

import functools
import os
import pathlib
import sys

import numpy as np
import pytest
import weft

# What takes more is skipped, by NumPy's own mark.
os.environ.setdefault("NPY_AVAILABLE_MEM", "2 GB")
TABLE = pathlib.Path(__file__).with_name("differences.txt")
# What tests functions of arrays; others of NumPy's modules run where they are named.
MODULES = """
    _core.tests.test_arrayobject _core.tests.test_casting_floatingpoint_errors _core.tests.test_dlpack
    _core.tests.test_einsum _core.tests.test_errstate _core.tests.test_function_base _core.tests.test_getlimits
    _core.tests.test_half _core.tests.test_indexerrors _core.tests.test_indexing _core.tests.test_item_selection
    _core.tests.test_nep50_promotions _core.tests.test_numeric _core.tests.test_numerictypes
    _core.tests.test_overrides _core.tests.test_protocols _core.tests.test_scalar_methods
    _core.tests.test_scalarinherit _core.tests.test_shape_base _core.tests.test_ufunc _core.tests.test_umath_complex
    fft.tests.test_helper fft.tests.test_pocketfft lib.tests.test_array_utils lib.tests.test_arraypad
    lib.tests.test_arraysetops lib.tests.test_arrayterator lib.tests.test_function_base lib.tests.test_histograms
    lib.tests.test_index_tricks lib.tests.test_mixins lib.tests.test_nanfunctions lib.tests.test_packbits
    lib.tests.test_polynomial lib.tests.test_regression lib.tests.test_shape_base lib.tests.test_stride_tricks
    lib.tests.test_twodim_base lib.tests.test_type_check lib.tests.test_ufunclike linalg.tests.test_linalg
    linalg.tests.test_regression ma.tests.test_arrayobject ma.tests.test_extras ma.tests.test_old_ma
    ma.tests.test_regression ma.tests.test_subclassing matrixlib.tests.test_defmatrix
    matrixlib.tests.test_interaction matrixlib.tests.test_masked_matrix matrixlib.tests.test_matrix_linalg
    matrixlib.tests.test_multiarray matrixlib.tests.test_numeric matrixlib.tests.test_regression""".split()


@functools.cache
def verdicts():
    """What becomes of a test, by its name; a function's name stands for all its parameters."""
    table, reason = {}, ""
    for line in TABLE.read_text().splitlines():
        if line.startswith("#"):
            reason = f"{reason} {line.removeprefix('#').strip()}".strip()
        elif not line:
            reason = ""
        elif line.startswith("not run: "):
            table[line.removeprefix("not run: ")] = pytest.mark.skip(reason=reason)
        else:
            table[line] = pytest.mark.xfail(reason=reason, strict=True)
    return table


def name_of(item):
    """_core.tests.test_numeric::TestResize::test_copies[float]"""
    module = ".".join(item.path.relative_to(pathlib.Path(np.__file__).parent).with_suffix("").parts)
    return f"{module}::{item.nodeid.partition('::')[2]}"


@functools.cache
def compiled(function):
    """Once, as a program that decorates it: what its parameters change is captured anew, or is a symbol."""
    return weft.compile(function)


def behind_signature(function):
    """Called by what asks for the names of the arguments."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        return compiled(function)(*args, **kwargs)

    return call


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    if hasattr(pyfuncitem.obj, "hypothesis"):
        examples = pyfuncitem.obj.hypothesis
        if not hasattr(examples.inner_test, "__wrapped__"):
            examples.inner_test = behind_signature(examples.inner_test)
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    function = getattr(pyfuncitem.obj, "__func__", pyfuncitem.obj)
    itself = [] if function is pyfuncitem.obj else [pyfuncitem.obj.__self__]
    compiled(function)(*itself, **arguments)
    return True


def pytest_collection_modifyitems(config, items):
    unused = set(verdicts())
    for item in items:
        name = name_of(item)
        for listed in {name, name.split("[")[0]} & set(verdicts()):
            unused.discard(listed)
            item.add_marker(verdicts()[listed])
    modules = {name_of(item).split("::")[0] for item in items}
    unknown = sorted(name for name in unused if name.split("::")[0] in modules)
    if unknown and not config.option.keyword:
        raise pytest.UsageError(f"{TABLE.name} names tests that NumPy does not have: {', '.join(unknown)}")


def main():
    given = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    options = [argument for argument in sys.argv[1:] if argument.startswith("-")]
    modules = [f"numpy.{module.removeprefix('numpy.')}" for module in given or MODULES]
    sys.path.insert(0, str(TABLE.parent))
    return pytest.main(["-p", "compiled_tests", "-p", "no:cacheprovider", "--pyargs", *modules, *options])


if __name__ == "__main__":
    sys.exit(main())
