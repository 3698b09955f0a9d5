// Operators that have another meaning today than when an archive was written, by the archive's version: what
// torch/csrc/jit/operator_upgraders has. And those that PyTorch has no more, or never had: written in others,
// so that it reads what is saved.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "weft/jit/module.h"

namespace weft::jit {

// The version of what is written now, whose operators are the builtins.
inline constexpr int64_t kNewestVersion = 10;

// The functions that stand for overloads of an operator ("aten::div") in source of this version; they are
// asked before the builtin's own. Empty for most.
const std::vector<std::shared_ptr<Function>>& function_overloads(std::string_view name, int64_t version);
// Is there a builtin of this name, or functions in its place?
bool is_operator(std::string_view name);

}  // namespace weft::jit
