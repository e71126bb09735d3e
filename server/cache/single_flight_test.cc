#include "server/cache/single_flight.h"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace kiln {
namespace {

using Flights = SingleFlight<std::string>;

const Digest kKey = Sha256Of("key");

Flights::Result Value(const std::string& text) { return std::make_shared<const std::string>(text); }

TEST(SingleFlight, ConcurrentCallersShareOneFlight) {
  Flights flights;
  std::atomic<int> started{0}, joined{0}, good{0};
  Flights::Done done;
  auto start = [&](Flights::Done d) -> Flights::Control {
    done = std::move(d);
    ++started;
    return Flights::Control();
  };
  std::vector<std::thread> callers;
  for (int i = 0; i < 16; ++i) {
    callers.emplace_back([&] {
      auto outcome = flights.Do(kKey, absl::InfiniteFuture(), nullptr, start);
      joined += outcome.joined;
      good += outcome.result.ok() && **outcome.result == "made";
    });
  }
  while (started == 0) absl::SleepFor(absl::Milliseconds(1));
  absl::SleepFor(absl::Milliseconds(100));  // until the others have joined
  done(Value("made"));
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(started, 1);
  EXPECT_EQ(joined, 15);
  EXPECT_EQ(good, 16);
  EXPECT_EQ(flights.size(), 0u);
}

TEST(SingleFlight, WorkMayEndWithinItsStart) {
  Flights flights;
  for (int i = 0; i < 2; ++i) {
    auto outcome = flights.Do(kKey, absl::InfiniteFuture(), nullptr, [](Flights::Done done) {
      done(absl::ResourceExhaustedError("full"));
      return Flights::Control();
    });
    EXPECT_TRUE(absl::IsResourceExhausted(outcome.result.status()));
    EXPECT_FALSE(outcome.joined);
  }
}

TEST(SingleFlight, TheLastToLeaveCancels) {
  Flights flights;
  std::atomic<int> cancelled{0};
  std::atomic<bool> gone{false};
  Flights::Done done;
  auto start = [&](Flights::Done d) -> Flights::Control {
    done = std::move(d);
    return {[&] { ++cancelled; }, nullptr};
  };
  std::thread first([&] {
    auto outcome = flights.Do(kKey, absl::InfiniteFuture(), [&] { return gone.load(); }, start);
    EXPECT_TRUE(absl::IsCancelled(outcome.result.status()));
  });
  while (flights.size() == 0) absl::SleepFor(absl::Milliseconds(1));
  auto outcome = flights.Do(kKey, absl::Now() + absl::Milliseconds(120), nullptr, start);
  EXPECT_TRUE(outcome.joined);
  EXPECT_TRUE(absl::IsDeadlineExceeded(outcome.result.status()));
  EXPECT_EQ(cancelled, 0);  // the first still waits
  gone = true;
  first.join();
  EXPECT_EQ(cancelled, 1);
  EXPECT_EQ(flights.size(), 0u);
  done(Value("too late"));  // harmless
}

TEST(SingleFlight, ACallerAfterACancellationStartsANewFlight) {
  Flights flights;
  int started = 0;
  std::vector<Flights::Done> dones;
  auto hang = [&](Flights::Done done) -> Flights::Control {
    ++started;
    dones.push_back(std::move(done));
    return {};
  };
  auto late = flights.Do(kKey, absl::Now() + absl::Milliseconds(10), nullptr, hang);
  EXPECT_TRUE(absl::IsDeadlineExceeded(late.result.status()));
  auto outcome = flights.Do(kKey, absl::InfiniteFuture(), nullptr, [&](Flights::Done done) {
    ++started;
    dones[0](Value("of the cancelled flight"));
    done(Value("fresh"));
    return Flights::Control();
  });
  EXPECT_EQ(**outcome.result, "fresh");
  EXPECT_EQ(started, 2);
}

TEST(SingleFlight, AnInteractiveCallerRaisesAWarmFlightsPriority) {
  Flights flights;
  std::atomic<int> raised{0};
  Flights::Done done;
  auto start = [&](Flights::Done d) -> Flights::Control {
    done = std::move(d);
    return {nullptr, [&] { ++raised; }};
  };
  const auto ask = [&](bool waits) {
    return std::thread([&, waits] {
      EXPECT_TRUE(flights.Do(kKey, absl::InfiniteFuture(), nullptr, start, waits).result.ok());
    });
  };
  std::thread warm = ask(false);
  while (flights.size() == 0) absl::SleepFor(absl::Milliseconds(1));
  std::thread another = ask(false);
  absl::SleepFor(absl::Milliseconds(50));
  EXPECT_EQ(raised, 0);
  std::thread waits = ask(true);
  while (raised == 0) absl::SleepFor(absl::Milliseconds(1));
  std::thread later = ask(true);
  absl::SleepFor(absl::Milliseconds(50));
  EXPECT_EQ(raised, 1);
  done(Value("x"));
  for (std::thread* thread : {&warm, &another, &waits, &later}) thread->join();
}

TEST(SingleFlight, AFinishedFlightIsForgotten) {
  Flights flights;
  std::weak_ptr<int> work;
  {
    auto held = std::make_shared<int>(1);
    work = held;
    Flights::Done keep;
    flights.Do(kKey, absl::InfiniteFuture(), nullptr, [&](Flights::Done done) {
      std::thread([done] {
        absl::SleepFor(absl::Milliseconds(20));
        done(Value("x"));
      }).detach();
      // Refers to the work and, through `done`, to the flight.
      return Flights::Control{[held, done] {}, nullptr};
    });
  }
  for (int i = 0; i < 200 && !work.expired(); ++i) absl::SleepFor(absl::Milliseconds(5));
  EXPECT_TRUE(work.expired());
}

}  // namespace
}  // namespace kiln
