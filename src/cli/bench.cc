#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "runtime/ceilings.h"
#include "runtime/host.h"
#include "weft/parallel.h"

namespace weft::cli {
namespace {

std::string rate_text(double rate) { return rate == 0 ? "-" : fmt::format("{:.1f}", rate); }

}  // namespace

int ceilings(bool as_json, int threads) {
  const int all = threads > 0 ? threads : get_num_threads();
  const std::vector<int> counts = threads > 0 || all == 1 ? std::vector<int>{all} : std::vector<int>{1, all};
  const std::vector<runtime::Ceiling> measured = runtime::measure_ceilings(counts);
  if (as_json) {
    // Plain numbers for the largest number of threads, by name.
    nlohmann::ordered_json result;
    result["threads"] = counts.back();
    for (const runtime::Ceiling& ceiling : measured) result[ceiling.key] = ceiling.rates.back();
    std::printf("%s\n", result.dump(2).c_str());
    return 0;
  }
  std::string text = fmt::format("{}\n\n{:<44}", runtime::host_cpu_brand(), "");
  for (const int count : counts)
    text += fmt::format("{:>12}", fmt::format("{} thread{}", count, count > 1 ? "s" : ""));
  text += "\n";
  for (const runtime::Ceiling& ceiling : measured) {
    text += fmt::format("{:<44}", ceiling.doc);
    for (const double rate : ceiling.rates) text += fmt::format("{:>12}", rate_text(rate));
    text += fmt::format("  {}\n", ceiling.unit);
  }
  std::fputs(text.c_str(), stdout);
  return 0;
}

}  // namespace weft::cli
