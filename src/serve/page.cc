#include "serve/llm_service.h"

namespace weft::serve {

const std::string& page_html() {
  static const std::string& text = *new std::string(
#include "embedded/page.html"
  );
  return text;
}

}  // namespace weft::serve
