"""weft's in-process compiler, Clang 19 in one library, which weft loads when it must compile a kernel."""
