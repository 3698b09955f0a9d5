// NumPy's files: one array (.npy), or several by name (.npz).
//
//   weft::NamedValues arrays = weft::load_npz("x.npz");
//   weft::save_npz("y.npz", {{"out", tensor}});
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "weft/ivalue.h"

namespace weft {

using NamedValues = std::vector<std::pair<std::string, IValue>>;

// A tensor of booleans, whole, floating or complex numbers, in C or Fortran order (which its strides keep),
// of either byte order. Text is a str (0-d) or a List[str] (1-d). ValueError says what is wrong with a
// malformed file, TypeError names a dtype there is no tensor of; objects are never unpickled.
IValue load_npy(const std::string& path);
// The arrays of an archive, stored or deflated, in the order of their names.
NamedValues load_npz(const std::string& path);

// Tensors in C order; numbers, str and List[str] as arrays. TypeError for anything else, bfloat16 included,
// which NumPy does not have. No partial file is left.
void save_npy(const std::string& path, const IValue& value);
void save_npz(const std::string& path, const NamedValues& values, bool compress = false);

}  // namespace weft
