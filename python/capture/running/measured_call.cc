#include "capture/running/measured_call.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "capture/objects/numpy_api.h"

namespace weft::capture {

namespace {

enum class Inside : uint8_t { Nothing, Plain, Compiled };
thread_local Inside inside = Inside::Nothing;
thread_local double accounted = 0;  // seconds of calls, those within others not counted again

bool has_array_value(PyObject* dict) {
  PyObject *key, *value;
  for (Py_ssize_t i = 0; PyDict_Next(dict, &i, &key, &value);)
    if (PyArray_Check(value)) return true;
  return false;
}

// An array, or what holds one: a list or tuple that begins with one, a dict, an object of a Python class.
bool is_array(PyObject* object) {
  if (PyArray_Check(object)) return true;
  if (PyTuple_CheckExact(object) || PyList_CheckExact(object)) {
    const Py_ssize_t size = PySequence_Fast_GET_SIZE(object);
    return size > 0 && PyArray_Check(PySequence_Fast_GET_ITEM(object, 0));
  }
  if (PyDict_CheckExact(object)) return has_array_value(object);
  if (!PyType_HasFeature(Py_TYPE(object), Py_TPFLAGS_HEAPTYPE) || PyType_Check(object)) return false;
  const Ref attributes = Ref::steal(PyObject_GenericGetDict(object, nullptr));
  if (!attributes) PyErr_Clear();
  return attributes && PyDict_Check(attributes.get()) && has_array_value(attributes.get());
}

size_t num_arguments(size_t nargsf, PyObject* kwnames) {
  const size_t named = kwnames ? static_cast<size_t>(PyTuple_GET_SIZE(kwnames)) : 0;
  return static_cast<size_t>(PyVectorcall_NARGS(nargsf)) + named;
}

bool has_array(PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  return std::any_of(args, args + num_arguments(nargsf, kwnames), is_array);
}

bool takes_numbers(PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  const size_t count = num_arguments(nargsf, kwnames);
  return count > 0 &&
         std::all_of(args, args + count, [](PyObject* object) { return PyNumber_Check(object) != 0; });
}

// The third call of each eight, so that what is compared is spread over the program.
bool is_plain_turn(const Measurement& measurement) {
  return measurement.calls % 8 == 3 && measurement.plain.size() < Measurement::kMaxPlain;
}

std::optional<double> median(std::vector<double> samples) {
  if (samples.empty()) return std::nullopt;
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return *middle;
}

}  // namespace

double measured_seconds() { return accounted; }

PyObject* measured_call(Measurement& measurement, CallFunction compiled, CallFunction plain, PyObject* self,
                        PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  if (inside == Inside::Plain) return plain(self, args, nargsf, kwnames);
  if (inside == Inside::Compiled) {
    ++measurement.inner_calls;
    return compiled(self, args, nargsf, kwnames);
  }
  const bool is_of_interest =
      has_array(args, nargsf, kwnames) || (measurement.has_loops && takes_numbers(args, nargsf, kwnames));
  const double before = accounted;
  const auto start = std::chrono::steady_clock::now();
  const auto seconds_since_start = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  if (!is_of_interest) {
    PyObject* result = plain(self, args, nargsf, kwnames);
    const double seconds = seconds_since_start();
    ++measurement.other_calls;
    measurement.other += seconds - (accounted - before);
    accounted = before + seconds;
    return result;
  }
  ++measurement.calls;
  const bool is_plain = is_plain_turn(measurement);
  inside = is_plain ? Inside::Plain : Inside::Compiled;
  PyObject* result = (is_plain ? plain : compiled)(self, args, nargsf, kwnames);
  const double seconds = seconds_since_start();
  inside = Inside::Nothing;
  accounted = before + seconds;
  if (is_plain) {
    measurement.plain.push_back(seconds);
    return result;
  }
  measurement.total += seconds;
  if (measurement.first == 0)
    measurement.first = seconds;
  else if (measurement.warm.size() < Measurement::kMaxSamples)
    measurement.warm.push_back(seconds);
  return result;
}

Ref describe(const Measurement& measurement) {
  const auto milliseconds = [](std::optional<double> seconds) {
    return seconds ? checked(PyFloat_FromDouble(*seconds * 1e3)) : Ref::borrow(Py_None);
  };
  const bool was_called = measurement.first > 0;
  return checked(Py_BuildValue(
      "{s:L,s:n,s:O,s:O,s:O,s:O,s:L,s:L,s:O}", "calls", measurement.calls, "plain_calls",
      static_cast<Py_ssize_t>(measurement.plain.size()), "first_ms",
      milliseconds(was_called ? std::optional(measurement.first) : std::nullopt).get(), "total_ms",
      milliseconds(measurement.total).get(), "warm_ms", milliseconds(median(measurement.warm)).get(),
      "plain_ms", milliseconds(median(measurement.plain)).get(), "inner_calls", measurement.inner_calls,
      "other_calls", measurement.other_calls, "other_ms", milliseconds(measurement.other).get()));
}

}  // namespace weft::capture
