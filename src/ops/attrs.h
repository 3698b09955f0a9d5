// What an operator call carries besides tensors, and what it yields: types.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "weft/device.h"
#include "weft/dtype.h"
#include "weft/error.h"
#include "weft/scalar.h"
#include "weft/sym.h"

namespace weft::ops {

// dtype, device and (possibly symbolic) shape of a tensor.
struct TensorType {
  DType dtype = DType::F32;
  SymShape shape = {};
  Device device = {};
  bool absent = false;      // an optional operand that was not given
  std::string str() const;  // "f32[s0, 4]"
};

// monostate is None. Integers and sizes are Sym, so that they may be symbolic.
using Attr = std::variant<std::monostate, bool, Sym, double, Scalar, std::string, DType, Device, SymShape>;
std::string str(const Attr& attr);

// Attributes by parameter name. The names live as long as the operator table.
class Attrs {
 public:
  // Not in the header: calls with attributes are thousands.
  Attrs();
  Attrs(std::initializer_list<std::pair<std::string_view, Attr>> items);
  Attrs(const Attrs& other);
  Attrs(Attrs&& other) noexcept;
  Attrs& operator=(const Attrs& other);
  Attrs& operator=(Attrs&& other) noexcept;
  ~Attrs();
  const Attr* find(std::string_view name) const;
  const Attr& at(std::string_view name) const;  // internal error when absent
  bool is_none(std::string_view name) const;    // absent or None
  void set(std::string_view name, Attr value);
  const std::vector<std::pair<std::string_view, Attr>>& items() const { return items_; }

  template <class T>
  const T& get(std::string_view name) const {
    const T* value = std::get_if<T>(&at(name));
    WEFT_ASSERT(value != nullptr, "attribute '" + std::string(name) + "' has another type");
    return *value;
  }
  int64_t get_int(std::string_view name) const { return sym_specialize(get<Sym>(name)); }
  bool get_bool(std::string_view name) const { return get<bool>(name); }
  // A list of integers that must be known (axes, not sizes).
  std::vector<int64_t> get_ints(std::string_view name) const;

 private:
  std::vector<std::pair<std::string_view, Attr>> items_;
};

}  // namespace weft::ops
