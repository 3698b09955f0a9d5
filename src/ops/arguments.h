// Reading an operator's attributes, whichever of the equivalent forms a front end gave.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/registry.h"

namespace weft::ops {

// An int[] argument; a single integer counts as a list of one.
SymShape list_arg(const Attrs& attrs, std::string_view name);
std::vector<int64_t> int_list_arg(const Attrs& attrs, std::string_view name);
// An int argument.
Sym sym_arg(const Attrs& attrs, std::string_view name);
std::optional<Sym> optional_sym_arg(const Attrs& attrs, std::string_view name);
int64_t int_arg(const Attrs& attrs, std::string_view name);
// A Scalar or float argument given as any kind of number. A symbolic integer is specialized.
Scalar scalar_arg(const Attrs& attrs, std::string_view name);
double float_arg(const Attrs& attrs, std::string_view name);
std::optional<DType> dtype_arg(const Attrs& attrs, std::string_view name = "dtype");
Device device_arg(const Attrs& attrs);

// Axes in [0, ndim), in the order given; ValueError when one is named twice.
std::vector<int64_t> normalize_dims(std::string_view op, std::vector<int64_t> dims, int64_t ndim);

// The operands as error messages show them.
std::string describe_operands(const OpDef& op, const OpArgs& args);
// ValueError that says what is wrong, and describes the operands.
[[noreturn]] void fail_for(const OpDef& op, std::span<const TensorType> operands, const std::string& what);

// Registers an operator that is written over others.
const OpDef& define_composite(const char* name, const char* schema, const char* doc, const char* numpy,
                              CompositeFn body, std::vector<std::string> aliases = {},
                              std::vector<std::string> methods = {});

}  // namespace weft::ops
