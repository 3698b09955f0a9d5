#include "runtime/launcher.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

namespace weft::runtime {
namespace {

std::optional<int> number_from(const char* variable) {
  const char* const text = std::getenv(variable);
  if (!text) return std::nullopt;
  const std::string_view view(text);
  int number = 0;
  const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), number);
  if (error != std::errc() || end != view.data() + view.size() || number < 0) return std::nullopt;
  return number;
}

// Names of rank, size, rank and size on this machine.
struct Launcher {
  const char *rank, *size, *local_rank, *local_size;
};
constexpr Launcher kLaunchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},  // MPICH, Intel MPI, MVAPICH
};

}  // namespace

std::optional<Launch> launch() {
  for (const Launcher& launcher : kLaunchers) {
    const std::optional<int> rank = number_from(launcher.rank), size = number_from(launcher.size);
    if (!rank || !size || *rank >= *size) continue;
    const int local_size = number_from(launcher.local_size).value_or(1);
    return Launch{*rank, *size, number_from(launcher.local_rank).value_or(0),
                  local_size > 0 ? local_size : 1};
  }
  return std::nullopt;
}

}  // namespace weft::runtime
