#include "capture/loops/rebuild.h"

#include <bit>
#include <complex>
#include <map>

#include "capture/objects/numpy_api.h"

namespace weft::capture {

namespace {

// Objects that an exit has made, by what tells them apart: the address, shape and the like of a view, the
// address of a list.
using MadeObjects = std::map<std::vector<int64_t>, Ref>;

// Python's objects from the words an exit left.
class Rebuilder {
 public:
  Rebuilder(const LoopEntry& entry, const int64_t* words, const LoopMemory& memory, const LoopCode& loop,
            MadeObjects& made)
      : entry_(entry), words_(words), memory_(memory), loop_(loop), made_(made) {}

  Ref build(const LoopValue& value) {
    switch (value.kind) {
      case LoopKind::Unbound:
      case LoopKind::Null: return Ref();
      case LoopKind::Const: return Ref::borrow(value.object);
      case LoopKind::Int: return checked(PyLong_FromLongLong(value.pinned ? *value.known : *words_++));
      case LoopKind::Float: return checked(PyFloat_FromDouble(std::bit_cast<double>(*words_++)));
      case LoopKind::Bool: return Ref::borrow(*words_++ ? Py_True : Py_False);
      case LoopKind::Numpy: return numpy_scalar(value.dtype);
      case LoopKind::Either: {
        const double number = std::bit_cast<double>(*words_++);
        if (*words_++) return make_numpy_scalar(Tensor::scalar(Scalar(number), DType::F64));
        return checked(PyFloat_FromDouble(number));
      }
      case LoopKind::Complex:
      case LoopKind::NumpyComplex: return complex_number(value.kind == LoopKind::NumpyComplex);
      case LoopKind::Appended:
      case LoopKind::Object: return entry_.objects[static_cast<size_t>(value.index)];
      case LoopKind::Resized:
        return value.items.empty() ? entry_.lists[static_cast<size_t>(value.index)].object : list(value);
      case LoopKind::Array: return entry_.array_objects[static_cast<size_t>(value.index)];
      case LoopKind::Row: return row(value);
      case LoopKind::Pointer:
      case LoopKind::ListAddress:
      case LoopKind::Elements:
      case LoopKind::Counted:
      case LoopKind::Enumerated:
      case LoopKind::Zipped: return Ref();
      case LoopKind::Vector: return entry_.array_objects[static_cast<size_t>(value.index)];
      case LoopKind::View: return view(value);
      case LoopKind::ScalarArray: {
        const int64_t address = *words_++;
        Ref& result = made_[{address, static_cast<int64_t>(value.items[0].dtype)}];
        if (!result) result = made_array(reinterpret_cast<void*>(address), value.items[0].dtype, {}, {});
        return result;
      }
      case LoopKind::Pending: return computed(value);
      case LoopKind::Method: return checked(PyObject_GetAttr(build(value.items[0]).get(), value.object));
      case LoopKind::Slice: {
        Ref start = build(value.items[0]), stop = build(value.items[1]), step = build(value.items[2]);
        return checked(PySlice_New(start.get(), stop.get(), step.get()));
      }
      case LoopKind::List: {
        Ref list = checked(PyList_New(static_cast<Py_ssize_t>(value.items.size())));
        for (size_t i = 0; i < value.items.size(); ++i)
          PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), build(value.items[i]).release());
        return list;
      }
      case LoopKind::Rest:
      case LoopKind::Tuple: {
        Ref tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(value.items.size())));
        for (size_t i = 0; i < value.items.size(); ++i)
          PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), build(value.items[i]).release());
        if (value.kind == LoopKind::Rest) return checked(PyObject_GetIter(tuple.get()));
        return tuple;
      }
      case LoopKind::Cell: return cell(value);
      case LoopKind::Function:
        for (const LoopValue& cell : value.items) build(cell);
        return entry_.objects[static_cast<size_t>(value.index)];
      case LoopKind::Closure: return closure(value);
      case LoopKind::Generator: return generator(value);
      case LoopKind::Dict: {
        Ref dict = checked(PyDict_New());
        for (size_t i = 0; i < value.items.size(); i += 2) {
          const Ref key = build(value.items[i]), item = build(value.items[i + 1]);
          if (PyDict_SetItem(dict.get(), key.get(), item.get()) < 0) throw PythonError{};
        }
        return dict;
      }
      case LoopKind::Range:
      case LoopKind::RangeIter: {
        Ref parts[3];
        for (size_t i = 0; i < 3; ++i)
          parts[i] = value.kind == LoopKind::RangeIter && i == 2 && value.items[2].known
                         ? checked(PyLong_FromLongLong(*value.items[2].known))
                         : build(value.items[i]);
        if (value.items.size() == 4)
          return python_iterator(value.items[3], PyLong_AsLongLong(parts[0].get()),
                                 [&](const LoopValue& part) { return build(part); });
        Ref range =
            checked(PyObject_CallFunctionObjArgs(reinterpret_cast<PyObject*>(&PyRange_Type), parts[0].get(),
                                                 parts[1].get(), parts[2].get(), nullptr));
        return value.kind == LoopKind::Range ? range : checked(PyObject_GetIter(range.get()));
      }
    }
    return Ref();
  }

 private:
  Ref numpy_scalar(DType dtype) {
    const int64_t word = *words_++;
    if (dtype == DType::F64 || dtype == DType::I64) return make_numpy_scalar(&word, dtype);
    Tensor tensor = is_floating(dtype) ? Tensor::scalar(Scalar(std::bit_cast<double>(word)), dtype)
                                       : Tensor::scalar(Scalar(word), dtype);
    return make_numpy_scalar(tensor);
  }

  Ref cell(const LoopValue& value) {
    Ref contents = build(value.items[0]);
    if (value.object) return Ref::borrow(value.object);
    const Ref& held = entry_.objects[static_cast<size_t>(value.index)];
    if (loop_.stored_cells.count(value.index) && PyCell_Set(held.get(), contents.get()) < 0)
      throw PythonError{};
    return held;
  }

  static Ref with_cells(PyObject* object, const Ref* cells, size_t num_cells) {
    const auto* function = reinterpret_cast<PyFunctionObject*>(object);
    Ref result = checked(PyFunction_New(function->func_code, function->func_globals));
    if (num_cells == 0) return result;
    const Ref closure = checked(PyTuple_New(static_cast<Py_ssize_t>(num_cells)));
    for (size_t i = 0; i < num_cells; ++i)
      PyTuple_SET_ITEM(closure.get(), static_cast<Py_ssize_t>(i), Ref(cells[i]).release());
    if (PyFunction_SetClosure(result.get(), closure.get()) < 0) throw PythonError{};
    return result;
  }

  // All places have one object: a round makes one of each code.
  Ref closure(const LoopValue& value) {
    std::vector<Ref> cells;
    for (const LoopValue& cell : value.items) cells.push_back(build(cell));
    Ref& result = made_[{0, 0, reinterpret_cast<int64_t>(value.object)}];
    if (!result) result = with_cells(value.object, cells.data(), cells.size());
    return result;
  }

  // One that has not begun.
  Ref generator(const LoopValue& value) {
    std::vector<Ref> locals;
    for (const LoopValue& local : value.items) locals.push_back(build(local));
    const auto* function = reinterpret_cast<PyFunctionObject*>(value.object);
    const Code& code = decode(reinterpret_cast<PyCodeObject*>(function->func_code));
    const auto num_cells = static_cast<size_t>(code.num_free);
    Ref made = Ref::borrow(value.object);
    if (num_cells > 0 && !function->func_closure)
      made = with_cells(value.object, locals.data() + locals.size() - num_cells, num_cells);
    const Ref args = checked(PyTuple_New(code.positional));
    for (int i = 0; i < code.positional; ++i)
      PyTuple_SET_ITEM(args.get(), i, std::move(locals[static_cast<size_t>(i)]).release());
    return checked(PyObject_CallObject(made.get(), args.get()));
  }

  Ref complex_number(bool of_numpy) {
    const double real = std::bit_cast<double>(*words_++), imaginary = std::bit_cast<double>(*words_++);
    if (!of_numpy) return checked(PyComplex_FromDoubles(real, imaginary));
    return make_numpy_scalar(Tensor::scalar(Scalar(std::complex<double>(real, imaginary)), DType::C128));
  }

  Ref row(const LoopValue& value) {
    PyObject* base = entry_.array_objects[static_cast<size_t>(value.index)].get();
    auto* array = reinterpret_cast<PyArrayObject*>(base);
    auto* data = reinterpret_cast<void*>(*words_++);
    PyArray_Descr* descr = PyArray_DESCR(array);
    Py_INCREF(descr);
    Ref result = checked(PyArray_NewFromDescr(
        &PyArray_Type, descr, PyArray_NDIM(array) - value.dims, PyArray_DIMS(array) + value.dims,
        PyArray_STRIDES(array) + value.dims, data, PyArray_FLAGS(array) & NPY_ARRAY_WRITEABLE, nullptr));
    if (PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(result.get()), Py_NewRef(base)) < 0)
      throw PythonError{};
    return result;
  }

  // Views of the same elements are one object, as variables that hold one array are.
  Ref view(const LoopValue& value) {
    const int64_t address = *words_++;
    std::vector<int64_t> sizes, strides, key{address, value.index, static_cast<int64_t>(value.dtype)};
    for (int d = 0; d < value.dims; ++d) sizes.push_back(*words_++);
    for (int d = 0; d < value.dims; ++d) strides.push_back(value.stride(d).known == 1 ? 1 : *words_++);
    key.insert(key.end(), sizes.begin(), sizes.end());
    key.insert(key.end(), strides.begin(), strides.end());
    Ref& result = made_[key];
    if (result) return result;
    auto* data = reinterpret_cast<void*>(address);
    if (value.index < 0) return result = made_array(data, value.dtype, sizes, strides);
    PyObject* base = entry_.array_objects[static_cast<size_t>(value.index)].get();
    auto* array = reinterpret_cast<PyArrayObject*>(base);
    PyArray_Descr* descr = PyArray_DESCR(array);
    for (int64_t& stride : strides) stride *= PyArray_ITEMSIZE(array);
    Py_INCREF(descr);
    result = checked(PyArray_NewFromDescr(&PyArray_Type, descr, value.dims, sizes.data(), strides.data(),
                                          data, PyArray_FLAGS(array) & NPY_ARRAY_WRITEABLE, nullptr));
    if (PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(result.get()), Py_NewRef(base)) < 0)
      throw PythonError{};
    return result;
  }

  Ref made_array(const void* data, DType dtype, const std::vector<int64_t>& sizes,
                 const std::vector<int64_t>& strides) {
    const Tensor block = memory_.block(data);
    if (!block.defined())
      return make_array(Tensor::empty(Shape(sizes.begin(), sizes.end()), dtype), nullptr, false);
    const int64_t offset =
        (static_cast<const char*>(data) - static_cast<const char*>(block.data())) / itemsize(dtype);
    const Tensor whole =
        block.as_strided(Shape(sizes.begin(), sizes.end()), Strides(strides.begin(), strides.end()), offset);
    return make_array(whole, nullptr, false);
  }

  // Variables with one list have one object.
  Ref list(const LoopValue& value) {
    const int64_t address = *words_++;
    if (const auto found = made_.find({address}); found != made_.end()) return found->second;
    const auto& list = *reinterpret_cast<const ResizedList*>(address);
    const std::vector<LoopValue>& types = loop_.objects.item_types[static_cast<size_t>(value.index)];
    Ref result = python_list(list, types, [&](const LoopValue& type, const int64_t* words) {
      return Rebuilder(entry_, words, memory_, loop_, made_).build(type);
    });
    return made_[{address}] = std::move(result);
  }

  // What was not computed yet.
  Ref computed(const LoopValue& value) {
    Ref args = checked(PyTuple_New(static_cast<Py_ssize_t>(value.items.size())));
    for (size_t i = 0; i < value.items.size(); ++i)
      PyTuple_SET_ITEM(args.get(), static_cast<Py_ssize_t>(i), build(value.items[i]).release());
    return checked(PyObject_CallObject(value.object, args.get()));
  }

  const LoopEntry& entry_;
  const int64_t* words_;
  const LoopMemory& memory_;
  const LoopCode& loop_;
  MadeObjects& made_;
};
}  // namespace

