"""torch.hub's names. Files that are in the cache are loaded; nothing is downloaded."""

import os
import re
from urllib.parse import urlparse

_hub_dir = None
READ_DATA_CHUNK = 128 * 1024
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")  # of a file's name: the first digits of its checksum


def _get_torch_home():
    """The folder that the cache is in: $TORCH_HOME, or ~/.cache/torch."""
    home = os.environ.get("TORCH_HOME") or os.path.join(os.environ.get("XDG_CACHE_HOME", "~/.cache"), "torch")
    return os.path.expanduser(home)


def get_dir():
    """The folder of the cache: that of set_dir(), or `hub` in that of _get_torch_home()."""
    return _hub_dir if _hub_dir is not None else os.path.join(_get_torch_home(), "hub")


def set_dir(d):
    global _hub_dir
    _hub_dir = os.path.expanduser(d)


def _refuse(what, url, path):
    raise RuntimeError(f"torch.hub.{what}: weft downloads nothing: get {url} yourself, and save it as {path}")


def load_state_dict_from_url(
    url,
    model_dir=None,
    map_location=None,
    progress=True,
    check_hash=False,
    file_name=None,
    weights_only=False,
):
    """What the file of that name in the cache (model_dir, or get_dir()/checkpoints) holds.

    raises: RuntimeError naming the address and the path where there is no such file.
    """
    from . import serialization

    folder = os.path.join(get_dir(), "checkpoints") if model_dir is None else os.fspath(model_dir)
    path = os.path.join(folder, file_name or os.path.basename(urlparse(url).path))
    if not os.path.exists(path):
        _refuse("load_state_dict_from_url", url, path)
    return serialization.load(path, map_location=map_location, weights_only=weights_only)


load_url = load_state_dict_from_url


def download_url_to_file(url, dst, hash_prefix=None, progress=True):
    """raises: RuntimeError; weft downloads nothing."""
    _refuse("download_url_to_file", url, dst)


def _import_hubconf(what, repo_or_dir, source):
    import importlib.util

    if source != "local":
        raise RuntimeError(
            f"torch.hub.{what}: weft downloads nothing: get {repo_or_dir!r} yourself, and say source='local'"
        )
    path = os.path.join(repo_or_dir, "hubconf.py")
    spec = importlib.util.spec_from_file_location("hubconf", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def load(
    repo_or_dir,
    model,
    *args,
    source="github",
    trust_repo=None,
    force_reload=False,
    verbose=True,
    skip_validation=False,
    **kwargs,
):
    """What `model` of the folder's hubconf.py gives; source="local" only."""
    return getattr(_import_hubconf("load", repo_or_dir, source), model)(*args, **kwargs)


def list(github, force_reload=False, skip_validation=False, trust_repo=None, verbose=True):
    """raises: RuntimeError; weft downloads nothing."""
    _import_hubconf("list", github, "github")


def help(github, model, force_reload=False, skip_validation=False, trust_repo=None):
    """raises: RuntimeError; weft downloads nothing."""
    _import_hubconf("help", github, "github")


def __getattr__(name):
    if name != "tqdm":
        raise AttributeError(f"module 'torch.hub' has no attribute {name!r}")
    import importlib

    return importlib.import_module("tqdm").tqdm  # where it is installed
