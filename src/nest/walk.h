// What a kernel would read and compute, looked at before there is one: for decisions about fusion and loops.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "nest/index.h"

namespace weft::nest {

// What a kernel can rely on: values in memory, and their strides in elements.
struct Memory {
  std::map<const ir::Value*, SymShape> strides;
  bool holds(const ir::Value* value) const { return strides.count(value) != 0; }
};
SymShape contiguous_sym_strides(const SymShape& shape);

// Reductions over at most this many elements are unrolled.
bool is_unrolled(const ir::Node& node);
// Number of elements reduced, per result.
Sym reduction_extent(const ir::Node& node);
// Index of a reduction's operand: `inner`, in order of the reduced dimensions, put into the result's index.
std::vector<Index> reduction_operand_index(const ir::Node& node, const std::vector<Index>& index,
                                           const std::vector<Index>& inner);

// A read of memory, or a reduction met, while walking from a root; for fusion decisions.
struct Visit {
  const ir::Value* value;
  Index address;  // of a read
  bool is_reduction = false;
  std::set<int> loops;         // loops the result of the reduction or operator depends on
  std::vector<int> enclosing;  // loops open around it, outermost first
};

// Walks what `value` at `index` is computed from.
class Walk {
 public:
  Walk(IndexSpace& space, const Memory& memory, const std::set<const ir::Value*>* inside = nullptr)
      : space_(space), memory_(memory), inside_(inside) {}
  // False where an address is not affine.
  bool run(const ir::Value* value, std::vector<Index> index, std::vector<int> enclosing) {
    return run(value, std::move(index), enclosing, enclosing);
  }
  std::vector<Visit> visits;
  std::vector<Visit> rotations;  // `address`: the position along the dimension
  std::vector<Visit> pointwise;  // operators, from the result on; `enclosing`: without the loops that their
                                 // reduction is moved out of

 private:
  // `around`: the loops open around the value where its reduction is evaluated.
  bool run(const ir::Value* value, std::vector<Index> index, std::vector<int> enclosing,
           std::vector<int> around);
  IndexSpace& space_;
  const Memory& memory_;
  const std::set<const ir::Value*>* inside_;  // stored values that are computed here, not loaded
  std::set<std::string> seen_;
};

}  // namespace weft::nest
