#include "loopir/operations.h"

#include <algorithm>
#include <map>

namespace weft::loopir {

namespace {

// A test of every native loop's text (WEFT_VERIFY=1) finds one that is missing here.
constexpr const Operation* kOperations[] = {
    &op::kBrackets,
    &op::kCall1,
    &op::kCall3,
    &op::kUfunc1,
    &op::kUfunc2,
    &op::kCall2,
    &op::kCast,
    &op::kWord,
    &op::kFloatOf,
    &op::kIsNot0,
    &op::kAnyIsNot0,
    &op::kAnyIsNotNan,
    &op::kComplex,
    &op::kReal,
    &op::kImaginary,
    &op::kMinus,
    &op::kNegative,
    &op::kNot,
    &op::kInvert,
    &op::kAbsoluteFloat,
    &op::kAbsolute,
    &op::kMagnitude,
    &op::kSquareRoot,
    &op::kFloor,
    &op::kCeil,
    &op::kRound,
    &op::kTrunc,
    &op::kFloorQuotient,
    &op::kFloorRemainder,
    &op::kFloorQuotientOf,
    &op::kFloorRemainderOf,
    &op::kShiftRight,
    &op::kShiftLeft,
    &op::kRemainder,
    &op::kRemainderAsPython,
    &op::kBitLength,
    &op::kBitCount,
    &op::kGreatestDivisor,
    &op::kFloatQuotient,
    &op::kFloatQuotientOfNumpy,
    &op::kFloatRemainder,
    &op::kSquareAsPower,
    &op::kMinimum,
    &op::kMaximum,
    &op::kCopySign,
    &op::kComplexQuotient,
    &op::kComplexQuotientOfNumpy,
    &op::kDifferenceOfProducts,
    &op::kSumOfProducts,
    &op::kSign,
    &op::kNotBelow,
    &op::kNotAbove,
    &op::kSelect,
    &op::kIsExact,
    &op::kIsFinite,
    &op::kIsInfinite,
    &op::kIsNan,
    &op::kIsNotNan,
    &op::kIsClose,
    &op::kAnd,
    &op::kOr,
    &op::kDoesNotHold,
    &op::kDividesInts,
    &op::kFitsInto,
    &op::kIsBelow,
    &op::kLeavesRoom,
    &op::kIntPowerInto,
    &op::kIsInRange,
    &op::kIsSameInt,
    &op::kStaysIn,
    &op::kMoveLittle,
    &op::kRoundsBefore,
    &op::kPieceEnd,
    &op::kElement,
    &op::kIsTrue,
    &op::kFromEnd,
    &op::kListSize,
    &op::kListItem,
};

}  // namespace

const Operation* find_operation(std::string_view name) {
  static const auto& table = *[] {
    auto* operations = new std::map<std::string_view, const Operation*>();
    for (const Operation* one : kOperations) operations->emplace(one->name, one);
    for (const Operation& one : op::kInfix) operations->emplace(one.name, &one);
    return operations;
  }();
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

bool takes(const Operation& operation, size_t num_operands) {
  if (operation.is_variadic) return true;
  size_t count = 0;
  for (const char* at = operation.form; *at != '\0'; ++at)
    if (at[0] == '{' && at[1] >= '0' && at[1] <= '9') count = std::max(count, size_t(at[1] - '0') + 1);
  return num_operands == count;
}

}  // namespace weft::loopir
