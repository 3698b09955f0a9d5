#include "capture/running/segments.h"

#include <fmt/format.h>

#include <chrono>
#include <set>
#include <utility>

#include "capture/evaluate/frame_readers.h"
#include "capture/objects/made_once.h"
#include "capture/running/run.h"
#include "capture/values/advice.h"
#include "core/profiling.h"
#include "errors.h"
#include "interpreter_lock.h"
#include "runtime/log.h"
#include "runtime/toolchain.h"
#include "weft/error.h"

namespace weft::capture {

namespace {

std::set<CompiledFunction*>& all_functions() {
  static auto& functions = *new std::set<CompiledFunction*>;
  return functions;
}

uint64_t bound_variables(const Frame& frame) {
  uint64_t bound = 0;
  for (const Ref& value : frame.locals) bound = bound * 2 + (value ? 1 : 0) + (bound >> 63);
  for (const Ref& value : frame.stack) bound = bound * 2 + (value ? 1 : 0) + (bound >> 63);
  return bound;
}

std::string key_of(const State& state, const Choices& chosen) {
  std::string key = chosen.str();
  key.reserve(state.frames.size() * 24);
  const auto add = [&](const void* data, size_t size) { key.append(static_cast<const char*>(data), size); };
  for (const Frame& frame : state.frames) {
    const void* parts[] = {frame.code, frame.globals.get()};
    add(parts, sizeof parts);
    const int numbers[] = {frame.ip, static_cast<int>(frame.on_return), static_cast<int>(frame.stack.size())};
    add(numbers, sizeof numbers);
    const uint64_t bound = bound_variables(frame);
    add(&bound, sizeof bound);
  }
  return key;
}

}  // namespace

void reset_all() {
  // All is taken before anything of it ends: an object that a guard holds may run Python code then, in any
  // thread.
  std::vector<Captures> taken;
  for (CompiledFunction* function : std::exchange(all_functions(), {})) taken.push_back(function->take());
  counters() = Counters{};
  runtime::clear_memory_cache();
}

int CompiledFunction::traverse(visitproc visit, void* arg) const {
  for (const Ref* held : {&callable_, &instance_, &function_, &first_keywords_}) Py_VISIT(held->get());
  for (const Ref& held : first_args_) Py_VISIT(held.get());
  return 0;
}

void CompiledFunction::let_go() {
  all_functions().erase(this);
  const Captures taken = take();
  const Ref held[] = {std::move(callable_), std::move(instance_), std::move(function_),
                      std::move(first_keywords_)};
  const std::vector<Ref> arguments = std::move(first_args_);
}

Captures CompiledFunction::take() {
  root_code_ = nullptr;
  plain_code_ = nullptr;
  return std::exchange(captures_, {});
}

std::shared_ptr<Segment> CompiledFunction::segment(const State& state, const Choices& chosen) {
  SegmentPlace place;
  if (state.frames.size() == 1 && chosen.are_usual()) {
    const Frame& frame = state.frames[0];
    place = {frame.code,      frame.globals.get(), frame.ip,
             frame.on_return, frame.stack.size(),  bound_variables(frame)};
    for (const auto& [known, segment] : captures_.placed)
      if (known == place) return segment;
  }
  auto& entry = captures_.segments[key_of(state, chosen)];
  if (!entry) entry = std::make_shared<Segment>();
  if (place.code && captures_.placed.size() < Captures::kMaxPlaced)
    captures_.placed.emplace_back(place, entry);
  return entry;
}

std::shared_ptr<Variant> CompiledFunction::capture(Segment& segment, const State& state,
                                                   const Choices& chosen) {
  if (!segment.variants.empty()) {
    ++counters().recompiles;
    if (log::enabled(log::Channel::Recompiles)) {
      const Frame& frame = state.frames.back();
      log::write(log::Channel::Recompiles,
                 fmt::format("{} ({}:{}): {} does not hold", frame.code->name(), frame.code->file(),
                             frame.code->line(frame.ip),
                             segment.variants.back()->guards.explain_failure(state.frames)));
    }
  }
  const profiling::Span span([&] { return "capture " + std::string(state.frames.back().code->name()); },
                             profiling::Kind::Compile);
  const auto start = std::chrono::steady_clock::now();
  // Breaks are decided on a real state, whose exceptions (of a handler being run) stay as they are.
  Settings settings = settings_;
  settings.default_float = chosen.default_float;
  settings.device = chosen.device;
  settings.keeps_errors = chosen.keeps_errors;
  std::shared_ptr<Variant> variant = Evaluator(state, segment.history, settings).evaluate();
  variant->capture_ms = milliseconds_since(start) - variant->compile_ms;
  ++counters().captures;
  if (variant->executable) ++counters().graphs;
  counters().kernels += static_cast<int64_t>(variant->kernels.size());
  if (variant->is_broken()) {
    const std::string place = fmt::format("{}:{}", variant->break_file, variant->break_line);
    const std::string line = source_line(variant->break_file, variant->break_line);
    if (settings_.fullgraph) {
      python::set_error(PyExc_RuntimeError,
                        fmt::format("weft.compile(fullgraph=True): {}\n  at {}\n    {}\n  {}",
                                    variant->break_reason, place, line, advice_for(variant->break_reason)));
      throw PythonError{};
    }
    if (log::enabled(log::Channel::GraphBreaks))
      log::write(log::Channel::GraphBreaks,
                 fmt::format("{}: {}\n    {}\n    {}", place, variant->break_reason, line,
                             advice_for(variant->break_reason)));
  }
  for (const UnrolledLoop& loop : variant->unrolled) name_unrolled(loop);
  if (variant->enters_plain_loop) {
    captures_.calls->suspect();
    fall_back({variant->break_file, variant->break_line, variant->break_reason, true});
  }
  if (log::enabled(log::Channel::Guards))
    for (const std::string& guard : variant->guards.describe()) log::write(log::Channel::Guards, guard);
  segment.variants.push_back(variant);
  captures_.in_order.push_back(variant);
  return variant;
}

Ref CompiledFunction::run(State&& state) { return Run(*this, std::move(state)).to_end(); }

void CompiledFunction::unwrap(PyObject* callable) {
  function_ = Ref::borrow(callable);
  if (PyMethod_Check(callable)) {
    first_args_.insert(first_args_.begin(), Ref::borrow(PyMethod_GET_SELF(callable)));
    return unwrap(PyMethod_GET_FUNCTION(callable));
  }
  PyTypeObject* type = Py_TYPE(callable);
  if (std::string_view(type->tp_name) == "functools.partial" && !first_keywords_) {
    Ref function = checked(PyObject_GetAttrString(callable, "func")),
        args = checked(PyObject_GetAttrString(callable, "args"));
    Ref keywords = checked(PyObject_GetAttrString(callable, "keywords"));
    for (Py_ssize_t i = PyTuple_GET_SIZE(args.get()); i-- > 0;)
      first_args_.insert(first_args_.begin(), Ref::borrow(PyTuple_GET_ITEM(args.get(), i)));
    if (PyDict_GET_SIZE(keywords.get()) > 0) first_keywords_ = keywords;
    return unwrap(function.get());
  }
  if (PyFunction_Check(callable) || PyType_Check(callable)) return;
  static constinit InternedName call_name("__call__");
  PyObject* found = _PyType_Lookup(type, call_name);
  if (found && PyFunction_Check(found)) {
    instance_ = Ref::borrow(callable);
    instance_type_ = type;
    instance_version_ = type->tp_version_tag;
    first_args_.insert(first_args_.begin(), Ref::borrow(callable));
    unwrap(found);
  }
}

bool CompiledFunction::is_class_changed() const {
  return instance_ &&
         (Py_TYPE(instance_.get()) != instance_type_ || instance_type_->tp_version_tag != instance_version_ ||
          (PY_VERSION_HEX < 0x030D0000 && (instance_type_->tp_flags & Py_TPFLAGS_VALID_VERSION_TAG) == 0));
}

Ref CompiledFunction::call(PyObject* const* args, size_t num_args, PyObject* kwnames) {
  ++counters().calls;
  if (is_class_changed()) {
    first_args_.clear();
    first_keywords_ = {};
    unwrap(callable_.get());
  }
  std::vector<PyObject*> all;
  Ref all_names;
  if (!first_args_.empty() || first_keywords_) {
    for (const Ref& arg : first_args_) all.push_back(arg.get());
    all.insert(all.end(), args, args + num_args);
    const size_t named = kwnames ? static_cast<size_t>(PyTuple_GET_SIZE(kwnames)) : 0;
    Ref names = checked(PyList_New(0));
    PyObject *key, *value;
    for (Py_ssize_t i = 0; first_keywords_ && PyDict_Next(first_keywords_.get(), &i, &key, &value);) {
      const int overridden = kwnames ? PySequence_Contains(kwnames, key) : 0;
      if (overridden < 0) throw PythonError{};
      if (overridden) continue;
      PyList_Append(names.get(), key);
      all.push_back(value);
    }
    for (size_t i = 0; i < named; ++i) {
      PyList_Append(names.get(), PyTuple_GET_ITEM(kwnames, static_cast<Py_ssize_t>(i)));
      all.push_back(args[num_args + i]);
    }
    num_args += first_args_.size();
    all_names = checked(PyList_AsTuple(names.get()));
    args = all.data();
    kwnames = PyTuple_GET_SIZE(all_names.get()) > 0 ? all_names.get() : nullptr;
  }
  auto* function = reinterpret_cast<PyFunctionObject*>(function_.get());
  const Code* code = nullptr;
  if (PyFunction_Check(function_.get())) {
    auto* const object = reinterpret_cast<PyCodeObject*>(function->func_code);
    code = root_code_ && root_code_->code() == object ? root_code_ : &decode(object);
  }
  if (root_code_ != code || !code) {
    why_python_ = code ? code->unsupported : "it has no Python code";
    const std::string reader = why_python_.empty() ? reader_of_frames(function_.get()) : "";
    if (!reader.empty())
      why_python_ = fmt::format("{}, which it reaches, reads variables of other frames", reader);
  }
  if (!why_python_.empty()) {
    if (root_code_ != code || captures_.fallbacks.empty()) {
      const std::string& why = why_python_;
      if (settings_.fullgraph) {
        python::set_error(PyExc_RuntimeError,
                          fmt::format("weft.compile(fullgraph=True): {} cannot be captured: {}; {}",
                                      callable_name(function_.get()), why, advice_for(why)));
        throw PythonError{};
      }
      fall_back({code ? code->file() : "", code ? code->code()->co_firstlineno : 0, why});
      root_code_ = code;
    }
    ++counters().eager_calls;
    return checked(python::calling_python(
        [&] { return PyObject_Vectorcall(function_.get(), args, num_args, kwnames); }));
  }
  if (root_code_ == code && captures_.calls->is_suspected() && !settings_.fullgraph && choices().are_usual())
    return call_at_pace(captures_.calls, args, num_args, kwnames);
  State state;
  state.frames.push_back(make_frame(function_.get(), args, num_args, kwnames));
  if (root_code_ != code) {
    root_code_ = code;
    captures_.root = segment(state, Choices{});
    all_functions().insert(this);
  }
  return run(std::move(state));
}

Ref CompiledFunction::call_whole(PyObject* const* args, size_t num_args) {
  const Code* const code = root_code_;
  if (!code || !first_args_.empty() || first_keywords_ || settings_.fullgraph || !why_python_.empty() ||
      num_args != static_cast<size_t>(code->positional) || code->keyword_only > 0 || code->var_args ||
      code->var_keywords || code->num_free > 0 || captures_.calls->is_suspected() ||
      reinterpret_cast<PyFunctionObject*>(function_.get())->func_code !=
          reinterpret_cast<PyObject*>(code->code()))
    return Ref();
  const std::shared_ptr<Loops> loops = captures_.loops;
  State state;
  Ref result;
  const LoopOutcome outcome = loops->call(*code, function_.get(), args, num_args, state, result);
  if (outcome == LoopOutcome::NotEntered) return Ref();
  ++counters().calls;
  return outcome == LoopOutcome::Returned ? std::move(result) : run(std::move(state));
}

Ref CompiledFunction::call_compiled(PyObject* const* args, size_t num_args, PyObject* kwnames) {
  State state;
  state.frames.push_back(make_frame(function_.get(), args, num_args, kwnames));
  return run(std::move(state));
}

PyObject* CompiledFunction::faster_in_python(PyObject* const* args, size_t num_args) {
  if (!plain_code_ || reinterpret_cast<PyFunctionObject*>(function_.get())->func_code != plain_code_)
    return nullptr;
  return captures_.calls->times(args, num_args).is_plain_again() ? function_.get() : nullptr;
}

// The pace is held: what is called may reset the function.
Ref CompiledFunction::call_at_pace(const std::shared_ptr<CallPace>& held, PyObject* const* args,
                                   size_t num_args, PyObject* kwnames) {
  const std::shared_ptr<CallPace> pace = held;
  CallPace::Times& before = pace->times(args, num_args);
  const bool is_plain = before.plain_is_next();
  if (before.is_settled()) {
    if (!is_plain) return call_compiled(args, num_args, kwnames);
    ++counters().eager_calls;
    if (first_args_.empty() && !first_keywords_)
      plain_code_ = reinterpret_cast<PyFunctionObject*>(function_.get())->func_code;
    return checked(python::calling_python(
        [&] { return PyObject_Vectorcall(function_.get(), args, num_args, kwnames); }));
  }
  const int64_t captures = counters().captures;
  const auto start = std::chrono::steady_clock::now();
  Ref result;
  if (is_plain) {
    ++counters().eager_calls;
    result = checked(python::calling_python(
        [&] { return PyObject_Vectorcall(function_.get(), args, num_args, kwnames); }));
  } else {
    result = call_compiled(args, num_args, kwnames);
  }
  if (!is_plain && counters().captures != captures) return result;
  CallPace::Times& times = pace->times(args, num_args);
  if (times.add(is_plain, milliseconds_since(start) * 1e3) && pace->is_announced())
    fall_back({root_code_->file(), root_code_->code()->co_firstlineno,
               fmt::format("much of it runs step by step, and a call takes Python {:.1f} us, not {:.1f}",
                           times.plain_us, times.compiled_us)});
  return result;
}

}  // namespace weft::capture
