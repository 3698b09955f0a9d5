// What the operators over LAPACK share: stacks of matrices, in any layout, and LAPACK's columns.
#pragma once

#include <algorithm>
#include <complex>
#include <span>
#include <vector>

#include "kernels/cpu/lapack.h"
#include "ops/registry.h"
#include "weft/parallel.h"

namespace weft::ops {

inline constexpr DTypeSet kLapack = dtype_bit(DType::F32) | dtype_bit(DType::F64) | kComplex;
inline DType real_part_of(DType d) {
  return d == DType::C64 ? DType::F32 : d == DType::C128 ? DType::F64 : d;
}
inline DType complex_dtype_of(DType d) {
  return d == DType::F32 ? DType::C64 : d == DType::F64 ? DType::C128 : d;
}

inline const Sym& rows_of(const TensorType& x) { return x.shape[x.shape.size() - 2]; }

// That the first operand is a stack of matrices of a dtype that LAPACK has.
void check_matrices(const OpDef& op, std::span<const TensorType> operands, bool square);
// The type's batch dimensions, then `sizes`.
TensorType stack_type(const TensorType& x, DType dtype, std::initializer_list<Sym> sizes);
// An empty tensor of a type without symbols.
Tensor empty_of(const TensorType& type);

template <class F>
void visit_lapack(DType dtype, F&& f) {
  switch (dtype) {
    case DType::F32: return f(std::type_identity<float>{});
    case DType::F64: return f(std::type_identity<double>{});
    case DType::C64: return f(std::type_identity<std::complex<float>>{});
    default: return f(std::type_identity<std::complex<double>>{});
  }
}

// The matrices of a tensor.
template <class T>
class MatrixStack {
 public:
  explicit MatrixStack(const Tensor& x)
      : x_(x), rows_(static_cast<int>(x.size(-2))), columns_(static_cast<int>(x.size(-1))) {
    WEFT_CHECK(x.size(-2) < (int64_t{1} << 31) && x.size(-1) < (int64_t{1} << 31),
               "linalg: a dimension is larger than LAPACK can take");
    for (int64_t d = 0; d + 2 < x.dim(); ++d) count_ *= x.size(d);
  }
  int rows() const { return rows_; }
  int columns() const { return columns_; }
  int64_t count() const { return count_; }

  // Matrix `index`, column after column, each `leading` long.
  void read(int64_t index, T* to, int leading) const {
    const T* data = x_.data_as<T>();
    for (int64_t d = x_.dim() - 2; d-- > 0;) {
      data += index % x_.size(d) * x_.strides()[static_cast<size_t>(d)];
      index /= x_.size(d);
    }
    const int64_t down = x_.strides()[static_cast<size_t>(x_.dim() - 2)], across = x_.strides().back();
    constexpr int kBlock = 16;
    for (int i0 = 0; i0 < rows_; i0 += kBlock)
      for (int j = 0; j < columns_; ++j)
        for (int i = i0; i < std::min(rows_, i0 + kBlock); ++i)
          to[static_cast<int64_t>(j) * leading + i] = data[i * down + j * across];
  }
  std::vector<T> read(int64_t index) const {
    std::vector<T> matrix(static_cast<size_t>(std::max<int64_t>(1, static_cast<int64_t>(rows_) * columns_)));
    read(index, matrix.data(), rows_);
    return matrix;
  }

  // body(index) for every matrix, on several threads where there is enough work.
  template <class F>
  void for_each(F&& body) const {
    const int64_t work = static_cast<int64_t>(rows_) * columns_ * std::min(rows_, columns_) + 1;
    parallel_for(0, count_, std::max<int64_t>(1, (1 << 16) / work), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) body(i);
    });
  }

 private:
  const Tensor& x_;
  int rows_, columns_;
  int64_t count_ = 1;
};

// Columns, each `leading` long, to matrix `index` of a contiguous stack of [rows, columns].
template <class T>
void write_matrix(Tensor& result, int64_t index, const T* from, int64_t leading) {
  const int64_t rows = result.size(-2), columns = result.size(-1);
  T* const to = result.data_as<T>() + index * rows * columns;
  constexpr int64_t kBlock = 16;
  for (int64_t i0 = 0; i0 < rows; i0 += kBlock)
    for (int64_t j0 = 0; j0 < columns; j0 += kBlock)
      for (int64_t i = i0; i < std::min(rows, i0 + kBlock); ++i)
        for (int64_t j = j0; j < std::min(columns, j0 + kBlock); ++j)
          to[i * columns + j] = from[j * leading + i];
}

}  // namespace weft::ops
