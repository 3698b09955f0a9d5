// Products by cuBLASLt, where it is there (libcublasLt.so.13, .12 or .11).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/cuda/cublaslt_api.h"
#include "device/cuda/products.h"

namespace weft::cuda {

// A product as cuBLASLt is asked for it. Its matrices are by columns: the result lies in memory as its
// transposed one does by rows, which is the product of both operands transposed, in the other order. So a is
// the right operand, and b the left one.
struct LtProblem {
  int device = 0;
  DType dtype{}, out{};
  int64_t m = 0, n = 0, k = 0, batches = 1;  // columns, rows, depth
  bool a_transposed = false, b_transposed = false;
  int64_t a_leading = 0, b_leading = 0, a_step = 0, b_step = 0;
  int epilogue = 0;
  bool has_residual = false;
  // Bytes, up to 256; 0 of what is not there.
  int a_alignment = 0, b_alignment = 0, bias_alignment = 0, residual_alignment = 0, out_alignment = 0;
  auto operator<=>(const LtProblem&) const = default;
  std::string str() const;
};

// Nullopt where cuBLASLt is not asked: other dtypes, what follows the sums and it has not, operands of which
// neither rows nor columns are contiguous, more than one dimension of products.
std::optional<LtProblem> lt_problem(const Product& product);

// Why there is no cuBLASLt for the device; empty where there is.
std::string why_no_cublaslt(int device);

// Its descriptions of one problem. RuntimeError where one cannot be made.
class LtProduct : public std::enable_shared_from_this<LtProduct> {
 public:
  explicit LtProduct(const LtProblem& problem);
  ~LtProduct();
  LtProduct(const LtProduct&) = delete;
  LtProduct& operator=(const LtProduct&) = delete;

  // What its heuristics name first for operands at such addresses; none where it does not compute this.
  std::vector<lt::Heuristic> algorithms(const Product& product, int most) const;
  // Gives it to the device's stream: 0, or the status that says why not.
  lt::Status run(const Product& product, const lt::Heuristic& by) const;

 private:
  void make();
  void end();

  const LtProblem problem_;
  lt::Description description_ = nullptr;
  lt::Layout a_ = nullptr, b_ = nullptr, d_ = nullptr;
};

}  // namespace weft::cuda
