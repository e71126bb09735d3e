// Modules of kernels written as text: linked, loaded and run.
#include "server/compiler/codegen/cpu/link_module.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/module/format.h"
#include "llvm/Object/ELF.h"
#include "runtime/abi.h"
#include "server/compiler/codegen/test_kernel.h"

namespace kiln {
namespace {

using ElfFile = llvm::object::ELF64LEFile;
using testing::ElementsAre;
using testing::HasSubstr;
using Form = proto::LinkRequest::Form;

constexpr char kSymbol[] = "kiln_module_v1";
// Returns VALUE + argument 0, through all that could clash between kernels: a real function that
// calls itself, the device library, and what LLVM calls for f16.
constexpr char kKernel[] = R"(kiln.kernel @k storages [] results [f32] {
  kiln.function 0 (%n : i32) -> (f32) {
    %one = arith.constant 1 : i32
    %less = arith.subi %n, %one : i32
    %positive = arith.cmpi sgt, %n, %one : i32
    kiln.if %positive {
      %next = kiln.call 0(%less) : (i32) -> (f32)
      %twice = arith.addf %next, %next : f32
      kiln.return %twice : f32
    }
    %random = kiln.random : f32
    kiln.return %random : f32
  }
  kiln.task.serial "s" {
    %half = kiln.argument 0 : f16
    %wide = arith.extf %half : f16 to f32
    %value = arith.constant VALUE : f32
    %sum = arith.addf %value, %wide : f32
    %n = kiln.argument 1 : i32
    %r = kiln.call 0(%n) : (i32) -> (f32)
    %s = math.tanh %r : f32
    %zero = arith.constant 0.0 : f32
    %none = arith.mulf %s, %zero : f32
    %result = arith.addf %sum, %none : f32
    kiln.result 0, %result : f32
    kiln.return
  }
  kiln.return
})";

std::string Kernel(const std::string& value) {
  std::string text = kKernel;
  text.replace(text.find("VALUE"), 5, value);
  return text;
}

std::string Object(const std::string& prefix, const std::string& value, int level = 2) {
  auto code = TestKernel::CompileObject(Kernel(value), prefix, Target::Cpu(level));
  EXPECT_TRUE(code.ok()) << code.status();
  if (!code.ok()) return "";
  EXPECT_EQ(code->tasks[0].symbol(), prefix + "task_0");
  return code->payload;
}

void AddFixup(uint32_t offset, const std::string& symbol, proto::LinkRequest* request) {
  proto::LinkRequest::Fixup* fixup = request->add_fixups();
  fixup->set_offset(offset);
  fixup->set_symbol(symbol);
}

// Two kernels and one of them at another level; words at 4 and 13 and at the tables' end.
proto::LinkRequest Request(Form form = proto::LinkRequest::SHARED) {
  proto::LinkRequest request;
  request.add_objects(Object("ka_", "1.5"));
  request.add_objects(Object("kb_", "2.5"));
  request.add_objects(Object("kc_", "2.5", 3));
  request.set_tables(std::string("KILN....meta 1234 tail!!", 24));
  AddFixup(13, "kb_task_0", &request);
  AddFixup(4, "ka_task_0", &request);
  AddFixup(20, "kc_task_0", &request);
  request.set_form(form);
  request.set_symbol(kSymbol);
  return request;
}

std::string Error(const proto::LinkRequest& request) {
  const absl::Status status = cpu::LinkModule(request).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  return std::string(status.message());
}

// The section of the tables and the names of the symbols that other files see.
struct Contents {
  std::optional<ElfFile::Elf_Shdr> tables;
  std::string bytes;
  std::vector<std::string> visible;
  bool marks_stack = false;
};
Contents Read(const std::string& file) {
  Contents contents;
  auto elf = llvm::cantFail(ElfFile::create(file));
  const auto sections = llvm::cantFail(elf.sections());
  for (const auto& section : sections) {
    const llvm::StringRef name = llvm::cantFail(elf.getSectionName(section));
    if (name == module::kSection) {
      contents.tables = section;
      const auto bytes = llvm::cantFail(elf.getSectionContents(section));
      contents.bytes.assign(bytes.begin(), bytes.end());
    }
    contents.marks_stack |= name == ".note.GNU-stack";
    if (section.sh_type != llvm::ELF::SHT_SYMTAB && section.sh_type != llvm::ELF::SHT_DYNSYM) {
      continue;
    }
    const auto strings = llvm::cantFail(elf.getStringTableForSymtab(section));
    for (const auto& symbol : llvm::cantFail(elf.symbols(&section))) {
      if (symbol.st_shndx == llvm::ELF::SHN_UNDEF) continue;
      if (symbol.getBinding() == llvm::ELF::STB_LOCAL) continue;
      contents.visible.push_back(llvm::cantFail(symbol.getName(strings)).str());
    }
  }
  return contents;
}

