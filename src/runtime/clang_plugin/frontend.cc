#include <clang/AST/ASTConsumer.h>
#include <clang/Basic/DiagnosticOptions.h>
#include <clang/Basic/TargetInfo.h>
#include <clang/CodeGen/BackendUtil.h>
#include <clang/CodeGen/CodeGenAction.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/FrontendAction.h>
#include <clang/Frontend/TextDiagnosticPrinter.h>
#include <clang/Lex/PreprocessorOptions.h>
#include <clang/Serialization/ASTWriter.h>
#include <clang/Serialization/PCHContainerOperations.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/IR/DiagnosticHandler.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PassManager.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/VirtualFileSystem.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/IPO/MergeFunctions.h>
#include <llvm/Transforms/Utils/Mem2Reg.h>

#include <algorithm>
#include <chrono>
#include <initializer_list>
#include <mutex>
#include <sstream>

#include "runtime/clang_plugin/bit_selects.h"
#include "runtime/clang_plugin/compiler.h"

namespace weft::clang_plugin {
namespace {

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

bool is_one_of(const std::string& flag, std::initializer_list<const char*> flags) {
  return std::find(flags.begin(), flags.end(), flag) != flags.end();
}

bool starts_with(const std::string& flag, const char* prefix) { return flag.rfind(prefix, 0) == 0; }

constexpr char kTargetFlag[] = "--target=";

// What code is made for: the host, or what a flag names.
std::string target_triple(const WeftClangRequest& request) {
  for (size_t i = 0; i < request.flag_count; ++i)
    if (const std::string flag = request.flags[i]; starts_with(flag, kTargetFlag))
      return flag.substr(sizeof(kTargetFlag) - 1);
  return llvm::sys::getDefaultTargetTriple();
}

// "avx512f" of "-mavx512f"; "" of any other flag.
std::string feature_of(const std::string& flag) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.'; };
  if (!starts_with(flag, "-m") || !std::all_of(flag.begin() + 2, flag.end(), is_letter)) return "";
  return flag.substr(2);
}

// A level of x86-64 and a GPU are processors to the compiler proper, one of ARM ("armv8.2-a+dotprod") is
// features of any.
void append_level(const std::string& level, const std::string& triple, std::vector<std::string>& arguments) {
  if (!starts_with(triple, "aarch64")) {
    arguments.insert(arguments.end(), {"-target-cpu", level});
    return;
  }
  arguments.insert(arguments.end(), {"-target-cpu", "generic", "-target-feature", "+neon"});
  std::istringstream names(level);
  for (std::string name; std::getline(names, name, '+');) {
    if (starts_with(name, "armv")) name = "v" + name.substr(4, name.find('-') - 4) + "a";
    if (name == "fp16") name = "fullfp16";
    arguments.insert(arguments.end(), {"-target-feature", "+" + name});
  }
}

// What the compiler proper calls a flag of its driver; false where that is not known here. The driver itself
// would search the disk for system headers and libraries that kernels do not use.
bool append_flag(const std::string& flag, const std::string& triple, std::vector<std::string>& arguments) {
  if (starts_with(flag, kTargetFlag)) {
    return true;  // compiler_arguments() has it
  } else if (starts_with(flag, "-march=")) {
    append_level(flag.substr(7), triple, arguments);
  } else if (const std::string feature = feature_of(flag); !feature.empty()) {
    arguments.insert(arguments.end(), {"-target-feature", "+" + feature});
  } else if (flag == "-fPIC") {
    arguments.insert(arguments.end(), {"-mrelocation-model", "pic", "-pic-level", "2"});
  } else if (flag == "-nostdinc") {
    arguments.insert(arguments.end(), {"-nostdsysteminc", "-nobuiltininc"});
  } else if (starts_with(flag, "-std=") || starts_with(flag, "-mprefer-vector-width=") ||
             is_one_of(flag, {"-O0", "-O1", "-O2", "-O3", "-w", "-ffp-contract=off", "-ffreestanding",
                              "-fno-rtti", "-fno-threadsafe-statics", "-fno-plt", "-fno-ident", "-fwrapv"})) {
    arguments.push_back(flag);
  } else {
    // The compiler proper does these unless it is told otherwise.
    return is_one_of(
        flag, {"-fno-math-errno", "-fno-trapping-math", "-fno-exceptions", "-fno-semantic-interposition",
               "-fno-stack-protector", "-fno-asynchronous-unwind-tables", "-mno-outline-atomics"});
  }
  return true;
}

std::vector<std::string> compiler_arguments(const WeftClangRequest& request, std::string* unknown_flag) {
  const std::string triple = target_triple(request);
  std::vector<std::string> arguments = {"-triple", triple, "-x", "c++"};
  for (size_t i = 0; i < request.flag_count; ++i)
    if (!append_flag(request.flags[i], triple, arguments)) *unknown_flag = request.flags[i];
  arguments.insert(arguments.end(), {"-vectorize-loops", "-vectorize-slp", "-mframe-pointer=none"});
  return arguments;
}

// A feature of processors that the target does not have would be ignored.
std::string unknown_feature(const WeftClangRequest& request, const clang::TargetInfo& target) {
  for (size_t i = 0; i < request.flag_count; ++i)
    if (const std::string feature = feature_of(request.flags[i]);
        !feature.empty() && !target.isValidFeatureName(feature))
      return request.flags[i];
  return "";
}

void initialize_target() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    llvm::InitializeNativeTargetAsmParser();
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    // In small loops the back end would make branches of selections, for processors that guess them. What
    // programs select by are elements of arrays: nobody guesses the bits of a checksum or which of two
    // distances is shorter.
    auto& options = llvm::cl::getRegisteredOptions();
    if (const auto found = options.find("x86-cmov-converter"); found != options.end())
      static_cast<llvm::cl::opt<bool>*>(found->second)->setValue(false);
  });
}

