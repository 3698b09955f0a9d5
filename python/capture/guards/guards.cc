#include "capture/guards/guards.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>

#include "capture/guards/computed.h"
#include "capture/objects/host_tensors.h"
#include "capture/objects/lifetimes.h"
#include "capture/objects/numpy_api.h"
#include "core/grad_mode.h"

namespace weft::capture {

ArrayGuard::Layout layout_of(const ArrayMemory& memory) {
  if (memory.is_contiguous(false)) return ArrayGuard::Layout::C;
  if (memory.is_contiguous(true)) return ArrayGuard::Layout::Fortran;
  return ArrayGuard::Layout::Other;
}

namespace {

// Of one dimension, or of two.
uint8_t relation_of_strides(const ArrayMemory& array, int a, int b) {
  if (array.sizes[a] == 1 || array.sizes[b] == 1) return 0;
  const int64_t x = array.strides[a], y = array.strides[b];
  if (a == b) return static_cast<uint8_t>((x == 0) | (x == array.element) << 1 | (x < 0) << 2);
  return static_cast<uint8_t>((std::abs(x) < std::abs(y)) | (std::abs(x) == std::abs(y)) << 1 |
                              (x == y * array.sizes[b]) << 2);
}

template <class Visit>  // Visit(relation) -> whether to go on
bool visit_relations(const ArrayMemory& array, const Visit& visit) {
  for (int a = 0; a < array.num_dims; ++a)
    for (int b = 0; b < array.num_dims; ++b)
      if (!visit(relation_of_strides(array, a, b))) return false;
  return true;
}

bool has_relations(const ArrayMemory& array, const std::vector<uint8_t>& wanted) {
  size_t i = 0;
  return visit_relations(array, [&](uint8_t relation) { return relation == wanted[i++]; });
}

bool check_memory(const ArrayGuard& guard, const ArrayMemory& memory, std::vector<int64_t>& symbols) {
  for (size_t d = 0; d < guard.dims.size(); ++d) {
    const int64_t size = memory.sizes[d], wanted = guard.dims[d];
    if (wanted >= 0) {
      if (size != wanted) return false;
    } else {
      if (size < 2) return false;
      symbols[static_cast<size_t>(~wanted)] = size;
    }
  }
  if (layout_of(memory) != guard.layout) return false;
  if (guard.layout == ArrayGuard::Layout::Other && !memory.has_whole_strides()) return false;
  if (!guard.strides.empty() && !has_relations(memory, guard.strides)) return false;
  if (!guard.writable) return true;
  return memory.is_writable && (guard.layout != ArrayGuard::Layout::Other || !memory.overlaps_itself());
}

bool check_array(const ArrayGuard& guard, PyObject* object, std::vector<int64_t>& symbols) {
  if (!PyArray_CheckExact(object)) return false;
  auto* array = reinterpret_cast<PyArrayObject*>(object);
  if (PyArray_NDIM(array) != static_cast<int>(guard.dims.size())) return false;
  PyArray_Descr* descr = PyArray_DESCR(array);
  if (descr->type_num != type_number(guard.dtype) && dtype_of_descr(descr) != guard.dtype) return false;
  if (!PyArray_ISNBO(descr->byteorder) || is_annotated(descr) || !PyArray_ISALIGNED(array)) return false;
  return check_memory(guard, memory_of(object), symbols);
}

bool check_tensor(const ArrayGuard& guard, PyObject* object, std::vector<int64_t>& symbols) {
  const Tensor* tensor = captured_tensor(object);
  return tensor && tensor->dtype() == guard.dtype && tensor->device() == guard.device &&
         tensor->dim() == static_cast<int64_t>(guard.dims.size()) &&
         check_memory(guard, memory_of(object), symbols);
}

// Plain values that nothing tells apart, or one object.
bool is_same_element(PyObject* a, PyObject* b) {
  if (a == b) return true;
  if (Py_TYPE(a) != Py_TYPE(b)) return false;
  if (PyTuple_CheckExact(a)) {
    if (PyTuple_GET_SIZE(a) != PyTuple_GET_SIZE(b)) return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(a); ++i)
      if (!is_same_element(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i))) return false;
    return true;
  }
  if (PyFrozenSet_CheckExact(a))  // equal ones can be in another order
    return is_same_element(checked(PySequence_Tuple(a)).get(), checked(PySequence_Tuple(b)).get());
  if (PyFloat_CheckExact(a) && std::signbit(PyFloat_AS_DOUBLE(a)) != std::signbit(PyFloat_AS_DOUBLE(b)))
    return false;
  return PyObject_RichCompareBool(a, b, Py_EQ) == 1;
}

