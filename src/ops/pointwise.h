// Running pointwise operators eagerly: broadcast, dtype conversion and threads around one contiguous loop.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "ops/registry.h"

namespace weft::ops {

// Values of a pointwise operator's non-tensor parameters, in schema order, as its semantics read them.
class Params {
 public:
  Params() = default;
  Params(std::span<const Param> schema, const Attrs& attrs);
  double real(size_t index) const { return values_[index].real; }
  int64_t integer(size_t index) const { return values_[index].integer; }
  bool given(size_t index) const { return values_[index].given; }  // not None
  bool is(size_t index, int64_t value) const { return values_[index].real == static_cast<double>(value); }
  bool operator==(const Params&) const = default;

 private:
  struct Value {
    double real = 0;
    int64_t integer = 0;
    bool given = false;
    bool operator==(const Value&) const = default;
  };
  std::array<Value, 4> values_{};
};

// Result types of a pointwise operator by its dtype rule, shapes broadcast.
std::vector<TensorType> infer_pointwise(const OpDef& op, std::span<const TensorType> operands,
                                        const Attrs& attrs);
std::vector<Tensor> run_pointwise(const OpDef& op, const LoopTable& loops, std::span<const Tensor> operands,
                                  const Attrs& attrs);
// `op` of elements of 16 bits and one number of float32, rounded to x's dtype once. Its parameters have their
// defaults; both operands are in the host's memory.
Tensor run_beside_wide_number(const OpDef& op, const Tensor& x, const Tensor& number);
// The same, written to `target`, which may be x; false where it has another dtype or shape, where it shares
// memory with x otherwise, or where rows are short.
bool run_beside_wide_number(const OpDef& op, const Tensor& x, const Tensor& number, const Tensor& target);

// The usual small call, without what is general: contiguous tensors of the dtype the operator computes in and
// of one shape, numbers and 0-d tensors beside them, no attributes but the defaults. An undefined tensor for
// any other.
Tensor run_small_pointwise(const OpDef& op, std::span<const Operand> operands,
                           Promotion rules = Promotion::Torch);
// The same for operands that are not needed after it: the result may take the place of one that nobody else
// has.
Tensor run_small_pointwise(const OpDef& op, std::span<Operand> operands);
// The same, written to `self`; false where it is no such call, and nothing has happened.
bool run_small_pointwise(const OpDef& op, std::span<const Operand> operands, const Tensor& self);

}  // namespace weft::ops
