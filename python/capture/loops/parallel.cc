// Loops whose rounds do not depend on each other: their rounds are handed to threads.
//
// Rounds are independent if what they carry on from round to round is the counter and sums, and if every
// array they store to has a dimension that is always indexed with the same multiple of the counter, plus
// something that the loop does not change: then each round has a part of the array for itself. Elements of
// such an array at an index that the loop does not change are of one round; threads get the rounds before and
// behind it. Arrays of integers that the loop does nothing with but add to are counted by each thread for
// itself. That arrays do not overlap is looked at when the loop is entered.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "capture/loops/parallel_loop.h"
#include "loopir/parallelize.h"

namespace weft::capture {

namespace {

struct NotParallel {
  std::string reason;
};

}  // namespace

// The blocks of a loop, with those of the loops in it.
std::set<int> LoopBuilder::all_loop_blocks(int head) const {
  const LoopFrame& frame = blocks_[static_cast<size_t>(head)].frames.back();
  const size_t depth = blocks_[static_cast<size_t>(head)].frames.size();
  const int end = loop_end(*frame.code, frame.ip);
  std::map<int, std::vector<int>> from;
  std::set<int> seen{head};
  std::vector<int> waiting{head};
  while (!waiting.empty()) {
    const int id = waiting.back();
    waiting.pop_back();
    for (const Edge& edge : blocks_[static_cast<size_t>(id)].edges) {
      const std::vector<LoopFrame>& frames = blocks_[static_cast<size_t>(edge.target)].frames;
      const bool inside = frames.size() >= depth && frames[depth - 1].code == frame.code &&
                          frames[depth - 1].ip > frame.ip && frames[depth - 1].ip < end;
      if (!inside && edge.target != head) continue;
      from[edge.target].push_back(id);
      if (seen.insert(edge.target).second) waiting.push_back(edge.target);
    }
  }
  std::set<int> reaching;
  waiting = from[head];
  while (!waiting.empty()) {
    const int id = waiting.back();
    waiting.pop_back();
    if (reaching.insert(id).second && id != head)
      waiting.insert(waiting.end(), from[id].begin(), from[id].end());
  }
  return reaching;
}

void LoopBuilder::note_access(const LoopValue& container, const std::vector<LoopValue>& indices, bool stores,
                              const Place& place) {
  ParallelLoop::Dims dims;
  if (container.kind == LoopKind::View) {
    parallel_->stores_views |= stores;
    if (container.index < 0) return;
    dims.resize(static_cast<size_t>(array_of(container).dim));
    return parallel_->accesses.push_back({container.index, stores, std::move(dims)});
  }
  if (container.kind == LoopKind::Row) {
    auto found = parallel_->rows.find(container.expr);
    dims = found != parallel_->rows.end() ? found->second
                                          : ParallelLoop::Dims(static_cast<size_t>(container.dims));
  }
  for (const LoopValue& index : indices) dims.push_back(index.affine);
  if (!place.is_element)
    parallel_->rows[""] = std::move(dims);
  else
    parallel_->accesses.push_back({place.array, stores, std::move(dims)});
}

// The place noted last is the row that `pointer` is.
void LoopBuilder::note_row(const std::string& pointer) {
  if (parallel_) parallel_->rows[pointer] = parallel_->rows[""];
}

void LoopBuilder::note_view(const LoopValue& container, const std::vector<LoopAffineRef>& indices,
                            const std::string& pointer) {
  if (!parallel_ || container.index < 0) return;
  ParallelLoop::Dims dims;
  if (container.kind == LoopKind::Row) {
    auto found = parallel_->rows.find(container.expr);
    if (found == parallel_->rows.end()) return;
    dims = found->second;
  } else if (container.kind == LoopKind::View) {
    return;
  }
  dims.insert(dims.end(), indices.begin(), indices.end());
  parallel_->rows[pointer] = std::move(dims);
}

void LoopBuilder::note_read(const LoopValue& view) {
  if (!parallel_ || view.index < 0) return;
  auto found = parallel_->rows.find(data_text(view));
  ParallelLoop::Dims dims;
  if (found != parallel_->rows.end()) dims = found->second;
  dims.resize(static_cast<size_t>(array_of(view).dim));
  parallel_->accesses.push_back({view.index, false, std::move(dims)});
}

// Executes the loop's blocks until what is known of its variables does not grow any more.
void LoopBuilder::analyse(ParallelLoop& loop) {
  const size_t num_blocks = blocks_.size();
  std::map<std::string, ParallelLoop::Dims> rows;  // of variables
  for (bool grows = true; grows;) {
    loop.body = {loop.head, {}};
    loop.edges.clear();
    loop.accesses.clear();
    loop.rows = rows;
    for (int id : loop.blocks) {
      execute_block(id);
      if (block_stores_arrays_) throw NotParallel{"it has statements that store to arrays"};
      if (block_draws_) throw NotParallel{"it draws random numbers or calls functions of Python's"};
      loop.body.blocks[id] = std::move(block_code_);
      loop.edges[id] = std::move(block_edges_);
    }
    if (loop.stores_views) throw NotParallel{"it stores to elements of views"};
    if (blocks_.size() != num_blocks) throw NotParallel{"its types differ"};
    std::map<std::string, LoopAffineRef> affine;
    std::map<std::string, ParallelLoop::Dims> next_rows;
    std::set<std::string> unclear;
    for (const auto& [id, edges] : loop.edges)
      for (const Edge& edge : edges) {
        if (!loop.blocks.count(edge.target)) continue;
        for (const auto& [name, value] : edge.moves) {
          if (value.kind == LoopKind::Row) {
            auto found = loop.rows.find(value.expr);
            if (found == loop.rows.end()) continue;
            const auto [entry, is_new] = next_rows.try_emplace(name, found->second);
            for (size_t d = 0; !is_new && d < entry->second.size(); ++d)
              if (!equal(entry->second[d], found->second[d])) entry->second[d] = nullptr;
            continue;
          }
          const auto [entry, is_new] = affine.try_emplace(name, value.affine);
          if (!value.affine || (!is_new && !equal(entry->second, value.affine))) unclear.insert(name);
        }
      }
    grows = false;
    for (const auto& [name, value] : affine)
      if (!unclear.count(name) && !loop.affine.count(name) && !loopir::reads_first(loop.body, name)) {
        loop.affine[name] = value;
        grows = true;
      }
    for (auto& [name, dims] : next_rows)
      if (!rows.count(name) && !loopir::reads_first(loop.body, name)) {
        rows[name] = dims;
        grows = true;
      }
  }
}

namespace {

// The counter of the loop whose head has these frames.
const LoopValue& iterator_of(const LoopFrame& frame) { return frame.stack.back(); }

}  // namespace

bool LoopBuilder::find_independent_rounds(ParallelLoop& loop, std::string* why) {
  const std::vector<LoopFrame>& frames = blocks_[static_cast<size_t>(loop.head)].frames;
  const LoopFrame& frame = frames.back();
  if (frame.code->instructions[static_cast<size_t>(frame.ip)].op != Op::ForIter || frame.stack.empty())
    return false;
  const LoopValue it = iterator_of(frame);
  if (it.kind != LoopKind::RangeIter || !it.items[2].known || resized_under(it)) return false;
  loop.blocks = all_loop_blocks(loop.head);
  if (loop.blocks.empty()) return false;
  for (int id : loop.blocks)
    for (const Edge& edge : blocks_[static_cast<size_t>(id)].edges)
      if (loop.blocks.count(edge.target))
        for (const auto& [variable, value] : edge.moves) loop.changed.insert(variable);
  parallel_ = &loop;
  marks_ = &loop;
  try {
    analyse(loop);
    parallel_ = nullptr;
    marks_ = nullptr;
    find_carried(loop, it.items[0].expr);
    find_own_dimensions(loop);
  } catch (const NotParallel& reason) {
    parallel_ = nullptr;
    marks_ = nullptr;
    *why = reason.reason;
    return false;
  }
  return true;
}

bool LoopBuilder::has_independent_rounds(int head) {
  ParallelLoop loop;
  loop.head = head;
  std::string why;
  return find_independent_rounds(loop, &why);
}

bool LoopBuilder::add_parallel_loop(int head, std::string* why) {
  ParallelLoop loop;
  loop.head = head;
  if (!find_independent_rounds(loop, why)) return false;
  // The rounds behind one that others wait for are shared anew.
  if (!loop.conflicts.empty()) drop_checked_nest(head);
  const LoopFrame& frame = blocks_[static_cast<size_t>(head)].frames.back();
  const std::string name = fmt::format("rounds_{}_{}", frame.code->line(frame.ip), head);
  Block& block = blocks_[static_cast<size_t>(head)];
  block.shared = shared_rounds(loop, name);
  rounds_.push_back(rounds_function(loop, name));
  return true;
}

// What goes from round to round must be the counter or a sum. What every round sets is handed back with the
// rounds that were done: the next one may lead out of the loop with it.
void LoopBuilder::find_carried(ParallelLoop& loop, const std::string& counter) {
  std::set<std::string> at_head;
  for_each_leaf(blocks_[static_cast<size_t>(loop.head)].frames, [&](LoopValue& leaf) {
    if (loop.changed.count(leaf.expr) && leaf.expr != counter) at_head.insert(leaf.expr);
  });
  for (const std::string& name : at_head) {
    if (!loopir::reads_first(loop.body, name)) {
      if (!loopir::always_sets(loop.body, name))
        throw NotParallel{fmt::format("'{}' may keep an earlier round's value", name)};
      loop.last.push_back(name);
      continue;
    }
    if (!loopir::is_sum(loop.body, name))
      throw NotParallel{fmt::format("'{}' goes from round to round", name)};
    loop.carried.push_back(name);
  }
}

// Each stored array needs a dimension that tells rounds apart.
void LoopBuilder::find_own_dimensions(ParallelLoop& loop) {
  const auto need = [&](const LoopAffineRef& affine) {
    if (affine->degree > 1) loop.bits = 29;
    loop.atoms.insert(affine->atoms.begin(), affine->atoms.end());
  };
  for (const ParallelLoop::Access& store : loop.accesses) {
    if (!store.stores || loop.own.count(store.array) || loop.counted.count(store.array)) continue;
    const LoopArray& array = arrays_[static_cast<size_t>(store.array)];
    bool found = false;
    for (size_t d = 0; d < static_cast<size_t>(array.dim) && !found; ++d) {
      if (!store.dims[d] || store.dims[d]->factor.empty()) continue;
      found = std::all_of(loop.accesses.begin(), loop.accesses.end(), [&](const ParallelLoop::Access& other) {
        if (other.array != store.array) return true;
        if (!other.dims[d]) return false;
        return equal(other.dims[d], store.dims[d]) || (!other.stores && other.dims[d]->factor.empty());
      });
      if (!found) continue;
      loop.own[store.array] = d;
      const LoopAffineRef& own = store.dims[d];
      const Expr size = Expr::name(fmt::format("{}_n{}", array.name, d));
      need(own);
      const Expr first = Expr::name("first"), last = Expr::name("last"), zero = Expr::constant("0");
      loop.checks.insert(Expr::apply(op::infix("!="), {in_brackets(own->factor), zero}));
      loop.checks.insert(
          Expr::apply(op::kStaysIn, {own->factor, own->base, first, last, loopir::integer(0), size}));
      for (const ParallelLoop::Access& other : loop.accesses) {
        if (other.array != store.array || equal(other.dims[d], own)) continue;
        need(other.dims[d]);
        loop.conflicts.insert(
            Expr::apply(op::kRoundsBefore, {own->factor, own->base, other.dims[d]->base, size, first,
                                            Expr::name("step"), Expr::name("rounds")}));
      }
    }
    if (!found && array.dtype == DType::I64 && loopir::is_histogram(loop.body, array.name + "_data")) {
      loop.counted.insert(store.array);
      continue;
    }
    if (!found) throw NotParallel{fmt::format("its rounds may share elements of '{}'", array.name)};
  }
}

// For each dimension of each stored array: where one round stores.
std::vector<Expr> LoopBuilder::stored_slabs(ParallelLoop& loop) const {
  std::vector<Expr> words;
  const auto add = [&](const Expr& factor, const Expr& low, const Expr& high) {
    words.insert(words.end(), {factor, low, high});
  };
  const Expr zero = loopir::integer(0);
  for (const auto& [index, own] : loop.own) {
    const LoopArray& array = arrays_[static_cast<size_t>(index)];
    for (size_t d = 0; d < static_cast<size_t>(array.dim); ++d) {
      std::set<Expr> places;
      LoopAffineRef affine;
      for (const ParallelLoop::Access& access : loop.accesses) {
        if (access.array != index || !access.stores) continue;
        affine = access.dims[d];
        places.insert(affine && (d == own || affine->factor.empty()) ? affine->base : Expr());
      }
      if (d == own) {
        add(affine->factor, affine->base, affine->base);
      } else if (places.size() == 1 && !places.count(Expr())) {
        loop.atoms.insert(affine->atoms.begin(), affine->atoms.end());
        if (affine->degree > 1) loop.bits = 29;
        loop.checks.insert(Expr::apply(op::infix(">="), {affine->base, Expr::constant("0")}));
        add(zero, affine->base, affine->base);
      } else {
        const Expr size = Expr::name(fmt::format("{}_n{}", array.name, d));
        add(zero, zero, Expr::apply(op::infix("-"), {size, Expr::constant("1")}));
      }
    }
  }
  return words;
}

namespace {

// In the words of a state.
Expr as_state_word(const LoopValue& leaf) {
  const std::string type = c_type(leaf);
  return type == "f64" || type == "f32" ? Expr::apply(op::kWord, {cast("f64", leaf.expr)})
                                        : cast("i64", leaf.expr);
}

// From such a word.
Expr from_state_word(const LoopValue& leaf, size_t k) {
  const std::string type = c_type(leaf);
  const Expr word = Expr::apply(op::kElement, {Expr::name("state"), Expr::constant(std::to_string(k))});
  return cast(type, type == "f64" || type == "f32" ? Expr::apply(op::kFloatOf, {word}) : word);
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

loopir::SharedRounds LoopBuilder::shared_rounds(ParallelLoop& loop, const std::string& name) {
  std::vector<LoopFrame> frames = blocks_[static_cast<size_t>(loop.head)].frames;
  const LoopValue it = iterator_of(frames.back());
  loopir::SharedRounds shared{name, it.items[0].expr, it.items[1].expr, *it.items[2].known};
  auto site = std::make_shared<LoopSite>();
  int64_t k = 0;
  for_each_leaf(frames, [&](LoopValue& leaf) {
    if (leaf.expr == it.items[0].expr) site->counter = k;
    if (leaf.expr == it.items[1].expr) site->stop = k;
    const bool is_sum = contains(loop.carried, leaf.expr);
    if (is_sum || contains(loop.last, leaf.expr)) {
      site->carried.push_back({k, is_sum ? LoopSite::Combine::Sum : LoopSite::Combine::Last});
      shared.results.push_back({"", leaf.expr, from_state_word(leaf, static_cast<size_t>(k))});
    }
    shared.state.push_back(as_state_word(leaf));
    ++k;
  });
  site->state_words = k;
  int64_t words = 0;
  for (size_t i = 0; i < arrays_.size(); ++i) {
    const LoopArray& array = arrays_[i];
    const bool used = std::any_of(loop.accesses.begin(), loop.accesses.end(),
                                  [&](const auto& access) { return access.array == static_cast<int>(i); });
    if (used)
      site->arrays.push_back({words, array.dim, itemsize(array.dtype),
                              loop.own.count(static_cast<int>(i)) > 0,
                              loop.counted.count(static_cast<int>(i)) > 0});
    words += 1 + 2 * array.dim;
  }
  site->array_words = words;
  shared.slabs = stored_slabs(loop);
  shared.site = result_.functions.size();
  result_.functions.push_back(site.get());
  result_.functions.push_back(reinterpret_cast<const void*>(&run_rounds));
  result_.sites.push_back(std::move(site));
  shared.checks.bits = loop.bits;
  shared.checks.atoms.assign(loop.atoms.begin(), loop.atoms.end());
  shared.checks.all.assign(loop.checks.begin(), loop.checks.end());
  shared.conflicts.assign(loop.conflicts.begin(), loop.conflicts.end());
  shared.interrupted = exit_to(LoopExit::Kind::Interrupted, frames);
  return shared;
}

// A function that runs rounds of the loop: the loop's own blocks, where what leads out of it ends the
// function.
loopir::Function LoopBuilder::rounds_function(const ParallelLoop& loop, const std::string& name) const {
  std::vector<LoopFrame> frames = blocks_[static_cast<size_t>(loop.head)].frames;
  const LoopValue it = iterator_of(frames.back());
  std::set<std::string> sums(loop.carried.begin(), loop.carried.end());
  for (int id : loop.blocks) {
    const Block& block = blocks_[static_cast<size_t>(id)];
    for (int array : loop.counted) {
      const std::string counted = arrays_[static_cast<size_t>(array)].name + "_data";
      loopir::add_counts(block.code, counted, sums);
      if (!block.checked) continue;
      for (const loopir::BasicBlock& one : block.checked->blocks) loopir::add_counts(one.code, counted, sums);
    }
  }
  // Where the rounds end, and with the limits of sums.
  const auto as_rounds = [&](loopir::Instructions& code, bool is_head) {
    if (is_head) loopir::end_at_test(code);
    loopir::limit_sums(code, sums);
  };
  loopir::Function function = empty_function(name, false);
  function.rounds = loopir::RoundsEnd{loop.head, {}};
  for (int id : loop.blocks) {
    loopir::Block one = block(id);
    one.shared.reset();
    one.in_turn.clear();
    as_rounds(one.code, id == loop.head);
    if (one.version)
      for (loopir::BasicBlock& checked : one.version->blocks) {
        as_rounds(checked.code, checked.id == loop.head);
        if (checked.jam) loopir::limit_sums(*checked.jam, sums);
      }
    function.blocks.push_back(std::move(one));
  }
  for_each_leaf(frames, [&](LoopValue& leaf) {
    const bool is_carried = contains(loop.carried, leaf.expr);
    const bool is_nonnegative =
        leaf.kind == LoopKind::Int && leaf.nonnegative && !(leaf.expr == it.items[1].expr) && !is_carried;
    if (is_carried || contains(loop.last, leaf.expr))
      function.rounds->results.emplace_back(function.parameters.size(), as_state_word(leaf));
    function.parameters.push_back({c_type(leaf), leaf.expr, is_nonnegative});
  });
  return function;
}

// The outermost loops that can.
void LoopBuilder::add_parallel_loops() {
  std::set<int> covered;
  for (int id = 0, count = static_cast<int>(blocks_.size()); id < count; ++id) {
    if (covered.count(id)) continue;
    std::string why;
    if (add_parallel_loop(id, &why)) {
      const std::set<int> blocks = all_loop_blocks(id);
      covered.insert(blocks.begin(), blocks.end());
    } else if (!why.empty()) {
      blocks_[static_cast<size_t>(id)].in_turn = why;
    }
  }
  for (const auto& site : result_.sites) site->io_words = static_cast<int64_t>(result_.num_words);
}

}  // namespace weft::capture
