#include "client_cpp/manifest.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "client_cpp/manifest_recorder.h"
#include "common/base/digest.h"
#include "gtest/gtest.h"

namespace kiln {
namespace {

Manifest Example() {
  const std::string name = Sha256Of("one").Hex();
  Manifest manifest;
  manifest.name = "app.py";
  manifest.compiler = std::string(64, 'c');
  manifest.units = {{std::string(64, '1'), name, "x86-64-v3", "-", "first"},
                    {std::string(64, '2'), name, "-", "-", "second of two words"},
                    {std::string(64, '3'), "-", "-", "warm/ab/cd", "third"}};
  manifest.recorded = {{name, "one"}};
  return manifest;
}

TEST(Manifest, ComesBack) {
  Manifest manifest = Example();
  EXPECT_EQ(ParseManifest(ManifestBytes(manifest)).value(), manifest);
  manifest.recorded.reset();
  manifest.modules = {{std::string(64, 'a'), "/a module.py"}};
  EXPECT_EQ(ParseManifest(ManifestBytes(manifest)).value(), manifest);
}

TEST(Manifest, NamesStayInTheirLines) {
  Manifest manifest = Example();
  manifest.name = "two\nlines";
  manifest.units[0].kernel = "k\nunit";
  const absl::StatusOr<Manifest> read = ParseManifest(ManifestBytes(manifest));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->name, "two?lines");
  EXPECT_EQ(read->units[0].kernel, "k?unit");
}

TEST(Manifest, SaysWhatIsWrong) {
  const std::string whole = ManifestBytes(Example());
  const auto refusal = [](absl::string_view bytes) {
    return std::string(ParseManifest(bytes).status().message());
  };
  const std::pair<std::string, std::string> cases[] = {
      {"", "it ends before the line 'compiler'"},
      {"kiln-manifest 3\n", "it ends before the line 'compiler'"},
      {"kiln-manifest 9\n", "of another version: line 1 should be 'kiln-manifest 3'"},
      {"#!/usr/bin/python\n", "not a manifest: line 1 should be 'kiln-manifest 3'"},
      {"kiln-manifest 3", "line 1 does not end"},
      {"kiln-manifest 3\nunit 1 2\n", "line 2: 'unit KEY RECORDED TARGET RECORD KERNEL' expected"},
      {"kiln-manifest 3\nprogram - -\nprogram - -\n", "line 3: 'program' is not expected here"},
      {whole.substr(0, whole.size() - 1), "what follows its last line is damaged or cut off"},
      {absl::StrReplaceAll(whole, {{"\nrecorded 11 ", "\nrecorded 11000000 "}}),
       "line 7: 11000000 bytes cannot come of"},
      {absl::StrReplaceAll(whole, {{"\nrecorded 11 ", "\nrecorded 12 "}}), "are not of 12 bytes"},
      {absl::StrReplaceAll(whole, {{"\nrecorded 11 ", "\nrecorded 10 "}}), "are not of 10 bytes"},
      {absl::StrReplaceAll(whole, {{Sha256Of("one").Hex(), "-"}}), "that no unit names"},
  };
  for (const auto& [bytes, text] : cases) {
    EXPECT_NE(refusal(bytes).find(text), std::string::npos) << refusal(bytes) << " for " << bytes;
  }
}

TEST(ManifestRecorder, KeepsTheFirstUnitOfEachKey) {
  ManifestRecorder recorder("/nowhere");
  recorder.Add({"key", "-", "-", "-", "first"}, "recorded", Digest());
  recorder.Add({"key", "-", "-", "-", "again"}, "recorded", Sha256Of("compiler"));
  const Manifest made = recorder.Made("program");
  ASSERT_EQ(made.units.size(), 1u);
  EXPECT_EQ(made.units[0].kernel, "first");
  EXPECT_EQ(made.units[0].recorded, Sha256Of("recorded").Hex());
  EXPECT_EQ(made.recorded->at(made.units[0].recorded), "recorded");
  EXPECT_EQ(made.compiler, Sha256Of("compiler").Hex());
  EXPECT_EQ(made.name, "program");
}

}  // namespace
}  // namespace kiln
