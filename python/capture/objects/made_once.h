// Python objects that capture makes once in the process.
#pragma once

#include "capture/objects/py.h"
#include "once.h"

namespace weft::capture {

using python::MadeOnce;

// A name that is looked up often.
class InternedName {
 public:
  constexpr explicit InternedName(const char* text) : text_(text) {}
  operator PyObject*() {
    if (!name_) [[unlikely]]
      name_ = checked(PyUnicode_InternFromString(text_)).release();
    return name_;
  }

 private:
  const char* text_;
  PyObject* name_ = nullptr;
};

// A function of the builtins module.
inline Ref builtin_function(const char* name) {
  const Ref module = checked(PyImport_ImportModule("builtins"));
  return checked(PyObject_GetAttrString(module.get(), name));
}

}  // namespace weft::capture
