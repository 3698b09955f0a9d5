#include "capture/loops/loops.h"

#include <fmt/format.h>

#include <bit>
#include <chrono>

#include "capture/loops/entry_pattern.h"
#include "capture/loops/memory.h"
#include "capture/objects/error_actions.h"
#include "capture/objects/numpy_api.h"
#include "capture/perform/continuation.h"
#include "capture/values/advice.h"
#include "codegen/prelude.h"
#include "core/profiling.h"
#include "runtime/log.h"
#include "runtime/toolchain.h"

namespace weft::capture {

namespace {

constexpr int kMaxShortRuns = 64;
constexpr int kMaxRejections = 3;  // of one loop, with different types
constexpr int kMaxInVain = 256;
constexpr size_t kMaxSteps = 3;  // of the range of one loop; with more, one code for all
constexpr int kMaxCostlyRuns = 16;
constexpr size_t kMaxReadInVain = 1 << 13;  // items of lists
constexpr int64_t kMostElements = 1 << 12;  // of arrays of a whole call that has statements on them

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

bool names_hold(const std::vector<LoopName>& names) {
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

// Of all arrays of the entry.
int64_t num_elements(const LoopCode& code, const LoopEntry& entry) {
  int64_t total = 0;
  const int64_t* words = entry.array_words.data();
  for (size_t i = 0; i < entry.array_objects.size(); ++i) {
    const int dim = code.array_dims[i];
    int64_t count = 1;
    for (int d = 0; d < dim; ++d) count *= words[1 + d];
    total += count;
    words += 1 + 2 * dim;
  }
  return total;
}

// Python's signal handlers run. Where Python has other threads the loop is left: they may read what it has
// changed, and change what it has read (a global flag).
int64_t look_for_signals() {
  if (PyErr_CheckSignals() < 0) return 1;
  return PyThreadState_Next(PyInterpreterState_ThreadHead(PyInterpreterState_Get())) != nullptr;
}

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

std::shared_ptr<NativeLoop> build_native(const LoopEntry& entry) {
  const auto start = std::chrono::steady_clock::now();
  auto loop = std::make_shared<NativeLoop>();
  loop->code = build_loop(entry.frames, entry.arrays, entry.of_objects);
  std::vector<LoopFrame> frames = entry.frames;
  for (LoopFrame& frame : frames)
    for (std::vector<LoopValue>* values : {&frame.locals, &frame.stack})
      for (const LoopValue& value : *values)
        if (value.kind == LoopKind::Const || value.kind == LoopKind::Function)
          loop->code.kept.push_back(Ref::borrow(value.object));
  loop->build_ms = milliseconds_since(start);
  return loop;
}

void compile(NativeLoop& loop, const Loops::Report& report) {
  const profiling::Span span("compile loop", profiling::Kind::Compile);
  const LoopCode& code = loop.code;
  auto variant = std::make_shared<Variant>();
  variant->returns = true;
  variant->capture_ms = loop.build_ms;
  if (log::enabled(log::Channel::OutputCode)) log::write(log::Channel::OutputCode, "\n" + code.body);
  log::dump(code.name + ".cc", code.source);
  const auto start = std::chrono::steady_clock::now();
  const runtime::LoadedKernel loaded = runtime::load_kernel(codegen::compile_request(code.name, code.source));
  loop.function = reinterpret_cast<decltype(loop.function)>(loaded.module->symbol(code.name));
  loop.module = loaded.module;
  variant->kernels.push_back(
      {code.name, code.body, loaded.compile_ms, std::string_view(loaded.origin) != "compiled"});
  variant->compile_ms = milliseconds_since(start);
  for (const std::string& note : code.notes)
    log::write(log::Channel::GraphBreaks, fmt::format("in a native loop, Python performs {}", note));
  report(std::move(variant));
}

// Code for whole calls with statements on arrays is for small ones.
bool is_of_use(const LoopCode& code, const LoopEntry& entry) {
  return !code.is_whole || !code.has_statements || num_elements(code, entry) <= kMostElements;
}

// Frames from the exit's types and words.
void rebuild(State& state, const LoopEntry& entry, const LoopCode& loop, const LoopExit& exit,
             const std::vector<int64_t>& words, const LoopMemory& memory) {
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

// Goes on in Python until the loop begins another round or is left.
LoopOutcome perform(State& state, size_t depth, const Code* code, const LoopCode& loop, Ref& result) {
  while (true) {
    if (step(state, result) == StepResult::Returned) return LoopOutcome::Returned;
    if (state.frames.size() < depth) return LoopOutcome::Advanced;
    if (state.frames.size() > depth) continue;
    const Frame& frame = state.frames.back();
    if (frame.code != code || frame.ip < loop.head || frame.ip >= loop.end) return LoopOutcome::Advanced;
    if (loop_end(*code, frame.ip) >= 0) return LoopOutcome::Advanced;
  }
}

}  // namespace

LoopOutcome Loops::run(State& state, Ref& result, const Report& report) {
  const Frame& frame = state.frames.back();
  return loop_end(*frame.code, frame.ip) < 0 ? LoopOutcome::NotEntered : enter(state, result, report);
}

LoopOutcome Loops::run_whole(State& state, Ref& result, const Report& report) {
  const Code* code = state.frames.back().code;
  if (code != known_code_) {
    known_code_ = code;
    has_loop_ = false;
    for (int at = 0; at < static_cast<int>(code->instructions.size()); ++at)
      has_loop_ |= loop_end(*code, at) >= 0;
  }
  return has_loop_ ? enter(state, result, report) : LoopOutcome::NotEntered;
}

LoopOutcome Loops::enter(State& state, Ref& result, const Report& report) {
  const Code* code = state.frames.back().code;
  const int head = state.frames.back().ip;
  const bool is_whole = loop_end(*code, head) < 0;
  Rejections& rejections = rejections_[{code, head}];
  if (rejections.count >= kMaxRejections || current_error_actions().handled) return LoopOutcome::NotEntered;
  for (const Known& known : rejections.known) {
    LoopEntry entry;
    if (!known.pattern->read(state.frames.back(), entry)) continue;
    const Found found = known.found;  // looking names up may run code of the program
    if (!names_hold(found.loop->code.names)) break;
    return run(found, entry, state, result, rejections, {}, report);
  }
  const auto arrival = Clock::now();
  const bool any_step = rejections.steps.size() > kMaxSteps;
  LoopEntry entry(state.frames.back(), mixed_[{code, head}], any_step);
  if (!any_step && entry.step != 1) rejections.steps.insert(entry.step);
  const auto reading = Clock::now() - arrival;
  Candidates& candidates = by_key_[entry.key];
  if (candidates.rejected || entry.mixes_types()) {
    if (is_whole && candidates.rejected) rejections.count = kMaxRejections;
    if (++rejections.in_vain > kMaxInVain) rejections.count = kMaxRejections;
    return LoopOutcome::NotEntered;
  }
  std::shared_ptr<NativeLoop> loop;
  for (const auto& candidate : candidates.loops)
    if (names_hold(candidate->code.names)) loop = candidate;
  if (!loop) {
    std::string why;
    try {
      if (is_whole && !EntryPattern::of(state.frames.back(), entry, 0))
        throw LoopRejected{"its arguments have to be described anew in each call"};
      loop = add_loop(candidates, entry, report);
    } catch (const LoopListMixed& list) {
      if (!is_whole && note_mixed(state.frames.back(), entry, list)) return enter(state, result, report);
      why = "a list gets items of another type";
    } catch (const LoopRejected& rejected) {
      why = fmt::format("{}:{}: {}", code->file(), rejected.line, rejected.reason);
    } catch (const Error& error) {
      log::warning(fmt::format("weft.compile: a native loop cannot be compiled: {}", error.what()));
      why = "it cannot be compiled";
    }
    if (!loop) {
      candidates.rejected = true;
      rejections.count = entry.num_list_items() > kMaxReadInVain ? kMaxRejections : rejections.count + 1;
      if (is_whole) return LoopOutcome::NotEntered;
      rejections.why = why;
      log::write(log::Channel::GraphBreaks,
                 fmt::format("the loop at {}:{} is not native: {}\n    {}", code->file(),
                             code->line(entry.frames[0].ip), why, advice_for(why)));
      return LoopOutcome::NotEntered;
    }
  }
  const Found found{loop, &candidates};
  if (auto pattern = EntryPattern::of(state.frames.back(), entry, loop->code.num_words + 1)) {
    if (rejections.known.size() == kMaxKnown) rejections.known.pop_back();
    rejections.known.insert(rejections.known.begin(), {std::move(pattern), found});
  }
  return run(found, entry, state, result, rejections, reading, report);
}

LoopOutcome Loops::run(const Found& found, LoopEntry& entry, State& state, Ref& result,
                       Rejections& rejections, Clock::duration reading, const Report& report) {
  const Code* code = state.frames.back().code;
  const int head = state.frames.back().ip;
  NativeLoop& loop = *found.loop;
  if (!is_of_use(loop.code, entry)) return LoopOutcome::NotEntered;
  if (!loop.function) {
    try {
      compile(loop, report);
    } catch (const Error& error) {
      log::warning(fmt::format("weft.compile: a native loop cannot be compiled: {}", error.what()));
      found.candidates->rejected = true;
      rejections.known.clear();
      return LoopOutcome::NotEntered;
    }
  }
  std::vector<int64_t> words = std::move(entry.words);
  words.resize(loop.code.num_words + 1);
  entry.array_words.resize(std::max(loop.code.num_array_words, entry.array_words.size()));
  entry.array_objects.resize(std::max(loop.code.array_dims.size(), entry.array_objects.size()));
  LoopMemory memory;
  memory.holds_arrays(entry.array_objects);
  entry.prepare_lists(loop.code.objects);
  // The clock costs as much as a small loop.
  const bool has_objects = !entry.objects.empty() || entry.num_list_items() > 0;
  const bool is_timed = has_objects || loop.is_timed;
  const auto start = is_timed ? Clock::now() : Clock::time_point::max();
  const int64_t number = [&] {
    const profiling::Span span([&] { return fmt::format("loop {}:{}", code->name(), code->line(head)); },
                               profiling::Kind::Kernel);
    return loop.function(words.data(), entry.array_words.data(), loop.code.functions.data(),
                         look_for_signals);
  }();
  rejections.in_vain = 0;
  const LoopExit& exit = loop.code.exits[static_cast<size_t>(number)];
  if (exit.kind == LoopExit::Kind::Return) {
    MadeObjects made;
    result = Rebuilder(entry, words.data(), memory, loop.code, made).build(exit.frames[0].stack[0]);
    loop.short_runs = 0;
    was_useful_ = true;
    return LoopOutcome::Returned;
  }
  const size_t depth = state.frames.size();
  if (!has_objects) {
    rebuild(state, entry, loop.code, exit, words, memory);
    loop.costly_runs = 0;
  } else {
    const auto end = Clock::now();
    rebuild(state, entry, loop.code, exit, words, memory);
    note_conversion(loop, entry, reading + (Clock::now() - end), end - start, rejections);
  }
  if (exit.kind == LoopExit::Kind::Leave) {
    was_useful_ = true;
    return LoopOutcome::Advanced;
  }
  if (exit.kind == LoopExit::Kind::Interrupted) {
    if (PyErr_Occurred() || !serve_interpreter()) {
      unwind(state);
      return LoopOutcome::Advanced;
    }
    if (loop_end(*state.frames.back().code, state.frames.back().ip) >= 0)
      return perform(state, depth, code, loop.code, result);
    // The jump to the loop's head.
    return step(state, result) == StepResult::Returned ? LoopOutcome::Returned : LoopOutcome::Advanced;
  }
  loop.is_timed = true;
  const bool is_short = !is_timed || Clock::now() - start < std::chrono::microseconds(20);
  was_useful_ = !is_short;
  loop.short_runs = is_short ? loop.short_runs + 1 : 0;
  if (loop.short_runs > kMaxShortRuns) {
    found.candidates->rejected = true;
    rejections.known.clear();
    if (entry.num_list_items() > kMaxReadInVain) rejections.count = kMaxRejections;
    rejections.why = "Python has to perform something in every round";
    log::write(log::Channel::GraphBreaks, fmt::format("the loop at {}:{} is not native any more: {}",
                                                      code->file(), code->line(head), rejections.why));
  }
  return perform(state, depth, code, loop.code, result);
}

std::shared_ptr<NativeLoop> Loops::add_loop(Candidates& candidates, const LoopEntry& entry,
                                            const Report& report) {
  if (candidates.loops.size() >= 8) throw LoopRejected{"its globals keep changing"};
  std::shared_ptr<NativeLoop> loop = build_native(entry);
  if (is_of_use(loop->code, entry)) compile(*loop, report);
  candidates.loops.push_back(loop);
  return loop;
}

// From now on the list counts as one of several types. False where it did so before.
bool Loops::note_mixed(const Frame& frame, const LoopEntry& entry, const LoopListMixed& list) {
  std::set<int>& mixed = mixed_[{frame.code, frame.ip}];
  const size_t before = mixed.size();
  for (int slot : list_slots(*frame.code, frame.ip).loaded) {
    PyObject* held = frame.locals[static_cast<size_t>(slot)].get();
    if (held && PyCell_Check(held)) held = PyCell_GET(held);
    if (held == entry.array_objects[static_cast<size_t>(list.array)].get()) mixed.insert(slot);
  }
  return mixed.size() > before;
}

// Lists that are long beside what the loop does with them are Python's, which takes some thirty times as long
// as the loop.
void Loops::note_conversion(NativeLoop& loop, const LoopEntry& entry, Clock::duration converting,
                            Clock::duration running, Rejections& rejections) {
  const bool is_costly =
      entry.num_list_items() > 0 && converting > std::chrono::microseconds(50) && converting > 32 * running;
  loop.costly_runs = is_costly ? loop.costly_runs + 1 : 0;
  if (loop.costly_runs <= kMaxCostlyRuns) return;
  rejections.count = kMaxRejections;
  rejections.why = "its lists are long and it does little with them";
}

Ref Loops::finish(State& state, const Report& report) {
  Ref result;
  bool was_native = false;
  for (int64_t steps = 1;; ++steps) {
    if (steps > 10 * kStepsInTurn && can_continue_in_python(state)) {
      if (continue_in_python(state, result) == StepResult::Returned) return result;
      steps = 0;
      continue;
    }
    const size_t depth = state.frames.size();
    const int before = state.frames.back().ip;
    if (step(state, result) == StepResult::Returned) return result;
    if (!serve_interpreter()) {
      unwind(state);
      continue;
    }
    const Frame& frame = state.frames.back();
    if (steps >= kStepsInTurn && state.frames.size() == depth && frame.ip < before &&
        can_continue_loop(state)) {
      if (continue_loop_in_python(state, result) == StepResult::Returned) return result;
      steps = 0;
      continue;
    }
    if (loop_end(*frame.code, frame.ip) < 0) continue;
    // A loop that Python performs is not looked at again in each of its rounds, and never where it was not
    // native before.
    const bool goes_round = state.frames.size() == depth && frame.ip < before;
    if ((goes_round && !was_native) || !rejection(frame.code, frame.ip).empty()) continue;
    const LoopOutcome outcome = run(state, result, report);
    if (outcome == LoopOutcome::Returned) return result;
    was_native = outcome == LoopOutcome::Advanced;
    if (was_native && was_useful_) steps = 0;
  }
}

std::string Loops::rejection(const Code* code, int head) const {
  const auto found = rejections_.find({code, head});
  return found == rejections_.end() ? "" : found->second.why;
}

bool can_be_native(std::vector<LoopFrame> frames, const LoopEntry& entry, std::string* why) {
  try {
    build_loop(std::move(frames), entry.arrays, entry.of_objects);
    return true;
  } catch (const LoopRejected& rejected) {
    *why = rejected.reason;
    return false;
  }
}

}  // namespace weft::capture
