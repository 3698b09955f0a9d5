"""Archives written: of modules of the extension, by what they are in Python."""

import os


def path_of(f):
    """The path that a str or os.PathLike names; None for any other object."""
    return os.fsdecode(f) if isinstance(f, (str, os.PathLike)) else None


def check_extra_files(extra_files, function):
    if extra_files is not None and not isinstance(extra_files, dict):
        raise TypeError(f"{function}: expected _extra_files to be a dict, got {type(extra_files).__name__}")
    for name in extra_files or ():
        if not isinstance(name, str):
            raise TypeError(f"{function}: expected names of files in _extra_files, got {name!r}")


def _extra_contents(extra_files):
    check_extra_files(extra_files, "save")
    for name, text in (extra_files or {}).items():
        if not isinstance(text, (str, bytes, bytearray, memoryview)):
            raise TypeError(
                f"save: expected str or bytes in _extra_files[{name!r}], got {type(text).__name__}"
            )
    return {
        name: text.encode() if isinstance(text, str) else bytes(text)
        for name, text in (extra_files or {}).items()
    }


def write(c, f, extra_files):
    """The archive of the extension's module `c` as a file; see weft.jit.save."""
    extra = _extra_contents(extra_files)
    path = path_of(f)
    if path is not None:
        c.save(path, extra)
    elif hasattr(f, "write"):
        f.write(c.save_to_bytes(extra))
    else:
        raise TypeError(f"save: expected a path or a file opened for writing, got {type(f).__name__}")


def written(c, extra_files):
    """The same as bytes."""
    return c.save_to_bytes(_extra_contents(extra_files))
