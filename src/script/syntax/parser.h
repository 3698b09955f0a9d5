// From source text to syntax tree. ValueError with file, line, column and a caret for what TorchScript does
// not have (named: "lambda is not part of TorchScript") and for what is no Python. Nesting deeper than
// kMaxDepth is refused.
#pragma once

#include "script/syntax/tree.h"

namespace weft::jit {

inline constexpr int kMaxDepth = 200;
inline constexpr int kMaxChain = 1000;  // of operators, calls and attributes, which nest to the left

// Definitions and statements of a file, as in an archive's code/.
Body parse_source(SourcePtr source);
// One function definition, with its decorators: what inspect.getsource gives. `# type: (int, Tensor) -> int`
// comments become annotations.
FunctionDef parse_function(SourcePtr source);
ClassDef parse_class(SourcePtr source);
// An expression alone: an annotation given as a string.
ExprPtr parse_expression(SourcePtr source);
// As source text again, fully parenthesized where needed. For tests: parses back to the same tree.
std::string unparse(const Body& body);
std::string unparse(const Expr& expr);

}  // namespace weft::jit
