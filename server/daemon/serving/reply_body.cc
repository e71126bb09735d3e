#include "server/daemon/serving/reply_body.h"

#include <cstdint>

#include "common/base/check.h"

namespace kiln {
namespace {

// The tag of a bytes or message field: its number, and wire type 2.
constexpr char FieldTag(int field) { return static_cast<char>(field << 3 | 2); }

void AppendVarint(uint64_t value, std::string* out) {
  for (; value >= 0x80; value >>= 7) out->push_back(static_cast<char>(value | 0x80));
  out->push_back(static_cast<char>(value));
}

size_t VarintSize(uint64_t value) {
  size_t size = 1;
  for (; value >= 0x80; value >>= 7) ++size;
  return size;
}

size_t FieldSize(size_t size) { return 1 + VarintSize(size) + size; }

}  // namespace

void ReplyBody::AddEntry(int field, EntryPtr entry) {
  const size_t before = bytes_.size();
  const size_t size = entry->bytes.size();
  bytes_.push_back(FieldTag(field));
  AppendVarint(size, &bytes_);
  size_ += bytes_.size() - before + size;
  entries_.push_back({bytes_.size(), std::move(entry)});
}

ReplyBody ReplyBody::Of(const proto::LookupReply& reply, std::vector<EntryPtr> entries) {
  KILN_CHECK(entries.size() == static_cast<size_t>(reply.results_size()));
  ReplyBody body;
  for (int i = 0; i < reply.results_size(); ++i) {
    const proto::LookupReply::Result& result = reply.results(i);
    const size_t before = body.bytes_.size();
    const size_t own = result.ByteSizeLong();
    const size_t entry = entries[i] == nullptr ? 0 : FieldSize(entries[i]->bytes.size());
    body.bytes_.push_back(FieldTag(proto::LookupReply::kResultsFieldNumber));
    AppendVarint(own + entry, &body.bytes_);
    KILN_CHECK(result.AppendToString(&body.bytes_));
    body.size_ += body.bytes_.size() - before;
    if (entry > 0)
      body.AddEntry(proto::LookupReply::Result::kEntryFieldNumber, std::move(entries[i]));
  }
  return body;
}

ReplyBody ReplyBody::Of(const proto::CompileReply& reply, EntryPtr entry) {
  ReplyBody body(reply.SerializeAsString());
  if (entry != nullptr) body.AddEntry(proto::CompileReply::kEntryFieldNumber, std::move(entry));
  return body;
}

void ReplyBody::AddTo(Parts* parts) const {
  const auto add = [parts](const char* bytes, size_t size) {
    parts->push_back({const_cast<char*>(bytes), size});  // writev does not modify them
  };
  size_t done = 0;
  for (const Piece& piece : entries_) {
    add(bytes_.data() + done, piece.at - done);
    add(piece.entry->bytes.data(), piece.entry->bytes.size());
    done = piece.at;
  }
  add(bytes_.data() + done, bytes_.size() - done);
}

}  // namespace kiln
