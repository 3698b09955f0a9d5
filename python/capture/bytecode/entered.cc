#include "capture/bytecode/entered.h"

#include <map>
#include <set>
#include <string>

namespace weft::capture {

bool measuring = false;

namespace {

// Written with the interpreter's lock held.
std::map<const Code*, std::set<std::string>>& entered_by() {
  static auto& found = *new std::map<const Code*, std::set<std::string>>;
  return found;
}

}  // namespace

void note_entered(const Code& caller, const Code& callee) {
  if (&caller != &callee) entered_by()[&callee].insert(caller.name());
}

Ref entered_functions() {
  Ref result = checked(PyDict_New());
  for (const auto& [callee, callers] : entered_by()) {
    Ref names = checked(PyList_New(0));
    for (const std::string& name : callers) {
      const Ref text = checked(PyUnicode_FromString(name.c_str()));
      if (PyList_Append(names.get(), text.get()) < 0) throw PythonError{};
    }
    if (PyDict_SetItem(result.get(), reinterpret_cast<PyObject*>(callee->code()), names.get()) < 0)
      throw PythonError{};
  }
  return result;
}

}  // namespace weft::capture
