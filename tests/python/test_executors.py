"""What runs a captured graph: kernels, made for the arguments that came, or the reference interpreter."""

import numpy as np
import pytest
import weft


def scaled_sum(x):
    return (x * 2 + 1).sum(axis=0)


def test_kernels_are_made_for_the_first_arguments_layout(monkeypatch, tmp_path):
    monkeypatch.setenv("WEFT_DUMP", str(tmp_path))
    array = np.asfortranarray(np.arange(12.0).reshape(3, 4))
    compiled = weft.compile(scaled_sum)
    np.testing.assert_array_equal(compiled(array), scaled_sum(array))
    assert len(list(tmp_path.glob("*.cc"))) == 1


def test_more_layouts_than_plans_fall_back_to_copies():
    base = np.arange(4096.0).reshape(64, 64)
    compiled = weft.compile(scaled_sum)
    for step in range(1, 14):
        view = base[:4:1, : 3 * step : step]
        np.testing.assert_array_equal(compiled(view), scaled_sum(view))
    np.testing.assert_array_equal(compiled(base[:4, :3]), scaled_sum(base[:4, :3]))


def test_the_reference_interpreter_runs_graphs_on_request(monkeypatch):
    monkeypatch.setenv("WEFT_INTERPRET", "1")
    report = weft.compiler.explain(scaled_sum)(np.arange(6.0).reshape(2, 3))
    assert not report.kernels and len(report.graphs) == 1
    np.testing.assert_array_equal(report.result, [8.0, 12.0, 16.0])


@pytest.mark.parametrize("level", ["0", "1", "2"])
def test_kernels_give_the_same_at_every_optimization(monkeypatch, level):
    monkeypatch.setenv("WEFT_KERNEL_OPTIMIZATION", level)
    array = np.linspace(-3, 3, 35).reshape(5, 7)
    compiled = weft.compile(lambda x: np.exp(x).sum(axis=1) / x[:, 0])
    np.testing.assert_allclose(compiled(array), np.exp(array).sum(axis=1) / array[:, 0], rtol=1e-14)


def test_an_unknown_level_is_named(monkeypatch, capfd):
    monkeypatch.setenv("WEFT_KERNEL_OPTIMIZATION", "fast")
    np.testing.assert_array_equal(weft.compile(lambda x: x + 1)(np.ones(3)), [2.0, 2.0, 2.0])
    assert "WEFT_KERNEL_OPTIMIZATION: expected 0, 1 or 2, got 'fast'" in capfd.readouterr().err
