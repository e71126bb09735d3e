// What a program chooses for its process: the device, and the options of Service.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <kiln/dsl.hpp>
#include <string>
#include <vector>

#include "tests/e2e/cpp/dsl_test.h"

namespace {

using namespace kiln::dsl;  // NOLINT(google-build-using-namespace): as programs do
using kiln::dsl_test::ErrorOf;
using kiln::dsl_test::OnArch;
using kiln::dsl_test::OnCuda;
using kiln::dsl_test::OnTestArch;
using testing::HasSubstr;

TEST(ServiceTest, DevicesAreNotMixed) {
  EXPECT_THAT(ErrorOf([] { Use(OnArch("vulkan")); }),
              HasSubstr("no arch 'vulkan': expected \"cpu\" or \"cuda\""));
  if (!OnCuda()) return;
  Field<float, 1> there({8});
  const TreeField<float, 1> cells(Tree().root().pointer("i", {8}));
  Use(OnArch("cpu"));
  Field<float, 1> here({8});
  const int line = __LINE__ + 1;  // of the macro
  EXPECT_THAT(ErrorOf([&] { Kernel k("k", [&] { there[0] = here[0]; }); }),
              HasSubstr(__FILE__ ":" + std::to_string(line) +
                        ": the kernel is for the CPU, and uses a field on CUDA device 0"));
  EXPECT_THAT(ErrorOf([&] { Kernel k("k", [&] { cells(0) = 1; }); }),
              HasSubstr("uses a field on CUDA device 0"));
  Kernel set("set", [](Array<float, 1> x) { x[0] = 1; });
  EXPECT_THAT(
      ErrorOf([&] { set(there); }),
      HasSubstr("the field for parameter 0 is on CUDA device 0, the kernel is for the CPU"));
  set(here);
  Use(OnArch("cuda"));
  EXPECT_EQ(here.get(0), 1);
  there.set(2, 1);
  EXPECT_EQ(there.get(1), 2) << "still usable";
}

TEST(ServiceTest, ForkedProcesses) {
  Field<int, 1> x({8});
  x.set(3, 1);
  const pid_t child = fork();
  if (child == 0) {
    const std::string error = ErrorOf([&] { x.set(4, 1); });
    _exit(error == "no error" ? 0 : error.find("fork") != std::string::npos ? 1 : 2);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), OnCuda() ? 1 : 0) << "CUDA does not work in forked processes";
  EXPECT_EQ(x.get(1), 3);
}

// In a process of its own: the device is of no use afterwards.
TEST(ServiceTest, DISABLED_IllegalAddress) {
  Field<float, 1> x({16});
  Kernel far("far", [&](Value<int> n) { x[n] = 1; });
  far(400'000'000);
  const std::string error = ErrorOf([] { Sync(); });
  EXPECT_THAT(error, HasSubstr("an illegal memory access was encountered, in kernel `far`"));
  EXPECT_THAT(ErrorOf([&] { x.get(0); }), HasSubstr("illegal memory access"));
  EXPECT_THAT(ErrorOf([&] { far(0); }), HasSubstr("illegal memory access"));
}

TEST(ServiceTest, OptionsThatMakeNoSense) {
  const auto error_of = [](auto set) {
    Service service = OnTestArch();
    set(service);
    return ErrorOf([&] { Use(service); });
  };
  EXPECT_THAT(error_of([](Service& of) { of.cpu_max_num_threads = -1; }),
              HasSubstr("cpu_max_num_threads=-1: expected a number of threads"));
  EXPECT_THAT(error_of([](Service& of) { of.snode_memory_GB = -0.5; }),
              HasSubstr("snode_memory_GB=-0.5: expected a number of gigabytes"));
  EXPECT_THAT(error_of([](Service& of) { of.snode_memory_GB = 1e300; }), HasSubstr("gigabytes"));
  EXPECT_THAT(error_of([](Service& of) { of.ad_tape_GB = std::nan(""); }),
              HasSubstr("ad_tape_GB=nan: expected a number of gigabytes"));
  for (const int number : {-1, 100}) {
    const std::string text = error_of([&](Service& of) { of.cuda_device = number; });
    EXPECT_THAT(text,
                HasSubstr(OnCuda() ? "no CUDA device " + std::to_string(number) : "no error"));
  }
  Field<float, 1> x({4});
  Kernel one("one", [&] { ForEach(x, [&](Int i) { x[i] = 1; }); });
  one();
  EXPECT_EQ(x.get(3), 1) << "the device before is in use";
}

