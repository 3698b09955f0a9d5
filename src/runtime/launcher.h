// Whether mpirun or its like started this process, by the variables that they set.
#pragma once

#include <optional>

namespace weft::runtime {

struct Launch {
  int rank = 0, world_size = 1, local_rank = 0, local_size = 1;  // local: among the processes on this machine
};
// nullopt where none did, or where the variables make no sense.
std::optional<Launch> launch();

}  // namespace weft::runtime
