// The message of the error that a call ends with.
#pragma once

#include <string>

#include "weft/error.h"

namespace weft::testing_support {

template <class F>
std::string error_of(F&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace weft::testing_support