TEST(ServiceTest, RandomNumbersFollowFromTheSeed) {
  const auto draw = [](std::int64_t seed) {
    Service service = OnTestArch();
    service.random_seed = seed;
    service.cpu_max_num_threads = 1;
    Use(service);
    Field<float, 1> x({100});
    Kernel fill("fill", [&] { ForEach(x, [&](Int i) { x[i] = Random<float>(); }); });
    fill();
    fill();
    std::vector<float> all(100);
    x.CopyTo(all.data());
    return all;
  };
  const std::vector<float> first = draw(7);
  EXPECT_EQ(draw(7), first);
  EXPECT_NE(draw(-8), first);
  Use(OnTestArch());
}

TEST(ServiceTest, ChecksOfIndicesAlone) {
  Service service = OnTestArch();
  service.check_out_of_bound = true;
  Use(service);
  Field<int, 1> x({4});
  Kernel set("set", [&](Value<int> n) {
    Assert(n < 2, "not checked");
    x[n] = 7;
  });
  set(3);
  EXPECT_EQ(x.get(3), 7);
  EXPECT_THAT(ErrorOf([&] { set(4); }), HasSubstr("(4)"));
  Use(OnTestArch());
}

TEST(ServiceTest, OptionsOfCode) {
  const auto key = [](auto set) {
    Service service = OnTestArch();
    set(service);
    Use(service);
    Kernel k("k", [](Array<float, 1> x) { ForEach(x, [&](Int i) { x[0] += x[i]; }); });
    return k.program().key();
  };
  const std::string usual = key([](Service&) {});
  EXPECT_NE(key([](Service& of) { of.fast_math = false; }), usual);
  EXPECT_EQ(key([](Service& of) { of.deterministic = true; }) == usual, !OnCuda());
  EXPECT_EQ(key([](Service& of) {
              of.random_seed = 5;
              of.cpu_max_num_threads = 1;
              of.snode_memory_GB = 3;
              of.ad_tape_GB = 1;
            }),
            usual);
  Use(OnTestArch());
}

// In a process of its own, on a machine with two devices.
TEST(ServiceTest, DISABLED_SecondDevice) {
  Service second = OnArch("cuda");
  second.cuda_device = 1;
  Field<float, 1> x({16});
  Kernel one("one", [&] { ForEach(x, [&](Int i) { x[i] += 1; }); });
  Use(second);
  Field<float, 1> y({16});
  Kernel two("two", [&] { ForEach(y, [&](Int i) { y[i] += 2; }); });
  Kernel add("add", [](Array<float, 1> to) { ForEach(to, [&](Int i) { to[i] += 4; }); });
  one();
  two();
  add(y);
  EXPECT_EQ(x.get(15), 1);
  EXPECT_EQ(y.get(15), 6);
  EXPECT_THAT(ErrorOf([&] { Kernel both("both", [&] { x[0] = y[0]; }); }),
              HasSubstr("the kernel is for CUDA device 1, and uses a field on CUDA device 0"));
  EXPECT_THAT(ErrorOf([&] { add(x); }),
              HasSubstr("is on CUDA device 0, the kernel is for CUDA device 1"));
  EXPECT_THAT(ErrorOf([&] {
                Kernel late("late", [&](Array<float, 1> to) {
                  Use(OnArch("cuda"));
                  to[0] = 1;
                });
              }),
              HasSubstr("another device was chosen while the kernel was traced"));
  one();
  EXPECT_EQ(x.get(0), 2);
}

}  // namespace
