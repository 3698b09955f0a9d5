// What PyTorch's rules make of a call beside its dtypes: other overloads, and operands that are refused.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ops/registry.h"

namespace weft::ops {

// The operator that PyTorch means by `op` with these operands and attributes, mostly `op` itself: median
// along a dimension gives positions, too, all and any of uint8 stay uint8, heaviside of integers integers. It
// takes the same arguments.
const OpDef& torch_overload(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs);

// The operand that an operator takes in float32, where it is one number, while it computes in 16 bits, and
// rounds its result only: what PyTorch's CPU kernels do. All other numbers are rounded to the 16 bits first.
std::optional<size_t> number_in_float32(const OpDef& op);
// The parameter of a sum or difference that is such a number, rounded first.
bool rounds_alpha(const OpDef& op);

// Comparisons and extremes of complex numbers: TypeError.
// PyTorch subtracts no truth values.
void refuse_bool_subtraction(const OpDef& op, std::span<const Operand> operands);
// Kinds of dtypes that weft computes and PyTorch has no kernel for, as bits 1 << DTypeKind; TypeError where
// all operands are of such.
uint32_t kinds_refused_by(const OpDef& op);
void refuse_kinds(const OpDef& op, uint32_t kinds, std::span<const Operand> operands);
// The operands that PyTorch takes as tensors only, as bits by position, or kSomeTensor for one of any;
// TypeError where a number is given for them.
constexpr uint8_t kSomeTensor = 1 << 7;
uint8_t tensors_needed_by(const OpDef& op);
void refuse_numbers(const OpDef& op, uint8_t needed, std::span<const Operand> operands);
// What PyTorch asks of out=.
struct OutRules {
  bool own_dtype = false;  // the result's dtype, and no other
  // Tensors that out may not share elements with: a part of an operand (mostly), any operand, none.
  enum class Overlap : uint8_t { Part, Any, None } refused = Overlap::Part;
};
OutRules out_rules_of(const OpDef& op);
void refuse_order_of_complex(const OpDef& op, DType compute);

// Integer quotients and remainders: RuntimeError where a divisor is zero; also for `given`, the promoted
// operands. Of traced operands the graph checks it: `given` becomes what has been checked.
void refuse_zero_divisors(const OpDef& op, std::vector<Tensor>& given);
// The same for elements in memory.
void refuse_zero_divisors(const OpDef& op, DType dtype, const void* divisors, int64_t count);

// A number that is stored in tensors of `dtype`: RuntimeError where it would wrap, become infinite or lose
// its imaginary part. Unsigned integers take negative numbers down to their own greatest, and one element
// alone of 16 bits becomes infinite: so PyTorch has it.
void refuse_overflow(const Scalar& value, DType dtype, bool is_alone = false);
// The same for the number that `op` fills tensors with, if it does.
void refuse_unfit_number(const OpDef& op, std::span<const Operand> operands, const Attrs& attrs);

// Powers of integers by negative integers. PyTorch refuses a negative number as the exponent, RuntimeError;
void refuse_negative_number(const OpDef& op, std::span<const Operand> operands, DType compute);
// NumPy every negative exponent, ValueError; of a traced one the graph checks it.
void refuse_negative_powers(const OpDef& op, std::vector<Operand>& operands);

}  // namespace weft::ops
