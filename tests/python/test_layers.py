"""Folders include only what lies below them: src/layers.txt has the order."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
# Written while weft is built.
GENERATED = ("embedded/",)


def layers():
    """Folder -> height; folders of one line are of one height, and do not see each other."""
    lines = (ROOT / "src/layers.txt").read_text().splitlines()
    rows = [line.split() for line in lines if line and not line.startswith("#")]
    return {folder: height for height, row in enumerate(rows) for folder in row}


HEIGHTS = layers()


def folder_of(path):
    """The layer of a source file, relative to the root."""
    first, second = path.parts[:2]
    return second if first == "src" else f"{first}/{second}"


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
    assert folders == set(HEIGHTS), "src/layers.txt names what there is, and nothing else"


def test_includes_go_down():
    wrong = []
    for path in sources():
        folder = folder_of(path)
        for name in INCLUDE.findall((ROOT / path).read_text()):
            other = included_file(path, name)
            target = folder if other is None else folder_of(other)
            if target != folder and HEIGHTS[target] >= HEIGHTS[folder]:
                wrong.append(f"{path} includes {name}: {target} is not below {folder}")
    assert not wrong, "\n".join(wrong)


def test_public_headers_include_no_source():
    for path in (ROOT / "include").rglob("*.h"):
        for name in INCLUDE.findall(path.read_text()):
            assert name.startswith("weft/"), f"{path}: {name}"
