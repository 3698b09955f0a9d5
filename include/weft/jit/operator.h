// Operators of a program's own, which archives and exported programs call by their names.
//
//   weft::jit::define_operator("mine::twice(Tensor x, float k=2.0) -> Tensor",
//                              [](std::span<IValue> arguments, IValue* results) { results[0] = … });
#pragma once

#include <span>
#include <string>

#include "weft/ivalue.h"

namespace weft::jit {

// Takes all arguments of the schema, defaults filled in, which it may move from; writes as many results as the schema's
// returns. Called from any thread.
using OperatorFn = void (*)(std::span<IValue> arguments, IValue* results);

// `schema`: in PyTorch's notation, with a namespace. Calls run in the program's order; results are not folded or compiled.
// raises: ValueError for what is no schema, and for an operator that is there.
void define_operator(const std::string& schema, OperatorFn function);

}  // namespace weft::jit
