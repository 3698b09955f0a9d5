// What people are told: of captures, of functions that are Python's, of loops that were unrolled.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "capture/objects/classes.h"
#include "capture/running/segments.h"
#include "capture/values/advice.h"
#include "runtime/log.h"

namespace weft::capture {

std::string source_line(const std::string& file, int line) {
  Ref text;
  try {
    text =
        checked(PyObject_CallMethod(loaded_module("linecache").get(), "getline", "si", file.c_str(), line));
  } catch (const PythonError&) {
    clear_error();
  }
  std::string result = text ? utf8(text.get()) : "";
  const size_t from = result.find_first_not_of(" \t\n");
  if (from == std::string::npos) return "";
  return result.substr(from, result.find_last_not_of(" \t\n") - from + 1);
}

// Once in the process: a loop is unrolled for every kind of arguments.
void name_unrolled(const UnrolledLoop& loop) {
  static auto& named = *new std::set<std::pair<const Code*, int>>;
  if (!named.insert({loop.code, loop.head}).second) return;
  log::warning(fmt::format(
      "weft.compile: the loop at {}:{} is not native code: {} rounds of it were unrolled into one graph: {}",
      loop.code->file(), loop.code->line(loop.head), loop.rounds, loop.why));
}

void CompiledFunction::fall_back(Fallback fallback) {
  const bool is_known = std::any_of(
      captures_.fallbacks.begin(), captures_.fallbacks.end(),
      [&](const Fallback& one) { return one.file == fallback.file && one.line == fallback.line; });
  if (is_known) return;
  log::warning(fallback.is_loop
                   ? fmt::format("weft.compile: the loop at {}:{} of {} runs as it is: {}", fallback.file,
                                 fallback.line, callable_name(function_.get()), fallback.reason)
                   : fmt::format("weft.compile: {} runs as it is, from {}:{} on: {}",
                                 callable_name(function_.get()), fallback.file, fallback.line,
                                 fallback.reason));
  captures_.fallbacks.push_back(std::move(fallback));
}

void CompiledFunction::fall_back(const Frame& frame, const std::string& reason) {
  fall_back({frame.code->file(), frame.code->line(frame.ip), reason});
}

namespace {

void put(PyObject* dict, const char* key, Ref value) {
  if (PyDict_SetItemString(dict, key, value.get()) < 0) throw PythonError{};
}
Ref text(const std::string& value) {
  return checked(
      PyUnicode_DecodeUTF8(value.data(), static_cast<Py_ssize_t>(value.size()), "backslashreplace"));
}
Ref number(double value) { return checked(PyFloat_FromDouble(value)); }

Ref place(const std::string& file, int line, const std::string& reason) {
  Ref entry = checked(PyDict_New());
  put(entry.get(), "file", text(file));
  put(entry.get(), "line", checked(PyLong_FromLong(line)));
  put(entry.get(), "reason", text(reason));
  put(entry.get(), "source", text(source_line(file, line)));
  put(entry.get(), "advice", text(advice_for(reason)));
  return entry;
}

}  // namespace

Ref CompiledFunction::report() const {
  Ref list = checked(PyList_New(0));
  for (const auto& variant : captures_.in_order) {
    Ref entry = checked(PyDict_New());
    put(entry.get(), "graph", text(variant->graph ? variant->graph->str() : ""));
    put(entry.get(), "num_nodes", checked(PyLong_FromLong(variant->num_nodes)));
    put(entry.get(), "has_graph", Ref::borrow(variant->executable ? Py_True : Py_False));
    put(entry.get(), "returns", Ref::borrow(variant->is_broken() ? Py_False : Py_True));
    put(entry.get(), "reason", text(variant->break_reason));
    put(entry.get(), "advice", text(variant->is_broken() ? advice_for(variant->break_reason) : ""));
    put(entry.get(), "file", text(variant->break_file));
    put(entry.get(), "line", checked(PyLong_FromLong(variant->break_line)));
    put(entry.get(), "source",
        text(variant->returns ? "" : source_line(variant->break_file, variant->break_line)));
    put(entry.get(), "capture_ms", number(variant->capture_ms));
    put(entry.get(), "compile_ms", number(variant->compile_ms));
    put(entry.get(), "run_ms", number(variant->run_ms));
    put(entry.get(), "runs", checked(PyLong_FromLongLong(variant->runs)));
    Ref guards = checked(PyList_New(0));
    for (const std::string& guard : variant->guards.describe())
      PyList_Append(guards.get(), text(guard).get());
    put(entry.get(), "guards", guards);
    Ref kernels = checked(PyList_New(0));
    for (const KernelSummary& kernel : variant->kernels) {
      Ref one = checked(PyDict_New());
      put(one.get(), "name", text(kernel.name));
      put(one.get(), "source", text(kernel.source));
      put(one.get(), "compile_ms", number(kernel.compile_ms));
      put(one.get(), "from_cache", Ref::borrow(kernel.from_cache ? Py_True : Py_False));
      PyList_Append(kernels.get(), one.get());
    }
    put(entry.get(), "kernels", kernels);
    Ref unrolled = checked(PyList_New(0));
    for (const UnrolledLoop& loop : variant->unrolled) {
      Ref one = place(loop.code->file(), loop.code->line(loop.head), loop.why);
      put(one.get(), "rounds", checked(PyLong_FromLong(loop.rounds)));
      PyList_Append(unrolled.get(), one.get());
    }
    put(entry.get(), "unrolled", unrolled);
    PyList_Append(list.get(), entry.get());
  }
  return list;
}

Ref CompiledFunction::fallbacks() const {
  Ref list = checked(PyList_New(0));
  for (const Fallback& one : captures_.fallbacks)
    PyList_Append(list.get(), place(one.file, one.line, one.reason).get());
  return list;
}

}  // namespace weft::capture
