// Arithmetic, containers, formatting and unpacking, performed for real.
#include <fmt/format.h>

#include "capture/perform/concrete.h"

namespace weft::capture {

Ref binary_operation(int arg, PyObject* a, PyObject* b) {
  static constexpr binaryfunc kBinary[] = {PyNumber_Add,
                                           PyNumber_And,
                                           PyNumber_FloorDivide,
                                           PyNumber_Lshift,
                                           PyNumber_MatrixMultiply,
                                           PyNumber_Multiply,
                                           PyNumber_Remainder,
                                           PyNumber_Or,
                                           nullptr,
                                           PyNumber_Rshift,
                                           PyNumber_Subtract,
                                           PyNumber_TrueDivide,
                                           PyNumber_Xor,
                                           PyNumber_InPlaceAdd,
                                           PyNumber_InPlaceAnd,
                                           PyNumber_InPlaceFloorDivide,
                                           PyNumber_InPlaceLshift,
                                           PyNumber_InPlaceMatrixMultiply,
                                           PyNumber_InPlaceMultiply,
                                           PyNumber_InPlaceRemainder,
                                           PyNumber_InPlaceOr,
                                           nullptr,
                                           PyNumber_InPlaceRshift,
                                           PyNumber_InPlaceSubtract,
                                           PyNumber_InPlaceTrueDivide,
                                           PyNumber_InPlaceXor};
  if (arg == 8) return checked(PyNumber_Power(a, b, Py_None));
  if (arg == 21) return checked(PyNumber_InPlacePower(a, b, Py_None));
  return checked(kBinary[arg](a, b));
}

Ref convert_value(PyObject* value, int conversion) {
  if (conversion == 1) return checked(PyObject_Str(value));
  if (conversion == 2) return checked(PyObject_Repr(value));
  if (conversion == 3) return checked(PyObject_ASCII(value));
  return Ref::borrow(value);
}

Ref format_value(PyObject* value, int conversion, PyObject* specification) {
  return checked(PyObject_Format(convert_value(value, conversion).get(), specification));
}

size_t exact_length(PyObject* object) {
  if (PyDict_CheckExact(object)) return static_cast<size_t>(PyDict_GET_SIZE(object));
  return PyList_CheckExact(object) || PyTuple_CheckExact(object) ? static_cast<size_t>(Py_SIZE(object)) : 0;
}

std::string too_many_to_unpack(size_t wanted, size_t length) {
  const bool is_told = PY_VERSION_HEX >= 0x030E0000 && length > wanted;
  return fmt::format("too many values to unpack (expected {}{})", wanted,
                     is_told ? fmt::format(", got {}", length) : "");
}

namespace {

std::vector<Ref> pop_many(Frame& frame, int count) {
  std::vector<Ref> result(std::make_move_iterator(frame.stack.end() - count),
                          std::make_move_iterator(frame.stack.end()));
  frame.stack.resize(frame.stack.size() - static_cast<size_t>(count));
  return result;
}

// 3.14's `string.templatelib`.
Ref of_templates(const char* name) {
  const Ref module = checked(PyImport_ImportModule("string.templatelib"));
  return checked(PyObject_GetAttrString(module.get(), name));
}

// Of texts and interpolations in turn.
Ref make_template(PyObject* texts, PyObject* interpolations) {
  std::vector<Ref> parts;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(texts); ++i) {
    parts.push_back(Ref::borrow(PyTuple_GET_ITEM(texts, i)));
    if (i < PyTuple_GET_SIZE(interpolations)) parts.push_back(Ref::borrow(PyTuple_GET_ITEM(interpolations, i)));
  }
  return checked(PyObject_Call(of_templates("Template").get(), tuple_of(parts).get(), nullptr));
}

bool step_building(Frame& frame, const Instruction& in) {
  switch (in.op) {
    case Op::BuildTuple: {
      std::vector<Ref> items = pop_many(frame, in.arg);
      push(frame, tuple_of(items));
      return true;
    }
    case Op::BuildList: {
      Ref tuple = tuple_of(pop_many(frame, in.arg));
      push(frame, checked(PySequence_List(tuple.get())));
      return true;
    }
    case Op::BuildSet: {
      Ref set = checked(PySet_New(nullptr));
      for (const Ref& item : pop_many(frame, in.arg)) check(PySet_Add(set.get(), item.get()));
      push(frame, set);
      return true;
    }
    case Op::BuildMap: {
      Ref dict = checked(PyDict_New());
      std::vector<Ref> items = pop_many(frame, 2 * in.arg);
      for (size_t i = 0; i < items.size(); i += 2)
        check(PyDict_SetItem(dict.get(), items[i].get(), items[i + 1].get()));
      push(frame, dict);
      return true;
    }
    case Op::BuildConstKeyMap: {
      Ref keys = pop(frame), dict = checked(PyDict_New());
      std::vector<Ref> items = pop_many(frame, in.arg);
      for (size_t i = 0; i < items.size(); ++i)
        check(PyDict_SetItem(dict.get(), PyTuple_GET_ITEM(keys.get(), static_cast<Py_ssize_t>(i)),
                             items[i].get()));
      push(frame, dict);
      return true;
    }
    case Op::BuildSlice: {
      std::vector<Ref> parts = pop_many(frame, in.arg);
      push(frame,
           checked(PySlice_New(parts[0].get(), parts[1].get(), in.arg == 3 ? parts[2].get() : nullptr)));
      return true;
    }
    case Op::BuildString: {
      Ref tuple = tuple_of(pop_many(frame, in.arg)), empty = checked(PyUnicode_FromString(""));
      push(frame, checked(PyUnicode_Join(empty.get(), tuple.get())));
      return true;
    }
    case Op::BuildTemplate: {
      Ref values = pop(frame), strings = pop(frame);
      push(frame, make_template(strings.get(), values.get()));
      return true;
    }
    case Op::BuildInterpolation: {
      Ref spec = in.arg2 ? pop(frame) : checked(PyUnicode_FromString("")), text = pop(frame), value = pop(frame);
      static constexpr const char* kConversions[] = {nullptr, "s", "r", "a"};
      push(frame, checked(PyObject_CallFunction(of_templates("Interpolation").get(), "OOzO", value.get(), text.get(),
                                                kConversions[in.arg & 3], spec.get())));
      return true;
    }
    case Op::ListToTuple: {
      Ref list = pop(frame);
      push(frame, checked(PyList_AsTuple(list.get())));
      return true;
    }
    default: return false;
  }
}

// Keyword arguments of a mapping, on top of the stack, into the dict `depth` below it.
void merge_keywords(Frame& frame, int depth) {
  Ref value = pop(frame);
  PyObject* dict = peek(frame, depth).get();
  // Below the dict lie the arguments, and the function and its NULL, in the order of the Python version.
  PyObject* function = peek(frame, depth + 2).get();
  if (!function) function = peek(frame, depth + 3).get();
  if (!PyMapping_Check(value.get()) || !PyObject_HasAttrString(value.get(), "keys")) {
    PyErr_Format(PyExc_TypeError, "%U argument after ** must be a mapping, not %.200s",
                 called_name(function).get(), Py_TYPE(value.get())->tp_name);
    throw PythonError{};
  }
  Ref merged = checked(PyDict_New());
  check(PyDict_Update(merged.get(), value.get()));
  PyObject *key, *item;
  for (Py_ssize_t i = 0; PyDict_Next(merged.get(), &i, &key, &item);) {
    const int present = PyDict_Contains(dict, key);
    check(present);
    if (present) {
      PyErr_Format(PyExc_TypeError, "%U got multiple values for keyword argument '%S'",
                   called_name(function).get(), key);
      throw PythonError{};
    }
    check(PyDict_SetItem(dict, key, item));
  }
}

// Of comprehensions, displays with stars, and calls with them.
bool step_adding(Frame& frame, const Instruction& in) {
  switch (in.op) {
    case Op::ListAppend: {
      Ref value = pop(frame);
      check(PyList_Append(peek(frame, in.arg).get(), value.get()));
      return true;
    }
    case Op::SetAdd: {
      Ref value = pop(frame);
      check(PySet_Add(peek(frame, in.arg).get(), value.get()));
      return true;
    }
    case Op::MapAdd: {
      Ref value = pop(frame), key = pop(frame);
      check(PyDict_SetItem(peek(frame, in.arg).get(), key.get(), value.get()));
      return true;
    }
    case Op::ListExtend: {
      Ref value = pop(frame);
      PyObject* list = peek(frame, in.arg).get();
      if (!Py_TYPE(value.get())->tp_iter && !PySequence_Check(value.get())) {
        PyErr_Format(PyExc_TypeError, "Value after * must be an iterable, not %.200s",
                     Py_TYPE(value.get())->tp_name);
        throw PythonError{};
      }
      checked(PyObject_CallMethod(list, "extend", "(O)", value.get()));
      return true;
    }
    case Op::SetUpdate: {
      Ref value = pop(frame);
      PyObject* set = peek(frame, in.arg).get();
      checked(PyObject_CallMethod(set, "update", "O", value.get()));
      return true;
    }
    case Op::DictUpdate: {
      Ref value = pop(frame);
      if (PyDict_Update(peek(frame, in.arg).get(), value.get()) < 0) {
        if (PyErr_ExceptionMatches(PyExc_AttributeError))
          PyErr_Format(PyExc_TypeError, "'%.200s' object is not a mapping", Py_TYPE(value.get())->tp_name);
        throw PythonError{};
      }
      return true;
    }
    case Op::DictMerge: merge_keywords(frame, in.arg); return true;
    default: return false;
  }
}

// Iterates like UNPACK_SEQUENCE and UNPACK_EX, errors included.
void unpack(Frame& frame, int before, int after, bool starred) {
  Ref sequence = pop(frame);
  Ref iterator = Ref::steal(PyObject_GetIter(sequence.get()));
  if (!iterator) {
    if (PyErr_ExceptionMatches(PyExc_TypeError) && !Py_TYPE(sequence.get())->tp_iter &&
        !PySequence_Check(sequence.get()))
      PyErr_Format(PyExc_TypeError, "cannot unpack non-iterable %.200s object",
                   Py_TYPE(sequence.get())->tp_name);
    throw PythonError{};
  }
  const auto wanted = static_cast<size_t>(before + after), first = static_cast<size_t>(before);
  std::vector<Ref> items;
  const auto refuse_few = [&] {
    PyErr_Format(PyExc_ValueError, "not enough values to unpack (expected %s%zu, got %zu)",
                 starred ? "at least " : "", wanted, items.size());
    throw PythonError{};
  };
  while (items.size() < first) {
    Ref item = Ref::steal(PyIter_Next(iterator.get()));
    if (!item && PyErr_Occurred()) throw PythonError{};
    if (!item) refuse_few();
    items.push_back(std::move(item));
  }
  if (!starred) {
    if (Ref::steal(PyIter_Next(iterator.get()))) {
      PyErr_SetString(PyExc_ValueError, too_many_to_unpack(wanted, exact_length(sequence.get())).c_str());
      throw PythonError{};
    }
    if (PyErr_Occurred()) throw PythonError{};
    for (size_t i = first; i-- > 0;) push(frame, items[i]);
    return;
  }
  const Ref rest = checked(PySequence_List(iterator.get()));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(rest.get()); ++i)
    items.push_back(Ref::borrow(PyList_GET_ITEM(rest.get(), i)));
  if (items.size() < wanted) refuse_few();
  const size_t tail = items.size() - static_cast<size_t>(after);
  for (size_t i = items.size(); i-- > tail;) push(frame, items[i]);
  push(frame, checked(PyList_GetSlice(rest.get(), 0, static_cast<Py_ssize_t>(tail - first))));
  for (size_t i = first; i-- > 0;) push(frame, items[i]);
}

