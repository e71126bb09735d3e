// Compares random trees and operations with a model of maps.
#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "runtime/tree/test_tree.h"
#include "runtime/tree/tree.h"

namespace kiln {
namespace {

constexpr int kAxes = 3;
using Key = std::array<int, kAxes>;

struct ModelLevel {
  proto::SNodeKind kind;
  int node, place;
  std::array<int, kAxes> extent;  // of this level; 1 where it does not divide the axis
  std::set<Key> active;           // sparse levels
  std::map<Key, int32_t> values;
};

// A chain of levels, each with its own place.
class Model {
 public:
  explicit Model(std::mt19937* random) : random_(*random) {
    const int depth = 1 + Below(4);
    int parent = 0;
    uint32_t chunk = 0;
    for (int k = 0; k < depth; ++k) {
      const bool last = k == depth - 1;
      ModelLevel level = {};
      level.extent.fill(1);
      level.kind = kKinds[Below(last ? 4 : 3)];
      std::vector<std::pair<uint32_t, uint64_t>> axes;
      if (level.kind == proto::SNODE_DYNAMIC) {
        axes.emplace_back(2, level.extent[2] = 1 + Below(70));
        chunk = 1 + Below(40);
      } else {
        const int first = Below(2), count = 1 + Below(2 - first);
        for (int a = first; a < first + count; ++a) {
          axes.emplace_back(a, level.extent[a] = 1 + Below(k == 0 ? 40 : 5));
        }
      }
      level.node = tree_.Add(level.kind, parent, axes, chunk);
      level.place = tree_.Place(level.node);
      parent = level.node;
      levels_.push_back(level);
    }
    real_ = tree_.Make();
  }

  void Step() {
    const int k = Below(levels_.size());
    ModelLevel& level = levels_[k];
    const Key key = RandomKey(k);
    const At at = {key[0], key[1], key[2]};
    switch (Below(20)) {
      case 0:
        ASSERT_TRUE(real_->Deactivate(level.node, at.data()).ok());
        Deactivate(k, key);
        break;
      case 1:
        if (Below(10) == 0) DeactivateAll(k);
        break;
      case 2:
        real_->Collect();
        break;
      case 3:
        CompareLists(k);
        break;
      case 4:
        if (level.kind == proto::SNODE_DYNAMIC) Append(k, key, at);
        break;
      case 5:
        if (level.kind != proto::SNODE_DENSE) {
          ASSERT_EQ(IsActive(*real_, level.node, at), level.active.count(key) != 0);
        }
        break;
      default:
        if (Below(3) == 0) {
          const int32_t value = Below(1000);
          WriteI32(*real_, level.place, at, value);
          Activate(k, key);
          level.values[key] = value;
        } else {
          const auto found = level.values.find(key);
          const int32_t expected = found == level.values.end() ? 0 : found->second;
          ASSERT_EQ(ReadI32(*real_, level.place, at), expected);
        }
    }
  }

  void CompareLists() {
    for (size_t k = 0; k < levels_.size(); ++k) CompareLists(static_cast<int>(k));
  }

 private:
  static constexpr proto::SNodeKind kKinds[] = {proto::SNODE_DENSE, proto::SNODE_POINTER,
                                                proto::SNODE_BITMASKED, proto::SNODE_DYNAMIC};

  int Below(size_t n) { return static_cast<int>(random_() % n); }

  Key RandomKey(int k) {
    Key key = {};
    for (int j = 0; j <= k; ++j) {
      for (int a = 0; a < kAxes; ++a)
        key[a] = key[a] * levels_[j].extent[a] + Below(levels_[j].extent[a]);
    }
    return key;
  }
  // The index of the cell of level `to` that contains the cell `key` of level `from`.
  Key Above(int from, int to, Key key) const {
    for (int j = from; j > to; --j) {
      for (int a = 0; a < kAxes; ++a) key[a] /= levels_[j].extent[a];
    }
    return key;
  }

  void Activate(int k, const Key& key) {
    for (int j = 0; j <= k; ++j) {
      ModelLevel& level = levels_[j];
      if (level.kind == proto::SNODE_DENSE) continue;
      Key cell = Above(k, j, key);
      level.active.insert(cell);
      // All cells of a dynamic node before an active one are active.
      while (level.kind == proto::SNODE_DYNAMIC && cell[2]-- > 0) level.active.insert(cell);
    }
  }

  template <typename T>
  static Key KeyOf(const T& entry) {
    if constexpr (std::is_same_v<T, Key>) {
      return entry;
    } else {
      return entry.first;
    }
  }
  template <typename Container>
  void EraseBelow(int j, int k, const Key& cell, Container* from) {
    for (auto entry = from->begin(); entry != from->end();) {
      entry = Above(j, k, KeyOf(*entry)) == cell ? from->erase(entry) : std::next(entry);
    }
  }

  void Deactivate(int k, const Key& key) {
    ModelLevel& level = levels_[k];
    if (level.kind == proto::SNODE_BITMASKED) level.active.erase(key);
    if (level.kind == proto::SNODE_POINTER) {
      for (int j = k; j < static_cast<int>(levels_.size()); ++j) {
        EraseBelow(j, k, key, &levels_[j].active);
        EraseBelow(j, k, key, &levels_[j].values);
      }
    }
    if (level.kind == proto::SNODE_DYNAMIC) {  // the last level: its whole container
      auto same = [&](Key other) { return other[0] == key[0] && other[1] == key[1]; };
      for (auto i = level.active.begin(); i != level.active.end();) {
        i = same(*i) ? level.active.erase(i) : std::next(i);
      }
      for (auto i = level.values.begin(); i != level.values.end();) {
        i = same(i->first) ? level.values.erase(i) : std::next(i);
      }
    }
  }

