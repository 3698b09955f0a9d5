// The names that native code relies on: dicts that have not changed are not looked into again.
#include <algorithm>

#include "capture/loops/loops.h"
#include "capture/objects/dict_versions.h"

namespace weft::capture {

namespace {

bool hold(const std::vector<LoopName>& names) {
  for (const LoopName& name : names) {
    PyObject* now = nullptr;
    if (PyCell_Check(name.dict.get())) {
      now = PyCell_GET(name.dict.get());
    } else if (PyDict_Check(name.dict.get())) {
      now = PyDict_GetItemWithError(name.dict.get(), name.name.get());
      if (!now && name.builtins) now = PyDict_GetItemWithError(name.builtins.get(), name.name.get());
    } else {
      Ref part = checked(PyObject_GetAttr(name.dict.get(), name.name.get()));
      now = part.get();
    }
    if (now != name.object) return false;
  }
  return true;
}

}  // namespace

bool NativeLoop::names_hold() {
  const auto has_not_changed = [](const auto& dict) { return version_of_dict(dict.first) == dict.second; };
  if (!versions.empty() && std::all_of(versions.begin(), versions.end(), has_not_changed)) return true;
  versions.clear();
  if (!hold(code.names)) return false;
  for (const LoopName& name : code.names) {
    for (PyObject* dict : {name.dict.get(), name.builtins.get()}) {
      if (!dict) continue;
      const auto is_it = [&](const auto& other) { return other.first == dict; };
      if (std::any_of(versions.begin(), versions.end(), is_it)) continue;
      const uint64_t version = PyDict_Check(dict) ? version_of_dict(dict) : 0;
      if (version == 0) return versions.clear(), true;
      versions.emplace_back(dict, version);
    }
  }
  return true;
}

}  // namespace weft::capture