bool step_subscripts(Frame& frame, const Instruction& in) {
  switch (in.op) {
    case Op::Subscript: {
      Ref key = pop(frame), container = pop(frame);
      push(frame, checked(PyObject_GetItem(container.get(), key.get())));
      return true;
    }
    case Op::StoreSubscript: {
      Ref key = pop(frame), container = pop(frame), value = pop(frame);
      check(PyObject_SetItem(container.get(), key.get(), value.get()));
      return true;
    }
    case Op::DeleteSubscript: {
      Ref key = pop(frame), container = pop(frame);
      check(PyObject_DelItem(container.get(), key.get()));
      return true;
    }
    case Op::BinarySlice: {
      Ref stop = pop(frame), start = pop(frame), container = pop(frame);
      Ref slice = checked(PySlice_New(start.get(), stop.get(), nullptr));
      push(frame, checked(PyObject_GetItem(container.get(), slice.get())));
      return true;
    }
    case Op::StoreSlice: {
      Ref stop = pop(frame), start = pop(frame), container = pop(frame), value = pop(frame);
      Ref slice = checked(PySlice_New(start.get(), stop.get(), nullptr));
      check(PyObject_SetItem(container.get(), slice.get(), value.get()));
      return true;
    }
    default: return false;
  }
}

}  // namespace

