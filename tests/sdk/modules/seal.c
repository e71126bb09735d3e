/* Writes the checksum of a module's file anew: `seal FILE`. Tests change modules, and a reader that
 * sees an old checksum looks no further. The checksum is XXH3-128 of the object and of the
 * trailer's first 16 bytes (common/module/format.h). */
#define XXH_INLINE_ALL
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <xxhash.h>

enum { kTrailer = 40, kSummed = 16 };

int main(int argc, char** argv) {
  FILE* file = argc == 2 ? fopen(argv[1], "r+b") : NULL;
  if (file == NULL || fseek(file, 0, SEEK_END) != 0) return 2;
  const long bytes = ftell(file), object = bytes - kTrailer;
  char* all = malloc((size_t)bytes);
  if (object < 0 || all == NULL || fseek(file, 0, SEEK_SET) != 0) return 2;
  if (fread(all, 1, (size_t)bytes, file) != (size_t)bytes) return 2;
  const XXH128_hash_t sum = XXH3_128bits(all, (size_t)object + kSummed);
  const uint64_t words[2] = {sum.low64, sum.high64};
  if (fseek(file, object + kSummed, SEEK_SET) != 0) return 2;
  return fwrite(words, sizeof words, 1, file) == 1 && fclose(file) == 0 ? 0 : 1;
}
