#include "compiler/outer_loops.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "nest/views.h"

namespace weft::compiler {

namespace {

class OuterLoopChoice {
 public:
  OuterLoopChoice(const FusionGroup& group, const Memory& memory, const std::set<const ir::Value*>& inside,
                  ReductionsBelow& reductions)
      : group_(group),
        memory_(memory),
        inside_(inside),
        reductions_(reductions),
        shape_(group.roots[0]->tensor().shape) {}

  OuterLoops choose() {
    OuterLoops outer;
    for (size_t d = 0; d < shape_.size(); ++d)
      if (!known_one(shape_[d])) outer.groups.push_back({d});
    for (size_t g = outer.groups.size(); g-- > 1;) {
      auto merged = outer.groups;
      merged[g - 1].insert(merged[g - 1].end(), merged[g].begin(), merged[g].end());
      merged.erase(merged.begin() + static_cast<std::ptrdiff_t>(g));
      if (is_affine({merged, {}})) outer.groups = merged;
    }
    if (!is_affine(outer)) outer.split = split_as_read();
    if (!outer.split.empty()) return outer;
    outer.rows = !outer.groups.empty() && prefers_rows(outer.groups);
    outer.unroll_last = prefers_unrolled(outer);
    return outer;
  }

 private:
  // A small result of large reductions: each element is a reduction of its own, all in one parallel loop. Or
  // a few columns that differ in more than their position: lanes run along the rows.
  bool prefers_unrolled(const OuterLoops& outer) {
    constexpr int64_t kMaxElements = 8, kMaxColumns = 4, kManyRows = 64, kManyReduced = 16384;
    const auto has_parts = [](const ir::Value* root) { return is_complex(root->tensor().dtype); };
    if (outer.groups.empty() || std::any_of(group_.roots.begin(), group_.roots.end(), has_parts))
      return false;
    Sym last = 1;
    for (size_t d : outer.groups.back()) last = last * shape_[d];
    if (!last.is_constant() || last.constant() < 2) return false;
    if (outer.groups.size() == 1) {
      if (last.constant() > kMaxElements) return false;
      for (ir::Value* root : group_.roots)
        for (const ir::Value* reduction : reductions_.of(root))
          if (reduction_extent(*reduction->def).hint() >= kManyReduced) return true;
      return false;
    }
    if (outer.rows || last.constant() > kMaxColumns || is_part(group_.roots[0])) return false;
    for (ir::Value* root : group_.roots)
      if (!reductions_.of(root).empty()) return false;
    Sym rows = 1;
    for (size_t d : outer.groups[outer.groups.size() - 2]) rows = rows * shape_[d];
    return rows.hint() >= kManyRows;
  }

  // Of each of the roots' dimensions, those of a reshaped array that it is made of; none where addresses are
  // no sums over them either.
  std::vector<SymShape> split_as_read() {
    std::set<const ir::Value*> seen;
    std::vector<const ir::Value*> waiting(group_.roots.begin(), group_.roots.end());
    while (!waiting.empty()) {
      const ir::Value* value = waiting.back();
      waiting.pop_back();
      if (!value->def || !value->def->op || !seen.insert(value).second) continue;
      if (memory_.holds(value) && !inside_.count(value)) continue;
      for (const ir::Value* input : value->def->inputs)
        if (input) waiting.push_back(input);
      if (!value->def->is("reshape")) continue;
      OuterLoops outer;
      outer.split = split_into(value->def->inputs[0]->tensor().shape);
      if (outer.split.empty() || is_short(outer.split) || !is_affine(outer)) continue;
      for (SymShape& parts : outer.split)
        for (size_t d = parts.size(); d-- > 1;) {
          const SymShape before = parts;
          parts[d - 1] = parts[d - 1] * parts[d];
          parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(d));
          if (!is_affine(outer)) parts = before;
        }
      return outer.split;
    }
    return {};
  }

  // Has the last of the loops so few rounds that vectors of several of them are faster, one by one or not?
  static bool is_short(const std::vector<SymShape>& split) {
    constexpr int64_t kFew = 16;
    for (size_t d = split.size(); d-- > 0;)
      if (!split[d].empty()) return split[d].back().hint() < kFew;
    return true;
  }

  // The sizes, in order, as factors of the roots' dimensions; nothing where they are none.
  std::vector<SymShape> split_into(const SymShape& sizes) {
    std::vector<SymShape> result(shape_.size());
    size_t next = 0;
    for (size_t d = 0; d < shape_.size(); ++d) {
      Sym product = 1;
      while (!sym_known_equal(product, shape_[d])) {
        if (next == sizes.size()) return {};
        if (!known_one(sizes[next])) result[d].push_back(sizes[next]);
        product = product * sizes[next++];
      }
    }
    return result;
  }

