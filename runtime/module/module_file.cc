#include "runtime/module/module_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace kiln {
namespace {

Error Damaged(const char* how) {
  return {ErrorCode::kDataLoss, std::string("not a module of Kiln, or damaged: ") + how};
}

Error At(const std::string& path, const Error& error) {
  return {error.code, path + ": " + error.text};
}

Error System(const std::string& path) {
  return {ErrorCode::kUnavailable, path + ": " + std::strerror(errno)};
}

XXH128_hash_t Checksum(const uint8_t* object, const module::Trailer& trailer) {
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  XXH3_128bits_update(&state, object, trailer.object_bytes);
  XXH3_128bits_update(&state, &trailer, offsetof(module::Trailer, checksum));
  return XXH3_128bits_digest(&state);
}

}  // namespace

void ChecksumModule(const uint8_t* object, module::Trailer* trailer) {
  const XXH128_hash_t sum = Checksum(object, *trailer);
  trailer->checksum[0] = sum.low64;
  trailer->checksum[1] = sum.high64;
}

Result<module::Trailer> CheckModuleFile(const uint8_t* file, uint64_t bytes) {
  module::Trailer trailer;
  if (bytes < sizeof trailer) return Damaged("it is too short");
  std::memcpy(&trailer, file + bytes - sizeof trailer, sizeof trailer);
  if (trailer.magic != module::kTrailerMagic) return Damaged("it does not end as a module does");
  if (trailer.version != module::kMajor) {
    return Error{ErrorCode::kFailedPrecondition,
                 "the module has format " + std::to_string(trailer.version) +
                     ", this library reads " + std::to_string(module::kMajor)};
  }
  if (trailer.object_bytes != bytes - sizeof trailer) return Damaged("its size is another");
  if (trailer.tables_offset > trailer.object_bytes) return Damaged("it has no tables");
  module::Trailer again = trailer;
  ChecksumModule(file, &again);
  if (std::memcmp(again.checksum, trailer.checksum, sizeof trailer.checksum) != 0) {
    return Damaged("its checksum is another");
  }
  return trailer;
}

Result<> ModuleFile::Read(const uint8_t* file, uint64_t bytes) {
  bytes_ = bytes;
  const Result<module::Trailer> trailer = CheckModuleFile(file, bytes);
  if (!trailer.ok()) return trailer.error();
  trailer_ = *trailer;
  Result<ModuleTables> tables = ModuleTables::Read(file + trailer_.tables_offset,
                                                   trailer_.object_bytes - trailer_.tables_offset);
  if (!tables.ok()) return tables.error();
  tables_ = *std::move(tables);
  return {};
}

Result<std::shared_ptr<const ModuleFile>> ModuleFile::View(const uint8_t* file, uint64_t bytes) {
  std::shared_ptr<ModuleFile> made(new ModuleFile);
  if (const Result<> read = made->Read(file, bytes); !read.ok()) return read.error();
  return std::shared_ptr<const ModuleFile>(std::move(made));
}

Result<std::shared_ptr<const ModuleFile>> ModuleFile::Open(const std::string& path) {
  std::shared_ptr<ModuleFile> made(new ModuleFile);
  // NONBLOCK: opening a FIFO would wait for its writer.
  made->fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat info;
  if (made->fd_ < 0 || fstat(made->fd_, &info) != 0) return System(path);
  if (!S_ISREG(info.st_mode)) return At(path, Damaged("it is not a regular file"));
  if (info.st_size == 0) return At(path, Damaged("it is empty"));
  made->bytes_ = static_cast<uint64_t>(info.st_size);
  void* mapping = mmap(nullptr, made->bytes_, PROT_READ, MAP_PRIVATE, made->fd_, 0);
  if (mapping == MAP_FAILED) return System(path);
  made->mapping_ = mapping;
  const Result<> read = made->Read(static_cast<const uint8_t*>(made->mapping_), made->bytes_);
  if (!read.ok()) return At(path, read.error());
  return std::shared_ptr<const ModuleFile>(std::move(made));
}

ModuleFile::~ModuleFile() {
  if (mapping_ != nullptr) munmap(mapping_, bytes_);
  if (fd_ >= 0) close(fd_);
}

}  // namespace kiln
