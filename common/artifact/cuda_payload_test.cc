#include "common/artifact/cuda_payload.h"

#include <elf.h>

#include <cstddef>
#include <cstring>

#include "gtest/gtest.h"

namespace kiln {
namespace {

const std::string& Ptx() {
  static const auto* const text = new std::string(5000, 'p');
  return *text;
}

TEST(CudaPayloadTest, RoundTrips) {
  for (const std::string_view cubin : {"", "cubin"}) {
    const std::string payload = PackCudaPayload(cubin, Ptx());
    CudaPayload read;
    ASSERT_EQ(UnpackCudaPayload(payload, &read), "");
    EXPECT_EQ(read.cubin, cubin);
    std::string text;
    ASSERT_EQ(CudaPtxText(read, &text), "");
    EXPECT_EQ(text, Ptx());
    EXPECT_EQ(PackCudaPayload(cubin, Ptx()), payload);
  }
}

TEST(CudaPayloadTest, HasTheDocumentedHeader) {
  const std::string payload = PackCudaPayload("abc", Ptx());
  EXPECT_EQ(payload.substr(0, 8), "KILNCUDA");
  EXPECT_EQ(payload.substr(8, 8), std::string("\3\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(payload.substr(24, 8), std::string("\x88\x13\0\0\0\0\0\0", 8));
  EXPECT_EQ(payload.substr(32, 3), "abc");
}

TEST(CudaPayloadTest, RefusesCutAndExtendedBytes) {
  const std::string payload = PackCudaPayload("abc", Ptx());
  CudaPayload read;
  for (size_t size = 0; size < payload.size(); ++size) {
    EXPECT_NE(UnpackCudaPayload(payload.substr(0, size), &read), "") << size;
  }
  EXPECT_NE(UnpackCudaPayload(payload + "x", &read), "");
  EXPECT_EQ(UnpackCudaPayload("\x7f"
                              "ELF" +
                                  payload,
                              &read),
            "does not begin like CUDA code");
}

// Whatever a forged byte says, reading stays in the payload and ends with an error or with text.
TEST(CudaPayloadTest, SurvivesForgedBytes) {
  const std::string payload = PackCudaPayload("abc", Ptx());
  for (size_t i = 0; i < payload.size(); ++i) {
    for (const char forged : {'\0', '\x01', '\x7f', '\xff'}) {
      std::string bytes = payload;
      bytes[i] = forged;
      CudaPayload read;
      std::string text;
      if (UnpackCudaPayload(bytes, &read).empty()) CudaPtxText(read, &text);
    }
  }
}

TEST(CudaPayloadTest, RefusesTextOfAnotherLength) {
  for (const char low : {'\x87', '\x89'}) {
    std::string payload = PackCudaPayload("", Ptx());
    payload[24] = low;
    CudaPayload read;
    std::string text;
    ASSERT_EQ(UnpackCudaPayload(payload, &read), "");
    EXPECT_EQ(CudaPtxText(read, &text), "its PTX cannot be uncompressed");
  }
}

// The least that a cubin of a toolkit has: a header and one section, of 8 bytes.
std::string Cubin(uint32_t arch, bool old = false) {
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_OSABI] = old ? 51 : 65;
  header.e_type = ET_EXEC;
  header.e_machine = 190;
  header.e_flags = old ? arch | 0x500 : arch << 8 | 0x06000004;
  header.e_ehsize = sizeof header;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 1;
  header.e_shoff = sizeof header + 8;
  Elf64_Shdr section = {};
  section.sh_type = SHT_PROGBITS;
  section.sh_offset = sizeof header;
  section.sh_size = 8;
  std::string file(reinterpret_cast<const char*>(&header), sizeof header);
  file.append(8, 'c');
  return file.append(reinterpret_cast<const char*>(&section), sizeof section);
}

constexpr char kText[] = ".version 7.8\n.target sm_90\n.address_size 64\n";

std::string Problem(std::string_view cubin, Target target) {
  CudaPayload read;
  return CheckCudaPayload(PackCudaPayload(cubin, kText), target, &read);
}

TEST(CudaPayloadTest, TakesMachineCodeOfTheTargetAlone) {
  for (const bool old : {false, true}) {
    EXPECT_EQ(Problem(Cubin(90, old), Target::Cuda(90)), "");
    EXPECT_EQ(Problem(Cubin(80, old), Target::Cuda(90)),
              "its machine code is for sm_80, not sm_90");
  }
  EXPECT_EQ(Problem("", Target::Cuda(90)), "") << "a worker without nvJitLink";
  EXPECT_EQ(Problem("", Target::CudaPtx(90)), "");
  EXPECT_EQ(Problem(Cubin(90), Target::CudaPtx(90)), "machine code in an entry for compute_90");
}

TEST(CudaPayloadTest, RefusesForeignMachineCode) {
  EXPECT_EQ(Problem("text", Target::Cuda(90)), "its machine code is not an ELF file");
  std::string host = Cubin(90);
  host[offsetof(Elf64_Ehdr, e_machine)] = EM_X86_64;
  EXPECT_EQ(Problem(host, Target::Cuda(90)), "its machine code is not for CUDA devices");
}

TEST(CudaPayloadTest, RefusesMachineCodeThatIsCutOffOrDamaged) {
  const std::string whole = Cubin(90);
  for (size_t size = 1; size < whole.size(); ++size) {
    EXPECT_NE(Problem(whole.substr(0, size), Target::Cuda(90)), "") << size;
  }
  // No forged byte leads out of the bytes.
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string forged = whole;
    forged[i] = '\xff';
    Problem(forged, Target::Cuda(90));
  }
  std::string forged = whole;
  forged[whole.size() - sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_size) + 7] = '\x7f';
  EXPECT_EQ(Problem(forged, Target::Cuda(90)), "its machine code is cut off or damaged");
}

TEST(CudaPayloadTest, PtxIsTextForTheTargetsLevel) {
  const auto problem = [](std::string_view ptx, Target target) {
    const std::string payload = PackCudaPayload("", ptx);
    CudaPayload read;
    EXPECT_EQ(UnpackCudaPayload(payload, &read), "");
    return CheckCudaPtx(read, target);
  };
  EXPECT_EQ(problem(kText, Target::Cuda(90)), "");
  EXPECT_EQ(problem(kText, Target::Cuda(120)), "") << "runs PTX of sm_90";
  EXPECT_EQ(problem(kText, Target::CudaPtx(80)), "its PTX is not for compute_80");
  EXPECT_EQ(problem("\n.target sm_900\n", Target::Cuda(90)), "its PTX is not for compute_90");
  EXPECT_EQ(problem("nothing", Target::Cuda(90)), "its PTX is not for compute_90");
  EXPECT_EQ(problem(std::string(kText) + '\0', Target::Cuda(90)), "its PTX is not text");
}

}  // namespace
}  // namespace kiln
