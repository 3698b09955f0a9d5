// The bytes of a .npy file.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "weft/ivalue.h"

namespace weft::io {

struct NpyHeader {
  std::string dtype;  // "<f4"
  bool fortran_order = false;
  Shape shape;
  size_t size = 0;  // where the elements begin
};

// `where` begins the messages: "array 'x.npy'".
NpyHeader parse_npy_header(std::string_view bytes, const std::string& where);
IValue parse_npy(std::string_view bytes, const std::string& where);
std::string npy_bytes(const IValue& value, const std::string& where);

}  // namespace weft::io
