// Between Python objects and TorchScript's values.
#pragma once

#include "bindings.h"
#include "weft/ivalue.h"

namespace weft::python {

// The object as a value of `expected`: int where float is expected is converted, arrays become tensors over
// the same memory, lists and dictionaries are copied. Null: the type that the object has by itself. TypeError
// naming the place in nested containers, "expected int, got str at [2]['key']".
IValue to_ivalue(nb::handle object, const jit::TypePtr& expected);

// Lists, dictionaries and tuples are copied, one that occurs twice is one object; a NamedTuple becomes one of
// collections.namedtuple.
nb::object to_python(const IValue& value);

void bind_serialization(nb::module_& m);
void bind_storage(nb::module_& m);
void bind_unpickle(nb::module_& m);

}  // namespace weft::python
