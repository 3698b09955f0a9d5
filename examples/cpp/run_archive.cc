// Runs a program that torch.export.save wrote, or a TorchScript archive: run_archive MODEL.pt2 [INPUTS.npz]
//
// The arrays of the .npz are named after forward's arguments; without it, forward gets a grey image.
#include <weft/error.h>
#include <weft/exported.h>
#include <weft/jit.h>
#include <weft/npz.h>
#include <weft/ops.h>

#include <cstdio>

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "Usage: run_archive MODEL.pt2|MODEL.pt [INPUTS.npz]\n");
    return 2;
  }
  try {
    weft::jit::Module module = weft::exported::load_module(argv[1]);
    module = weft::jit::optimize_for_inference(module);

    weft::IValue output;
    if (argc == 3) {
      output = module.forward({}, weft::load_npz(argv[2]));
    } else {
      const weft::Tensor image = weft::Tensor::full({1, 3, 224, 224}, 0.5, weft::DType::F32);
      output = module.forward({image});
    }
    const weft::Tensor scores = weft::softmax(output.to_tensor(), -1);
    std::printf("%s\nlargest: %s\n", weft::describe(scores).c_str(), weft::argmax(scores, -1).str().c_str());
  } catch (const weft::Error& error) {
    std::fprintf(stderr, "run_archive: %s\n", error.what());
    return 1;
  }
}
