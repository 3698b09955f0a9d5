// The program that started the ranks.
#pragma once

namespace weft::distributed {

// From now on this process ends, with status 1 and a line on stderr, when the launcher among its ancestors
// (mpirun, or its helper on this machine) has ended. Launchers end after their ranks, so that one that is
// gone was killed: MPI ends the ranks then, but for those that have not begun with it, or are done with it.
// Without such an ancestor, nothing.
void end_with_launcher();

}  // namespace weft::distributed
