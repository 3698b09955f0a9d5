// Where the tests lie: the one thing in them that depends on the checkout's folder, compiled apart so that a
// compiler's cache serves every checkout.
#pragma once

namespace weft::testing_support {

extern const char* const kTestsDir;

}  // namespace weft::testing_support
