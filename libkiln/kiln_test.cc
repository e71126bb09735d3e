// The C interface without a module: contexts, errors, arrays. tests/module runs modules.
#include "kiln/kiln.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <thread>

namespace {

int Threads() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    if (word == "Threads:") break;
  }
  int count = 0;
  status >> count;
  return count;
}

TEST(ContextTest, EndsItsThreads) {
  const int before = Threads();
  kiln_context_options options{};
  options.size = sizeof options;
  options.max_threads = 4;
  kiln_context* context = nullptr;
  ASSERT_EQ(kiln_context_new(&options, &context), KILN_OK);
  EXPECT_EQ(Threads(), before);  // none before the first loop
  ASSERT_EQ(kiln_context_prepare(context), KILN_OK);
  EXPECT_EQ(Threads(), before + 3);
  ASSERT_EQ(kiln_context_free(context), KILN_OK);
  EXPECT_EQ(Threads(), before);
}

TEST(ContextTest, RefusesAFreedOne) {
  kiln_context* context = nullptr;
  ASSERT_EQ(kiln_context_new(nullptr, &context), KILN_OK);
  ASSERT_EQ(kiln_context_free(context), KILN_OK);
  EXPECT_EQ(kiln_context_free(context), KILN_INVALID_ARGUMENT);
  kiln_module* module = nullptr;
  EXPECT_EQ(kiln_module_open(context, "x.kiln", nullptr, &module), KILN_INVALID_ARGUMENT);
  EXPECT_STREQ(kiln_error(), "kiln_module_open: 'context' is NULL, or has been freed");
}

TEST(ContextTest, RefusesHalfAnExecutor) {
  kiln_executor executor{};
  executor.size = sizeof executor;
  executor.concurrency = [](void*) { return 1; };
  kiln_context_options options{};
  options.size = sizeof options;
  options.executor = &executor;
  kiln_context* context = nullptr;
  EXPECT_EQ(kiln_context_new(&options, &context), KILN_INVALID_ARGUMENT);
  EXPECT_EQ(context, nullptr);
}

// A program with an older header passes a shorter struct.
TEST(ContextTest, TakesOptionsOfAnOlderHeader) {
  kiln_context_options options{};
  options.size = offsetof(kiln_context_options, executor);
  options.executor = reinterpret_cast<const kiln_executor*>(16);  // must not be read
  kiln_context* context = nullptr;
  ASSERT_EQ(kiln_context_new(&options, &context), KILN_OK);
  EXPECT_EQ(kiln_context_free(context), KILN_OK);
}

TEST(ModuleTest, NamesWhatIsNoModule) {
  kiln_context* context = nullptr;
  ASSERT_EQ(kiln_context_new(nullptr, &context), KILN_OK);
  kiln_module* module = nullptr;
  EXPECT_EQ(kiln_module_open(context, "/nowhere/x.kiln", nullptr, &module), KILN_UNAVAILABLE);
  EXPECT_STREQ(kiln_error(), "/nowhere/x.kiln: No such file or directory");
  EXPECT_EQ(kiln_module_open(context, "/proc/self/exe", nullptr, &module), KILN_DATA_LOSS);
  EXPECT_EQ(kiln_module_open(context, "/tmp", nullptr, &module), KILN_DATA_LOSS);
  EXPECT_EQ(kiln_module_open(context, nullptr, nullptr, &module), KILN_INVALID_ARGUMENT);
  EXPECT_EQ(kiln_module_open_bytes(context, "KILN", 4, nullptr, &module), KILN_DATA_LOSS);
  EXPECT_EQ(module, nullptr);
  EXPECT_EQ(kiln_context_free(context), KILN_OK);
}

TEST(ErrorTest, IsTheThreadsOwn) {
  EXPECT_EQ(kiln_context_new(nullptr, nullptr), KILN_INVALID_ARGUMENT);
  EXPECT_STRNE(kiln_error(), "");
  std::thread([] { EXPECT_STREQ(kiln_error(), ""); }).join();
}

TEST(ArrayTest, HasDlpacksNumbers) {
  float data[6];
  const int64_t shape[] = {2, 3};
  const kiln_array array = kiln_array_of(data, KILN_F32, 2, shape);
  EXPECT_EQ(array.data, data);
  EXPECT_EQ(array.device_type, 1);
  EXPECT_EQ(array.code, 2);
  EXPECT_EQ(array.bits, 32);
  EXPECT_EQ(array.lanes, 1);
  EXPECT_EQ(array.strides, nullptr);
  // DLTensor's layout.
  EXPECT_EQ(offsetof(kiln_array, ndim), 16u);
  EXPECT_EQ(offsetof(kiln_array, code), 20u);
  EXPECT_EQ(offsetof(kiln_array, shape), 24u);
  EXPECT_EQ(offsetof(kiln_array, byte_offset), 40u);
  EXPECT_EQ(sizeof(kiln_array), 48u);
}

TEST(SlotTest, HoldsNumbers) {
  EXPECT_EQ(kiln_slot_int(KILN_I8, 0xff), -1);
  EXPECT_EQ(kiln_slot_int(KILN_U8, 0xff), 255);
  EXPECT_EQ(kiln_slot_float(KILN_F16, 0x3c00), 1.0);
  EXPECT_STREQ(kiln_dtype_name(KILN_F32), "f32");
  EXPECT_EQ(kiln_dtype_name(77), nullptr);
}

}  // namespace