  bool is_affine(const OuterLoops& outer) {
    IndexSpace space;
    std::vector<int> loops;
    std::vector<Index> index = index_for(space, shape_, outer, &loops);
    Walk walk(space, memory_, &inside_);
    for (ir::Value* root : group_.roots) {
      if (!walk.run(root, index, loops)) return false;
      Index target;
      for (size_t d = 0; is_part(root) && d < shape_.size(); ++d)
        target = space.add(target, space.scale(index[d], memory_.strides.at(root)[d]));
      if (!space.is_affine(target)) return false;
    }
    return true;
  }

  // True if the value is a part of a larger array, so that there are gaps in what is written.
  bool is_part(const ir::Value* root) const {
    const SymShape& shape = root->tensor().shape;
    const SymShape contiguous = contiguous_sym_strides(shape), &strides = memory_.strides.at(root);
    for (size_t d = 0; d < shape.size(); ++d)
      if (!known_one(shape[d]) && !sym_known_equal(contiguous[d], strides[d])) return true;
    return false;
  }

  // True if the reductions inside read along their own last loop rather than along the outer one.
  bool prefers_rows(const std::vector<std::vector<size_t>>& groups) {
    IndexSpace space;
    std::vector<int> loops;
    std::vector<Index> index = index_for(space, shape_, {groups, {}}, &loops);
    Walk walk(space, memory_, &inside_);
    for (ir::Value* root : group_.roots) walk.run(root, index, loops);
    int along_reduction = 0, along_outer = 0;
    bool any = false;
    for (const Visit& visit : walk.visits) {
      if (visit.is_reduction) {
        any = any || (visit.loops.count(loops.back()) && !is_unrolled(*visit.value->def));
        continue;
      }
      constexpr int64_t kFar = INT64_MAX;
      int64_t outer_step = kFar, other_step = kFar;  // how far apart what is read one after another lies
      for (const auto& [atom, coefficient] : visit.address.terms) {
        const int64_t step = std::abs(coefficient.hint());
        if (atom == loops.back())
          outer_step = std::min(outer_step, step);
        else if (std::find(loops.begin(), loops.end(), atom) == loops.end())
          other_step = std::min(other_step, step);
      }
      const bool is_along_outer = outer_step != kFar && outer_step <= other_step,
                 is_along_other = other_step < outer_step;
      bool depends_on_outer = space.depends_on(visit.address, loops.back());
      // What is read once per row, outside of its reductions, takes no time beside them.
      std::set<int> read_along;
      space.collect_loops(visit.address, read_along);
      const bool within = std::any_of(read_along.begin(), read_along.end(), [&](int loop) {
        return std::find(loops.begin(), loops.end(), loop) == loops.end();
      });
      if (is_along_outer && within) along_outer += 2;
      if (is_along_other && depends_on_outer) along_reduction += 2;
    }
    return any && along_reduction > along_outer;
  }

  const FusionGroup& group_;
  const Memory& memory_;
  const std::set<const ir::Value*>& inside_;
  ReductionsBelow& reductions_;
  const SymShape& shape_;  // of every root
};

}  // namespace

OuterLoops choose_outer_loops(const FusionGroup& group, const Memory& memory,
                              const std::set<const ir::Value*>& inside, ReductionsBelow& reductions) {
  return OuterLoopChoice(group, memory, inside, reductions).choose();
}

std::vector<Index> index_for(IndexSpace& space, const SymShape& shape, const OuterLoops& outer,
                             std::vector<int>* loops) {
  std::vector<Index> index(shape.size());
  const auto new_loop = [&](const Sym& extent) {
    static constexpr const char* kNames[] = {"i", "j", "k", "l", "m", "n", "o", "p"};
    const size_t number = loops->size();
    loops->push_back(space.new_loop(number < 8 ? kNames[number] : fmt::format("i{}", number), extent));
    return loops->back();
  };
  if (!outer.split.empty()) {
    for (size_t d = 0; d < shape.size(); ++d)
      for (const Sym& extent : outer.split[d])
        index[d] = space.add(space.scale(index[d], extent), IndexSpace::of(new_loop(extent)));
    return index;
  }
  for (const auto& dims : outer.groups) {
    SymShape part;
    for (size_t d : dims) part.push_back(shape[d]);
    const int loop = new_loop(product(part));
    std::vector<Index> positions = space.unflatten(IndexSpace::of(loop), part);
    for (size_t k = 0; k < dims.size(); ++k) index[dims[k]] = positions[k];
  }
  return index;
}

const std::set<const ir::Value*>& ReductionsBelow::of(const ir::Value* value) {
  if (auto found = known_.find(value); found != known_.end()) return found->second;
  std::set<const ir::Value*> below;
  bool loaded = memory_.holds(value) && !inside_.count(value);
  if (!loaded && value->def) {
    if (value->def->op && value->def->op->kind == ops::OpKind::Reduction && !is_unrolled(*value->def))
      below.insert(value);
    for (const ir::Value* input : value->def->inputs) {
      if (!input) continue;
      const auto& more = of(input);
      below.insert(more.begin(), more.end());
    }
  }
  return known_[value] = std::move(below);
}

}  // namespace weft::compiler
