// The baseline's vectors of 16 bytes are NEON's.
#include "core/copy_run.h"
#include "core/transpose.h"

namespace weft {

CopyRun copy_run_function() { return &copy_run_baseline; }
const TransposeFunctions& transpose_functions() { return kTransposeBaseline; }

}  // namespace weft
