// ops_header FILE: writes weft/ops.h, the operator table as C++ functions. A step of the build.
#include "frontend/ops_header.h"

#include <fstream>
#include <iostream>
#include <sstream>

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: ops_header FILE\n";
    return 2;
  }
  const std::string text = weft::frontend::ops_header();
  // Left alone when it is the same, so that nothing is built again.
  std::stringstream old;
  old << std::ifstream(argv[1]).rdbuf();
  if (old.str() == text) return 0;
  std::ofstream file(argv[1]);
  file << text;
  file.close();
  return file ? 0 : 1;
}