std::string Write(const std::string& name, const std::string& bytes) {
  const std::string path = absl::StrCat(testing::TempDir(), "/", name);
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

// What the task to which the word at `offset` of `tables` leads computes.
float RunTask(const char* tables, size_t offset) {
  int32_t distance;
  std::memcpy(&distance, tables + offset, sizeof distance);
  const auto task = reinterpret_cast<KilnTask>(const_cast<char*>(tables) + distance);
  uint64_t result = 0;
  const uint64_t arguments[] = {0, 5};
  KilnContext context = {};
  context.arguments = arguments;
  context.results = &result;
  task(&context, 0, 1, 0);
  float number;
  std::memcpy(&number, &result, sizeof number);
  return number;
}

TEST(LinkModule, OneSymbolLeadsToAllKernels) {
  const auto module = cpu::LinkModule(Request());
  ASSERT_TRUE(module.ok()) << module.status();
  const Contents contents = Read(module->file());
  EXPECT_THAT(contents.visible, ElementsAre(kSymbol));
  ASSERT_TRUE(contents.tables.has_value());
  EXPECT_EQ(contents.tables->sh_flags, llvm::ELF::SHF_ALLOC);
  EXPECT_EQ(contents.tables->sh_addralign, 16);
  EXPECT_EQ(contents.tables->sh_size, 24);
  // Readable without the loader.
  EXPECT_EQ(contents.bytes.substr(0, 4), "KILN");
  EXPECT_EQ(contents.bytes.substr(8, 5), "meta ");
  EXPECT_EQ(contents.bytes.substr(17, 3), " ta");
  EXPECT_LT(module->file().size(), 8000u);

  void* library = dlopen(Write("module.so", module->file()).c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto* tables = static_cast<const char*>(dlsym(library, kSymbol));
  ASSERT_NE(tables, nullptr);
  EXPECT_EQ(RunTask(tables, 4), 1.5f);
  EXPECT_EQ(RunTask(tables, 13), 2.5f);
  EXPECT_EQ(dlsym(library, "ka_task_0"), nullptr);
  dlclose(library);
}

TEST(LinkModule, TheSameRequestGivesTheSameBytes) {
  for (const Form form : {proto::LinkRequest::SHARED, proto::LinkRequest::OBJECT}) {
    EXPECT_EQ(cpu::LinkModule(Request(form))->file(), cpu::LinkModule(Request(form))->file());
  }
}

TEST(LinkModule, KernelsOfOneSourceHaveRoom) {
  proto::LinkRequest request;
  for (int i = 0; i < 40; ++i) request.add_objects(Object(absl::StrCat("k", i, "_"), "0.5"));
  request.set_tables(std::string(4, '\0'));
  request.set_symbol(kSymbol);
  AddFixup(0, "k39_task_0", &request);
  const auto module = cpu::LinkModule(request);
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_THAT(Read(module->file()).visible, ElementsAre(kSymbol));
}

TEST(LinkModule, ASmallModuleIsSmall) {
  proto::LinkRequest request = Request();
  request.clear_fixups();
  request.mutable_objects()->DeleteSubrange(1, 2);
  const auto module = cpu::LinkModule(request);
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_LT(module->file().size(), 4096u);
}

TEST(LinkModule, SaysWhatItNeeds) {
  const auto shared = cpu::LinkModule(Request());
  const auto object = cpu::LinkModule(Request(proto::LinkRequest::OBJECT));
  ASSERT_TRUE(shared.ok() && object.ok());
  EXPECT_EQ(shared->needs().at("libm.so.6"), "GLIBC_2.2.5");
  EXPECT_EQ(object->needs().at("libm.so.6"), "GLIBC_2.2.5");
}

// Two modules with the same kernels, in programs of both kinds.
TEST(LinkModule, ProgramsLinkObjects) {
  std::vector<std::string> objects;
  for (const std::string name : {"one", "two"}) {
    proto::LinkRequest request = Request(proto::LinkRequest::OBJECT);
    request.set_symbol(absl::StrCat(kSymbol, "_", name));
    const auto module = cpu::LinkModule(request);
    ASSERT_TRUE(module.ok()) << module.status();
    const Contents contents = Read(module->file());
    EXPECT_THAT(contents.visible, ElementsAre(request.symbol()));
    // Without the mark, programs would get an executable stack.
    EXPECT_TRUE(contents.marks_stack);
    objects.push_back(Write(name + ".o", module->file()));
  }
  const std::string source = Write("program.c", R"(
    #include <stdint.h>
    #include <string.h>
    extern const char kiln_module_v1_one[], kiln_module_v1_two[];
    struct context { const uint64_t* arguments; uint64_t* results; void* rest[64]; };
    static float run(const char* tables) {
      int32_t distance;
      memcpy(&distance, tables + 13, 4);
      uint64_t argument[2] = {0}, result = 0;
      struct context c = {0};
      memcpy((char*)&c + ARGUMENTS, &(const uint64_t*){argument}, 8);
      memcpy((char*)&c + RESULTS, &(uint64_t*){&result}, 8);
      ((void (*)(struct context*, int64_t, int64_t, int32_t))(tables + distance))(&c, 0, 1, 0);
      float number;
      memcpy(&number, &result, 4);
      return number;
    }
    int main(void) {
      return run(kiln_module_v1_one) == 2.5f && run(kiln_module_v1_two) == 2.5f ? 0 : 1;
    })");
  for (const std::string kind : {"-static -no-pie -fno-pie", "-pie -fpie"}) {
    const std::string program = testing::TempDir() + "/program";
    const std::string command = absl::StrCat(
        "gcc -w -Wl,--fatal-warnings ", kind, " -DARGUMENTS=", offsetof(KilnContext, arguments),
        " -DRESULTS=", offsetof(KilnContext, results), " -o ", program, " ", source, " ",
        objects[0], " ", objects[1], " -lm");
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    EXPECT_EQ(std::system(program.c_str()), 0) << kind;
  }
}

// A module of images for CUDA devices, which are in its tables.
TEST(LinkModule, LinksTablesAlone) {
  for (const Form form : {proto::LinkRequest::SHARED, proto::LinkRequest::OBJECT}) {
    proto::LinkRequest request;
    request.set_tables("what a module without code for CPUs has");
    request.set_symbol(kSymbol);
    request.set_form(form);
    const auto reply = cpu::LinkModule(request);
    ASSERT_TRUE(reply.ok()) << reply.status();
    EXPECT_NE(reply->file().find(request.tables()), std::string::npos);
    EXPECT_TRUE(reply->needs().empty());
  }
}

TEST(LinkModule, NamesWhatIsWrongWithARequest) {
  proto::LinkRequest request = Request();
  request.clear_objects();
  EXPECT_THAT(Error(request), HasSubstr("which no object defines"));

  request = Request();
  request.clear_tables();
  EXPECT_EQ(Error(request), "a module without tables");

  request = Request();
  request.set_symbol("x; local: y");
  EXPECT_EQ(Error(request), "'x; local: y' is not a name for a module's tables");

  request = Request();
  request.set_symbol("kb_task_0");
  EXPECT_EQ(Error(request), "object 1 defines kb_task_0, the tables' symbol");

  request = Request();
  request.set_form(static_cast<Form>(7));
  EXPECT_EQ(Error(request), "a module of unknown form 7");

  request = Request();
  request.add_objects(request.objects(0));
  EXPECT_EQ(Error(request), "object 3: it defines ka_task_0, as object 0 does");

  request = Request();
  request.mutable_objects(2)->resize(request.objects(2).size() / 2);
  EXPECT_THAT(Error(request), HasSubstr("object 2: "));

  request = Request();
  request.set_objects(1, "not a file of any kind, but long enough to hold the header of one.....");
  EXPECT_EQ(Error(request), "object 1: it is not a relocatable ELF object for x86-64");
  request.set_objects(1, cpu::LinkModule(Request())->file());
  EXPECT_EQ(Error(request), "object 1: it is not a relocatable ELF object for x86-64");
  request.set_objects(1, "short");
  EXPECT_THAT(Error(request), HasSubstr("object 1: "));

  request = Request();
  request.set_tables(std::string((64 << 20) + 1, 'x'));
  EXPECT_THAT(Error(request), HasSubstr("at most 67108864"));
}

TEST(LinkModule, NamesWhatIsWrongWithAFixup) {
  proto::LinkRequest request = Request();
  AddFixup(8, "task_0", &request);
  EXPECT_EQ(Error(request), "the fixup at offset 8 names 'task_0', which no object defines");

  request = Request();
  AddFixup(21, "ka_task_0", &request);
  EXPECT_EQ(Error(request), "a fixup at offset 21 of tables of 24 bytes");

  request = Request();
  AddFixup(0xffffffff, "ka_task_0", &request);
  EXPECT_EQ(Error(request), "a fixup at offset 4294967295 of tables of 24 bytes");

  request = Request();
  AddFixup(7, "ka_task_0", &request);
  EXPECT_EQ(Error(request), "the fixups at offsets 4 and 7 overlap");
  // Twice the same place, too.
  request = Request();
  AddFixup(4, "ka_task_0", &request);
  EXPECT_EQ(Error(request), "the fixups at offsets 4 and 4 overlap");
}

}  // namespace
}  // namespace kiln
