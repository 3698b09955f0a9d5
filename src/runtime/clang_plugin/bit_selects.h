// Keeps LLVM 19 from a wrong instruction of AVX-512.
#pragma once

#include <llvm/IR/PassManager.h>

namespace weft::clang_plugin {

// Rewrites `c ? x : (a & m) | b`, for vectors and a constant m, to `c ? x : (a & m') | b` with m' = c ? 0 :
// m: the same, but no selection of bits by a constant, which it is where b is masked by ~m.
//
// That selection becomes vpternlog, and with the choice of lanes around it a masked one, whose passed-over
// lanes are those of one of its operands. Where x is a or what b is of, LLVM 19.1 exchanges the other two
// operands without adapting the table of the operation: another function of the three is computed.
class BitSelectPass : public llvm::PassInfoMixin<BitSelectPass> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
  static bool isRequired() { return true; }
};

}  // namespace weft::clang_plugin
