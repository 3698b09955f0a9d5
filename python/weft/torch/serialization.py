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

from . import _pickles
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

add_safe_globals = _pickles.add_safe_globals
clear_safe_globals = _pickles.clear_safe_globals
get_safe_globals = _pickles.get_safe_globals
safe_globals = _pickles.safe_globals


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
    import pickletools

    with _opened(f, "rb") as file, zipfile.ZipFile(file) as archive:
        top = _top_folder(archive)
        stream = archive.read(f"{top}/data.pkl")
    found, strings = [], []
    for opcode, argument, _ in pickletools.genops(stream):
        if opcode.name == "GLOBAL":
            found.append(argument.replace(" ", "."))
        elif opcode.name == "STACK_GLOBAL":
            found.append(".".join(strings[-2:]))
        elif "UNICODE" in opcode.name:
            strings.append(argument)
    return [name for name in dict.fromkeys(found) if not _pickles.is_allowed(*name.rpartition(".")[::2])]


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
        start = file.tell()
        magic = file.read(4)
        file.seek(start)
        if not magic:
            raise EOFError("Ran out of input")
        if magic == b"PK\x03\x04":
            return _load_archive(f, file, start, _restorer(map_location), weights_only, mmap, encoding)
        if mmap:
            raise RuntimeError(
                "mmap can only be used with files saved with `torch.save(_use_new_zipfile_serialization=True)`"
            )
        return _load_legacy(file, _restorer(map_location), weights_only, encoding)


def _top_folder(archive):
    for name in archive.namelist():
        if name.endswith("/data.pkl") and name.count("/") == 1:
            return name.partition("/")[0]
    raise RuntimeError(
        "PytorchStreamReader failed: the file is a zip archive without data.pkl: torch.save did not write it"
    )


class _Window(io.RawIOBase):
    """A file object from a position on."""

    def __init__(self, file, start):
        self.file, self.start = file, start

    def readable(self):
        return True

    def seekable(self):
        return True

    def seek(self, offset, whence=0):
        return self.file.seek(offset + self.start if whence == 0 else offset, whence) - self.start

    def tell(self):
        return self.file.tell() - self.start

    def readinto(self, buffer):
        data = self.file.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def _load_archive(f, file, start, restore, weights_only, mmap, encoding):
    try:
        archive = zipfile.ZipFile(_Window(file, start) if start else file)
    except zipfile.BadZipFile as error:
        raise RuntimeError(f"PytorchStreamReader failed reading zip archive: {error}") from None
    top = _top_folder(archive)
    names = set(archive.namelist())
    if f"{top}/constants.pkl" in names and any(name.startswith(f"{top}/code/") for name in names):
        if weights_only:
            raise RuntimeError(
                "Cannot use ``weights_only=True`` with TorchScript archives passed to ``torch.load``. Use torch.jit.load"
            )
        return weft.jit.load(f)
    order = archive.read(f"{top}/byteorder") if f"{top}/byteorder" in names else b"little"
    if order != b"little":
        raise NotImplementedError(
            f"torch.load: the file's byte order is {order.decode(errors='replace')}, expected little"
        )
    mapped = _map(f) if mmap else None
    loaded = {}

    def load_storage(key, nbytes, location):
        if key not in loaded:
            data = _entry(archive, file, start, mapped, f"{top}/data/{key}", nbytes)
            loaded[key] = restore(UntypedStorage._of(data), location)
        return loaded[key]

    stream = archive.read(f"{top}/data.pkl")
    return _pickles.unpickle(io.BytesIO(stream), load_storage, weights_only, encoding)


def _map(path):
    import mmap

    with open(path, "rb") as file:
        return _bytes_of(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))


def _bytes_of(buffer):
    import numpy

    return weft.from_numpy(numpy.frombuffer(buffer, numpy.uint8))


def _entry(archive, file, start, mapped, name, nbytes):
    """The entry's bytes, as a tensor."""
    try:
        info = archive.getinfo(name)
    except KeyError:
        raise RuntimeError(f"PytorchStreamReader failed locating file {name}: file not found") from None
    if _settings.skip:
        return weft.empty((nbytes,), dtype=weft.uint8)
    if nbytes > info.file_size:
        raise RuntimeError(f"storage has wrong byte size: expected {nbytes} got {info.file_size}")
    if info.compress_type != zipfile.ZIP_STORED:
        return _bytes_of(bytearray(archive.read(info))) if nbytes else weft.empty((0,), dtype=weft.uint8)
    file.seek(start + info.header_offset)
    header = file.read(30)
    if header[:4] != b"PK\x03\x04":
        raise RuntimeError(f"PytorchStreamReader failed reading file {name}: its header is damaged")
    name_size, extra_size = struct.unpack("<HH", header[26:30])
    offset = start + info.header_offset + 30 + name_size + extra_size
    if mapped is not None:
        if offset + nbytes > mapped.shape[0]:
            raise RuntimeError(f"PytorchStreamReader failed reading file {name}: the file ends within it")
        return mapped[offset : offset + nbytes]
    result = weft.empty((nbytes,), dtype=weft.uint8)
    file.seek(offset)
    _read_into(file, result, name)
    return result


def _read_into(file, tensor, name):
    view, done = memoryview(tensor), 0
    while done < len(view):
        data = file.readinto(view[done:]) if hasattr(file, "readinto") else file.read(len(view) - done)
        if not data:
            raise RuntimeError(f"torch.load: the file ends within {name}")
        if isinstance(data, bytes):
            view[done : done + len(data)] = data
            data = len(data)
        done += data


def _load_legacy(file, restore, weights_only, encoding):
    """The format before archives: four pickles, then the storages' sizes and bytes."""
    start = file.tell()
    if file.read(262)[257:] == b"ustar":
        raise RuntimeError("torch.load: tar archives of PyTorch before 0.1.10 are not read")
    file.seek(start)
    deserialized, views = {}, {}

    def load_storage(key, nbytes, location, view=None):
        if key not in deserialized:
            storage = UntypedStorage._of(weft.empty((nbytes,), dtype=weft.uint8))
            deserialized[key] = restore(storage, location)
        if view is None:
            return deserialized[key]
        view_key, offset, size = view
        if view_key not in views:
            views[view_key] = UntypedStorage._of(deserialized[key]._bytes[offset : offset + size])
        return views[view_key]

    def read(weights_only=True):
        return _pickles.unpickle(file, load_storage, weights_only, encoding)

    try:
        magic = read()
    except Exception as error:
        raise pickle.UnpicklingError(
            f"Weights only load failed: the file is neither an archive of torch.save nor of the format before: {error}"
        ) from None
    if magic != MAGIC_NUMBER:
        raise RuntimeError("Invalid magic number; corrupt file?")
    version = read()
    if version != PROTOCOL_VERSION:
        raise RuntimeError(f"Invalid protocol version: {version}")
    read()  # byte order and sizes of C's types where it was written
    result = read(weights_only)
    for key in read():
        if key not in deserialized:
            raise RuntimeError(f"torch.load: the file has bytes of a storage {key!r} that nothing in it uses")
        count = struct.unpack("<q", file.read(8))[0]
        storage = deserialized[key]
        if count < 0 or (storage.nbytes() and storage.nbytes() % max(count, 1)):
            raise RuntimeError(
                f"torch.load: storage {key!r} has {storage.nbytes()} bytes, and {count} elements"
            )
        _read_into(file, storage._bytes, f"storage {key!r}")
    return result


def normalize_storage_type(storage_type):
    return storage_type


def storage_to_tensor_type(storage):
    return f"torch.{type(storage).__name__.replace('Storage', 'Tensor')}"
