#define WEFT_TRANSPOSE kTransposeBaseline
#include "core/transpose.inc"
