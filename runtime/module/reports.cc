#include "runtime/module/reports.h"

#include <utility>

#include "runtime/number_format.h"
#include "runtime/scalar.h"

namespace kiln {

ModuleReports::ModuleReports(const Module& module, int kernel, Print print, void* self)
    : module_(module),
      kernel_(module.kernels()[static_cast<size_t>(kernel)]),
      print_(print),
      self_(self) {
  // Captures of one pointer: a std::function keeps them without allocating.
  if (print_ != nullptr) {
    hooks_.print = [this](uint32_t node, const uint64_t* values, uint32_t count) {
      std::string text;
      if (Render(node, values, count, &text)) print_(self_, text.data(), text.size());
    };
  }
  hooks_.fail = [this](uint32_t node, const uint64_t* values, uint32_t count) {
    Fail(node, values, count);
  };
  hooks_.error = [this](std::string_view text) {
    if (!std::exchange(has_failed_, true)) failure_ = text;
  };
}

std::string ModuleReports::failure() const {
  return has_failed_ ? failure_ : "the program stopped the launch";
}

bool ModuleReports::Render(uint32_t node, const uint64_t* values, uint32_t count,
                           std::string* text) const {
  const ModuleTables& tables = module_.tables();
  bool found = false;
  tables.ForEach<module::Format>(kernel_.formats, [&](const module::Format& format) {
    if (format.node != node || found) return;
    found = true;
    uint32_t next = 0;
    tables.ForEach<module::Piece>(format.pieces, [&](const module::Piece& piece) {
      *text += tables.TextOf(piece.text);
      // Slots beyond `count` are left out, never read.
      if (piece.scalar == 0 || next >= count) return;
      AppendNumber(static_cast<SlotScalar>(piece.scalar), values[next++],
                   ParseNumberSpec(tables.TextOf(piece.spec)), text);
    });
  });
  return found;
}

std::string ModuleReports::PositionOf(uint32_t node) const {
  const ModuleTables& tables = module_.tables();
  std::string text;
  tables.ForEach<module::Place>(kernel_.places, [&](const module::Place& place) {
    if (place.node != node || !text.empty()) return;
    text = " at " + std::string(tables.TextOf(place.file)) + ":" + std::to_string(place.line);
  });
  return text;
}

void ModuleReports::Fail(uint32_t node, const uint64_t* values, uint32_t count) {
  // Threads may fail together. The first report is the one that counts.
  if (std::exchange(has_failed_, true)) return;
  if (!Render(node, values, count, &failure_)) failure_ = "a check of the kernel failed";
  failure_ += PositionOf(node);
}

}  // namespace kiln