// A kernel consists of small functions and nested lambdas. The optimizer would simplify each of them on its
// own, and again after each level of inlining. Everything that is only called becomes part of its caller at
// once, so that it looks at a kernel's few outermost functions, once. Those that the source keeps apart
// (noinline; below -O2 Clang writes that on all) are often the same loops over other arrays: of equal ones,
// one is compiled.
void inline_calls(llvm::Module& module, bool keep_apart) {
  for (llvm::Function& function : module) {
    const bool own = function.hasLocalLinkage() || function.hasLinkOnceLinkage();
    if (!own || function.isDeclaration() || function.hasAddressTaken()) continue;
    if (keep_apart && function.hasFnAttribute(llvm::Attribute::NoInline)) continue;
    function.removeFnAttr(llvm::Attribute::NoInline);
    function.addFnAttr(llvm::Attribute::AlwaysInline);
  }
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::ModulePassManager passes;
  // Fewer instructions to copy.
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(llvm::PromotePass()));
  passes.addPass(llvm::AlwaysInlinerPass(/*InsertLifetime=*/false));
  if (keep_apart) passes.addPass(llvm::MergeFunctionsPass());
  passes.addPass(llvm::GlobalDCEPass());
  passes.run(module, modules);
}

constexpr char kPreludeFile[] = "/weft_prelude.h", kPrecompiledFile[] = "/weft_prelude.pch";

// A compiler that sees the request's texts as its only files.
class Compilation {
 public:
  explicit Compilation(std::string& message)
      : messages_(message), files_(llvm::makeIntrusiveRefCnt<llvm::vfs::InMemoryFileSystem>()) {
    llvm::IntrusiveRefCntPtr<clang::DiagnosticOptions> options(new clang::DiagnosticOptions);
    options->ShowCarets = true;
    compiler.setVerboseOutputStream(llvm::nulls());  // where "1 error generated." goes
    compiler.createDiagnostics(new clang::TextDiagnosticPrinter(messages_, options.get()));
    compiler.createFileManager(files_);
  }

  // False, with the reason in the message or in `unknown_flag`, where the flags are none of Clang's.
  bool prepare(const WeftClangRequest& request, const std::string& file, const WeftClangText& text,
               std::string* unknown_flag) {
    std::vector<std::string> arguments = compiler_arguments(request, unknown_flag);
    if (!unknown_flag->empty()) return false;
    arguments.insert(arguments.end(), {"-main-file-name", file.substr(1), file});
    std::vector<const char*> pointers;
    for (const std::string& argument : arguments) pointers.push_back(argument.c_str());
    if (!clang::CompilerInvocation::CreateFromArgs(compiler.getInvocation(), pointers,
                                                   compiler.getDiagnostics()))
      return false;
    compiler.getFrontendOpts().DisableFree = false;
    compiler.getCodeGenOpts().DisableFree = false;
    compiler.getCodeGenOpts().VerifyModule = false;
    compiler.getCodeGenOpts().DiscardValueNames = true;
    compiler.getCodeGenOpts().DisableLifetimeMarkers = true;
    // Behind everything that makes vectors.
    compiler.getCodeGenOpts().PassBuilderCallbacks.push_back([](llvm::PassBuilder& builder) {
      builder.registerOptimizerLastEPCallback([](llvm::ModulePassManager& passes, llvm::OptimizationLevel) {
        passes.addPass(llvm::createModuleToFunctionPassAdaptor(BitSelectPass()));
      });
    });
    add_file(file, text);
    return true;
  }

