// Serial stand-in for the thread pool, replaced at link time by the definition in runtime/.
#include "weft/parallel.h"

namespace weft {

__attribute__((weak)) void parallel_for(int64_t begin, int64_t end, int64_t,
                                        const std::function<void(int64_t, int64_t)>& body) {
  if (begin < end) body(begin, end);
}

}  // namespace weft
