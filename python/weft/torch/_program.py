"""A program whose own `import torch`, `import torchvision` and `import safetensors` find weft's."""

import os
import sys

from . import _aliases, _places, _table

USAGE = """usage: python -m weft.torch PROGRAM.py [ARGUMENT ...]
       python -m weft.torch -m MODULE [ARGUMENT ...]
       python -m weft.torch -c CODE [ARGUMENT ...]
       python -m weft.torch - [ARGUMENT ...]
       python -m weft.torch --installed-torchvision ...
       python -m weft.torch --coverage [--missing]

Runs a program written for PyTorch on weft: its `import torch`, `import torchvision` and `import safetensors.torch` find
weft's modules, whatever is installed. `-` reads the program from standard input. --installed-torchvision, before the program:
`import torchvision` finds the package that is installed, which runs over weft's torch. --coverage counts the names of PyTorch
that are there; --missing lists the others with the reason."""

STANDS_FOR = {
    "torch": "weft.torch",
    "torchvision": "weft.torchvision",
    "safetensors": "weft.torch._safetensors",
}
TORCHVISION_VERSION = "0.29.2"


def stand_in(*, installed_torchvision=False):
    """From now on `import torch` finds weft.torch, which says that its name is torch; installed_torchvision: `import torchvision`
    finds the package that is installed."""
    for name in [name for name in sys.modules if name.split(".")[0] in STANDS_FOR]:
        del sys.modules[name]
    from . import _safetensors

    versions = {
        "torch": _table.TORCH_VERSION,
        "torchvision": TORCHVISION_VERSION,
        "safetensors": _safetensors.__version__,
    }
    for alias, real in STANDS_FOR.items():
        if alias != "torchvision" or not installed_torchvision:
            _aliases.add(alias, real, versions[alias])
    _places.torchvision_is_weft_s = not installed_torchvision
    _aliases.add_missing("triton", "weft.torch._triton")
    _aliases.watch(_places.name_classes)
    sys.modules["weft.torch"].__name__ = "torch"  # programs compare it with the names that they look up


_kept = []  # the module of `python -m weft.torch`: what it holds must live on


def _new_main(path, **attributes):
    """A module __main__ of its own for the program, so that pickles and inspect find what it defines."""
    import types

    module = types.ModuleType("__main__")
    module.__builtins__ = __builtins__
    module.__dict__.update(attributes)
    if path is not None:
        module.__file__ = path
    _kept.append(sys.modules["__main__"])
    sys.modules["__main__"] = module
    return module


def _run_source(source, path, module):
    exec(compile(source, path, "exec", dont_inherit=True), module.__dict__)


def _run_file(path):
    import importlib.machinery

    if os.path.isdir(path) or path.endswith((".zip", ".pyz")):
        import runpy

        runpy.run_path(path, run_name="__main__")
        return
    if path.endswith(".pyc"):
        loader = importlib.machinery.SourcelessFileLoader("__main__", path)
        exec(loader.get_code("__main__"), _new_main(path, __loader__=loader).__dict__)
        return
    with open(path, "rb") as file:
        source = file.read()
    loader = importlib.machinery.SourceFileLoader("__main__", path)
    _run_source(source, path, _new_main(path, __loader__=loader, __cached__=None))


def _run_module(name):
    import runpy

    _new_main(None)
    runpy._run_module_as_main(name)  # what `python -m` does


def _without_own_frames(traceback):
    """The traceback from the program's first frame on."""
    own = {__file__, getattr(sys.modules.get("runpy"), "__file__", None)}
    inner = traceback
    while inner and (
        inner.tb_frame.f_code.co_filename in own
        or inner.tb_frame.f_code.co_filename.startswith("<frozen runpy")
    ):
        inner = inner.tb_next
    return inner


def _set_folder(folder):
    """sys.path begins with the program's folder, where Python has put that of `python -m`."""
    if getattr(sys.flags, "safe_path", False):
        return
    if sys.path and sys.path[0] in ("", os.getcwd()):
        sys.path[0] = folder
    else:
        sys.path.insert(0, folder)


def _die_of_interrupt():
    """Ends the process as Python ends it after a KeyboardInterrupt: by the signal, so that shells see it."""
    import atexit
    import signal

    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGINT)


def _run(arguments):
    first = arguments[0]
    if first == "-m":
        sys.argv = [first, *arguments[2:]]
        _set_folder(os.getcwd())
        _run_module(arguments[1])
    elif first == "-c":
        sys.argv = ["-c", *arguments[2:]]
        _set_folder("")
        _run_source(arguments[1], "<string>", _new_main(None))
    elif first == "-":
        sys.argv = arguments
        _set_folder("")
        _run_source(sys.stdin.buffer.read(), "<stdin>", _new_main(None))
    else:
        sys.argv = arguments
        path = os.path.realpath(first)
        _set_folder(path if os.path.isdir(path) else os.path.dirname(path))
        _run_file(first)


def _fail(message):
    print(f"{message}\n{USAGE}", file=sys.stderr)
    return 2


def main(arguments):
    """The command's exit status. What the program raises ends it as it would end `python PROGRAM.py`."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE, file=sys.stdout if arguments else sys.stderr)
        return 0 if arguments else 2
    installed_torchvision = arguments[0] == "--installed-torchvision"
    if installed_torchvision:
        import importlib.util

        arguments = arguments[1:]
        if not arguments:
            return _fail("--installed-torchvision: expected a program")
        if importlib.util.find_spec("torchvision") is None:
            return _fail("--installed-torchvision: torchvision is not installed")
    first = arguments[0]
    if first == "--coverage":
        from . import _coverage

        return _coverage.main(arguments[1:])
    if first in ("-m", "-c"):
        if len(arguments) == 1:
            return _fail(f"{first}: expected {'the name of a module' if first == '-m' else 'code'}")
    elif first != "-" and (first.startswith("-") or not os.path.exists(first)):
        return _fail(f"{first}: no such file")
    stand_in(installed_torchvision=installed_torchvision)
    try:
        _run(arguments)
    except SystemExit:
        raise
    except BaseException as error:
        traceback = _without_own_frames(error.__traceback__)
        sys.excepthook(type(error), error.with_traceback(traceback), traceback)
        if isinstance(error, KeyboardInterrupt):
            _die_of_interrupt()
        return 1
    return 0
