#include "support/tests_dir.h"

namespace weft::testing_support {

const char* const kTestsDir = WEFT_TESTS_DIR;

}  // namespace weft::testing_support
