"""Programs that look at arrays themselves: memory, owners, flags, identity. Each takes an array and a list of events."""

import copy
import ctypes
import pickle
import sys

import numpy as np
from program_list import programs_of


def flags_of(a):
    f = a.flags
    return (f.owndata, f.writeable, f.c_contiguous, f.f_contiguous, f.aligned, f.writebackifcopy)


def sizes(x, events):
    y = x + 1
    return sys.getsizeof(y) - sys.getsizeof(np.empty(0)), y.nbytes, y.itemsize


def large_sizes(x, events):
    y = np.zeros((100, 100)) + x[0]
    return sys.getsizeof(y) == sys.getsizeof(np.zeros((100, 100))), y.flags.owndata, y.base is None


def result_large(x, events):
    return np.zeros((100, 100)) + x[0]


def result_flags(x, events):
    y = result_large(x, events)
    return flags_of(y), y.base is None, sys.getsizeof(y) > 80000


def own_flags(x, events):
    y = x + 1
    return flags_of(y), flags_of(x), flags_of(y[1:]), flags_of(y.reshape(2, 2)), flags_of(y.reshape(2, 2).T)


def own_flags_large(x, events):
    y = np.arange(10000.0) + x[0]
    return flags_of(y), flags_of(y[1:]), flags_of(y.reshape(100, 100)), flags_of(y.reshape(100, 100).T)


def flags_after_break(x, events):
    y = np.arange(10000.0) + x[0]
    print("printed")
    return y.flags.owndata, y.flags["OWNDATA"], y.base is None, (y + 1).flags.owndata


def fortran_result(x, events):
    y = np.ones((50, 60)).T + x[0]
    return flags_of(y), y.base is None, y.strides


def transposed_copy(x, events):
    y = np.ones((50, 60)) + x[0]
    z = y.T.copy()
    w = y.copy("F")
    return flags_of(z), flags_of(w), z.base is None, w.base is None


def bases(x, events):
    y = x + 1
    z = y[1:]
    w = z[1:]
    return y.base is None, z.base is y, w.base is y, x.base is None


def bases_large(x, events):
    y = np.arange(10000.0) + x[0]
    z = y[1:]
    w = z.reshape(3, -1)
    return y.base is None, z.base is y, w.base is y, w.base is z


def bases_of_argument(x, events):
    y = x[1:]
    z = y[::2]
    return y.base is x, z.base is x


def base_of_temporary(x, events):
    y = (np.arange(10000.0) + x[0])[10:20]
    return y.base is not None, y.base.shape, y.flags.owndata


def base_of_reshaped(x, events):
    y = np.arange(4.0).reshape(2, 2)
    return y.base is not None, y.base.shape, y.flags.owndata


def base_after_break(x, events):
    y = np.arange(10000.0) + x[0]
    z = y[5:]
    print("printed")
    return z.base is y, np.shares_memory(y, z)


def shares(x, events):
    y = x + 1
    z = y[1:]
    w = y.copy()
    return (
        np.shares_memory(y, z),
        np.shares_memory(y, w),
        np.may_share_memory(x, y),
        np.shares_memory(x, x[::2]),
    )


def shares_large(x, events):
    y = np.arange(10000.0) + x[0]
    a, b = y[:5000], y[5000:]
    return (
        np.shares_memory(a, b),
        np.shares_memory(a, y),
        np.shares_memory(y.reshape(100, 100).T, y),
        np.may_share_memory(a, b),
    )


def identity(x, events):
    y = x
    z = x[:]
    w = np.asarray(x)
    v = np.array(x, copy=False) if np.lib.NumpyVersion(np.__version__) < "2.0.0" else np.asarray(x)
    return y is x, z is x, w is x, v is x, id(y) == id(x), id(z) == id(x)


def identities_of_results(x, events):
    y = x + 1
    first = id(y)
    z = y
    z += 1
    return id(z) == first, z is y


def identity_after_break(x, events):
    y = x + 1
    first = id(y)
    print("printed")
    y += 1
    print("again")
    return id(y) == first


def identity_of_views(x, events):
    y = x.reshape(2, 2)
    return y.base is x, y.ravel() is x, y.ravel().base is x, y.T.T is y


def interface(x, events):
    y = x + 1
    one = y.__array_interface__
    return one["shape"], one["typestr"], one["strides"], one["data"][1], one["version"]


def interface_pointer(x, events):
    y = x + 1
    z = y[2:]
    return z.__array_interface__["data"][0] - y.__array_interface__["data"][0]


def interface_of_argument(x, events):
    before = x.__array_interface__["data"][0]
    x += 1
    return x.__array_interface__["data"][0] == before, x[1:].__array_interface__["data"][0] - before


def pointers(x, events):
    y = x + 1
    z = y[1:]
    return z.ctypes.data - y.ctypes.data, list(y.ctypes.shape), list(y.ctypes.strides)


def through_ctypes(x, events):
    y = x + 1
    pointer = y.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
    pointer[0] = 50.0
    return y


def through_ctypes_of_argument(x, events):
    pointer = x.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
    pointer[1] = 7.0
    y = x + 1
    pointer[2] = 9.0
    return y, x * 2


