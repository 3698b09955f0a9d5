"""torch.load and torch.save: archives (.pt) that PyTorch reads and writes, and the file format before them.

source: the archives that PyTorch 2.15 writes.
"""

import contextlib
import io
import os
import pickle
import struct
import threading
import zipfile
from enum import Enum

import weft
from weft import _C

from . import _pickles, _weights_only
from .storage import UntypedStorage

__all__ = """
    SourceChangeWarning LoadEndianness add_safe_globals clear_safe_globals get_safe_globals safe_globals
    get_unsafe_globals_in_checkpoint check_module_version_greater_or_equal default_restore_location location_tag
    register_package get_default_load_endianness set_default_load_endianness get_default_mmap_options
    set_default_mmap_options get_crc32_options set_crc32_options skip_data load save
""".split()

DEFAULT_PROTOCOL = 2
MAGIC_NUMBER, PROTOCOL_VERSION = 0x1950A86A20F9469CFC6C, 1001
_MAP_SHARED, _MAP_PRIVATE = 1, 2
FILE_LIKE = MAP_LOCATION = object
_ZIP = b"PK\x03\x04"


class SourceChangeWarning(Warning):
    pass


class LoadEndianness(Enum):
    NATIVE, LITTLE, BIG = 1, 2, 3


class _Settings(threading.local):
    endianness = None
    mmap_flags = _MAP_PRIVATE
    crc32 = True
    skip = False


_settings = _Settings()
_restorers = []  # (priority, tagger, deserializer), of register_package


def get_default_load_endianness():
    return _settings.endianness


def set_default_load_endianness(endianness):
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    _settings.endianness = endianness


def get_default_mmap_options():
    return _settings.mmap_flags


class set_default_mmap_options:
    """Accepted: what is mapped is the process's own, and writing to it does not change the file."""

    def __init__(self, flags):
        if flags not in (_MAP_PRIVATE, _MAP_SHARED):
            raise ValueError(
                f"Invalid argument in function set_default_mmap_options, expected mmap.MAP_PRIVATE or mmap.MAP_SHARED, got {flags}"
            )
        self.prev, _settings.mmap_flags = _settings.mmap_flags, flags

    def __enter__(self):
        pass

    def __exit__(self, *error):
        _settings.mmap_flags = self.prev


def get_crc32_options():
    return _settings.crc32


def set_crc32_options(compute_crc32):
    _settings.crc32 = compute_crc32


def check_module_version_greater_or_equal(module, req_version_tuple, error_if_malformed=True):
    version = tuple(
        int(part) for part in module.__version__.split("+")[0].split(".")[: len(req_version_tuple)]
    )
    return version >= tuple(req_version_tuple)


def register_package(priority, tagger, deserializer):
    """tagger(storage) -> location or None, for saving; deserializer(storage, location) -> storage or None, for loading."""
    _restorers.append((priority, tagger, deserializer))
    _restorers.sort(key=lambda entry: entry[0])


def location_tag(storage):
    for _, tagger, _ in _restorers:
        location = tagger(storage)
        if location:
            return location
    return "cpu"


def default_restore_location(storage, location):
    """The storage on the device that the location names."""
    for _, _, deserializer in _restorers:
        result = deserializer(storage, location)
        if result is not None:
            return result
    kind = location.partition(":")[0]
    if kind == "cpu":
        return storage
    if kind == "meta":
        return UntypedStorage._meta(storage.nbytes())
    if kind == "cuda":
        if weft.torch.cuda.is_available():
            return storage.cuda(location)
        raise RuntimeError(
            "torch.load: the file's tensors are on a CUDA device, and torch.cuda.is_available() is False: say "
            "map_location=torch.device('cpu') to have them on the CPU"
        )
    raise RuntimeError(
        f"don't know how to restore data location of torch.UntypedStorage (tagged with {location}): say map_location='cpu'"
    )


