// How callables and attributes of arrays are found that have a lowering, or a function that is entered in
// their place.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "capture/evaluate/evaluator.h"
#include "capture/objects/made_once.h"

namespace weft::capture {

namespace {

// A lowering of a function whose module the program may import later.
struct Awaited {
  std::string module, path;
  Lowering lowering;
};

struct Registry {
  std::unordered_map<PyObject*, Lowering> by_object;
  std::unordered_map<std::string, PyObject*> by_path;
  std::unordered_map<PyObject*, PyObject*> replacements;
  std::unordered_map<std::string, Lowering> methods;
  std::unordered_map<std::string, PyObject*> method_replacements;
  std::unordered_map<std::string, AttributeLowering> attributes;
  std::vector<Awaited> awaited;
};

Registry& registry() {
  static constinit MadeOnce<Registry> instance;
  return instance.get([] { return Registry(); });
}

// What a dotted path names; null where this version of the module has no such name.
Ref find_object(std::string rest) {
  const size_t first = rest.find('.');
  Ref object = Ref::steal(PyImport_ImportModule(rest.substr(0, first).c_str()));
  rest = rest.substr(first + 1);
  while (object && !rest.empty()) {
    const size_t dot = rest.find('.');
    object = Ref::steal(PyObject_GetAttrString(object.get(), rest.substr(0, dot).c_str()));
    rest = dot == std::string::npos ? "" : rest.substr(dot + 1);
  }
  if (!object) clear_error();
  return object;
}

// Has the program imported a module since, whose functions are registered now?
bool register_imported() {
  std::vector<Awaited>& awaited = registry().awaited;
  const auto first = std::stable_partition(awaited.begin(), awaited.end(), [](const Awaited& one) {
    return PyDict_GetItemString(PyImport_GetModuleDict(), one.module.c_str()) == nullptr;
  });
  const std::vector<Awaited> imported(std::make_move_iterator(first), std::make_move_iterator(awaited.end()));
  awaited.erase(first, awaited.end());
  for (const Awaited& one : imported) register_lowering(one.path.c_str(), one.lowering);
  return !imported.empty();
}

}  // namespace

void register_lowering(const char* path, Lowering lowering) {
  Ref object = find_object(path);
  if (!object) return;
  registry().by_path[path] = object.get();
  registry().by_object[object.release()] = lowering;  // as long as the process
}

void await_lowering(const char* module, const char* name, Lowering lowering) {
  registry().awaited.push_back({module, fmt::format("{}.{}", module, name), lowering});
}

PyObject* lowered_object(const std::string& path) { return registry().by_path.at(path); }

Lowering find_lowering(PyObject* callable) {
  const auto& known = registry().by_object;
  auto found = known.find(callable);
  if (found == known.end() && register_imported()) found = known.find(callable);
  return found == known.end() ? nullptr : found->second;
}

void register_replacement(const char* path, PyObject* function) {
  // Methods of arrays, of ufuncs, and subscripts of numpy.r_ and the like are known by name.
  if (std::string_view(path).find('.') != std::string_view::npos &&
      std::string_view(path).substr(0, 3) == "nd.") {
    registry().method_replacements[path + 3] = Py_NewRef(function);
    return;
  }
  if (Ref object = find_object(path)) registry().replacements[object.release()] = Py_NewRef(function);
}

PyObject* find_replacement(PyObject* callable) {
  auto found = registry().replacements.find(callable);
  return found == registry().replacements.end() ? nullptr : found->second;
}

PyObject* find_method_replacement(const std::string& name) {
  auto found = registry().method_replacements.find(name);
  return found == registry().method_replacements.end() ? nullptr : found->second;
}

void register_array_method(const char* name, Lowering lowering) { registry().methods[name] = lowering; }
Lowering find_array_method(const std::string& name) {
  auto found = registry().methods.find(name);
  return found == registry().methods.end() ? nullptr : found->second;
}

void register_array_attribute(const char* name, AttributeLowering lowering) {
  registry().attributes[name] = lowering;
}

AttributeLowering find_array_attribute(const std::string& name) {
  auto found = registry().attributes.find(name);
  return found == registry().attributes.end() ? nullptr : found->second;
}

}  // namespace weft::capture