bool step_data(Frame& frame, const Instruction& in) {
  switch (in.op) {
    case Op::Negative: push(frame, checked(PyNumber_Negative(pop(frame).get()))); return true;
    case Op::Positive: push(frame, checked(PyNumber_Positive(pop(frame).get()))); return true;
    case Op::Invert: push(frame, checked(PyNumber_Invert(pop(frame).get()))); return true;
    case Op::Not:
    case Op::ToBool: {
      const int truth = PyObject_IsTrue(pop(frame).get());
      check(truth);
      push(frame, Ref::borrow((truth != 0) == (in.op == Op::ToBool) ? Py_True : Py_False));
      return true;
    }
    case Op::Binary: {
      Ref b = pop(frame), a = pop(frame);
      push(frame, binary_operation(in.arg, a.get(), b.get()));
      return true;
    }
    case Op::Compare: {
      Ref b = pop(frame), a = pop(frame);
      Ref result = checked(PyObject_RichCompare(a.get(), b.get(), in.arg));
      if (in.arg2) {
        const int truth = PyObject_IsTrue(result.get());
        check(truth);
        result = Ref::borrow(truth ? Py_True : Py_False);
      }
      push(frame, result);
      return true;
    }
    case Op::Is: {
      Ref b = pop(frame), a = pop(frame);
      push(frame, Ref::borrow((a.get() == b.get()) != (in.arg != 0) ? Py_True : Py_False));
      return true;
    }
    case Op::Contains: {
      Ref container = pop(frame), item = pop(frame);
      const int found = PySequence_Contains(container.get(), item.get());
      check(found);
      push(frame, Ref::borrow((found != 0) != (in.arg != 0) ? Py_True : Py_False));
      return true;
    }
    case Op::Convert: push(frame, convert_value(pop(frame).get(), in.arg)); return true;
    case Op::Format: {
      Ref specification = in.arg2 ? pop(frame) : Ref(), value = pop(frame);
      push(frame, format_value(value.get(), in.arg, specification.get()));
      return true;
    }
    case Op::UnpackSequence: unpack(frame, in.arg, 0, false); return true;
    case Op::UnpackEx: unpack(frame, in.arg & 0xff, in.arg >> 8, true); return true;
    case Op::GetLen: {
      const Py_ssize_t length = PyObject_Length(peek(frame, 1).get());
      if (length < 0) throw PythonError{};
      push(frame, checked(PyLong_FromSsize_t(length)));
      return true;
    }
    default: return step_building(frame, in) || step_adding(frame, in) || step_subscripts(frame, in);
  }
}

Ref tuple_of(const std::vector<Ref>& items) {
  Ref tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
  for (size_t i = 0; i < items.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), items[i].new_reference());
  return tuple;
}

}  // namespace weft::capture