// A set of these elements. Leaves no exception set.
bool check_set(PyObject* set, PyObject* elements, bool in_order) {
  if (!PySet_CheckExact(set) || PySet_GET_SIZE(set) != PyTuple_GET_SIZE(elements)) return false;
  if (in_order) {
    const Ref iterator = Ref::steal(PyObject_GetIter(set));
    Py_ssize_t i = 0;
    while (const Ref item = Ref::steal(iterator ? PyIter_Next(iterator.get()) : nullptr))
      if (!is_same_element(item.get(), PyTuple_GET_ITEM(elements, i++))) return false;
    return !PyErr_Occurred();
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(elements); ++i)
    if (PySet_Contains(set, PyTuple_GET_ITEM(elements, i)) != 1) return PyErr_Clear(), false;
  return true;
}

bool check_keys(PyObject* dict, PyObject* keys) {
  if (PyDict_GET_SIZE(dict) != PyTuple_GET_SIZE(keys)) return false;
  if (PyODict_Check(dict)) {  // which has an order of its own
    const Ref iterator = Ref::steal(PyODict_Type.tp_iter(dict));
    for (Py_ssize_t i = 0; iterator && i < PyTuple_GET_SIZE(keys); ++i) {
      const Ref key = Ref::steal(PyIter_Next(iterator.get()));
      if (!key || !is_same_element(key.get(), PyTuple_GET_ITEM(keys, i))) return false;
    }
    return static_cast<bool>(iterator);
  }
  PyObject *key, *value;
  Py_ssize_t i = 0;
  for (Py_ssize_t position = 0; PyDict_Next(dict, &position, &key, &value); ++i) {
    if (!is_same_element(key, PyTuple_GET_ITEM(keys, i))) return false;
  }
  return true;
}

PyObject* lookup(PyObject* dict, PyObject* key) {
  return PyDict_Check(dict) ? PyDict_GetItemWithError(dict, key) : nullptr;
}

}  // namespace

std::vector<uint8_t> relations_of_strides(PyObject* object) {
  std::vector<uint8_t> relations;
  visit_relations(memory_of(object), [&](uint8_t relation) { return relations.push_back(relation), true; });
  return relations;
}

bool arrays_overlap(PyObject* a, PyObject* b) {
  const auto [low_a, high_a] = memory_of(a).extent();
  const auto [low_b, high_b] = memory_of(b).extent();
  return low_a < high_b && low_b < high_a;
}

std::string ArrayGuard::str() const {
  std::string shape;
  for (size_t d = 0; d < dims.size(); ++d)
    shape += (d ? ", " : "") + (dims[d] >= 0 ? std::to_string(dims[d]) : "s" + std::to_string(~dims[d]));
  const char* layouts[] = {"", " in Fortran order", " strided"};
  return fmt::format("is {} {}[{}]{}{}{}", is_tensor ? "a Tensor" : "an ndarray", short_name(dtype), shape,
                     layouts[static_cast<int>(layout)], writable ? ", writable" : "",
                     device == Device{} ? "" : " on " + device.str());
}

