"""Every file of the tree beside the sources belongs to something: it is named where people or programs look for it."""

import pathlib
import re
import subprocess

import pytest

TOP = pathlib.Path(__file__).parents[2]
# Collected by a pattern: what a folder's program reads all of.
COLLECTED = [
    r"bench/programs/\w+\.py",  # bench/suite.py
    r"bench/gpu_sections/\w+\.py",  # bench/gpu.py
    r"scripts/packages-\w+\.txt",  # scripts/setup
    r"docs/operators\.md",
]


def tracked():
    listed = subprocess.run(["git", "ls-files"], cwd=TOP, capture_output=True, text=True)
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    return [name for name in listed.stdout.splitlines() if (TOP / name).is_file()]


def test_files_belong_to_something():
    files = tracked()
    texts = {
        name: (TOP / name).read_text(errors="replace")
        for name in files
        if not name.startswith(("tests/", "src/")) and pathlib.Path(name).suffix not in (".png",)
    }
    orphans = []
    for name in files:
        path = pathlib.Path(name)
        if path.parts[0] not in ("bench", "scripts", "docs", "cmake", "examples"):
            continue
        if path.name == "CMakeLists.txt" or any(re.fullmatch(pattern, name) for pattern in COLLECTED):
            continue
        beside = texts.get(str(path.parent / "CMakeLists.txt"), "")
        if re.search(rf"foreach\(.*\b{path.stem}\b", beside):
            continue
        words = [
            path.name,
            f"import {path.stem}",
            f"from {path.stem}",
            f"include({path.stem})",
            f"weft_{path.stem}",
        ]
        if not any(word in text for other, text in texts.items() if other != name for word in words):
            orphans.append(name)
    assert not orphans, f"named nowhere: {orphans}"