def through_memoryview(x, events):
    y = x + 1
    view = memoryview(y)
    view[0] = 8.0
    return y, view.shape, view.format, view.readonly


def through_buffer(x, events):
    y = x + 1
    z = np.frombuffer(y, dtype=np.uint8)
    return z.sum(), z.base is not None, np.shares_memory(y, z)


def through_dlpack(x, events):
    y = x + 1
    z = np.from_dlpack(y)
    return np.shares_memory(y, z), z


def through_tobytes(x, events):
    y = x + 1
    return y.tobytes()[:8], len(y.data)


def resized(x, events):
    y = np.arange(2000.0) + x[0]
    y.resize(3000, refcheck=False)
    return y.shape, y[-1], y[1]


def resized_small(x, events):
    y = x + 1
    y.resize((2, 4), refcheck=False)
    return y


def resized_smaller(x, events):
    y = np.arange(2000.0) + x[0]
    y.resize((10,), refcheck=False)
    return y


def resize_refused(x, events):
    y = x + 1
    z = y[1:]
    try:
        z.resize(10)
    except ValueError as error:
        return str(error)


def write_flag(x, events):
    y = x + 1
    y.flags.writeable = False
    try:
        y[0] = 1
    except ValueError as error:
        return str(error), y.flags.writeable


def write_flag_of_view(x, events):
    y = np.arange(10000.0) + x[0]
    z = y[1:]
    y.flags.writeable = False
    return z.flags.writeable, y[1:].flags.writeable, z.base is y


def write_flag_back(x, events):
    y = np.arange(10000.0) + x[0]
    y.setflags(write=False)
    y.setflags(write=True)
    y[0] = 3
    return y[0], y.flags.writeable


def read_only_broadcast(x, events):
    y = np.broadcast_to(x, (3, 4))
    return flags_of(y), y.base is not None, y.strides


def copied(x, events):
    y = x + 1
    z, w = copy.copy(y), copy.deepcopy(y)
    return z is y, w is y, flags_of(z), flags_of(w), np.shares_memory(y, z)


def pickled(x, events):
    y = pickle.loads(pickle.dumps(x + 1))
    return flags_of(y), y.base is None or y.base is not None, y


def repr_of(x, events):
    y = x + 1
    return repr(y), str(y), repr(y.dtype), repr(y.flags)


def types(x, events):
    y = x + 1
    return type(y) is np.ndarray, type(y[0]) is np.float64, type(y.sum()), type(y.shape), type(y.dtype)


def hashes(x, events):
    y = x + 1
    try:
        hash(y)
    except TypeError as error:
        return str(error)


def dict_of_array(x, events):
    y = x + 1
    try:
        y.attribute = 1
    except AttributeError as error:
        return str(error), hasattr(y, "__dict__")


def dir_of(x, events):
    y = x + 1
    return dir(y) == dir(np.ndarray), "sum" in dir(y)


def getattr_of(x, events):
    y = x + 1
    return [getattr(y, name) for name in ("ndim", "size", "itemsize", "nbytes", "strides", "shape")]


def identity_in_list(x, events):
    y = x + 1
    items = [y, x]
    return any(one is y for one in items), items[0] is y, [id(one) == id(y) for one in items]


def identity_in_dict(x, events):
    table = {id(x): "x"}
    y = x + 1
    table[id(y)] = "y"
    return table[id(x)], table[id(y)], len(table)


def memo_by_id(x, events):
    seen = set()
    y = x + 1
    for one in (x, y, x, y):
        if id(one) not in seen:
            seen.add(id(one))
            events.append(float(one.sum()))
    return len(seen)


def alternating_ids(x, events):
    a = np.zeros(3)
    b = np.zeros(3)
    return id(a) == id(b), a is b, np.shares_memory(a, b)


def ids_of_results(x, events):
    a, b = x + 1, x + 1
    return a is b, np.shares_memory(a, b), a, b


def same_result_twice(x, events):
    y = x + 1
    return y, y


def same_result_checked(x, events):
    a, b = same_result_twice(x, events)
    return a is b


def owner_of_out(x, events):
    out = np.empty(4)
    y = np.add(x, 1, out=out)
    return y is out, y.flags.owndata, y.base is None


def real_part(x, events):
    z = x + 1j
    r = z.real
    return r.base is z, r.strides, r.flags.owndata, np.shares_memory(r, z)


def diagonal(x, events):
    y = np.ones((40, 40)) * x[0]
    d = y.diagonal()
    return d.flags.writeable, d.flags.owndata, d.base is not None, d.strides


def field_of_structure(x, events):
    record = np.zeros(3, dtype=[("a", float), ("b", int)])
    record["a"] = x[:3]
    return record["a"].base is record, record["a"].strides, record.flags.owndata


def squeezed(x, events):
    y = x[None, :, None]
    return y.base is x, y.squeeze().base is x, y.flags.owndata


def concatenated(x, events):
    y = np.concatenate([x, x])
    return flags_of(y), y.base is None


def stacked(x, events):
    y = np.stack([x, x], axis=1)
    return flags_of(y), y.strides


