#include "client_cpp/manifest.h"

#include <zlib.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "client_cpp/recorded_kernel.h"
#include "common/base/digest.h"
#include "common/base/status_macros.h"

namespace kiln {
namespace {

constexpr char kHeader[] = "kiln-manifest 3";
// Bounds of what a manifest may ask for: it may come from anywhere. A large program has hundreds of
// units.
constexpr size_t kMaxLine = 10000;
constexpr size_t kMaxUnits = 20000;
constexpr uint64_t kMaxRecordedBytes = uint64_t{1} << 30;  // of all recorded kernels of a file
// Of those bytes to the compressed ones, above the first MiB.
constexpr uint64_t kMaxRatio = 256;

// A line end in a name would begin a line of its own.
std::string OneLine(absl::string_view text) { return absl::StrReplaceAll(text, {{"\n", "?"}}); }

std::string Packed(const std::string& raw) {
  uLongf size = compressBound(raw.size());
  std::string packed(size, '\0');
  // Can fail only for lack of memory or of room, and the bound is enough room.
  compress2(reinterpret_cast<Bytef*>(packed.data()), &size,
            reinterpret_cast<const Bytef*>(raw.data()), raw.size(), Z_BEST_COMPRESSION);
  packed.resize(size);
  return packed;
}

void AppendRecorded(const std::string& recorded, std::string* raw) {
  // Little-endian, whatever the machine.
  for (int shift = 0; shift < 64; shift += 8) {
    raw->push_back(static_cast<char>(uint64_t{recorded.size()} >> shift));
  }
  raw->append(recorded);
}

uint64_t LengthAt(const std::string& raw, size_t at) {
  uint64_t length = 0;
  for (int i = 7; i >= 0; --i) {
    length = length << 8 | (at + i < raw.size() ? static_cast<uint8_t>(raw[at + i]) : 0);
  }
  return length;
}

absl::Status Bad(absl::string_view text) { return absl::InvalidArgumentError(text); }

template <typename... Parts>
absl::Status BadLine(int number, const Parts&... parts) {
  return Bad(absl::StrCat("line ", number, ": ", parts...));
}

// Names are SHA-256 in hexadecimal, as keys are.
bool IsName(absl::string_view text) {
  return text.size() == 64 && absl::c_all_of(text, [](char c) {
           return absl::ascii_isdigit(c) || ('a' <= c && c <= 'f');
         });
}

// The text before the first space, which it and the space are removed from.
absl::string_view TakeWord(absl::string_view* rest) {
  const size_t end = std::min(rest->find(' '), rest->size());
  const absl::string_view word = rest->substr(0, end);
  rest->remove_prefix(std::min(end + 1, rest->size()));
  return word;
}

absl::StatusOr<Manifest::Unit> ParseUnit(absl::string_view rest, int number) {
  // The kernel's name is last, since it may contain spaces.
  const std::vector<std::string> words = absl::StrSplit(rest, absl::MaxSplits(' ', 4));
  if (words.size() != 5 || !IsName(words[0]) || (words[1] != "-" && !IsName(words[1]))) {
    return BadLine(number, "'unit KEY RECORDED TARGET RECORD KERNEL' expected");
  }
  return Manifest::Unit{words[0], words[1], words[2], words[3], words[4]};
}

// `text` as a number of at most 18 digits; false for anything else.
bool ParseSize(absl::string_view text, uint64_t* size) {
  return !text.empty() && text.size() <= 18 && absl::c_all_of(text, absl::ascii_isdigit) &&
         absl::SimpleAtoi(text, size);
}

absl::StatusOr<std::string> Unpacked(absl::string_view packed, uint64_t size) {
  // Never more than the line says: a small file must not become a large one.
  std::string raw(size + 1, '\0');
  z_stream stream = {};
  if (inflateInit(&stream) != Z_OK) return absl::ResourceExhaustedError("no memory to unpack");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(raw.data());
  // One byte more than stated, so that a longer stream shows.
  stream.avail_out = static_cast<uInt>(raw.size());
  const int result = inflate(&stream, Z_SYNC_FLUSH);
  const std::string why = stream.msg == nullptr ? "" : stream.msg;
  const uint64_t made = raw.size() - stream.avail_out;
  inflateEnd(&stream);
  // Z_BUF_ERROR: the output is full, so the stream is longer than stated; the size below says so.
  if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) {
    return Bad(absl::StrCat("its recorded kernels cannot be unpacked: ", why));
  }
  if (made != size) return Bad(absl::StrCat("its recorded kernels are not of ", size, " bytes"));
  raw.resize(size);
  return raw;
}

// The recorded kernels in `packed`, by their names; `rest`: of the line before it.
absl::StatusOr<std::map<std::string, std::string>> ParseRecorded(
    absl::string_view rest, absl::string_view packed, int number,
    const std::vector<Manifest::Unit>& units) {
  const std::vector<absl::string_view> words = absl::StrSplit(rest, ' ');
  uint64_t size = 0, packed_size = 0;
  if (words.size() != 3 || !ParseSize(words[0], &size) || !ParseSize(words[1], &packed_size)) {
    return BadLine(number, "'recorded BYTES COMPRESSED SHA256' expected");
  }
  if (size > kMaxRecordedBytes) {
    return BadLine(number, size, " bytes of recorded kernels; ", kMaxRecordedBytes, " may be");
  }
  // Before memory is allocated: a few bytes can unpack to gigabytes.
  if (size > (uint64_t{1} << 20) + kMaxRatio * packed.size()) {
    return BadLine(number, size, " bytes cannot come of ", packed.size(), " compressed");
  }
  // Before unpacking, so that zlib sees only what Kiln wrote or what was made to look like it.
  if (packed.size() != packed_size || Sha256Of(packed).Hex() != words[2]) {
    return Bad("what follows its last line is damaged or cut off");
  }
  ASSIGN_OR_RETURN(const std::string raw, Unpacked(packed, size));
  std::set<absl::string_view> named;
  for (const Manifest::Unit& unit : units) named.insert(unit.recorded);
  std::map<std::string, std::string> recorded;
  for (size_t at = 0; at < raw.size();) {
    const uint64_t length = LengthAt(raw, at);
    at += 8;
    // Subtracts instead of adding: `length` is any 64-bit number.
    if (at > raw.size() || length > raw.size() - at) return Bad("a recorded kernel is cut off");
    if (length == 0 || length > kMaxRecordedKernelBytes) {
      return Bad(absl::StrCat("a recorded kernel of ", length, " bytes"));
    }
    std::string kernel = raw.substr(at, length);
    const std::string name = Sha256Of(kernel).Hex();
    // Equal manifests have equal bytes: nothing in the file is unused or doubled.
    if (named.count(name) == 0 || !recorded.emplace(name, std::move(kernel)).second) {
      return Bad("a recorded kernel that no unit names, or one that is there twice");
    }
    at += length;
  }
  return recorded;
}

absl::Status CheckHeader(absl::string_view line) {
  if (line == kHeader) return absl::OkStatus();
  const bool other = absl::StartsWith(line, "kiln-manifest ");
  return Bad(absl::StrCat(other ? "of another version" : "not a manifest", ": line 1 should be '",
                          kHeader, "'"));
}

}  // namespace

