// The object weft.compile returns, and the module functions behind weft.compiler.

#include <fmt/format.h>

#include "capture/builtins/builtins.h"
#include "capture/builtins/weft_tensors.h"
#include "capture/bytecode/entered.h"
#include "capture/evaluate/promises.h"
#include "capture/numpy/error_state.h"
#include "capture/numpy/names.h"
#include "capture/objects/array_operator.h"
#include "capture/objects/classes.h"
#include "capture/objects/compiled_object.h"
#include "capture/objects/numpy_api.h"
#include "capture/running/measured_call.h"
#include "capture/running/segments.h"
#include "capture/values/advice.h"
#include "capture/values/choices.h"
#include "interpreter_lock.h"
#include "op_arguments.h"
#include "runtime/log.h"
#include "runtime/own_stack.h"
#include "trace_handler.h"
#include "weft/env.h"
#include "weft/error.h"

namespace weft::capture {

namespace {

struct Callable {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* dict;
  PyObject* weak_references;
  PyObject* function;
  CompiledFunction* compiled;
  Measurement* measurement;
  PyObject* options;  // (fullgraph, dynamic, mode, backend), as weft.compile has them
};

void register_replacements(const char* module) {
  const Ref entered = checked(PyImport_ImportModule(module));
  const Ref table = checked(PyObject_GetAttrString(entered.get(), "REPLACEMENTS"));
  PyObject *path, *function;
  for (Py_ssize_t i = 0; PyDict_Next(table.get(), &i, &path, &function);)
    register_replacement(utf8(path).c_str(), function);
}

// What a function of the module gives; null, with Python's error set, where it throws.
template <class F>
PyObject* guarded(F&& function) {
  try {
    return function();
  } catch (const PythonError&) {
  } catch (const Error& error) {
    PyErr_SetString(python::exception_type(error.kind()), error.what());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

// NumPy is imported when something is first compiled. Threads that come first at once each register
// everything, which gives the same.
void ensure_ready() {
  static constinit bool ready = false;
  if (ready) return;
  import_numpy_api();
  register_numpy_ufuncs();
  register_numpy_reductions();
  register_numpy_shapes();
  register_numpy_linalg();
  register_numpy_positions();
  register_numpy_ufunc_methods();
  for (const char* module : {"weft._entered", "weft._entered_library"}) register_replacements(module);
  register_builtins();
  register_copying();
  register_numpy_creation();
  register_numpy_sorting();
  register_numpy_making();
  register_numpy_memory();
  register_error_state();
  register_numpy_index();
  register_weft_tensors();
  ready = true;
}

// The function itself, for WEFT_DISABLE_COMPILE=1.
PyObject* call_plain(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  return PyObject_Vectorcall(reinterpret_cast<Callable*>(self)->function, args,
                             nargsf & ~PY_VECTORCALL_ARGUMENTS_OFFSET, kwnames);
}

// In a thread whose stack is too small.
PyObject* call_on_own_stack(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames);

PyObject* call_compiled(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  // weft.jit.trace records operators one by one.
  if (python::trace_handler) [[unlikely]]
    return call_plain(self, args, nargsf, kwnames);
  auto* callable = reinterpret_cast<Callable*>(self);
  const size_t num_args = static_cast<size_t>(PyVectorcall_NARGS(nargsf));
  try {
    const Choices chosen = choices();
    if (chosen.are_usual()) {
      // Where all of a call takes a microsecond, so does what is on the way to it.
      if (PyObject* function = callable->compiled->faster_in_python(args, num_args)) {
        ++counters().calls;
        ++counters().eager_calls;
        const vectorcallfunc run = reinterpret_cast<PyFunctionObject*>(function)->vectorcall;
        return python::calling_python([&] { return run(function, args, num_args, kwnames); });
      }
      if (!kwnames)
        if (Ref result = callable->compiled->call_whole(args, num_args)) return result.release();
    } else {
      require_available(chosen.device);
    }
    return callable->compiled->call(args, num_args, kwnames).release();
  } catch (const PythonError&) {
  } catch (const Error& error) {
    const bool has_kind = error.kind() == ErrorKind::Memory || choices().on_meta();
    PyObject* const type = python::exception_type(error);
    const bool is_runtime = PyObject_IsSubclass(type, PyExc_RuntimeError) == 1;
    python::set_error(has_kind || is_runtime ? type : PyExc_RuntimeError, error.what());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    python::set_error(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

PyObject* call(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  if (!runtime::has_stack(runtime::kCaptureStack)) [[unlikely]]
    return call_on_own_stack(self, args, nargsf, kwnames);
  if (measuring) [[unlikely]]
    return measured_call(*reinterpret_cast<Callable*>(self)->measurement, call_compiled, call_plain, self,
                         args, nargsf, kwnames);
  return call_compiled(self, args, nargsf, kwnames);
}

PyObject* call_on_own_stack(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  PyObject* result = nullptr;
  try {
    runtime::on_own_stack([&] { result = call(self, args, nargsf, kwnames); });
  } catch (const Error& error) {
    log::warning(fmt::format("weft.compile: {} runs as it is: {}",
                             callable_name(reinterpret_cast<Callable*>(self)->function), error.what()));
    return call_plain(self, args, nargsf, kwnames);
  }
  return result;
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  auto* callable = reinterpret_cast<Callable*>(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(callable->dict);
  Py_VISIT(callable->function);
  Py_VISIT(callable->options);
  return callable->compiled ? callable->compiled->traverse(visit, arg) : 0;
}

int clear(PyObject* self) {
  auto* callable = reinterpret_cast<Callable*>(self);
  Py_CLEAR(callable->dict);
  Py_CLEAR(callable->function);
  Py_CLEAR(callable->options);
  if (callable->compiled) callable->compiled->let_go();
  return 0;
}

void deallocate(PyObject* self) {
  auto* callable = reinterpret_cast<Callable*>(self);
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (callable->weak_references) PyObject_ClearWeakRefs(self);
  clear(self);
  delete callable->compiled;
  delete callable->measurement;
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* bind_method(PyObject* self, PyObject* instance, PyObject*) {
  if (!instance || instance == Py_None) return Py_NewRef(self);
  return PyMethod_New(self, instance);
}

PyObject* represent(PyObject* self) {
  return PyUnicode_FromFormat("<weft.compile of %R>", reinterpret_cast<Callable*>(self)->function);
}

// weft.compiler's function of this name, called.
PyObject* by_compiler(const char* name, PyObject* self, PyObject* argument) {
  return guarded([&] {
    const Ref module = checked(PyImport_ImportModule("weft.compiler"));
    const Ref function = checked(PyObject_GetAttrString(module.get(), name));
    return PyObject_CallFunctionObjArgs(function.get(), self, argument, nullptr);
  });
}

// By name, or as what it wraps and how that was compiled.
PyObject* reduce(PyObject* self, PyObject*) { return by_compiler("_reduce", self, nullptr); }
PyObject* copy(PyObject* self, PyObject*) { return Py_NewRef(self); }  // as functions are copied
PyObject* deep_copy(PyObject* self, PyObject* memo) { return by_compiler("_deep_copy", self, memo); }

PyMethodDef kMethods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr},
                          {"__copy__", copy, METH_NOARGS, nullptr},
                          {"__deepcopy__", deep_copy, METH_O, nullptr},
                          {nullptr, nullptr, 0, nullptr}};

PyMemberDef kMembers[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Callable, vectorcall), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(Callable, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Callable, weak_references), READONLY, nullptr},
    {"__wrapped__", T_OBJECT, offsetof(Callable, function), READONLY, nullptr},
    {"_options", T_OBJECT, offsetof(Callable, options), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyGetSetDef kGetSet[] = {{"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
                         {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyType_Slot kSlots[] = {{Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                        {Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
                        {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                        {Py_tp_clear, reinterpret_cast<void*>(clear)},
                        {Py_tp_descr_get, reinterpret_cast<void*>(bind_method)},
                        {Py_tp_repr, reinterpret_cast<void*>(represent)},
                        {Py_tp_methods, kMethods},
                        {Py_tp_members, kMembers},
                        {Py_tp_getset, kGetSet},
                        {0, nullptr}};

PyType_Spec kSpec = {
    "weft._C.CompiledFunction", sizeof(Callable), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
    kSlots};

PyTypeObject* callable_type = nullptr;

Ref make_callable(PyObject* function, bool fullgraph, Settings::Dynamic dynamic, const char* mode,
                  std::string_view backend) {
  ensure_ready();
  Ref made = checked(callable_type->tp_alloc(callable_type, 0));
  auto* callable = reinterpret_cast<Callable*>(made.get());
  Settings settings;
  settings.fullgraph = fullgraph;
  settings.mode = mode;
  settings.dynamic = dynamic;
  PyObject* as_given = dynamic == Settings::Dynamic::Auto     ? Py_None
                       : dynamic == Settings::Dynamic::Always ? Py_True
                                                              : Py_False;
  callable->options =
      checked(Py_BuildValue("(OOss)", fullgraph ? Py_True : Py_False, as_given, mode, backend.data()))
          .release();
  callable->vectorcall = env::flag("WEFT_DISABLE_COMPILE") || backend == "eager" ? call_plain : call;
  callable->function = Py_NewRef(function);
  callable->compiled = new CompiledFunction(Ref::borrow(function), settings);
  callable->measurement = new Measurement;
  return made;
}

// _make_callable(function, fullgraph, dynamic, mode, backend)
PyObject* make_callable_of(PyObject*, PyObject* args) {
  PyObject *function, *dynamic;
  int fullgraph = 0;
  const char *mode = nullptr, *backend = nullptr;
  if (!PyArg_ParseTuple(args, "OpOss", &function, &fullgraph, &dynamic, &mode, &backend)) return nullptr;
  const int is_dynamic = dynamic == Py_None ? 0 : PyObject_IsTrue(dynamic);
  if (is_dynamic < 0) return nullptr;
  using Dynamic = Settings::Dynamic;
  return guarded([&] {
    Ref made;
    runtime::with_stack(runtime::kCaptureStack, [&] {
      made = make_callable(function, fullgraph != 0,
                           dynamic == Py_None ? Dynamic::Auto
                           : is_dynamic       ? Dynamic::Always
                                              : Dynamic::Never,
                           mode, backend);
    });
    return made.release();
  });
}

// False with an error set for anything else.
bool is_compiled(PyObject* object) {
  if (Py_TYPE(object) == callable_type) return true;
  PyErr_SetString(PyExc_TypeError, "expected a function that weft.compile returned");
  return false;
}

PyObject* report(PyObject*, PyObject* object) {
  if (!is_compiled(object)) return nullptr;
  return guarded([&] { return reinterpret_cast<Callable*>(object)->compiled->report().release(); });
}

PyObject* fallbacks(PyObject*, PyObject* object) {
  if (!is_compiled(object)) return nullptr;
  return guarded([&] { return reinterpret_cast<Callable*>(object)->compiled->fallbacks().release(); });
}

// _measure(on): from now on, or no longer.
PyObject* measure(PyObject*, PyObject* on) {
  measuring = PyObject_IsTrue(on) == 1;
  Py_RETURN_NONE;
}

// _measure_loops(compiled): it has loops.
PyObject* measure_loops(PyObject*, PyObject* object) {
  if (!is_compiled(object)) return nullptr;
  reinterpret_cast<Callable*>(object)->measurement->has_loops = true;
  Py_RETURN_NONE;
}

PyObject* measured(PyObject*, PyObject* object) {
  if (!is_compiled(object)) return nullptr;
  return guarded([&] { return describe(*reinterpret_cast<Callable*>(object)->measurement).release(); });
}

// _advice_for(reason)
PyObject* advice(PyObject*, PyObject* reason) {
  return PyUnicode_FromString(advice_for(utf8(reason)).c_str());
}

// _measured_seconds(): of all calls, those within others not counted again.
PyObject* measured_seconds_object(PyObject*, PyObject*) { return PyFloat_FromDouble(measured_seconds()); }

// _entered(): {code object: names of the functions that it became a part of}
PyObject* entered(PyObject*, PyObject*) {
  try {
    return entered_functions().release();
  } catch (const PythonError&) {
    return nullptr;
  }
}

PyObject* reset(PyObject*, PyObject*) {
  return guarded([] {
    reset_all();
    return Py_NewRef(Py_None);
  });
}

PyObject* stats(PyObject*, PyObject*) {
  const Counters& c = counters();
  return Py_BuildValue("{s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:L}", "calls", c.calls, "captures", c.captures,
                       "graphs", c.graphs, "breaks", c.breaks, "recompiles", c.recompiles, "kernels",
                       c.kernels, "eager_calls", c.eager_calls, "runs", c.runs, "warning_runs",
                       c.warning_runs);
}

// _set_marked_sizes({id: {dimension: is_dynamic}})
PyObject* set_marked(PyObject*, PyObject* marks) {
  set_marked_sizes(marks);
  Py_RETURN_NONE;
}

// _set_frozen_tensors({id: anything})
PyObject* set_frozen(PyObject*, PyObject* frozen) {
  set_frozen_tensors(frozen);
  Py_RETURN_NONE;
}

// _set_default_float(is_float32)
PyObject* set_default_float_to(PyObject*, PyObject* is_float32) {
  set_default_float(is_float32 == Py_True ? DType::F32 : DType::F64);
  Py_RETURN_NONE;
}

PyMethodDef kFunctions[] = {
    {"_array_operator", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(array_operator)),
     METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"_set_default_float", set_default_float_to, METH_O, nullptr},
    {"_set_marked_sizes", set_marked, METH_O, nullptr},
    {"_set_frozen_tensors", set_frozen, METH_O, nullptr},
    {"_fallbacks", fallbacks, METH_O, nullptr},
    {"_measure", measure, METH_O, nullptr},
    {"_measure_loops", measure_loops, METH_O, nullptr},
    {"_measured", measured, METH_O, nullptr},
    {"_measured_seconds", measured_seconds_object, METH_NOARGS, nullptr},
    {"_advice_for", advice, METH_O, nullptr},
    {"_entered", entered, METH_NOARGS, nullptr},
    {"_make_callable", make_callable_of, METH_VARARGS, nullptr},
    {"_report", report, METH_O, nullptr},
    {"_reset", reset, METH_NOARGS, nullptr},
    {"_stats", stats, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

void register_bindings(PyObject* module) {
  callable_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&kSpec));
  if (!callable_type) throw PythonError{};
  set_compiled_class(callable_type, offsetof(Callable, function));
  PyModule_AddFunctions(module, kFunctions);
  PyModule_AddObjectRef(module, "_CompiledFunction", reinterpret_cast<PyObject*>(callable_type));
}

}  // namespace weft::capture
