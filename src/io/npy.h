// The bytes of .npy and .npz files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "weft/npz.h"

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

// `name` is the archive's, for messages. ValueError also where the arrays declare more than `max_bytes`
// together, of which none has been read then.
NamedValues parse_npz(std::string bytes, const std::string& name, uint64_t max_bytes);
std::string npz_bytes(const NamedValues& values, const std::string& name);

}  // namespace weft::io
