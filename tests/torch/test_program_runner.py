"""`python -m weft.torch`: programs run as `python program.py` runs them, with weft as torch."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest


def run(*arguments, cwd=None, **options):
    return subprocess.run(
        [sys.executable, "-m", "weft.torch", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=cwd,
        **options,
    )


@pytest.fixture
def program(tmp_path):
    def write(source, name="program.py"):
        path = tmp_path / name
        path.write_text(textwrap.dedent(source))
        return path

    return write


def test_imports_of_torch_find_weft(program):
    path = program(
        """
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        from torch import Tensor, nn as also
        from torch.nn.functional import relu
        import torch.nn.utils.rnn
        import safetensors.torch
        assert torch.__name__ == "torch" and torch.__spec__.name == "weft.torch"
        assert nn is also is torch.nn and F is nn.functional and relu is F.relu
        assert torch.jit.script and torch.version.cuda is None
        print(torch.__version__, isinstance(torch.ones(1), Tensor))
        """
    )
    ran = run(path)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "2.15.0 True\n", "")


def test_arguments_path_and_exit_status(program, tmp_path):
    program("VALUE = 7\n", "beside.py")
    path = program(
        """
        import os, sys
        import beside
        assert __name__ == "__main__" and __file__ == sys.argv[0]
        print(sys.argv[1:], beside.VALUE, os.path.realpath(sys.path[0]) == os.path.realpath(os.path.dirname(__file__)))
        sys.exit(3)
        """
    )
    ran = run(path, "-x", "--help", "1")
    assert (ran.returncode, ran.stdout) == (3, "['-x', '--help', '1'] 7 True\n")


@pytest.mark.parametrize("status, code", [("'text'", 1), ("None", 0), ("True", 1), ("4", 4)])
def test_exit_status_of_system_exit(status, code):
    assert run("-c", f"import sys; sys.exit({status})").returncode == code


def test_tracebacks_begin_at_the_program(program):
    path = program("import torch\n\ndef f():\n    raise ValueError('mine')\n\nf()\n")
    ran = run(path)
    assert ran.returncode == 1
    lines = ran.stderr.splitlines()
    assert lines[0] == "Traceback (most recent call last):" and lines[1].startswith(
        f'  File "{path}", line 6'
    )
    assert lines[-1] == "ValueError: mine" and "_program.py" not in ran.stderr and "runpy" not in ran.stderr


def test_syntax_errors_name_the_program(program):
    ran = run(program("x = = 1\n"))
    assert ran.returncode == 1 and "program.py" in ran.stderr and "SyntaxError" in ran.stderr


def test_module_code_and_standard_input(program, tmp_path):
    program("import sys, torch\nprint(__name__, sys.argv[1:], torch.ones(2).sum().item())\n", "mine.py")
    assert run("-m", "mine", "a", cwd=tmp_path).stdout == "__main__ ['a'] 2.0\n"
    assert (
        run("-c", "import sys, torch; print(sys.argv, torch.ones(2).sum().item())", "b").stdout
        == "['-c', 'b'] 2.0\n"
    )
    assert run("-", "c", input="import sys, torch\nprint(sys.argv)\n").stdout == "['-', 'c']\n"


def test_classes_of_the_program_are_pickled(program, tmp_path):
    path = program(
        """
        import pickle, torch
        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = torch.nn.Linear(2, 2)
            def forward(self, x):
                return self.linear(x)
        model = Model()
        torch.save(model, "model.pt")
        again = torch.load("model.pt", weights_only=False)
        assert type(again) is Model and torch.equal(again.linear.weight, model.linear.weight)
        assert type(pickle.loads(pickle.dumps(model))) is Model
        print("same")
        """
    )
    ran = run(path, cwd=tmp_path)
    assert ran.stdout == "same\n", ran.stderr


def test_interrupt_ends_it_as_python(program):
    path = program("import sys, time\nprint('ready', flush=True)\ntime.sleep(60)\n")
    restore = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.default_int_handler)}
    process = subprocess.Popen(
        [sys.executable, "-m", "weft.torch", str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **restore,
    )
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == -signal.SIGINT and "KeyboardInterrupt" in errors


def test_a_torch_that_is_installed_is_not_found(program, tmp_path):
    (tmp_path / "site" / "torch").mkdir(parents=True)
    (tmp_path / "site" / "torch" / "__init__.py").write_text("raise SystemExit('the other torch')\n")
    (tmp_path / "site" / "torch" / "other.py").write_text("raise SystemExit('the other torch')\n")
    path = program(
        """
        import importlib.metadata
        import torch
        try:
            import torch.other
        except ModuleNotFoundError as error:
            print(error)
        print(importlib.metadata.version("torch"))
        """
    )
    environment = {
        **os.environ,
        "PYTHONPATH": f"{tmp_path / 'site'}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
    }
    ran = run(path, env=environment)
    assert ran.stdout == "No module named 'torch.other'\n2.15.0\n", ran.stderr


def test_usage():
    assert run().returncode == 2 and run("--help").returncode == 0
    assert "no such file" in run("nowhere.py").stderr and run("-m").returncode == 2


TRITON = """
    import sys
    import triton
    import triton.language as tl
    from triton import Config, autotune, cdiv

    @autotune([Config({"BLOCK": 64}, num_warps=2)], key=["n"])
    @triton.jit
    def add_one(x, n, BLOCK: tl.constexpr, T: tl.constexpr = tl.float32):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(x + at, tl.load(x + at, mask=at < n) + 1, mask=at < n)

    print(cdiv(9, 4), triton.next_power_of_2(9), add_one.arg_names, add_one.configs, tl.constexpr(3).value)
    print([triton.next_power_of_2(n) for n in (0, 1, 2, 3, 64, 65)])
    for call in (lambda: add_one[(1,)](None, 3), lambda: add_one(None, 3), lambda: tl.load(3)):
        try:
            call()
        except (NotImplementedError, RuntimeError) as error:
            print(type(error).__name__, str(error).replace(__file__, "FILE"))
