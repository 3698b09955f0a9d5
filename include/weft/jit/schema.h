// A function's signature: "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/ivalue.h"
#include "weft/jit/type.h"

namespace weft::jit {

struct SchemaArgument {
  std::string name;
  TypePtr type;
  std::optional<IValue> default_value;
  bool keyword_only = false;
  bool is_written = false;   // (a!): changed in place
  int64_t list_length = -1;  // int[2]: a single int stands for a list of so many
};

struct SchemaReturn {
  std::string name;
  TypePtr type;
};

struct Schema {
  std::string name;      // "aten::add"
  std::string overload;  // "Tensor", or ""
  std::vector<SchemaArgument> arguments;
  std::vector<SchemaReturn> returns;  // several: the call gives a tuple
  bool is_vararg = false;             // "(...)": any further arguments

  const SchemaArgument* find(std::string_view argument) const;
  // The type of a call: None, the one type, or a tuple.
  TypePtr return_type() const;
  std::string str() const;  // parses back
};

// In the notation of PyTorch's operator schemas; ValueError with the column of what is not understood.
Schema parse_schema(std::string_view text);

// The values of a call in the order of the arguments: keywords put in place, defaults filled in, an int given
// for a list of known length repeated, ints to floats. TypeError as Python words it: unknown or missing or
// repeated arguments, wrong types, with the schema.
std::vector<IValue> bind_arguments(const Schema& schema, std::vector<IValue> positional,
                                   std::vector<std::pair<std::string, IValue>> keywords = {});

}  // namespace weft::jit
