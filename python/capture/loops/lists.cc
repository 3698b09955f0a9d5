// Lists in native loops. Lists of numbers are copies, whose elements are set in the real list when the loop
// is left; what is appended to a list is noted down, and appended then.
#include <fmt/format.h>

#include <bit>

#include "capture/loops/builder.h"
#include "capture/loops/loops.h"
#include "capture/loops/memory.h"
#include "capture/objects/numpy_api.h"

namespace weft::capture {

// ---- in generated code ----

// list[key] = value
void LoopBuilder::store_in_list(const LoopValue& list, const LoopValue& key, const LoopValue& value) {
  const LoopKind wanted = list.dtype == DType::F64    ? LoopKind::Float
                          : list.dtype == DType::Bool ? LoopKind::Bool
                                                      : LoopKind::Int;
  if (!array_of(list).writable) throw LoopUnsupported{"assignment to an element of a tuple"};
  if (value.kind != wanted && array_of(list).may_mix && (item_type(value) || value.kind == LoopKind::Either))
    throw LoopListMixed{list.index};
  if (value.kind != wanted) throw LoopUnsupported{"assignment of another type to an element of a list"};
  if (key.kind != LoopKind::Int && !(key.kind == LoopKind::Numpy && is_integral(key.dtype)))
    throw LoopUnsupported{"assignment to a slice of a list"};
  LoopValue array = list;
  array.kind = LoopKind::Array;
  const Place found = place(array, key, true);
  materialize_all();
  result_.stored_lists.insert(list.index);
  store(found, value.expr);
}

// list.append(value)
void LoopBuilder::append(const LoopValue& list, LoopValue value) {
  const std::function<void(LoopValue&)> prepare = [&](LoopValue& part) {
    if (part.kind == LoopKind::Pending) part = materialized(part);
    if ((part.kind == LoopKind::View && part.index < 0) || part.kind == LoopKind::ScalarArray)
      require(fmt::format("{}({})", function("keep"), part.items[0].expr));
    if (part.kind == LoopKind::Resized && !part.items.empty())
      require(fmt::format("{}({})", function("keep_list"), list_text(part)));
    if (part.kind == LoopKind::Tuple || part.kind == LoopKind::List)
      for (LoopValue& item : part.items) prepare(item);
    else if (part.kind != LoopKind::Resized && part.kind != LoopKind::Vector && !part.is_number() &&
             !part.is_complex() && part.kind != LoopKind::Const && part.kind != LoopKind::ScalarArray &&
             !is_array(part))
      throw LoopUnsupported{"append() of what is not a number or an array"};
  };
  prepare(value);
  std::vector<std::string> words;
  LoopValue type = value;
  for_each_leaf(type, [&](LoopValue& leaf, const std::string&) { words.push_back(as_word(leaf)); });
  type = generalized(std::move(type));
  const size_t number = result_.appended.size();
  result_.appended.push_back({list.index, std::move(type), words.size()});
  block_stores_arrays_ = true;
  const std::string to =
      temporary("i64*", fmt::format("{}({}, {})", function("append"), number, words.size()));
  require(to + " != nullptr");
  for (size_t k = 0; k < words.size(); ++k) emit(fmt::format("{}[{}] = {};", to, k, words[k]));
}

// ---- at the entry ----

std::vector<size_t> stack_lists_appended_to(const Code& code, int head, size_t stack_size) {
  std::set<size_t> lists;
  const int end = loop_end(code, head);
  for (int i = head; i < end; ++i) {
    const Instruction& in = code.instructions[static_cast<size_t>(i)];
    if (in.op != Op::ListAppend) continue;
    size_t iterators = stack_size;  // and those of the loops within
    for (int inner = head + 1; inner < i; ++inner)
      if (code.instructions[static_cast<size_t>(inner)].op == Op::ForIter && loop_end(code, inner) > i)
        ++iterators;
    const size_t at = iterators - static_cast<size_t>(in.arg);
    if (at < stack_size) lists.insert(at);
  }
  return {lists.begin(), lists.end()};
}

void LoopEntry::find_lists(const Frame& frame, const std::set<int>& mixed) {
  for (size_t at : stack_lists_appended_to(*frame.code, frame.ip, frame.stack.size()))
    if (PyObject* o = frame.stack[at].get(); o && PyList_CheckExact(o)) appended_lists.insert(o);
  ListSlots slots = list_slots(*frame.code, frame.ip);
  resized_attributes = std::move(slots.attributes);
  const auto list_in = [&](int slot) -> PyObject* {
    PyObject* o = frame.locals[static_cast<size_t>(slot)].get();
    if (o && PyCell_Check(o)) o = PyCell_GET(o);
    return o && PyList_CheckExact(o) ? o : nullptr;
  };
  for (int slot : slots.appended)
    if (PyObject* list = list_in(slot)) appended_lists.insert(list);
  for (const Ref& it : frame.stack) {
    if (!it || Py_TYPE(it.get()) != &PyListIter_Type || appended_lists.empty()) continue;
    const Ref reduced = checked(PyObject_CallMethod(it.get(), "__reduce__", nullptr));
    PyObject* list = PyTuple_GET_ITEM(PyTuple_GET_ITEM(reduced.get(), 1), 0);
    if (appended_lists.count(list)) resized_lists.insert(list);
  }
  for (int slot : slots.loaded)
    if (PyObject* list = list_in(slot)) {
      loaded_lists.insert(list);
      const bool is_read_as_well = appended_lists.count(list) && !slots.appended.count(slot);
      if (slots.resized.count(slot) || mixed.count(slot) || is_read_as_well) resized_lists.insert(list);
    }
}

LoopValue LoopEntry::vector(PyObject* o) {
  return vector(o, loaded_lists.count(o) ? kMaxIterated : kMaxOtherNumbers);
}

// A list or tuple of floats, of ints or of bools, as an array.
LoopValue LoopEntry::vector(PyObject* o, int64_t most) {
  const bool is_list = PyList_CheckExact(o);
  if (!is_list && !PyTuple_CheckExact(o)) return object(o);
  if (resized_lists.count(o)) return resized(o);
  if (appended_lists.count(o)) {
    LoopValue value = object(o);
    value.kind = LoopKind::Appended;
    return value;
  }
  LoopValue value;
  value.kind = LoopKind::Vector;
  for (size_t i = 0; i < array_objects.size(); ++i) {
    if (array_objects[i].get() != o) continue;
    value.dtype = arrays[i].dtype;
    value.index = static_cast<int>(i);
    return value;
  }
  const Py_ssize_t size = PySequence_Fast_GET_SIZE(o);
  PyObject** items = PySequence_Fast_ITEMS(o);
  if (size == 0 && is_list && loaded_lists.count(o)) return resized(o);
  if (size == 0 || size > most) return object(o);
  const PyTypeObject* type = Py_TYPE(items[0]);
  if (type != &PyFloat_Type && type != &PyLong_Type && type != &PyBool_Type) return object(o);
  std::vector<int64_t> numbers(static_cast<size_t>(size));
  auto* const bytes = reinterpret_cast<uint8_t*>(numbers.data());
  for (Py_ssize_t i = 0; i < size; ++i) {
    if (Py_TYPE(items[i]) != type) return object(o);
    if (type == &PyBool_Type) {
      bytes[i] = items[i] == Py_True;
    } else if (type == &PyFloat_Type) {
      numbers[static_cast<size_t>(i)] = std::bit_cast<int64_t>(PyFloat_AS_DOUBLE(items[i]));
    } else {
      int overflow = 0;
      numbers[static_cast<size_t>(i)] = PyLong_AsLongLongAndOverflow(items[i], &overflow);
      if (overflow) return object(o);
    }
  }
  value.dtype = type == &PyFloat_Type ? DType::F64 : type == &PyBool_Type ? DType::Bool : DType::I64;
  value.index = static_cast<int>(arrays.size());
  vectors_.push_back(std::move(numbers));
  array_words.insert(array_words.end(), {reinterpret_cast<int64_t>(vectors_.back().data()), size, 1});
  arrays.push_back({value.dtype, 1, 1, is_list, {}, loaded_lists.count(o) > 0});
  array_objects.push_back(Ref::borrow(o));
  return value;
}

// ---- at an exit ----

// Sets the elements of the real list that differ.
void LoopEntry::store_list(int index) const {
  const auto i = static_cast<size_t>(index);
  PyObject* list = array_objects[i].get();
  size_t word = 0;
  for (size_t k = 0; k < i; ++k) word += 1 + 2 * static_cast<size_t>(arrays[k].dim);
  const auto* const numbers = reinterpret_cast<const int64_t*>(array_words[word]);
  const auto* const bytes = reinterpret_cast<const uint8_t*>(numbers);
  for (Py_ssize_t k = 0; k < std::min<Py_ssize_t>(array_words[word + 1], PyList_GET_SIZE(list)); ++k) {
    PyObject* was = PyList_GET_ITEM(list, k);
    Ref now;
    if (arrays[i].dtype == DType::Bool) {
      if ((was == Py_True) != (bytes[k] != 0)) now = Ref::borrow(bytes[k] ? Py_True : Py_False);
    } else if (arrays[i].dtype == DType::F64) {
      if (!PyFloat_CheckExact(was) || std::bit_cast<int64_t>(PyFloat_AS_DOUBLE(was)) != numbers[k])
        now = checked(PyFloat_FromDouble(std::bit_cast<double>(numbers[k])));
    } else if (!PyLong_CheckExact(was) || PyLong_AsLongLong(was) != numbers[k]) {
      now = checked(PyLong_FromLongLong(numbers[k]));
    }
    if (now && PyList_SetItem(list, k, now.release()) < 0) throw PythonError{};
  }
}

}  // namespace weft::capture
