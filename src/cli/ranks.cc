#include "cli/ranks.h"

#include <fmt/format.h>

#include <cstdio>

#include "cli/usage.h"
#include "weft/distributed.h"
#include "weft/error.h"

namespace weft::cli {

bool is_first_rank() {
  const auto launched = distributed::launch();
  return !launched || launched->rank == 0;
}

bool start_ranks(int tensor_parallel) {
  if (distributed::is_initialized()) return true;
  const auto launched = distributed::launch();
  if (tensor_parallel == 1 || (tensor_parallel == 0 && (!launched || launched->world_size == 1)))
    return false;
  const auto check = [&](int ranks) {
    if (tensor_parallel != 0 && ranks != tensor_parallel)
      throw UsageError(
          fmt::format("--tensor-parallel {} needs as many processes, and there {}: mpirun -n {} weft …",
                      tensor_parallel, ranks == 1 ? "is 1" : fmt::format("are {}", ranks), tensor_parallel));
  };
  if (launched) check(launched->world_size);
  distributed::init_process_group({.backend = "mpi"});
  check(distributed::get_world_size());
  if (distributed::get_rank() != 0 && !std::freopen("/dev/null", "w", stdout))
    throw_error(ErrorKind::Runtime, "/dev/null cannot be opened");
  return true;
}

void finish_ranks() {
  if (!distributed::is_initialized()) return;
  std::fflush(stdout);
  distributed::destroy_process_group();
}

std::vector<RankFigures> gather_figures(const RankFigures& own) {
  const Tensor all =
      distributed::all_gather(Tensor::of<double>({own.weight_bytes, own.read_gbs, own.collective_seconds,
                                                  own.collective_calls, own.seconds, own.peak_bytes}));
  std::vector<RankFigures> result;
  const double* at = all.data_as<double>();
  for (int rank = 0; rank < distributed::get_world_size(); ++rank, at += 6)
    result.push_back({at[0], at[1], at[2], at[3], at[4], at[5]});
  return result;
}

std::string text_of_first_rank(const std::function<std::string()>& read) {
  if (!distributed::is_initialized()) return read();
  return distributed::broadcast_bytes(distributed::get_rank() == 0 ? read() : "");
}

}  // namespace weft::cli