  void DeactivateAll(int k) {
    real_->DeactivateAll(levels_[k].node);
    for (int j = static_cast<int>(levels_.size()) - 1; j >= k; --j) {
      if (levels_[j].kind == proto::SNODE_DENSE) continue;
      for (const Key& key : Listed(j)) Deactivate(j, key);
    }
  }

  void Append(int k, const Key& key, const At& at) {
    ModelLevel& level = levels_[k];
    int length = 0;
    while (level.active.count({key[0], key[1], length}) != 0) ++length;
    ASSERT_EQ(*real_->Length(level.node, at.data()), length);
    uint8_t* cell = nullptr;
    auto taken = real_->Append(level.node, at.data(), &cell);
    ASSERT_TRUE(taken.ok()) << taken.error().text;
    if (length == level.extent[2]) {
      Key first = key;
      first[2] = 0;
      if (k > 0) Activate(k - 1, Above(k, k - 1, first));
      ASSERT_EQ(*taken, -1);
      return;
    }
    ASSERT_EQ(*taken, length);
    Activate(k, {key[0], key[1], length});
  }

  // The cells that are active together with all cells above, in the order of lists.
  std::vector<Key> Listed(int k) const {
    std::vector<Key> keys;
    for (const Key& key : levels_[k].active) {
      bool active = true;
      for (int j = 0; j < k; ++j) {
        const ModelLevel& level = levels_[j];
        active &= level.kind == proto::SNODE_DENSE || level.active.count(Above(k, j, key)) != 0;
      }
      if (active) keys.push_back(key);
    }
    std::sort(keys.begin(), keys.end(), [&](const Key& a, const Key& b) {
      for (int j = 0; j <= k; ++j) {
        const Key x = Above(k, j, a), y = Above(k, j, b);
        if (x != y) return x < y;
      }
      return false;
    });
    return keys;
  }

  void CompareLists(int k) {
    const ModelLevel& level = levels_[k];
    if (level.kind == proto::SNODE_DENSE) return;
    const std::vector<Key> expected = Listed(k);
    std::vector<Key> listed, sliced;
    ASSERT_EQ(real_->CountActive(level.node), expected.size());
    if (Below(2) == 0) CompareRuns(k, expected);
    const auto list = real_->List(level.node, false);
    for (int64_t i = 0; i < list->size(); ++i) {
      const int32_t* at = list->data()[i].at;
      listed.push_back({at[0], at[1], at[2]});
    }
    ASSERT_EQ(listed, expected);
    const auto slices = real_->List(level.node, true);
    for (int64_t i = 0; i < slices->size(); ++i) AddSlice(k, slices->data()[i], &sliced);
    ASSERT_EQ(sliced, expected);
    CompareRuns(k, expected);
  }

  void CompareRuns(int k, const std::vector<Key>& expected) {
    const ModelLevel& level = levels_[k];
    std::vector<Key> walked;
    real_->ForEachRun(level.node, [&](const CellRun& run) {
      Key key = {run.at[0], run.at[1], run.at[2]};
      for (uint64_t i = 0; i < run.count; ++i, ++key[LastAxis(level)]) {
        const At at = {key[0], key[1], key[2]};
        const uint64_t offset = i * real_->shape()[level.node].cell_bytes;
        ASSERT_EQ(*real_->Locate(level.node, at.data(), CellAccess::kFind), run.cell + offset);
        walked.push_back(key);
      }
    });
    ASSERT_EQ(walked, expected);
  }

  int LastAxis(const ModelLevel& level) const {
    return static_cast<int>(real_->shape()[level.node].levels.back().axis);
  }

  // Does what code for slices does.
  void AddSlice(int k, const KilnElement& e, std::vector<Key>* keys) {
    const ModelLevel& level = levels_[k];
    for (int i = e.begin; i < e.begin + e.count; ++i) {
      Key key = {e.at[0], e.at[1], e.at[2]};
      int rest = i;
      for (int a = kAxes - 1; a >= 0; --a) {
        key[a] += rest % level.extent[a];
        rest /= level.extent[a];
      }
      const At at = {key[0], key[1], key[2]};
      if (IsActive(*real_, level.node, at)) keys->push_back(key);
      if (level.kind == proto::SNODE_DYNAMIC) {
        const uint64_t offset = (i - e.begin) * real_->shape()[level.node].cell_bytes;
        ASSERT_EQ(*real_->Locate(level.node, at.data(), CellAccess::kFind), e.cell + offset);
      }
    }
  }

  std::mt19937& random_;
  TestTree tree_;
  std::vector<ModelLevel> levels_;
  std::unique_ptr<Tree> real_;
};

TEST(TreeRandomTest, TreesBehaveLikeMaps) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    Model model(&random);
    for (int step = 0; step < 400; ++step) {
      model.Step();
      if (HasFatalFailure() || HasNonfatalFailure()) return;
    }
    model.CompareLists();
    if (HasFatalFailure() || HasNonfatalFailure()) return;
  }
}

}  // namespace
}  // namespace kiln