bool Guards::run_load(const GuardStep& s, std::span<const Frame> frames, Registers& r) const {
  PyObject*& dst = r.values[static_cast<size_t>(s.dst)];
  PyObject* base = s.a >= 0 ? r.values[static_cast<size_t>(s.a)] : nullptr;
  switch (s.op) {
    case GuardOp::Local:
      dst = frames[static_cast<size_t>(s.b)].locals[static_cast<size_t>(s.imm)].get();
      break;
    case GuardOp::Stack:
      dst = frames[static_cast<size_t>(s.b)].stack[static_cast<size_t>(s.imm)].get();
      break;
    case GuardOp::Extra: dst = frames[static_cast<size_t>(s.b)].extra.get(); break;
    case GuardOp::Pinned: dst = s.object; break;
    case GuardOp::Global:
      dst = PyDict_GetItemWithError(s.object, reinterpret_cast<PyObject*>(s.imm));
      if (!dst) dst = PyDict_GetItemWithError(s.object2, reinterpret_cast<PyObject*>(s.imm));
      break;
    case GuardOp::ModuleAttr: dst = PyDict_GetItemWithError(s.object, s.object2); break;
    case GuardOp::Attribute:
      dst = PyObject_GetAttr(base, s.object);
      if (dst) r.owned.push_back(Ref::steal(dst));
      break;
    case GuardOp::InstanceDict:
      dst = PyObject_GenericGetDict(base, nullptr);
      if (dst) r.owned.push_back(Ref::steal(dst));
      break;
    case GuardOp::DictItem: dst = lookup(base, s.object); break;
    case GuardOp::TupleItem:
      dst = s.imm < PyTuple_GET_SIZE(base) ? PyTuple_GET_ITEM(base, s.imm) : nullptr;
      break;
    case GuardOp::ListItem:
      dst = s.imm < PyList_GET_SIZE(base) ? PyList_GET_ITEM(base, s.imm) : nullptr;
      break;
    case GuardOp::CellContents: dst = PyCell_GET(base); break;
    case GuardOp::TensorArray:
      dst = array_of_tensor(base).release();
      if (dst) r.owned.push_back(Ref::steal(dst));
      break;
    case GuardOp::MethodSelf: dst = PyMethod_GET_SELF(base); break;
    case GuardOp::Size:
      dst = PyLong_FromLongLong(sizes_[static_cast<size_t>(s.imm)].evaluate(r.symbols));
      if (dst) r.owned.push_back(Ref::steal(dst));
      break;
    case GuardOp::Computed: {
      PyObject* const second = s.b >= 0 ? r.values[static_cast<size_t>(s.b)] : nullptr;
      dst = computed_number(static_cast<int>(s.imm), s.object, base, second).release();
      if (dst) r.owned.push_back(Ref::steal(dst));
      break;
    }
    default: return run_check(s, frames, r);
  }
  if (dst) return true;
  PyErr_Clear();
  return false;
}

bool Guards::run_check(const GuardStep& s, std::span<const Frame> frames, Registers& r) const {
  PyObject* a = s.a >= 0 ? r.values[static_cast<size_t>(s.a)] : nullptr;
  switch (s.op) {
    case GuardOp::Is: return a == s.object;
    case GuardOp::Type: return Py_TYPE(a) == reinterpret_cast<PyTypeObject*>(s.object);
    case GuardOp::TypeVersion:
      return reinterpret_cast<PyTypeObject*>(s.object)->tp_version_tag == static_cast<unsigned>(s.imm) &&
             (PY_VERSION_HEX >= 0x030D0000 ||
              (reinterpret_cast<PyTypeObject*>(s.object)->tp_flags & Py_TPFLAGS_VALID_VERSION_TAG) != 0);
    case GuardOp::Equal: {
      if (a == s.object) return true;
      if (Py_TYPE(a) != Py_TYPE(s.object)) return false;
      const int equal = PyObject_RichCompareBool(a, s.object, Py_EQ);
      if (equal < 0) PyErr_Clear();
      return equal == 1;
    }
    case GuardOp::Int: {
      if (!PyLong_CheckExact(a)) return false;
      int overflow = 0;
      return PyLong_AsLongLongAndOverflow(a, &overflow) == s.imm && overflow == 0;
    }
    case GuardOp::Float:
      return PyFloat_CheckExact(a) && std::bit_cast<int64_t>(PyFloat_AS_DOUBLE(a)) == s.imm;
    case GuardOp::Compared: {
      const int holds =
          PyFloat_CheckExact(a) ? PyObject_RichCompareBool(a, s.object, static_cast<int>(s.imm / 2)) : -1;
      PyErr_Clear();
      return holds == static_cast<int>(s.imm % 2);
    }
    case GuardOp::Length: return (PyDict_Check(a) ? PyDict_GET_SIZE(a) : Py_SIZE(a)) == s.imm;
    case GuardOp::Set: return check_set(a, s.object, s.imm != 0);
    case GuardOp::CacheGives: {
      PyObject *args = PyTuple_GET_ITEM(s.object2, 0), *keywords = PyTuple_GET_ITEM(s.object2, 1);
      const Ref given = Ref::steal(PyObject_Call(s.object, args, keywords));
      PyErr_Clear();
      return given.get() == PyTuple_GET_ITEM(s.object2, 2);
    }
    case GuardOp::AttributeLacks: {
      const Ref found = Ref::steal(PyObject_GenericGetAttr(a, s.object));
      PyErr_Clear();
      return !found;
    }
    case GuardOp::DictKeys: return check_keys(a, s.object);
    case GuardOp::DictLacks: {
      const bool lacks = !lookup(a, s.object);
      PyErr_Clear();
      return lacks;
    }
    case GuardOp::Tensor: return check_tensor(arrays_[static_cast<size_t>(s.imm)], a, r.symbols);
    case GuardOp::Array: return check_array(arrays_[static_cast<size_t>(s.imm)], a, r.symbols);
    case GuardOp::Same: return a == r.values[static_cast<size_t>(s.b)];
    case GuardOp::NotSame: return a != r.values[static_cast<size_t>(s.b)];
    case GuardOp::AllDistinct: {
      std::vector<PyObject*> objects;
      for (int index : sets_[static_cast<size_t>(s.imm)])
        objects.push_back(r.values[static_cast<size_t>(index)]);
      std::sort(objects.begin(), objects.end());
      return std::adjacent_find(objects.begin(), objects.end()) == objects.end();
    }
    case GuardOp::NoOverlap: return !arrays_overlap(a, r.values[static_cast<size_t>(s.b)]);
    case GuardOp::SymInt: {
      if (!PyLong_CheckExact(a)) return false;
      int overflow = 0;
      const long long value = PyLong_AsLongLongAndOverflow(a, &overflow);
      r.symbols[static_cast<size_t>(s.imm)] = value;
      // Leaves room for sums and products of sizes.
      return overflow == 0 && value > -(1LL << 40) && value < 1LL << 40;
    }
    case GuardOp::RangeLeft: {
      const Ref left = range_left(a);
      const int equal = left ? PyObject_RichCompareBool(left.get(), s.object, Py_EQ) : 0;
      PyErr_Clear();
      return equal == 1;
    }
    case GuardOp::Unbound: return !frames[static_cast<size_t>(s.b)].locals[static_cast<size_t>(s.imm)];
    case GuardOp::FunctionCode: return reinterpret_cast<PyFunctionObject*>(a)->func_code == s.object;
    case GuardOp::FunctionDefaults: return reinterpret_cast<PyFunctionObject*>(a)->func_defaults == s.object;
    case GuardOp::FunctionKwDefaults:
      return reinterpret_cast<PyFunctionObject*>(a)->func_kwdefaults == s.object;
    case GuardOp::GlobalLacks: {
      const bool lacks = !PyDict_GetItemWithError(s.object, s.object2);
      PyErr_Clear();
      return lacks;
    }
    case GuardOp::EmptyCell: return PyCell_GET(a) == nullptr;
    case GuardOp::GradMode: return packed(grad_mode()) == s.imm;
    case GuardOp::EndsQuietly: return Py_REFCNT(a) > 1 || ends_quietly(a);
    default: return false;
  }
}

