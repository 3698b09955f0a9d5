// Sets made inside a segment: a real set of the elements, which are known, kept beside the value, so that
// their order is CPython's own.
#pragma once

#include "capture/evaluate/evaluator.h"

namespace weft::capture {

V set_value(Ref set);
// A set that the state holds as it is now, guarded, with its order where that is asked for; null for other
// values, and where something is in it that is neither a plain value nor known by its identity.
V outside_set(Evaluator& ev, const V& value, bool in_order = true);
// An object in a set.
V set_element(Evaluator& ev, PyObject* object);
bool changes_the_set(const std::string& method);
// set(elements) for what is known completely; breaks otherwise.
V make_set(Evaluator& ev, const std::vector<V>& elements);
// What a set is made of, as an object of the kind it is in Python: a set's order depends on whether its
// elements come from a set, from a dict or one by one. Breaks where they are not known.
Ref set_elements(Evaluator& ev, const V& from);
// A set or a list, a new set of which has the order of this one. Breaks where there is none.
Ref ordered_as(const Ref& set);
void add_to_set(Evaluator& ev, const V& set, const V& element);
V set_method(Evaluator& ev, const V& set, const std::string& name, CallArgs& args);
// A set or frozenset among the operands of an operator (NB_*), or null where it is none of sets.
V set_binary(Evaluator& ev, int op, const V& a, const V& b);

}  // namespace weft::capture