def selected(x, events):
    y = x[x > 2]
    z = x[[0, 1]]
    return flags_of(y), flags_of(z), y.base is None, z.base is None


def products(x, events):
    y = np.outer(x, x) @ np.ones((4, 100))
    return flags_of(y), y.base is None, y.strides


def scalars(x, events):
    s = x.sum()
    return s.flags.owndata, s.base is None, s.strides, sys.getsizeof(s), s.nbytes


def zero_dimensional(x, events):
    y = np.array(x.sum())
    return flags_of(y), y.base is None, sys.getsizeof(y)


def empty(x, events):
    y = (x + 1)[:0]
    z = np.empty((0, 3)) + 1
    return flags_of(y), flags_of(z), sys.getsizeof(z)


def contiguous_copy(x, events):
    y = np.ascontiguousarray(x)
    z = np.ascontiguousarray(np.ones((30, 30)).T)
    return y is x, flags_of(z)[1:], z.flags.owndata


def astype(x, events):
    y = x.astype(np.float32)
    z = x.astype(float, copy=False)
    return flags_of(y), z is x


def from_loop(x, events):
    total = np.zeros(2000)
    for i in range(2000):
        total[i] = i * 2.0
    return flags_of(total), total.base is None


def array_made_in_loop(x, events):
    kept = []
    for i in range(200):
        kept.append(np.ones(300) * i)
    return flags_of(kept[7]), kept[7].base is None, sum(one.flags.owndata for one in kept)


def result_of_loop(x, events):
    y = np.arange(3000.0)
    for i in range(100):
        y = y + i
    return flags_of(y), y.base is None


def view_result(x, events):
    return (np.arange(3000.0) + x[0])[10:]


def view_result_flags(x, events):
    y = view_result(x, events)
    return flags_of(y), y.base is None


def shared_results(x, events):
    y = np.arange(3000.0) + x[0]
    return y, y[5:], y.reshape(30, 100)


def shared_results_flags(x, events):
    y, z, w = shared_results(x, events)
    z[0] = 100
    return flags_of(y), flags_of(z), z.base is y, w.base is y, y[5], w[0, 5]


def shared_results_reversed(x, events):
    y = np.arange(3000.0) + x[0]
    return y[5:], y.reshape(30, 100).T, y


def shared_results_reversed_flags(x, events):
    z, w, y = shared_results_reversed(x, events)
    z[0] = 100
    return flags_of(y), flags_of(z), flags_of(w), z.base is y, w.base is y, y[5], w[5, 0]


def two_views_alone(x, events):
    y = np.arange(3000.0) + x[0]
    return y[:1500], y[1500:]


def two_views_alone_flags(x, events):
    a, b = two_views_alone(x, events)
    return flags_of(a), flags_of(b), a.base is b.base, np.shares_memory(a, b), a.base is None


def results_resize(x, events):
    y = result_large(x, events)
    y.resize((200, 100), refcheck=False)
    return y.shape, y.sum()


def results_sorted_in_place(x, events):
    y = (np.arange(3000.0) + x[0])[::-1]
    y.sort()
    return y[:3], flags_of(y)


def handler_of_memory(x, events):
    y = np.arange(3000.0) + x[0]
    z = y.copy()
    y = None
    w = z.astype(np.float32)
    return flags_of(z), flags_of(w), w.sum(), y


def subclass_of_result(x, events):
    y = (np.arange(3000.0) + x[0]).view(np.recarray)
    return type(y).__name__, y.flags.owndata, y.base is not None


def masked(x, events):
    y = np.ma.masked_array(x + 1, mask=[0, 1, 0, 1])
    return y.sum(), y.data.flags.owndata


def deleted_base(x, events):
    y = np.arange(3000.0) + x[0]
    z = y[10:]
    del y
    return z.base.shape, z.flags.owndata


def reshaped_in_place(x, events):
    y = np.arange(3000.0) + x[0]
    y.shape = (30, 100)
    return flags_of(y), y.base is None


def transposed_result(x, events):
    y = np.arange(3000.0).reshape(30, 100) + x[0]
    return y.T


def transposed_result_flags(x, events):
    y = transposed_result(x, events)
    return flags_of(y), y.base is None, y.base.shape, y.strides


def complex_parts(x, events):
    z = np.exp(1j * np.arange(2000.0)) + x[0]
    return flags_of(z), flags_of(z.real), z.imag.base is z, flags_of(np.abs(z))


def stacked_large(x, events):
    y = np.vstack([np.ones(500), np.ones(500)]) + x[0]
    return flags_of(y), flags_of(y[0]), y[0].base is y


def buffer_address(x, events):
    y = np.arange(3000.0) + x[0]
    first = y.ctypes.data
    y += 1
    y[0] = 3
    return y.ctypes.data == first, y.__array_interface__["data"][0] == first, y.data.nbytes


def wrapped_by_struct(x, events):
    y = np.arange(3000.0) + x[0]
    return y.__array_struct__ is not None, bytes(y.data[:2]) == y[:2].tobytes()


PROGRAMS = programs_of(globals())
