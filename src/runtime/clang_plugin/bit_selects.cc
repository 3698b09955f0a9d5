#include "runtime/clang_plugin/bit_selects.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>

namespace weft::clang_plugin {
namespace {

llvm::Value* without_casts(llvm::Value* value) {
  while (auto* cast = llvm::dyn_cast<llvm::BitCastInst>(value)) value = cast->getOperand(0);
  return value;
}

unsigned lanes(const llvm::Type* type) { return llvm::cast<llvm::FixedVectorType>(type)->getNumElements(); }

// The operand of `value` that is constant, where it is a conjunction; null for others.
llvm::Constant* constant_mask(llvm::Value* value) {
  auto* conjunction = llvm::dyn_cast<llvm::BinaryOperator>(without_casts(value));
  if (conjunction == nullptr || conjunction->getOpcode() != llvm::Instruction::And) return nullptr;
  auto* mask = llvm::dyn_cast<llvm::Constant>(conjunction->getOperand(0));
  return mask != nullptr ? mask : llvm::dyn_cast<llvm::Constant>(conjunction->getOperand(1));
}

// (a & m') | b for an arm (a & m) | b, which is taken where the condition is `taken`; null for any other. The
// mask of the other part may be written otherwise: llvm.fabs.
llvm::Value* rewritten(llvm::SelectInst& select, llvm::Value* arm, bool taken) {
  auto* join = llvm::dyn_cast<llvm::BinaryOperator>(without_casts(arm));
  llvm::Value* condition = select.getCondition();
  if (join == nullptr || join->getOpcode() != llvm::Instruction::Or ||
      !llvm::isa<llvm::FixedVectorType>(condition->getType()) ||
      !llvm::isa<llvm::FixedVectorType>(join->getType()) ||
      lanes(condition->getType()) != lanes(join->getType()))
    return nullptr;
  for (unsigned side : {0u, 1u}) {
    llvm::Constant* mask = constant_mask(join->getOperand(side));
    if (mask == nullptr || mask->getType() != join->getType()) continue;
    auto* conjunction = llvm::cast<llvm::BinaryOperator>(without_casts(join->getOperand(side)));
    llvm::Value* a = conjunction->getOperand(conjunction->getOperand(0) == mask ? 1 : 0);
    llvm::IRBuilder<> builder(&select);
    llvm::Constant* none = llvm::Constant::getNullValue(mask->getType());
    llvm::Value* chosen =
        taken ? builder.CreateSelect(condition, mask, none) : builder.CreateSelect(condition, none, mask);
    llvm::Value* bits = builder.CreateOr(builder.CreateAnd(a, chosen), join->getOperand(1 - side));
    return builder.CreateBitCast(bits, arm->getType());
  }
  return nullptr;
}

}  // namespace

llvm::PreservedAnalyses BitSelectPass::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  bool has_changed = false;
  for (llvm::BasicBlock& block : function) {
    for (llvm::Instruction& instruction : block) {
      auto* select = llvm::dyn_cast<llvm::SelectInst>(&instruction);
      if (select == nullptr) continue;
      for (unsigned arm : {1u, 2u}) {
        if (llvm::Value* value = rewritten(*select, select->getOperand(arm), arm == 1)) {
          select->setOperand(arm, value);
          has_changed = true;
        }
      }
    }
  }
  if (!has_changed) return llvm::PreservedAnalyses::all();
  llvm::PreservedAnalyses preserved;
  preserved.preserveSet<llvm::CFGAnalyses>();
  return preserved;
}

}  // namespace weft::clang_plugin
