#include "common/base/first_use.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace kiln {
namespace {

TEST(FirstUseTest, MakesTheValueOnce) {
  static FirstUse<std::string> value;
  EXPECT_EQ(value.Get([] { return "first"; }), "first");
  EXPECT_EQ(value.Get([] { return "second"; }), "first");
  EXPECT_EQ(value.Get(), "first");
}

TEST(FirstUseTest, NeedsNeitherCopiesNorMoves) {
  static FirstUse<std::atomic<int>> value;
  value.Get() = 3;
  EXPECT_EQ(value.Get(), 3);
}

TEST(FirstUseTest, GivesAllThreadsTheSameValue) {
  static FirstUse<std::string> value;
  std::atomic<int> ready{0};
  constexpr int kThreads = 4;
  std::vector<std::string*> found(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      found[t] = &value.Get([&] {
        // All make one, before any is ready.
        ready.fetch_add(1);
        while (ready.load() < kThreads) std::this_thread::yield();
        return std::to_string(t);
      });
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(found, std::vector<std::string*>(kThreads, &value.Get()));
}

TEST(FirstUseTest, AChildDoesNotWaitForAThreadOfItsParent) {
  static FirstUse<int> value;
  std::atomic<bool> is_making{false}, may_end{false};
  std::thread making([&] {
    value.Get([&] {
      is_making = true;
      while (!may_end) std::this_thread::yield();
      return 1;
    });
  });
  while (!is_making) std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // instead of waiting for ever
    _exit(value.Get([] { return 2; }));
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 2);
  may_end = true;
  making.join();
  EXPECT_EQ(value.Get(), 1);
}

}  // namespace
}  // namespace kiln