"""


def test_triton_where_it_is_not_installed(program):
    assert run(program(TRITON)).stdout.splitlines() == [
        "3 16 ['x', 'n', 'BLOCK', 'T'] [BLOCK: 64, num_warps: 2, num_ctas: 1, num_stages: 3] 3",
        "[0, 1, 2, 4, 64, 128]",
        "NotImplementedError the Triton kernel add_one (FILE:7) is launched here, and there is no Triton: install it, let the "
        "program take another way, or write the kernel with weft.kernel",
        "RuntimeError Cannot call @triton.jit'd outside of the scope of a kernel",
        "NotImplementedError triton.language.load works within kernels, and there is no Triton",
    ]


def test_triton_of_the_program(program):
    program("def jit(function): return 'its own'", "triton.py")
    assert run(program("import triton\nprint(triton.jit(None))")).stdout == "its own\n"


@pytest.mark.parametrize("own", [True, False])
def test_a_torchvision_that_is_installed_is_found_when_asked_for(program, tmp_path, own):
    package = tmp_path / "site" / "torchvision"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(
        "import torch\nfrom .models import Net\nassert torch.__spec__.name == 'weft.torch'\n"
    )
    (package / "models.py").write_text(
        "import torch\nclass Net(torch.nn.Linear):\n    def forward(self, x):\n        return super().forward(x) * 2\n"
    )
    path = program(
        """
        import sys, torch, torchvision
        print(torchvision.__spec__.name, hasattr(torchvision, "Net"))
        if hasattr(torchvision, "Net"):
            net = torchvision.Net(2, 2)
            torch.save(net, "net.pt")
            assert b"torchvision.models" in open("net.pt", "rb").read()
            assert type(torch.load("net.pt", weights_only=False)) is torchvision.Net
        """
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    ran = run(*[] if own else ["--installed-torchvision"], path, cwd=tmp_path, env=environment)
    assert ran.stdout == ("weft.torchvision False\n" if own else "torchvision True\n"), ran.stderr


def test_a_torchvision_that_is_not_installed(program, tmp_path):
    isolated = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    ran = run("--installed-torchvision", program("import torchvision\n"), cwd=tmp_path, env=isolated)
    assert ran.returncode == 2 and "torchvision is not installed" in ran.stderr
    assert run("--installed-torchvision").returncode == 2
