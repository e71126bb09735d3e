// The bytes of a reply. Those of entries are referenced, not copied.
#ifndef KILN_SERVER_DAEMON_SERVING_REPLY_BODY_H_
#define KILN_SERVER_DAEMON_SERVING_REPLY_BODY_H_

#include <sys/uio.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "kiln/proto/service.pb.h"
#include "server/cache/artifact_store.h"

namespace kiln {

class ReplyBody {
 public:
  using Parts = absl::InlinedVector<iovec, 4>;

  ReplyBody() = default;
  // Most replies have no entries.
  ReplyBody(std::string bytes)  // NOLINT(google-explicit-constructor)
      : bytes_(std::move(bytes)), size_(bytes_.size()) {}

  // `reply`, with entries[i] as the entry of result i, which must have none itself. Null: the
  // result has no entry. Requires: as many entries as results.
  static ReplyBody Of(const proto::LookupReply& reply, std::vector<EntryPtr> entries);
  // `reply`, which must have no entry, with `entry` unless that is null.
  static ReplyBody Of(const proto::CompileReply& reply, EntryPtr entry);

  size_t size() const { return size_; }
  // The pieces of the body; valid until this object changes.
  void AddTo(Parts* parts) const;

 private:
  struct Piece {
    size_t at;  // in bytes_, before this entry
    EntryPtr entry;
  };

  void AddEntry(int field, EntryPtr entry);

  std::string bytes_;
  std::vector<Piece> entries_;
  size_t size_ = 0;  // of all pieces
};

}  // namespace kiln

#endif  // KILN_SERVER_DAEMON_SERVING_REPLY_BODY_H_
