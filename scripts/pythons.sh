# Sourced: the Pythons that weft is for.
weft_minors="11 12 13 14"

# A working interpreter of version 3.$1: from PATH, one of pyenv's, or one that scripts/newer_pythons has unpacked.
find_python() {
  local candidate
  for candidate in "python3.$1" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3."$1".*/bin/python "$PWD/build/pythons/root/usr/bin/python3.$1"; do
    if "$candidate" -c 'import venv, ensurepip' 2>/dev/null; then
      "$candidate" -c 'import sys; print(sys.executable)'
      return
    fi
  done
  return 1
}

# The minor version of .venv's Python.
default_minor() { .venv/bin/python -c 'import sys; print(sys.version_info.minor)'; }

# A wheel of pip's: the one that Python would install, or Debian's.
pip_of() {
  "$1" - <<'PROGRAM'
import ensurepip, pathlib, sys
folders = [pathlib.Path(ensurepip.__file__).parent / "_bundled", pathlib.Path(sys.base_prefix) / "share/python-wheels"]
folders.append(pathlib.Path("/usr/share/python-wheels"))
print(next(str(wheel) for folder in folders for wheel in sorted(folder.glob("pip-*.whl"))))
PROGRAM
}

# An environment of Python 3.$1 with scripts/requirements.txt: .venv, or build/python-3.$1/venv, made when it is
# missing. Sets `environment`; 1: this machine has no such Python, and Debian's packages have none, 2: it could not be made.
python_environment() {
  local python build=build/python-3.$1
  environment=$PWD/.venv
  [ "$1" = "$(default_minor)" ] && return
  python=$(find_python "$1") || { [ "$1" -ge 14 ] && scripts/newer_pythons "$1" && python=$(find_python "$1"); } || return 1
  environment=$PWD/$build/venv
  if ! cmp -s scripts/requirements.txt "$build/venv/complete"; then
    rm -rf "$build"
    # Debian's Pythons have no pip of their own: it is a wheel among their packages.
    "$python" -m venv --without-pip "$build/venv" &&
      PYTHONPATH=$(pip_of "$python") "$build/venv/bin/python" -m pip install --quiet pip -r scripts/requirements.txt &&
      cp scripts/requirements.txt "$build/venv/complete" || return 2
  fi
}
