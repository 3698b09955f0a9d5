// For tests of what happens where memory ends.
#pragma once

#include <cstdint>

namespace weft {

// After `successes` more requests one fails as if the system had no memory left; negative: none does.
void fail_allocation_after(int64_t successes);

}  // namespace weft