void rebuild(State& state, const LoopEntry& entry, const LoopCode& loop, const LoopExit& exit,
             const std::vector<int64_t>& words, const LoopMemory& memory) {
  const ExceptionSetAside raised;  // by the handler of a signal
  for (int list : loop.stored_lists) entry.store_list(list);
  MadeObjects made;
  for (size_t i = 0; i < entry.lists.size(); ++i)
    entry.store_resized(i, loop.objects.item_types[i], [&](const LoopValue& type, const int64_t* item) {
      return Rebuilder(entry, item, memory, loop, made).build(type);
    });
  const std::vector<int64_t>& appended = memory.appended();
  for (size_t at = 0; at < appended.size();) {
    const LoopCode::Append& one = loop.appended[static_cast<size_t>(appended[at])];
    Ref value = Rebuilder(entry, appended.data() + at + 1, memory, loop, made).build(one.value);
    if (PyList_Append(entry.objects[static_cast<size_t>(one.list)].get(), value.get()) < 0)
      throw PythonError{};
    at += 1 + one.num_words;
  }
  Rebuilder rebuilder(entry, words.data(), memory, loop, made);
  const auto rebuilt = [&](const LoopFrame& from) {
    Frame frame;
    frame.code = from.code;
    frame.globals = Ref::borrow(from.globals);
    frame.builtins = Ref::borrow(from.builtins);
    frame.ip = from.ip;
    frame.on_return = from.on_return;
    const auto num_locals = static_cast<size_t>(from.code->num_locals);
    frame.locals.reserve(num_locals);
    frame.stack.reserve(from.stack.size());
    for (size_t i = 0; i < from.locals.size(); ++i) {
      Ref object = rebuilder.build(from.locals[i]);
      if (i < num_locals) {
        frame.locals.push_back(std::move(object));
        continue;
      }
      const LoopAttribute& attribute = loop.objects.attributes[i - num_locals];
      if (!attribute.is_stored) continue;
      PyObject* owner = entry.objects[static_cast<size_t>(attribute.object)].get();
      if (PyObject_SetAttr(owner, attribute.name.get(), object.get()) < 0) throw PythonError{};
    }
    for (const LoopValue& value : from.stack) frame.stack.push_back(rebuilder.build(value));
    frame.extra = rebuilder.build(from.extra);
    return frame;
  };
  if (exit.frames.size() == 1) {  // what the old one alone holds ends when all is in its place
    Frame frame = rebuilt(exit.frames[0]);
    std::swap(state.frames.back(), frame);
    return;
  }
  std::vector<Frame> frames;
  for (const LoopFrame& from : exit.frames) frames.push_back(rebuilt(from));
  state.frames.pop_back();
  for (Frame& frame : frames) state.frames.push_back(std::move(frame));
}
Ref returned_object(const LoopEntry& entry, const LoopCode& loop, const LoopExit& exit,
                    const std::vector<int64_t>& words, const LoopMemory& memory) {
  MadeObjects made;
  return Rebuilder(entry, words.data(), memory, loop, made).build(exit.frames[0].stack[0]);
}

}  // namespace weft::capture
