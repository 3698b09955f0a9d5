// Pictures that clients send, as pixels.
#pragma once

#include <string_view>

#include "weft/tensor.h"

namespace weft::serve {

// A PNG or JPEG file, as this build reads them: uint8 [H, W, 3], upright by its EXIF; grey and palettes as
// RGB, alpha dropped, the high bytes of 16 bits. ValueError for what is none, damaged, CMYK, or of more than
// 2^26 pixels.
Tensor read_image(std::string_view bytes);

}  // namespace weft::serve