bool Manifest::Unit::operator==(const Unit& other) const {
  return std::tie(key, recorded, target, record, kernel) ==
         std::tie(other.key, other.recorded, other.target, other.record, other.kernel);
}

bool Manifest::Module::operator==(const Module& other) const {
  return std::tie(digest, file) == std::tie(other.digest, other.file);
}

bool Manifest::operator==(const Manifest& other) const {
  return std::tie(program, name, compiler, units, recorded, modules) ==
         std::tie(other.program, other.name, other.compiler, other.units, other.recorded,
                  other.modules);
}

std::string ManifestBytes(const Manifest& manifest) {
  std::string text =
      absl::StrCat(kHeader, "\nprogram ", manifest.program, " ", OneLine(manifest.name), "\n");
  for (const Manifest::Module& module : manifest.modules) {
    absl::StrAppend(&text, "module ", module.digest, " ", module.file, "\n");
  }
  absl::StrAppend(&text, "compiler ", manifest.compiler, "\n");
  for (const Manifest::Unit& unit : manifest.units) {
    absl::StrAppend(&text, "unit ", unit.key, " ", unit.recorded, " ", unit.target, " ",
                    unit.record, " ", OneLine(unit.kernel), "\n");
  }
  if (!manifest.recorded.has_value()) return text;
  std::string raw;
  std::set<absl::string_view> written;
  for (const Manifest::Unit& unit : manifest.units) {
    const auto found = manifest.recorded->find(unit.recorded);
    // In the order of the units. Several units (targets) may share a recorded kernel.
    if (found != manifest.recorded->end() && written.insert(unit.recorded).second) {
      AppendRecorded(found->second, &raw);
    }
  }
  const std::string packed = Packed(raw);
  absl::StrAppend(&text, "recorded ", raw.size(), " ", packed.size(), " ", Sha256Of(packed).Hex(),
                  "\n", packed);
  return text;
}

absl::StatusOr<Manifest> ParseManifest(absl::string_view bytes) {
  Manifest manifest;
  bool has_program = false, has_compiler = false;
  int number = 0;
  while (!bytes.empty()) {
    ++number;
    // A file that is no manifest is not searched to its end.
    const size_t end = bytes.substr(0, kMaxLine).find('\n');
    if (end == absl::string_view::npos) return Bad(absl::StrCat("line ", number, " does not end"));
    absl::string_view rest = bytes.substr(0, end);
    bytes.remove_prefix(end + 1);
    if (number == 1) {
      RETURN_IF_ERROR(CheckHeader(rest));
      continue;
    }
    const absl::string_view word = TakeWord(&rest);
    if (word == "unit") {
      ASSIGN_OR_RETURN(Manifest::Unit unit, ParseUnit(rest, number));
      manifest.units.push_back(std::move(unit));
      if (manifest.units.size() > kMaxUnits) {
        return Bad(absl::StrCat("more than ", kMaxUnits, " units"));
      }
    } else if (word == "module") {
      const absl::string_view digest = TakeWord(&rest);
      manifest.modules.push_back({std::string(digest), std::string(rest)});
    } else if (word == "program" && !has_program) {
      has_program = true;
      manifest.program = std::string(TakeWord(&rest));
      manifest.name = std::string(rest);
    } else if (word == "compiler" && !has_compiler) {
      has_compiler = true;
      manifest.compiler = std::string(rest);
    } else if (word == "recorded") {
      ASSIGN_OR_RETURN(manifest.recorded, ParseRecorded(rest, bytes, number, manifest.units));
      // What follows the recorded kernels is no line; ParseRecorded has taken all of it.
      break;
    } else {
      return BadLine(number, "'", word, "' is not expected here");
    }
  }
  // The compiler is written after the modules, so a file that was cut off before it has no units
  // either.
  if (!has_compiler || manifest.compiler.empty()) return Bad("it ends before the line 'compiler'");
  return manifest;
}

}  // namespace kiln
