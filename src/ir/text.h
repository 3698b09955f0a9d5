// The pieces of the graph's text form that printer and parser share.
#pragma once

#include <string>
#include <string_view>

#include "ir/graph.h"

namespace weft::ir {

// Constants of at most this many elements stand in the line of their node; those up to kDataLimit in the
// table after the body; larger ones print as a summary, which does not parse back.
inline constexpr int64_t kInlineLimit = 16;
inline constexpr int64_t kDataLimit = 4096;

std::string type_text(const TensorType& type);  // "f32[s0, 2]", "f32[4]@cuda"
std::string type_text(const Type& type);
// Shortest text that reads back to the same bits (NaN payloads apart); always with '.', 'e', "inf" or "nan".
std::string double_text(double value);
std::string attr_text(const ops::Attr& attr);
std::string guard_text(const SymGuard& guard);
// Nested lists of the elements: "[[1, 2], [3, 4]]", "3.5" when 0-d.
std::string data_text(const Tensor& tensor);
// True for names that may follow '%' without being mistaken for a number.
bool is_identifier(std::string_view name);

}  // namespace weft::ir
