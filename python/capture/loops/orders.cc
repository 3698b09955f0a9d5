// The memory order of arrays that native loops make: as NumPy orders them, by the strides of the operands.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "capture/loops/builder.h"

namespace weft::capture {

namespace {

bool is_one(const std::string& expr) { return expr == "1L"; }

}  // namespace

// Dimensions i and j of the value, counted from the last and i further out: C++ that is 1 where it has them
// as C does, 2 where as Fortran does, 0 where it says nothing. `sizes` is the result's shape. Added to
// `heard`: the votes that decide it, as far as they are C++; one of them says nothing more beside it.
std::string LoopBuilder::order_vote(const LoopValue& value, int i, int j,
                                    const std::vector<std::string>& sizes, std::set<std::string>& heard) {
  const auto said = [&](std::string vote) { return *heard.insert(std::move(vote)).first; };
  const int dims = num_dims(value);
  if (i > dims || !is_arraylike(value)) return "0";
  const std::vector<std::string> shape = shape_of(value);
  const std::string &rows = shape[static_cast<size_t>(dims - i)],
                    &columns = shape[static_cast<size_t>(dims - j)];
  if (is_one(rows) || is_one(columns)) return "0";
  const bool is_whole = size_name(rows) == size_name(sizes[sizes.size() - static_cast<size_t>(i)]) &&
                        size_name(columns) == size_name(sizes[sizes.size() - static_cast<size_t>(j)]);
  if (value.kind != LoopKind::Pending) {
    const std::string outer = stride_text(value, dims - i), inner = stride_text(value, dims - j);
    if (outer == "0L" || inner == "0L") return "0";
    if (is_whole && dims == 2 && is_one(inner)) return "1";
    if (is_whole && dims == 2 && is_one(outer)) return "2";
    return said(fmt::format("order_vote({}, {}, {}, {})", rows, columns, outer, inner));
  }
  // An array of its own, of an order that is chosen in the same way.
  std::vector<std::string> all;
  for (const LoopValue& item :
       value.operation == kGather ? std::vector<LoopValue>{value.items[1]} : value.items) {
    std::set<std::string> of_item;
    const std::string vote = order_vote(item, i, j, shape, of_item);
    if (vote == "1") return is_whole ? "1" : said(fmt::format("order_vote({}, {}, 2, 1)", rows, columns));
    if (vote != "0" && !heard.count(vote) && std::count(all.begin(), all.end(), vote) == 0)
      all.push_back(vote);
    heard.merge(of_item);
  }
  const std::string votes = fmt::format("{}", fmt::join(all, " | "));
  if (votes.empty() || votes == "2") {
    if (is_whole) return votes.empty() ? "1" : "2";
    return said(fmt::format("order_vote({}, {}, {})", rows, columns, votes.empty() ? "2, 1" : "1, 2"));
  }
  return said(fmt::format("({0} > 1 && {1} > 1 ? (({2}) == 2 ? 2 : 1) : 0)", rows, columns, votes));
}

// Is what NumPy makes of the value in Fortran order? Known when the loop is built; where the strides are
// others than that asks for, Python performs the operation.
bool LoopBuilder::is_in_fortran_order(const LoopValue& value) {
  const std::vector<std::string> sizes = shape_of(value);
  const int dims = static_cast<int>(sizes.size());
  if (dims < 2) return false;
  bool is_fortran = false;
  for (int i = dims; i > 1; --i) {
    for (int j = i - 1; j > 0; --j) {
      std::set<std::string> heard;
      const std::string vote = order_vote(value, i, j, sizes, heard);
      if (vote == "0" || vote == "1") continue;
      if (dims == 2 && vote == "2")
        is_fortran = true;
      else
        require(fmt::format("{} != 2", vote));
    }
  }
  return is_fortran;
}

}  // namespace weft::capture