int Guards::failing_step(std::span<const Frame> frames, Registers& registers) const {
  registers.values.resize(static_cast<size_t>(num_registers_));
  registers.symbols.resize(static_cast<size_t>(num_symbols_));
  registers.owned.clear();
  const auto passes = [&](size_t i) {
    const GuardStep& step = steps_[i];
    return step.op <= GuardOp::MethodSelf ? run_load(step, frames, registers)
                                          : run_check(step, frames, registers);
  };
  if (unchanged_.is_known && is_unchanged(frames)) {
    unchanged_.misses = 0;
    for (const auto& [index, object] : unchanged_.registers)
      registers.values[static_cast<size_t>(index)] = object;
    for (const size_t i : unchanged_.others)
      if (!passes(i)) return static_cast<int>(i);
  } else {
    for (size_t i = 0; i < steps_.size(); ++i)
      if (steps_[i].op != GuardOp::CacheGives && !passes(i)) return static_cast<int>(i);
    remember(registers);
  }
  for (size_t i = 0; i < sym_guards_.size(); ++i)
    if (!sym_guards_[i].holds(registers.symbols)) return static_cast<int>(steps_.size() + i);
  for (const size_t i : cached_calls_)  // the program makes them where all else holds
    if (!passes(i)) return static_cast<int>(i);
  return -1;
}

bool Guards::check(std::span<const Frame> frames, Registers& registers) const {
  return failing_step(frames, registers) < 0;
}

std::string Guards::explain_failure(std::span<const Frame> frames) const {
  Registers registers;
  const int failed = failing_step(frames, registers);
  if (failed < 0) return "";
  const auto index = static_cast<size_t>(failed);
  return index < steps_.size() ? texts_[index] : sym_guards_[index - steps_.size()].str();
}

std::vector<std::string> Guards::describe() const {
  std::vector<std::string> result;
  for (size_t i = 0; i < steps_.size(); ++i)
    if (steps_[i].op > GuardOp::MethodSelf) result.push_back(texts_[i]);
  for (const SymGuard& guard : sym_guards_) result.push_back(guard.str());
  return result;
}

PyObject* Guards::keep(PyObject* object) {
  if (object) kept_.push_back(Ref::borrow(object));
  return object;
}

