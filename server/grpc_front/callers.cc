#include "server/grpc_front/callers.h"

#include <errno.h>
#include <string.h>

#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"

namespace kiln {
namespace {

// Shorter ones can be guessed over the network.
constexpr size_t kMinTokenBytes = 16;
constexpr absl::string_view kCertificatePrefix = "certificate:";

constexpr std::pair<absl::string_view, uint32_t> kRights[] = {
    {"read", proto::RIGHT_READ},
    {"compile", proto::RIGHT_COMPILE},
    {"write", proto::RIGHT_WRITE},
    {"admin", proto::RIGHT_ADMIN},
};

absl::StatusOr<uint32_t> ParseRights(absl::string_view text) {
  uint32_t rights = 0;
  for (absl::string_view word : absl::StrSplit(text, ',')) {
    bool known = false;
    for (const auto& [name, right] : kRights) {
      if (word != name) continue;
      rights |= right;
      known = true;
    }
    // A misspelt right is an error: ignored, it would be missing where the operator believes it
    // given.
    if (!known) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", word, "': expected read, compile, write or admin"));
    }
  }
  return rights;
}

IdentityPtr MakeIdentity(absl::string_view name, absl::string_view tenant, uint32_t rights) {
  auto identity = std::make_shared<Identity>();
  identity->caller.set_name(std::string(name));
  identity->caller.set_tenant(std::string(tenant));
  identity->caller.set_rights(rights);
  // All three: after a change of rights no connection of the old ones is reused. Names have no line
  // ends.
  identity->key = absl::StrCat(name, "\n", tenant, "\n", rights);
  return identity;
}

// Without any means of identification configured, everyone may use the service; that is for
// loopback.
IdentityPtr Anonymous(const Callers::Options& options) {
  uint32_t rights = options.anonymous_rights;
  if (rights == 0 && options.token_file.empty() && !options.certificates) {
    rights = proto::RIGHT_READ | proto::RIGHT_COMPILE;
  }
  return rights == 0 ? nullptr : MakeIdentity("anonymous", "", rights);
}

// In constant time (Table::tokens).
bool Same(const Digest& a, const Digest& b) {
  unsigned difference = 0;
  for (size_t i = 0; i < a.bytes.size(); ++i) difference |= a.bytes[i] ^ b.bytes[i];
  return difference == 0;
}

}  // namespace

Callers::Callers(Options options) : options_(std::move(options)), anonymous_(Anonymous(options_)) {}

absl::StatusOr<Callers::Table> Callers::Parse(absl::string_view text) {
  Table table;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    const std::vector<absl::string_view> words =
        absl::StrSplit(line.substr(0, line.find('#')), absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
    if (words.empty()) continue;
    auto wrong = [number](absl::string_view what) {
      return absl::InvalidArgumentError(absl::StrCat("line ", number, ": ", what));
    };
    // The message names the line but not its words, which include a secret.
    if (words.size() != 4) return wrong("expected TOKEN NAME TENANT RIGHT,RIGHT");
    const absl::StatusOr<uint32_t> rights = ParseRights(words[3]);
    if (!rights.ok()) return wrong(rights.status().message());
    IdentityPtr identity = MakeIdentity(words[1], words[2] == "-" ? "" : words[2], *rights);
    absl::string_view token = words[0];
    if (absl::ConsumePrefix(&token, kCertificatePrefix)) {
      table.certificates[std::string(token)] = std::move(identity);
    } else if (token.size() < kMinTokenBytes) {
      return wrong(absl::StrCat("the token is shorter than ", kMinTokenBytes, " characters"));
    } else {
      // Only hashes stay in memory, and equal lengths make the comparison's time constant.
      table.tokens.emplace_back(Sha256Of(token), std::move(identity));
    }
  }
  return table;
}

absl::Status Callers::Reload() {
  if (options_.token_file.empty()) return absl::OkStatus();
  const std::string& path = options_.token_file;
  // The facts are those of the file before it is opened: if it is replaced in between, the next
  // call sees a difference.
  struct stat now;
  const bool known = stat(path.c_str(), &now) == 0;
  const bool is_file = known && S_ISREG(now.st_mode);
  std::ifstream in;
  // A FIFO would wait for a writer.
  if (is_file) in.open(path);
  if (!is_file || !in) {
    const char* why = known && !is_file ? "it is not a regular file" : strerror(errno);
    return absl::NotFoundError(absl::StrCat("cannot read the token file ", path, ": ", why));
  }
  {
    absl::MutexLock lock(&mutex_);
    if (read_.st_ino == now.st_ino && read_.st_size == now.st_size &&
        read_.st_mtim.tv_sec == now.st_mtim.tv_sec &&
        read_.st_mtim.tv_nsec == now.st_mtim.tv_nsec) {
      return absl::OkStatus();
    }
    read_ = now;
  }
  // After the comparison, so that an unchanged file is reported once and not every second.
  if ((now.st_mode & S_IRWXO) != 0) {
    return absl::PermissionDeniedError(
        absl::StrCat(path, " can be read by everyone: chmod o= ", path));
  }
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  absl::StatusOr<Table> table = Parse(text);
  if (!table.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", table.status().message()));
  }
  absl::MutexLock lock(&mutex_);
  // Calls in progress keep the old table. A file with an error leaves it in use.
  table_ = std::make_shared<Table>(*std::move(table));
  return absl::OkStatus();
}

std::shared_ptr<const Callers::Table> Callers::table() const {
  absl::MutexLock lock(&mutex_);
  return table_;
}

absl::StatusOr<IdentityPtr> Callers::Identify(absl::string_view authorization,
                                              absl::string_view certificate) const {
  const std::shared_ptr<const Table> table = this->table();
  // A call with a token has the identity of that token, or none.
  // A wrong token must not fall back to the certificate or to anonymous rights.
  if (!authorization.empty()) {
    IdentityPtr found;
    if (absl::StartsWithIgnoreCase(authorization, "bearer ")) {
      const Digest digest = Sha256Of(authorization.substr(strlen("bearer ")));
      for (const auto& [token, identity] : table->tokens) {  // all of them: constant time
        if (Same(token, digest)) found = identity;
      }
    }
    if (found == nullptr) return absl::UnauthenticatedError("the token is unknown");
    return found;
  }
  if (!certificate.empty()) {
    const auto found = table->certificates.find(certificate);
    if (found != table->certificates.end()) return found->second;
    // Without a token file, any certificate by the authority suffices.
    if (options_.token_file.empty()) {
      return MakeIdentity(certificate, "", proto::RIGHT_READ | proto::RIGHT_COMPILE);
    }
    return absl::UnauthenticatedError(
        absl::StrCat("the certificate of ", certificate, " is not listed here"));
  }
  if (anonymous_ != nullptr) return anonymous_;
  return absl::UnauthenticatedError("expected a token: 'authorization: Bearer TOKEN'");
}

}  // namespace kiln
