"""Static variables of the sources that hold the interpreter's lock are never initialized by code.

C++ initializes a static variable under a lock of its own. Where that runs Python code, another thread gets the
interpreter's lock meanwhile, comes for the same variable and waits for C++'s with the interpreter's in its hands: both
wait for ever. What is made once is a MadeOnce (python/bindings/once.h), which holds no lock.
"""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[2]
FILES = sorted(
    path
    for folder in ("python/capture", "python/bindings")
    for path in (ROOT / folder).rglob("*")
    if path.suffix in (".cc", ".h", ".inc")
)

STATIC = re.compile(r"\bstatic\b(?!_)")
# Containers of the standard library: their own code cannot reach Python's. What they begin with is literals.
STANDARD = re.compile(
    r"(?:const )?(?:auto|std::(?:set|map|vector|deque|unordered_map)<.*>)\s*&?\s*\w+ =\s*(?:\*new std::(?:set|map|vector|deque|unordered_map)<.*>)?\s*(\{.*\})?",
    re.DOTALL,
)
PLAIN = re.compile(r"(?:\s|[{},]|\"(?:[^\"\\]|\\.)*\"|[-+.\w]|::)*")


def without_comments_and_strings(text):
    """The same text with comments and the contents of literals blanked, line by line as before."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'', re.DOTALL)

    def blank(match):
        found = match.group(0)
        if found[0] == '"':
            return '"' + "_" * (len(found) - 2) + '"'
        return re.sub(r"[^\n]", " ", found)

    return pattern.sub(blank, text)


def declaration_at(text, start):
    """From `static` to the end of the variable's or function's declaration: a `;` or a function's `{` at depth 0."""
    depth = 0
    for at in range(start, len(text)):
        c = text[at]
        if c in "([":
            depth += 1
        elif c in ")]":
            depth -= 1
        elif c == "{" and depth == 0 and is_function(text[start:at]):
            return None
        elif c in "{}":
            depth += 1 if c == "{" else -1
        elif c == ";" and depth == 0:
            return text[start:at]
    return None


def is_function(declaration):
    """`static T name(parameters)`, with what may follow."""
    return (
        "=" not in declaration
        and re.search(r"\w\s*\([^=]*\)\s*(?:const|noexcept|->.*)*\s*$", declaration) is not None
    )


def is_prototype(declaration):
    return is_function(declaration) and "constinit" not in declaration


def wrong_declarations(text):
    text = without_comments_and_strings(text)
    for match in STATIC.finditer(text):
        declaration = declaration_at(text, match.start())
        if declaration is None or is_prototype(declaration):
            continue
        rest = declaration.removeprefix("static").strip()
        if re.search(r"\b(?:constexpr|constinit)\b", rest):
            continue
        standard = STANDARD.fullmatch(rest)
        if standard and PLAIN.fullmatch(standard.group(1) or ""):
            continue
        yield text.count("\n", 0, match.start()) + 1, " ".join(declaration.split())


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_static_variable_is_initialized_by_code(path):
    wrong = [f"{path}:{line}: {declaration}" for line, declaration in wrong_declarations(path.read_text())]
    assert not wrong, "\n".join(["make these MadeOnce, InternedName, constinit or constexpr:", *wrong])


@pytest.mark.parametrize(
    "declaration",
    [
        'static PyObject* const name = PyUnicode_InternFromString("x");',
        "static PyObject* code = [] { return make(); }();",
        "static const Ref module = Ref::steal(import()),\n other = Ref();",
        "static auto& state = *new StateVariable;",
        "static const V before = make_value(Kind::Handled);",
        "thread_local static Ref last = checked(nothing());",
        "static Counters instance;",
        'static const std::set<std::string> names = {first(), "x"};',
        "static auto& unit = *new std::shared_ptr<Unit>(Unit::create());",
    ],
)
def test_what_is_refused(declaration):
    assert list(wrong_declarations(f"int f() {{\n  {declaration}\n  return 1;\n}}"))


@pytest.mark.parametrize(
    "declaration",
    [
        "static constinit MadeOnce<Ref> code;",
        'static constinit InternedName name("__init__"), other("x");',
        "static constexpr int kMost = most();",
        'static const std::set<std::string> names = {"exp", "log"};',
        "static auto& table = *new std::unordered_map<const Code*, std::vector<int>>;",
        "static std::shared_ptr<Unit> current();",
        "static bool is_leaf(PyObject* object) { return make(object); }",
        "static_assert(sizeof(int) == 4);",
        "// static PyObject* name = make();",
    ],
)
def test_what_is_allowed(declaration):
    assert not list(wrong_declarations(f"struct S {{\n  {declaration}\n}};"))


# ---- locks ---------------------------------------------------------------------------------------------------------
# Where a lock of C++'s is held by these sources, and why nobody waits for the interpreter's meanwhile.
LOCKS = {
    "python/bindings/block_kernels.cc": "taken without the interpreter's lock, in compiled blocks",
    "python/capture/loops/team.cc": "the states of pieces: no Python below it",
    "python/bindings/models/models.cc": "taken and waited for without the interpreter's lock",
}


def test_locks_are_known():
    pattern = re.compile(r"std::(?:\w*lock(?:_guard)?\b|\w*mutex\b|condition_variable|call_once)")
    found = {
        str(path.relative_to(ROOT))
        for path in FILES
        if pattern.search(without_comments_and_strings(path.read_text()))
    }
    assert found == set(LOCKS)


def test_the_interpreters_lock_is_given_up_and_taken_in_one_place():
    """What waits for it elsewhere would be unwound, or aborted, at the end of a program."""
    pattern = re.compile(
        r"PyEval_(?:Save|Restore|Acquire|Release)Thread|PyGILState_(?:Ensure|Release)|gil_scoped_|BEGIN_ALLOW_THREADS"
    )
    found = {path.name for path in FILES if pattern.search(without_comments_and_strings(path.read_text()))}
    assert found == {"interpreter_lock.h"}