def _restorer(map_location):
    """A function of a storage and its location in the file that puts it where map_location says."""
    if map_location is None:
        return default_restore_location
    if isinstance(map_location, dict):
        return lambda storage, location: default_restore_location(
            storage, map_location.get(location, location)
        )
    if isinstance(map_location, (str, bytes)):
        place = map_location.decode("ascii") if isinstance(map_location, bytes) else map_location
        return lambda storage, location: default_restore_location(storage, place)
    if isinstance(map_location, weft.device):
        return lambda storage, location: default_restore_location(storage, str(map_location))

    def restore(storage, location):
        result = map_location(storage, location)
        return default_restore_location(storage, location) if result is None else result

    return restore


# ---- what weights_only allows ----------------------------------------------------------------------------------------

add_safe_globals = _weights_only.add_safe_globals
clear_safe_globals = _weights_only.clear_safe_globals
get_safe_globals = _weights_only.get_safe_globals
safe_globals = _weights_only.safe_globals


@contextlib.contextmanager
def skip_data(materialize_fake_tensors=False):
    """Within it, load() gives tensors without the file's elements, and save() writes zeros for them."""
    before, _settings.skip = _settings.skip, True
    try:
        yield
    finally:
        _settings.skip = before


def get_unsafe_globals_in_checkpoint(f):
    """Names in the file that load() with weights_only would refuse."""
    with _opened(f, "rb") as file:
        if _magic(file) != _ZIP:
            raise ValueError("Expected input to be a checkpoint returned by torch.save")
        archive = _Archive(f, file)
    if archive.is_script:
        raise ValueError(
            "Expected input to be a checkpoint returned by torch.save but got a torchscript checkpoint"
        )
    return _weights_only.unsafe_names(archive.pickled())


# ---- files -----------------------------------------------------------------------------------------------------------


def _is_path(f):
    return isinstance(f, (str, os.PathLike))


@contextlib.contextmanager
def _opened(f, mode):
    if _is_path(f):
        with open(f, mode) as file:
            yield file
    else:
        yield f


@contextlib.contextmanager
def _replacing(path):
    """A file that takes the path's place when all is written."""
    path = os.path.realpath(path)
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, "wb") as file:
            yield file
        return
    temporary = f"{path}.{os.getpid()}.{threading.get_ident()}.tmp"
    try:
        file = open(temporary, "xb")
    except FileNotFoundError:
        raise RuntimeError(f"Parent directory {os.path.dirname(path)} does not exist.") from None
    try:
        with file:
            yield file
        if os.path.exists(path):
            os.chmod(temporary, os.stat(path).st_mode & 0o7777)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def save(
    obj,
    f,
    pickle_module=pickle,
    pickle_protocol=DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization=True,
    _disable_byteorder_record=False,
):
    """Writes the object to a path or a file opened for writing, so that torch.load of PyTorch and of weft reads it."""
    if not _is_path(f) and not hasattr(f, "write"):
        raise AttributeError(
            f"expected 'f' to be string, path, or a file-like object with a 'write' attribute, got {type(f).__name__}"
        )
    if not _use_new_zipfile_serialization:
        raise NotImplementedError(
            "torch.save: weft writes archives only, which torch.load reads since PyTorch 1.6"
        )
    stream = io.BytesIO()
    pickler = _pickles.Pickler(stream, pickle_protocol, location_tag)
    pickler.dump(obj)
    name = os.path.splitext(os.path.basename(os.fspath(f)))[0] if _is_path(f) else "archive"
    with _replacing(f) if _is_path(f) else contextlib.nullcontext(f) as file:
        _write_archive(file, name or "archive", stream.getvalue(), pickler.storages)


def _write_archive(file, name, pickled, storages):
    with zipfile.ZipFile(_Positioned(file), "w", zipfile.ZIP_STORED, allowZip64=True) as archive:

        def add(entry, data):
            info = zipfile.ZipInfo(f"{name}/{entry}")
            start = archive.start_dir + 30 + len(info.filename.encode()) + 4
            info.extra = b"FB" + struct.pack("<H", -start % 64) + b"Z" * (-start % 64)
            archive.writestr(info, data)

        add("data.pkl", pickled)
        add(".format_version", b"1")
        add(".storage_alignment", b"64")
        add("byteorder", b"little")
        for key, data in storages.items():
            add(f"data/{key}", bytes(len(data)) if _settings.skip else data)
        add("version", b"3\n")
        add(".data/serialization_id", b"0" * 40)


