// A size that a graph being captured does not know, as an argument of operators.
#include "bindings.h"
#include "weft/sym.h"

namespace weft::python {

namespace {

struct SymbolicInt {
  Sym size;
};

PyTypeObject* symbolic_int_type = nullptr;

}  // namespace

void bind_symbolic_int(nb::module_& m) {
  nb::class_<SymbolicInt> c(m, "_SymbolicInt", nb::is_final());
  const auto pinned = [](const SymbolicInt& self) { return nb::int_(sym_specialize(self.size)); };
  c.def("__index__", pinned).def("__int__", pinned);
  symbolic_int_type = reinterpret_cast<PyTypeObject*>(c.ptr());
}

nb::object symbolic_int_object(Sym size) { return nb::cast(SymbolicInt{size}); }

const Sym* symbolic_int(PyObject* object) {
  return Py_TYPE(object) == symbolic_int_type ? &nb::inst_ptr<SymbolicInt>(object)->size : nullptr;
}

}  // namespace weft::python
