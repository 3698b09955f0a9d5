// Arrays in JSON: what a request for a module brings, and what it is answered with.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "io/json.h"
#include "weft/npz.h"

namespace weft::serve {

struct ArrayRequest {
  std::string model;  // "": whichever there is
  NamedValues arrays;
  // Of lists of numbers with a fraction whose dtype nobody named: float64, so that a list of float loses
  // nothing.
  std::set<const TensorImpl*> any_float;
};

// `inputs`: an object of arrays by name, or a list of them by position. An array is a number, a string,
// lists of these, or {"dtype", "shape", "data" or "base64"}; other objects hold parts ("states": {"0": …} is
// "states.0"). null is passed over. Whole numbers are int64. ApiError: 400 naming the array, 413 for tensors
// of more than `max_bytes`.
ArrayRequest arrays_of(const Json& inputs, uint64_t max_bytes);
// The same of a request's body: {"inputs": …, "model": …}.
ArrayRequest parse_arrays(std::string_view body, uint64_t max_bytes);

// {"model": …, "outputs": {name: {"dtype", "shape", "data"}}}: nested lists, "[]" without elements; "NaN",
// "Infinity" and
// "-Infinity" for what JSON has no number for. Numbers and strings as they are. ApiError 406 for complex
// numbers.
std::string arrays_json(const std::string& model, const NamedValues& arrays);

}  // namespace weft::serve
