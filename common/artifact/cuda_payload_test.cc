#include "common/artifact/cuda_payload.h"

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

}  // namespace
}  // namespace kiln
