#include "nest/chunks.h"

#include <algorithm>
#include <string>

#include "scalar/elementary.h"

namespace weft::nest {
namespace {

constexpr int64_t kLongestStride = 4;

class ChunkFinder {
 public:
  ChunkFinder(const LoopNest& nest, ScopeId scope, int loop, Sym row)
      : nest_(nest), scope_(nest.scope(scope)), loop_(loop), row_(row) {}

  Chunks run() {
    collect();
    if (has_other_order()) return {};
    drop_incomplete();
    choose_lanes();
    drop_misaligned();
    return worthwhile() ? numbered() : Chunks{};
  }

 private:
  struct Group {
    ChunkedAccess access;
    std::vector<std::pair<NodeId, int64_t>> loads;
    std::vector<std::pair<size_t, int64_t>> stores;
    std::vector<bool> present;  // by element
  };
  const LoopNest& nest_;
  const Scope& scope_;
  const int loop_;
  const Sym row_;
  std::map<std::string, Group> groups_;
  int64_t plain_ = 0;  // accesses along the loop that stay one by one
  int64_t lanes_ = 1;
  double cost_ = 0;  // operations of a step

  int64_t bytes_of(const ChunkedAccess& access) const {
    return access.stride * itemsize(nest_.buffers[static_cast<size_t>(access.buffer)].dtype);
  }

  void collect() {
    for (const Statement& statement : scope_.statements) {
      if (statement.kind == Statement::Kind::Let) {
        const KernelNode& node = nest_.node(statement.id);
        if (node.kind == KernelNode::Kind::Load && nest_.space.depends_on(node.index, loop_))
          if (Group* group = add(node.buffer, node.index, 1, false))
            group->loads.emplace_back(statement.id, 0);
        constexpr double kElementary = 24;
        cost_ += node.kind == KernelNode::Kind::Apply && scalar::is_elementary(node.prim) ? kElementary : 1;
      } else if (statement.kind == Statement::Kind::Store) {
        const Store& store = scope_.stores[static_cast<size_t>(statement.id)];
        const int64_t count = static_cast<int64_t>(store.more.size()) + 1;
        if (Group* group = add(store.buffer, store.index, count, true))
          group->stores.emplace_back(static_cast<size_t>(statement.id), 0);
      }
    }
    for (auto& [key, group] : groups_) {
      for (auto& [node, element] : group.loads) element = element_of(nest_.node(node).index, group);
      for (auto& [store, element] : group.stores) element = element_of(scope_.stores[store].index, group);
    }
  }

  static int64_t element_of(const Index& index, const Group& group) {
    if (group.access.stride == 1) return 0;
    return index.constant.constant() - group.access.base.constant.constant();
  }

  // The group of an access to `count` elements from `index` on; null where it cannot be in one.
  Group* add(int buffer, const Index& index, int64_t count, bool is_written) {
    ++plain_;
    if (nest_.space.is_nonlinear_in(index, loop_)) return nullptr;
    const Sym coefficient = nest_.space.coefficient(index, loop_);
    if (!coefficient.is_constant()) return nullptr;
    const int64_t stride = coefficient.constant();
    if (stride < 1 || stride > kLongestStride || (stride & (stride - 1)) != 0) return nullptr;
    Index base = index;
    int64_t first = 0;
    if (stride > 1) {
      if (!index.constant.is_constant() || index.constant.constant() < 0) return nullptr;
      first = index.constant.constant() % stride;
      base.constant = Sym(index.constant.constant() - first);
    }
    if (first + count > stride) return nullptr;
    const std::string key =
        std::to_string(is_written) + "/" + std::to_string(buffer) + "/" + nest_.space.key(base);
    auto [found, is_new] = groups_.try_emplace(key);
    Group& group = found->second;
    if (is_new) {
      group.access = {buffer, base, stride, is_written};
      group.present.assign(static_cast<size_t>(stride), false);
    }
    for (int64_t k = 0; k < count; ++k) group.present[static_cast<size_t>(first + k)] = true;
    return &group;
  }

  // What is read of an array that is written must be what is written there: chunks are read before.
  bool has_other_order() const {
    const auto is_elsewhere = [&](const Store& store, const KernelNode& load) {
      return load.buffer == store.buffer && nest_.space.key(load.index) != nest_.space.key(store.index);
    };
    for (const Store& store : scope_.stores)
      for (const Statement& statement : scope_.statements)
        if (statement.kind == Statement::Kind::Let &&
            nest_.node(statement.id).kind == KernelNode::Kind::Load &&
            is_elsewhere(store, nest_.node(statement.id)))
          return true;
    return false;
  }

  template <class F>
  void drop_if(F is_bad) {
    std::erase_if(groups_, [&](const auto& entry) { return is_bad(entry.second); });
  }

  void drop_incomplete() {
    drop_if([&](const Group& group) {
      const bool is_whole = std::all_of(group.present.begin(), group.present.end(), [](bool b) { return b; });
      return !is_whole || bytes_of(group.access) > kChunkBytes;
    });
  }

  // As many as the widest array has in 16 bytes; fewer where a step is long: it is printed for each.
  void choose_lanes() {
    constexpr double kMostOperations = 512;
    int64_t widest = 1;
    for (const auto& [key, group] : groups_) widest = std::max(widest, bytes_of(group.access));
    lanes_ = kChunkBytes / widest;
    const auto fits = [&] {
      return cost_ * static_cast<double>(lanes_) <= kMostOperations &&
             (!row_.is_constant() || row_.constant() % lanes_ == 0);
    };
    while (lanes_ > 1 && !fits()) lanes_ /= 2;
  }

  // Where a known number keeps addresses from being multiples of a chunk.
  void drop_misaligned() {
    drop_if([&](const Group& group) {
      const int64_t length = group.access.stride * lanes_;
      const auto is_odd = [&](Sym number) { return number.is_constant() && number.constant() % length != 0; };
      const auto& terms = group.access.base.terms;
      return is_odd(group.access.base.constant) ||
             std::any_of(terms.begin(), terms.end(),
                         [&](const auto& term) { return term.first != loop_ && is_odd(term.second); });
    });
  }

  bool worthwhile() const {
    int64_t chunked = 0;
    bool is_wider = false;
    for (const auto& [key, group] : groups_) {
      chunked += static_cast<int64_t>(group.loads.size() + group.stores.size());
      is_wider = is_wider || group.access.stride * lanes_ > 1;
    }
    return is_wider && chunked >= plain_ - chunked;
  }

  Chunks numbered() const {
    Chunks result;
    result.lanes = lanes_;
    for (const auto& [key, group] : groups_) {
      const size_t number = result.accesses.size();
      result.accesses.push_back(group.access);
      for (const auto& [node, element] : group.loads) result.loads[node] = {number, element};
      for (const auto& [store, element] : group.stores) result.stores[store] = {number, element};
    }
    return result;
  }
};

}  // namespace

Chunks find_chunks(const LoopNest& nest, ScopeId scope, int loop, Sym row) {
  for (const Statement& statement : nest.scope(scope).statements)
    if (statement.kind == Statement::Kind::Child) return {};
  return ChunkFinder(nest, scope, loop, row).run();
}

}  // namespace weft::nest
