// weft.profiler's half in C++: recordings, ranges, and Python's calls for the stacks of events.
#include "profiler.h"

#include <frameobject.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <string_view>
#include <utility>

#include "bindings.h"
#include "core/profiling.h"
#include "once.h"
#include "weft/profiler.h"

namespace weft::python {
namespace {

// The folder of the package: its own calls are left out of stacks.
std::string& own_folder() {
  static constinit MadeOnce<std::string> folder;
  return folder.get([] { return std::string(); });
}

std::string_view text_of(PyObject* object) {
  Py_ssize_t size = 0;
  const char* text = object && PyUnicode_Check(object) ? PyUnicode_AsUTF8AndSize(object, &size) : nullptr;
  if (!text) PyErr_Clear();
  return {text ? text : "?", text ? static_cast<size_t>(size) : 1};
}

// "model.py(42): forward", a call per line, the innermost first. With the interpreter's lock.
const char* python_calls() {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  std::string text;
  PyFrameObject* frame = PyThreadState_GetFrame(PyThreadState_Get());
  while (frame) {
    PyCodeObject* code = PyFrame_GetCode(frame);
    const std::string_view file = text_of(code->co_filename);
    if (own_folder().empty() || !file.starts_with(own_folder())) {
      if (!text.empty()) text += '\n';
      text.append(file).append("(").append(std::to_string(PyFrame_GetLineNumber(frame))).append("): ");
      text.append(text_of(code->co_qualname));
    }
    Py_DECREF(code);
    PyFrameObject* back = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = back;
  }
  PyErr_Restore(type, value, trace);
  return text.empty() ? "" : profiling::intern(text);
}

const char* stack_of_thread() { return Py_IsInitialized() && PyGILState_Check() ? python_calls() : nullptr; }

// A range that Python ends.
class ProfilerRange {
 public:
  explicit ProfilerRange(std::string_view name) : range_(name) {}
  void end() { range_.end(); }

 private:
  profiling::OpenRange range_;
};

nb::tuple record_of(const profiler::Event& e) {
  const auto text = [](std::string_view value) { return nb::str(value.data(), value.size()); };
  return nb::make_tuple(text(e.name), text(e.category), text(e.shapes), text(e.dtypes), text(e.stack),
                        e.thread, e.begin_ns, e.end_ns, e.self_ns, e.memory, e.self_memory, e.bytes,
                        e.operations, e.least_ns, e.has_work, e.overlaps);
}

nb::dict record_of(const profiler::Allocation& a) {
  const auto text = [](std::string_view value) { return nb::str(value.data(), value.size()); };
  nb::dict result;
  result["begin_ns"] = a.begin_ns;
  result["end_ns"] = a.end_ns;
  result["bytes"] = a.bytes;
  result["category"] = text(a.category);
  result["type"] = text(a.type);
  result["operator"] = text(a.operator_name);
  result["stack"] = text(a.stack);
  result["device"] = a.device;
  return result;
}

template <class Items>
nb::list list_of(const Items& items) {
  nb::list result;
  for (const auto& item : items) result.append(record_of(item));
  return result;
}

}  // namespace

void bind_profiler(nb::module_& m) {
  using profiler::Average;
  using profiler::Recording;
  nb::class_<Average>(m, "_ProfilerAverage")
      .def(nb::init<>())
      .def_rw("name", &Average::name)
      .def_rw("category", &Average::category)
      .def_rw("shapes", &Average::shapes)
      .def_rw("dtypes", &Average::dtypes)
      .def_rw("stack", &Average::stack)
      .def_rw("calls", &Average::calls)
      .def_rw("total_ns", &Average::total_ns)
      .def_rw("self_ns", &Average::self_ns)
      .def_rw("memory", &Average::memory)
      .def_rw("self_memory", &Average::self_memory)
      .def_rw("bytes", &Average::bytes)
      .def_rw("operations", &Average::operations)
      .def_rw("percent_of_ceiling", &Average::percent_of_ceiling);
  nb::class_<Recording>(m, "_ProfilerRecording")
      .def("events", [](const Recording& r) { return list_of(r.events()); })
      .def("averages", &Recording::averages, nb::arg("by_shapes"), nb::arg("by_stack_lines"),
           nb::call_guard<GilRelease>())
      .def("allocations", [](const Recording& r) { return list_of(r.allocations()); })
      .def("length_ns", &Recording::length_ns)
      .def("export_chrome_trace", &Recording::export_chrome_trace, nb::arg("path"), nb::arg("members"),
           nb::call_guard<GilRelease>())
      .def("export_memory_timeline", &Recording::export_memory_timeline, nb::arg("path"),
           nb::call_guard<GilRelease>());
  nb::class_<ProfilerRange>(m, "_ProfilerRange").def("end", &ProfilerRange::end);
  m.def(
      "_start_profiler",
      [](bool record_shapes, bool profile_memory, bool with_stack, std::string trace_path, bool keep) {
        profiler::start({.record_shapes = record_shapes,
                         .profile_memory = profile_memory,
                         .with_stack = with_stack,
                         .trace_path = std::move(trace_path),
                         .keep = keep});
      },
      nb::arg("record_shapes"), nb::arg("profile_memory"), nb::arg("with_stack"), nb::arg("trace_path"),
      nb::arg("keep"), nb::call_guard<GilRelease>());
  m.def("_stop_profiler", [] {
    const GilRelease no_gil;
    return std::const_pointer_cast<Recording>(profiler::stop());
  });
  m.def("_is_recording", &profiler::enabled);
  m.def("_open_range", [](std::string_view name) { return ProfilerRange(name); }, nb::arg("name"));
  m.def("_note_parameter", &profiler::note_parameter, nb::arg("tensor"), nb::arg("name"));
  m.def(
      "_profile_table",
      [](std::vector<Average> averages, std::string sort_by, int64_t row_limit, size_t name_width,
         size_t shapes_width, size_t source_width, std::string time_unit, bool memory, bool shapes,
         std::string header) {
        return profiler::table(std::move(averages), {.sort_by = std::move(sort_by),
                                                     .row_limit = row_limit,
                                                     .name_width = name_width,
                                                     .shapes_width = shapes_width,
                                                     .source_width = source_width,
                                                     .time_unit = std::move(time_unit),
                                                     .memory = memory,
                                                     .shapes = shapes,
                                                     .header = std::move(header)});
      },
      nb::arg("averages"), nb::arg("sort_by"), nb::arg("row_limit"), nb::arg("name_width"),
      nb::arg("shapes_width"), nb::arg("source_width"), nb::arg("time_unit"), nb::arg("memory"),
      nb::arg("shapes"), nb::arg("header"));
  m.def(
      "_set_profiler_folder", [](std::string folder) { own_folder() = std::move(folder); },
      nb::arg("folder"));
  profiling::set_stack_source(stack_of_thread);
}

}  // namespace weft::python