class _Positioned(io.RawIOBase):
    """A file object that only need have write(), with the position that zipfile asks for."""

    def __init__(self, file):
        self.file, self.position = file, 0

    def writable(self):
        return True

    def write(self, data):
        self.file.write(data)
        self.position += memoryview(data).nbytes
        return memoryview(data).nbytes

    def tell(self):
        return self.position

    def flush(self):
        if hasattr(self.file, "flush"):
            self.file.flush()


def load(f, map_location=None, pickle_module=None, *, weights_only=None, mmap=None, **pickle_load_args):
    """What torch.save wrote.

    f: a path or a file opened for reading. map_location: where tensors go: a device, its name, a dict of names, or a function of
    a storage and its place. weights_only: refuse all but tensors, numbers, strings and containers (the default). mmap: map the
    file instead of reading it; writing to the tensors does not change it.

    raises: pickle.UnpicklingError naming what weights_only refuses; RuntimeError for a damaged file.
    """
    if weights_only is None:
        weights_only = pickle_module is None
    if os.environ.get("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "0").lower() in ("1", "y", "yes", "true"):
        weights_only = True
    if weights_only and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    if mmap and not _is_path(f):
        raise ValueError("f must be a file path in order to use the mmap argument")
    if not _is_path(f) and not (hasattr(f, "read") and hasattr(f, "seek")):
        raise AttributeError(
            f"expected 'f' to be a path or a file with 'read' and 'seek', got {type(f).__name__}; read it into an io.BytesIO"
        )
    encoding = pickle_load_args.pop("encoding", "utf-8")
    with _opened(f, "rb") as file:
        magic = _magic(file)
        if not magic:
            raise EOFError("Ran out of input")
        if magic == _ZIP:
            return _load_archive(f, file, _restorer(map_location), weights_only, bool(mmap), encoding)
        if mmap:
            raise RuntimeError(
                "mmap can only be used with files saved with `torch.save(_use_new_zipfile_serialization=True)`"
            )
        return _Legacy(_contents(file), _restorer(map_location), encoding).load(weights_only)


def _magic(file):
    start = file.tell()
    magic = file.read(len(_ZIP))
    file.seek(start)
    return magic


def _contents(file):
    """The bytes from the file's position on."""
    contents = file.read()
    if not isinstance(contents, bytes):
        raise TypeError(f"expected a file opened in binary mode: read() gave {type(contents).__name__}")
    return contents


class _Archive:
    """An archive of torch.save: a path's, or what an open file has from its position on."""

    def __init__(self, f, file):
        self._reader = self._ask(_C._Archive, os.fspath(f) if _is_path(f) else _contents(file))
        self._names = set(self._reader.entries())
        self.is_script = "constants.pkl" in self._names and any(
            name.startswith("code/") for name in self._names
        )

    @staticmethod
    def _ask(function, *args):
        try:
            return function(*args)
        except ValueError as error:
            raise RuntimeError(f"PytorchStreamReader failed: {error}") from None

    def pickled(self):
        if "data.pkl" not in self._names:
            raise RuntimeError(
                "PytorchStreamReader failed: the file is a zip archive without data.pkl: torch.save did not write it"
            )
        return self._ask(self._reader.read, "data.pkl")

    def storage(self, key, nbytes, map):
        """The bytes of the storage, as a tensor."""
        name = f"data/{key}"
        if name not in self._names:
            raise RuntimeError(f"PytorchStreamReader failed locating file {name}: file not found")
        if _settings.skip:
            return weft.empty((nbytes,), dtype=weft.uint8)
        return self._ask(self._reader.bytes, name, nbytes, map)


def _load_archive(f, file, restore, weights_only, map, encoding):
    archive = _Archive(f, file)
    if archive.is_script:
        if weights_only:
            raise RuntimeError(
                "Cannot use ``weights_only=True`` with TorchScript archives passed to ``torch.load``. Use torch.jit.load"
            )
        return weft.jit.load(f)
    loaded = {}

    def load_storage(key, nbytes, location, view=None):
        if view is not None:
            raise RuntimeError(f"torch.load: storage {key!r} is a part of another, which archives have not")
        if key not in loaded:
            loaded[key] = restore(UntypedStorage._of(archive.storage(key, nbytes, map)), location)
        if loaded[key].nbytes() != nbytes:
            raise RuntimeError(f"torch.load: storage {key!r} has {loaded[key].nbytes()} bytes, and {nbytes}")
        return loaded[key]

    pickled = archive.pickled()
    if weights_only:
        return _weights_only.unpickle(pickled, load_storage, encoding=encoding)[0]
    return _pickles.Unpickler(io.BytesIO(pickled), load_storage, encoding).load()


class _Legacy:
    """The format before archives: pickles one behind the other, then the storages' sizes and bytes."""

    def __init__(self, contents, restore, encoding):
        self._contents, self._restore, self._encoding = contents, restore, encoding
        self._position = self._claimed = 0
        self._storages, self._views = {}, {}

    def _storage(self, key, nbytes, location, view=None):
        if key not in self._storages:
            self._claimed += nbytes
            if self._claimed > len(self._contents):
                raise RuntimeError(
                    f"torch.load: storages of {self._claimed} bytes, and the file has {len(self._contents)}"
                )
            storage = UntypedStorage._of(weft.empty((nbytes,), dtype=weft.uint8))
            self._storages[key] = storage, self._restore(storage, location)
            self._storages[key][1].is_unread = True
        storage = self._storages[key][1]
        if view is None:
            return storage
        view_key, offset, size = view
        if offset + size > storage.nbytes():
            raise RuntimeError(
                f"torch.load: storage {view_key!r:.100} reaches outside of storage {key!r:.100}"
            )
        if view_key not in self._views:
            self._views[view_key] = UntypedStorage._of(storage._bytes[offset : offset + size])
            self._views[view_key].is_unread = True
        return self._views[view_key]

    def _read(self, weights_only=True):
        if weights_only:
            value, self._position = _weights_only.unpickle(
                self._contents, self._storage, start=self._position, encoding=self._encoding
            )
            return value
        file = io.BytesIO(self._contents)
        file.seek(self._position)
        value = _pickles.Unpickler(file, self._storage, self._encoding).load()
        self._position = file.tell()
        return value

    def _take(self, count, what):
        if count > len(self._contents) - self._position:
            raise RuntimeError(f"torch.load: the file ends within {what}")
        self._position += count
        return memoryview(self._contents)[self._position - count : self._position]

    def load(self, weights_only):
        if self._contents[257:262] == b"ustar":
            raise RuntimeError("torch.load: tar archives of PyTorch before 0.1.10 are not read")
        try:
            magic = self._read()
        except pickle.UnpicklingError as error:
            raise pickle.UnpicklingError(
                f"Weights only load failed: the file is neither an archive of torch.save nor of the format before: {error}"
            ) from None
        if magic != MAGIC_NUMBER:
            raise RuntimeError("Invalid magic number; corrupt file?")
        version = self._read()
        if version != PROTOCOL_VERSION:
            raise RuntimeError(f"Invalid protocol version: {version}")
        self._read()  # byte order and sizes of C's types where it was written
        result = self._read(weights_only)
        keys = self._read()
        if not isinstance(keys, list):
            raise RuntimeError(f"torch.load: expected a list of storages, got {type(keys).__name__}")
        for key in keys:
            self._fill(key)
        for storage in [*self._views.values(), *(restored for _, restored in self._storages.values())]:
            storage.is_unread = False
        return result

    def _fill(self, key):
        if not isinstance(key, str) or key not in self._storages:
            raise RuntimeError(
                f"torch.load: the file has bytes of a storage {key!r:.100} that nothing in it uses"
            )
        (count,) = struct.unpack("<q", self._take(8, f"storage {key!r}"))
        storage, restored = self._storages[key]
        if count < 0 or (storage.nbytes() and storage.nbytes() % max(count, 1)):
            raise RuntimeError(
                f"torch.load: storage {key!r} has {storage.nbytes()} bytes, and {count} elements"
            )
        memoryview(storage._bytes)[:] = self._take(storage.nbytes(), f"storage {key!r}")
        if restored is not storage and restored.device.type != "meta":
            restored.copy_(storage)


def normalize_storage_type(storage_type):
    return storage_type


def storage_to_tensor_type(storage):
    return f"torch.{type(storage).__name__.replace('Storage', 'Tensor')}"
