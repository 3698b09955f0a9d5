// Archives of exported programs.
#include "exported/program_builder.h"
#include "fuzz/seeds.h"

namespace weft::fuzz {

std::vector<std::string> exported_programs() {
  return {exported::archive_of(exported::add_weight()), exported::archive_of(exported::branches()),
          exported::archive_of(exported::sizes())};
}

}  // namespace weft::fuzz
