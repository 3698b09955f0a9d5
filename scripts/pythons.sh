# Sourced: the Pythons of this machine that weft is for.
weft_minors="11 12 13"

# A working interpreter of version 3.$1: from PATH, or one of pyenv's.
find_python() {
  local candidate
  for candidate in "python3.$1" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3."$1".*/bin/python; do
    if "$candidate" -c 'import venv, ensurepip' 2>/dev/null; then
      "$candidate" -c 'import sys; print(sys.executable)'
      return
    fi
  done
  return 1
}

# The minor version of .venv's Python.
default_minor() { .venv/bin/python -c 'import sys; print(sys.version_info.minor)'; }

# An environment of Python 3.$1 with scripts/requirements.txt: .venv, or build/python-3.$1/venv, made when it is
# missing. Sets `environment`; 1: this machine has no such Python, 2: it could not be made.
python_environment() {
  local python build=build/python-3.$1
  environment=$PWD/.venv
  [ "$1" = "$(default_minor)" ] && return
  python=$(find_python "$1") || return 1
  environment=$PWD/$build/venv
  if ! cmp -s scripts/requirements.txt "$build/venv/complete"; then
    rm -rf "$build"
    "$python" -m venv "$build/venv" &&
      "$build/venv/bin/python" -m pip install --quiet -r scripts/requirements.txt &&
      cp scripts/requirements.txt "$build/venv/complete" || return 2
  fi
}
