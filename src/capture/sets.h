// Sets made inside a segment: a real set of the elements, which are known, kept beside the value, so that their order is
// CPython's own.
#pragma once

#include "capture/evaluator.h"

namespace weft::capture {

V set_value(Ref set);
// set(elements) for what is known completely; breaks otherwise.
V make_set(Evaluator& ev, const std::vector<V>& elements);
void add_to_set(Evaluator& ev, const V& set, const V& element);
V set_method(Evaluator& ev, const V& set, const std::string& name, CallArgs& args);
// A set or frozenset among the operands of an operator (NB_*), or null where it is none of sets.
V set_binary(Evaluator& ev, int op, const V& a, const V& b);

}  // namespace weft::capture
