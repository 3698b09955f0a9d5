"""Folders include only what lies below them: src/layers.txt has the order."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
# Written while weft is built.
GENERATED = ("embedded/",)


def layers():
    """Folder -> (height, folders that it is one layer with); other folders of one height do not see each other."""
    lines = (ROOT / "src/layers.txt").read_text().splitlines()
    rows = [line.split() for line in lines if line and not line.startswith("#")]
    return {
        folder: (height, joined)
        for height, row in enumerate(rows)
        for joined in row
        for folder in joined.split("+")
    }


LAYERS = layers()


def folder_of(path):
    """The folder of src/layers.txt that a source file lies in: the longest; or its own folder where there is none."""
    parts = path.parts[1:-1] if path.parts[0] == "src" else path.parts[:-1]
    for length in range(len(parts), 0, -1):
        if "/".join(parts[:length]) in LAYERS:
            return "/".join(parts[:length])
    return "/".join(parts)


def may_include(folder, target):
    (height, joined), (below, other) = LAYERS[folder], LAYERS[target]
    return joined == other or below < height


def sources():
    for top in ("src", "python"):
        for path in sorted((ROOT / top).rglob("*")):
            if path.suffix in (".cc", ".h", ".inc"):
                yield path.relative_to(ROOT)


def included_file(path, name):
    """The file that `name` in `path` means, or None for a public or generated header."""
    if name.startswith("weft/") or name.startswith(GENERATED):
        return None
    for base in (path.parent, pathlib.Path("src"), pathlib.Path("python"), pathlib.Path("python/bindings")):
        if (ROOT / base / name).is_file():
            return base / name
    raise AssertionError(f"{path}: no file is called {name}")


def test_every_folder_has_a_layer():
    folders = {folder_of(path) for path in sources()}
    assert folders == set(LAYERS), "src/layers.txt names what there is, and nothing else"


def test_the_longest_folder_counts():
    numpy, builtins, loops = (f"python/capture/{room}" for room in ("numpy", "builtins", "loops"))
    assert folder_of(pathlib.Path(numpy) / "index.cc") == numpy
    assert folder_of(pathlib.Path("src/script/emit/names.cc")) == "script/emit"
    assert may_include(numpy, builtins) and may_include(builtins, numpy) and may_include(numpy, loops)
    assert not may_include(loops, numpy) and not may_include("core", numpy)
    assert not may_include("script/run", "script/trace"), "folders of one line do not see each other"


def test_includes_go_down():
    wrong = []
    for path in sources():
        folder = folder_of(path)
        for name in INCLUDE.findall((ROOT / path).read_text()):
            other = included_file(path, name)
            target = folder if other is None else folder_of(other)
            if not may_include(folder, target):
                wrong.append(f"{path} includes {name}: {target} is not below {folder}")
    assert not wrong, "\n".join(wrong)


def test_public_headers_include_no_source():
    for path in (ROOT / "include").rglob("*.h"):
        for name in INCLUDE.findall(path.read_text()):
            assert name.startswith("weft/"), f"{path}: {name}"
