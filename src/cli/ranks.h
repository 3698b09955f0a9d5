// Commands that mpirun starts several of: the ranks share one model, and the first of them speaks.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace weft::cli {

// Is this process the first rank, or the only one? Known from its start.
bool is_first_rank();
// Makes the process group of a command whose model `tensor_parallel` ranks share; 0: as many as the launcher
// started. The others print nothing from then on. False where there is nothing to share with. May be called
// again.
bool start_ranks(int tensor_parallel);
// Ends the group, if there is one.
void finish_ranks();
// What each rank says of itself.
struct RankFigures {
  double weight_bytes = 0, read_gbs = 0;  // of one token; as measured
  double collective_seconds = 0, collective_calls = 0, seconds = 0,
         peak_bytes = 0;  // waiting included; of all
  double collective_share() const { return seconds > 0 ? collective_seconds / seconds : 0; }
  double utilization(double tokens_per_second) const {
    return read_gbs > 0 ? weight_bytes * tokens_per_second / (read_gbs * 1e9) : 0;
  }
};
std::vector<RankFigures> gather_figures(const RankFigures& own);
// What the first rank reads, on all ranks.
std::string text_of_first_rank(const std::function<std::string()>& read);

}  // namespace weft::cli
