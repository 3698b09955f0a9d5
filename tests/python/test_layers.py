"""Folders include only what lies below them, and define themselves what their headers declare: src/layers.txt has the
order."""

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


# ---- definitions -----------------------------------------------------------------------------------------------
# Text is enough: what a file defines begins its line, and so do the namespaces around it.

CLASS = re.compile(r"^(?:class|struct)(?: alignas\(\w+\)| \[\[\w+\]\])? (\w+)\b[^;{(]*\{", re.MULTILINE)
NOT_HERE = (
    r"^(?!(?:static|using|namespace|struct|class|enum|template|constexpr|inline|return|extern) |template)"
)
DECLARED = re.compile(NOT_HERE + r"(?:[\w:<>,\[\]*&\"]+[ &*]+)+(\w+)\(", re.MULTILINE)
DEFINED = re.compile(NOT_HERE + r"(?:[\w:<>,\[\]]+[ &*]+)*?((?:\w+::)*(?:~?\w+|operator\S+))\(", re.MULTILINE)


def declarations(headers):
    """Names of classes, and of functions that belong to none -> the folders whose headers declare them. `headers`: pairs
    of a folder and a text."""
    classes, functions = {}, {}
    for folder, text in headers:
        for pattern, found in ((CLASS, classes), (DECLARED, functions)):
            for name in pattern.findall(text):
                found.setdefault(name, set()).add(folder)
    return classes, functions


def without_anonymous(text):
    """The lines that are no comments and in no anonymous namespace."""
    kept, is_anonymous = [], False
    for line in text.splitlines():
        if line == "namespace {":
            is_anonymous = True
        elif line == "}  // namespace":
            is_anonymous = False
        elif not is_anonymous and not line.startswith(("//", "#")):
            kept.append(line)
    return "\n".join(kept)


def definitions(text):
    """Qualified names of the functions that a source defines for others."""
    text = without_anonymous(text)
    for match in DEFINED.finditer(text):
        depth, at = 1, match.end()
        while depth and at < len(text):
            depth += {"(": 1, ")": -1}.get(text[at], 0)
            at += 1
        behind = re.search(r"[;{]", text[at:])
        if behind and behind.group() == "{":
            yield match[1]


def defined_elsewhere(folder, text, classes, functions):
    """(name, folders) of what the source defines and only headers of other folders declare, that lie not above."""
    for name in definitions(text):
        *scopes, last = name.split("::")
        owners = [classes[scope] for scope in scopes if scope in classes]
        declared = owners[0] if owners else set() if scopes else functions.get(last, set())
        if declared and not any(other in (folder, PUBLIC) or is_below(folder, other) for other in declared):
            yield name, declared


PUBLIC = "include"


def is_below(folder, other):
    return LAYERS[folder][0] < LAYERS[other][0]


def all_headers():
    for path in sources():
        if path.suffix == ".h":
            yield folder_of(path), (ROOT / path).read_text()
    for path in (ROOT / "include").rglob("*.h"):
        yield PUBLIC, path.read_text()


def test_headers_are_defined_where_they_lie():
    """A function that a header declares is defined in its folder, or below: who includes the header calls nothing above
    it. What include/ declares is anyone's."""
    classes, functions = declarations(all_headers())
    wrong = [
        f"{path} defines {name}, which is declared in {', '.join(sorted(declared))}"
        for path in sources()
        if path.suffix == ".cc"
        for name, declared in defined_elsewhere(
            folder_of(path), (ROOT / path).read_text(), classes, functions
        )
    ]
    assert not wrong, "\n".join(wrong)


HEADER = """
class Reader {
 public:
  int read();
};
std::vector<int> all_of(const Reader& reader,
                        int count = 1);
"""
SOURCE = """
namespace weft {
namespace {
int helper() { return 1; }
}  // namespace

int Reader::read() { return helper(); }

std::vector<int> all_of(const Reader& reader,
                        int count) {
  return {};
}
void other() {}
}  // namespace weft
"""


def test_definitions_are_found():
    assert list(definitions(SOURCE)) == ["Reader::read", "all_of", "other"]
    declared = declarations([("ops", HEADER)])
    assert declared == ({"Reader": {"ops"}}, {"all_of": {"ops"}})
    found = {
        folder: [name for name, _ in defined_elsewhere(folder, SOURCE, *declared)]
        for folder in ("ops", "core", "compiler")
    }
    assert found == {"ops": [], "core": [], "compiler": ["Reader::read", "all_of"]}
    # Folders that need each other include each other's headers, and define their own.
    evaluate, numpy = "python/capture/evaluate", "python/capture/numpy"
    joined = declarations([(evaluate, HEADER)])
    assert [name for name, _ in defined_elsewhere(numpy, SOURCE, *joined)] == ["Reader::read", "all_of"]
    # A name that the folder's own headers declare, too, is its own.
    both = declarations([(evaluate, HEADER), (numpy, HEADER)])
    assert not list(defined_elsewhere(numpy, SOURCE, *both))
