#include "server/events/event_loop.h"

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <thread>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"

namespace kiln {
namespace {

// A queue of tasks, which run in order.
class Tasks final : public Events {
 public:
  using Task = std::function<void(LoopThread*)>;
  void Add(Task task) {
    absl::MutexLock lock(&mutex_);
    tags_.push_back(std::make_unique<OneTask>(std::move(task)));
    waiting_.push_back(tags_.back().get());
  }
  void End() {
    absl::MutexLock lock(&mutex_);
    ended_ = true;
  }
  bool Next(Tag** tag, bool* ok) override {
    absl::MutexLock lock(&mutex_);
    auto some = [this]()
                    ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return ended_ || !waiting_.empty(); };
    mutex_.Await(absl::Condition(&some));
    if (waiting_.empty()) return false;
    *tag = waiting_.front();
    *ok = true;
    waiting_.pop_front();
    return true;
  }

 private:
  struct OneTask final : Tag {
    explicit OneTask(Task task) : task(std::move(task)) {}
    void Happened(bool /*ok*/, LoopThread* thread) override { task(thread); }
    const Task task;
  };

  absl::Mutex mutex_;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<Tag*> waiting_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::unique_ptr<OneTask>> tags_ ABSL_GUARDED_BY(mutex_);
};

class TurnsTest : public testing::Test {
 protected:
  // Whether the loop handles a quick task that arrives now.
  bool Answers() {
    auto done = std::make_shared<absl::Notification>();
    tasks_.Add([done](LoopThread*) { done->Notify(); });
    return done->WaitForNotificationWithTimeout(absl::Milliseconds(500));
  }
  // Adds a task that hands off the loop, if possible, and lasts until `release_`.
  void AddSlow(std::atomic<int>* handed, std::atomic<int>* refused) {
    tasks_.Add([this, handed, refused](LoopThread* thread) {
      if (!thread->HandOver()) {
        ++*refused;
        return;
      }
      ++*handed;
      EXPECT_TRUE(thread->HandOver()) << "the second time it is nothing";
      release_.WaitForNotification();
    });
  }

  Tasks tasks_;
  absl::Notification release_;
};

TEST_F(TurnsTest, OneThreadHandlesQuickRequests) {
  std::set<std::thread::id> threads;  // needs no lock: one thread at a time uses it
  {
    EventLoop loop(&tasks_, 8);
    ASSERT_TRUE(loop.Start());
    ASSERT_TRUE(loop.Start()) << "it had been";
    for (int i = 0; i < 8; ++i) {
      tasks_.Add([&](LoopThread*) { threads.insert(std::this_thread::get_id()); });
      ASSERT_TRUE(Answers());
    }
    tasks_.End();
  }
  EXPECT_EQ(threads.size(), 1u);
}

TEST_F(TurnsTest, SlowRequestsDelayNoOthers) {
  std::atomic<int> handed{0}, refused{0};
  EventLoop loop(&tasks_, 8);
  ASSERT_TRUE(loop.Start());
  for (int i = 0; i < 7; ++i) {
    AddSlow(&handed, &refused);
    EXPECT_TRUE(Answers());
  }
  EXPECT_EQ(handed, 7);
  // The loop has its maximum of threads, so the last one continues to wait for events.
  AddSlow(&handed, &refused);
  EXPECT_TRUE(Answers());
  EXPECT_EQ(refused, 1);
  release_.Notify();
  EXPECT_TRUE(Answers());
  tasks_.End();
}

TEST_F(TurnsTest, ReusesIdleThreads) {
  std::set<std::thread::id> threads;
  absl::Mutex mutex;
  EventLoop loop(&tasks_, 100);
  ASSERT_TRUE(loop.Start());
  for (int i = 0; i < 50; ++i) {
    tasks_.Add([&](LoopThread* thread) {
      EXPECT_TRUE(thread->HandOver());
      absl::MutexLock lock(&mutex);
      threads.insert(std::this_thread::get_id());
    });
    absl::SleepFor(absl::Milliseconds(2));
  }
  EXPECT_TRUE(Answers());
  tasks_.End();
  absl::MutexLock lock(&mutex);
  EXPECT_LT(threads.size(), 10u);
}

TEST_F(TurnsTest, ShutdownWaitsForRunningRequests) {
  std::atomic<bool> done{false};
  {
    EventLoop loop(&tasks_, 8);
    ASSERT_TRUE(loop.Start());
    tasks_.Add([&](LoopThread* thread) {
      EXPECT_TRUE(thread->HandOver());
      absl::SleepFor(absl::Milliseconds(100));
      done = true;
    });
    ASSERT_TRUE(Answers());
    tasks_.End();
  }
  EXPECT_TRUE(done);
}

}  // namespace
}  // namespace kiln