int Guards::load(const SourceRef& source) {
  const std::string text = source->str();
  if (auto found = register_of_.find(text); found != register_of_.end()) return found->second;
  GuardStep step{};
  if (source->base) step.a = load(source->base);
  using Step = Source::Step;
  switch (source->step) {
    case Step::Local:
      step.op = GuardOp::Local;
      step.b = source->frame;
      step.imm = source->index;
      break;
    case Step::Stack:
      step.op = GuardOp::Stack;
      step.b = source->frame;
      step.imm = source->index;
      break;
    case Step::Extra:
      step.op = GuardOp::Extra;
      step.b = source->frame;
      break;
    case Step::Pinned:
      step.op = GuardOp::Pinned;
      step.object = keep(source->object.get());
      break;
    case Step::Global:
      step.op = GuardOp::Global;
      step.object = keep(source->object.get());
      step.object2 = keep(source->object2.get());
      step.imm = reinterpret_cast<int64_t>(keep(source->key.get()));
      break;
    case Step::ModuleAttr:
      step.op = GuardOp::ModuleAttr;
      step.object = keep(source->object.get());
      step.object2 = keep(source->key.get());
      break;
    case Step::Attribute:
      step.op = GuardOp::Attribute;
      step.object = keep(source->key.get());
      break;
    case Step::InstanceDict: step.op = GuardOp::InstanceDict; break;
    case Step::DictItem:
      step.op = GuardOp::DictItem;
      step.object = keep(source->key.get());
      break;
    case Step::TupleItem:
      step.op = GuardOp::TupleItem;
      step.imm = source->index;
      break;
    case Step::ListItem:
      step.op = GuardOp::ListItem;
      step.imm = source->index;
      break;
    case Step::CellContents: step.op = GuardOp::CellContents; break;
    case Step::TensorArray: step.op = GuardOp::TensorArray; break;
    case Step::Size:
      step.op = GuardOp::Size;
      step.imm = static_cast<int64_t>(sizes_.size());
      sizes_.push_back(source->sym);
      break;
    case Step::Computed:
      step.op = GuardOp::Computed;
      step.imm = source->index;
      step.object = keep(source->object.get());
      if (source->second) step.b = load(source->second);
      break;
    case Step::MethodSelf: step.op = GuardOp::MethodSelf; break;
  }
  step.dst = num_registers_++;
  steps_.push_back(step);
  texts_.push_back(text + " is there");
  register_of_[text] = step.dst;
  return step.dst;
}

void Guards::add(GuardStep step, std::string text) {
  const std::string key =
      fmt::format("{} {} {} {} {} {}", static_cast<int>(step.op), step.a, step.b, step.imm,
                  static_cast<const void*>(step.object), static_cast<const void*>(step.object2));
  if (!seen_.emplace(key, true).second) return;
  keep(step.object);
  keep(step.object2);
  if (step.op == GuardOp::CacheGives) cached_calls_.push_back(steps_.size());
  steps_.push_back(step);
  texts_.push_back(std::move(text));
}

void Guards::all_distinct(const std::vector<SourceRef>& sources) {
  std::vector<int> registers;
  for (const SourceRef& source : sources) registers.push_back(load(source));
  if (registers.empty()) return;
  add({.op = GuardOp::AllDistinct, .a = registers[0], .imm = static_cast<int64_t>(sets_.size())},
      fmt::format("{} and {} others are different objects", sources[0]->str(), sources.size() - 1));
  sets_.push_back(std::move(registers));
}

void Guards::is(const SourceRef& source, PyObject* object) {
  if (source->step == Source::Step::Pinned) return;
  add({.op = GuardOp::Is, .a = load(source), .object = object},
      fmt::format("{} is {}", source->str(), short_repr(object)));
}

void Guards::type(const SourceRef& source, PyTypeObject* type) {
  if (source->step == Source::Step::Pinned) return;
  add({.op = GuardOp::Type, .a = load(source), .object = reinterpret_cast<PyObject*>(type)},
      fmt::format("type({}) is {}", source->str(), type->tp_name));
}

int Guards::array(const SourceRef& source, ArrayGuard guard) {
  const int index = static_cast<int>(arrays_.size());
  std::string text = fmt::format("{} {}", source->str(), guard.str());
  const GuardOp op = guard.is_tensor ? GuardOp::Tensor : GuardOp::Array;
  arrays_.push_back(std::move(guard));
  add({.op = op, .a = load(source), .imm = index}, std::move(text));
  return index;
}

void Guards::sym_guards(const SymEnv& env) {
  sym_guards_ = env.guards();
  num_symbols_ = env.num_symbols();
}

}  // namespace weft::capture
