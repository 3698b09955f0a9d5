#include "capture/objects/dict_versions.h"

#include <atomic>

#include "capture/objects/made_once.h"

namespace weft::capture {

namespace {

#if PY_VERSION_HEX >= 0x030D0000

// From 3.13 on dicts have no versions, but watchers: a change of any dict that was asked about is one of all.
std::atomic<uint64_t> changes{1};

int note_change(PyDict_WatchEvent, PyObject*, PyObject*, PyObject*) {
  ++changes;
  return 0;
}

uint64_t version_of(PyObject* dict) {
  // Values that lie in the object itself are assigned without a word to watchers.
  if (reinterpret_cast<PyDictObject*>(dict)->ma_values) return 0;
  static constinit MadeOnce<int> made;
  const int watcher = made.get([] { return PyDict_AddWatcher(note_change); });
  if (watcher < 0 || PyDict_Watch(watcher, dict) < 0) {
    PyErr_Clear();
    return 0;
  }
  return changes;
}

#else

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
uint64_t version_of(PyObject* dict) { return reinterpret_cast<PyDictObject*>(dict)->ma_version_tag; }
#pragma GCC diagnostic pop

#endif

// As CPython has OrderedDict: its order is a list of its own, whose changes are counted.
struct OrderedDictLayout {
  PyDictObject dict;
  void *first, *last;
  void* nodes;
  Py_ssize_t num_nodes;
  void* resize_sentinel;
  size_t state;
};

size_t state_of(PyObject* ordered) { return reinterpret_cast<OrderedDictLayout*>(ordered)->state; }

bool is_layout_known() {
  const Ref ordered = Ref::steal(PyODict_New());
  const Ref a = Ref::steal(PyUnicode_FromString("a")), b = Ref::steal(PyUnicode_FromString("b"));
  bool is_known = ordered && a && b && PyODict_SetItem(ordered.get(), a.get(), a.get()) == 0 &&
                  PyODict_SetItem(ordered.get(), b.get(), b.get()) == 0;
  if (is_known) {
    const size_t before = state_of(ordered.get());
    is_known = before >= 2 && before < 16 &&
               Ref::steal(PyObject_CallMethod(ordered.get(), "move_to_end", "O", a.get())) &&
               state_of(ordered.get()) > before && state_of(ordered.get()) < 16;
  }
  PyErr_Clear();
  return is_known;
}

}  // namespace

uint64_t version_of_dict(PyObject* dict) {
  if (PyDict_CheckExact(dict)) return version_of(dict);
  static constinit MadeOnce<bool> is_known;
  if (!PyODict_CheckExact(dict) || !is_known.get(is_layout_known)) return 0;
  // The version is a count of all changes there are; the order of one dict changes less often than that.
  const uint64_t version = version_of(dict);
  return version ? version * 0x9E3779B97F4A7C15 + state_of(dict) : 0;
}

}  // namespace weft::capture