  // It was made by this version and with flags that mean the same to the prelude: what Clang would compare
  // itself (every feature of the processor, times of files) is left out.
  void use_precompiled(const WeftClangRequest& request) {
    if (request.precompiled.data == nullptr) return;
    add_file(kPreludeFile, request.prelude);
    add_file(kPrecompiledFile, request.precompiled);
    compiler.getPreprocessorOpts().ImplicitPCHInclude = kPrecompiledFile;
    compiler.getPreprocessorOpts().DisablePCHOrModuleValidation = clang::DisableValidationForModuleKind::All;
  }

  clang::CompilerInstance compiler;

 private:
  llvm::raw_string_ostream messages_;
  llvm::IntrusiveRefCntPtr<llvm::vfs::InMemoryFileSystem> files_;

  void add_file(const std::string& name, const WeftClangText& text) {
    files_->addFile(name, 0, llvm::MemoryBuffer::getMemBuffer({text.data, text.size}, name));
  }
};

class PrecompileAction final : public clang::ASTFrontendAction {
 public:
  std::string bytes() const { return {buffer_->Data.data(), buffer_->Data.size()}; }
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance& compiler,
                                                        llvm::StringRef) override {
    return std::make_unique<clang::PCHGenerator>(compiler.getPreprocessor(), compiler.getModuleCache(),
                                                 kPrecompiledFile, /*isysroot=*/"", buffer_,
                                                 compiler.getFrontendOpts().ModuleFileExtensions,
                                                 /*AllowASTWithErrors=*/false, /*IncludeTimestamps=*/false);
  }
  clang::TranslationUnitKind getTranslationUnitKind() override { return clang::TU_Prefix; }
  bool hasASTFileSupport() const override { return false; }

 private:
  std::shared_ptr<clang::PCHBuffer> buffer_ = std::make_shared<clang::PCHBuffer>();
};

// Of what the optimizer says only errors count: that it could not vectorize a loop is none.
struct QuietHandler final : llvm::DiagnosticHandler {
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    return info.getSeverity() != llvm::DS_Error;
  }
};

}  // namespace

ObjectCode precompile(const WeftClangRequest& request) {
  ObjectCode result;
  Compilation compilation(result.message);
  if (!compilation.prepare(request, kPreludeFile, request.prelude, &result.unknown_flag)) return result;
  PrecompileAction action;
  if (compilation.compiler.ExecuteAction(action)) result.bytes = action.bytes();
  return result;
}

ObjectCode compile_object(const WeftClangRequest& request) {
  initialize_target();
  ObjectCode result;
  // A GPU's code is text, which its driver assembles.
  result.is_text = starts_with(target_triple(request), "nvptx");
  const auto start = std::chrono::steady_clock::now();
  Compilation compilation(result.message);
  if (!compilation.prepare(request, std::string("/") + request.name + ".cc", request.source,
                           &result.unknown_flag))
    return result;
  compilation.use_precompiled(request);
  clang::CompilerInstance& compiler = compilation.compiler;

  // Two steps with one clock each: the action would run the optimizer too, only to print nothing.
  compiler.getCodeGenOpts().DisableLLVMPasses = true;
  llvm::LLVMContext context;
  clang::EmitLLVMOnlyAction action(&context);
  if (!compiler.ExecuteAction(action)) return result;
  const std::unique_ptr<llvm::Module> module = action.takeModule();
  result.unknown_flag = unknown_feature(request, compiler.getTarget());
  if (module == nullptr || !result.unknown_flag.empty()) return result;
  result.frontend_ms = milliseconds_since(start);

  compiler.getCodeGenOpts().DisableLLVMPasses = false;
  context.setDiagnosticHandler(std::make_unique<QuietHandler>());
  const auto backend_start = std::chrono::steady_clock::now();
  inline_calls(*module, compiler.getCodeGenOpts().OptimizationLevel >= 2);
  llvm::SmallString<0> object;
  clang::EmitBackendOutput(compiler.getDiagnostics(), compiler.getHeaderSearchOpts(),
                           compiler.getCodeGenOpts(), compiler.getTargetOpts(), compiler.getLangOpts(),
                           compiler.getTarget().getDataLayoutString(), module.get(),
                           result.is_text ? clang::Backend_EmitAssembly : clang::Backend_EmitObj,
                           compiler.getFileManager().getVirtualFileSystemPtr(),
                           std::make_unique<llvm::raw_svector_ostream>(object));
  if (!compiler.getDiagnostics().hasErrorOccurred()) result.bytes.assign(object.data(), object.size());
  result.backend_ms = milliseconds_since(backend_start);
  return result;
}

}  // namespace weft::clang_plugin
