// The storages that a kernel's parameters name: as attributes of the kernel, and what lowering asks
// about them. Storages are numbered by their *position* among the attributes; parameters whose
// quantised numbers are in the same words share one.
//
// Immutable once made, and shared by all functions of a unit.
#ifndef KILN_SERVER_COMPILER_LOWERING_STORAGES_H_
#define KILN_SERVER_COMPILER_LOWERING_STORAGES_H_

#include <vector>

#include "common/language/ids.h"
#include "common/unit/check_unit.h"
#include "kiln/proto/unit.pb.h"
#include "server/compiler/dialect/dialect.h"

namespace kiln {

struct Storages {
  // --- What the kernel has ---------------------------------------------------------

  mlir::ArrayAttr attributes;       // a DenseAttr, NdarrayAttr or TreeFieldAttr each
  mlir::ArrayAttr trees;            // TreeAttr; null: the unit has none
  IdVector<ParamId, int> of_param;  // positions; -1: no storage
  std::vector<bool> no_activate;    // by position: accesses activate no cells
  // By position: its storage if it is a quant array (of several parameters the first one's), else
  // null.
  std::vector<const proto::Storage*> quant_arrays;
  // In debug mode, by position: the position of the last sparse SNode above, where the kernel
  // deactivates cells above; else -1.
  std::vector<int> last_sparse;

  // --- What follows from it --------------------------------------------------------

  int Of(ParamId param) const { return of_param[param]; }
  ir::TreeAttr TreeOf(ir::TreeFieldAttr field) const {
    return llvm::cast<ir::TreeAttr>(trees[field.getTree()]);
  }
  // The index at which an axis begins.
  int64_t AxisOffset(int storage, int64_t axis) const;
  // How many cells of an axis one word of a quant array holds; 1 for other storages.
  int64_t CellsInWord(int storage, int64_t axis) const;
  // The storage, if it is a quant array of single bits along one axis that fills its words.
  const proto::Storage* BitArray(int storage) const;
  // Whether two storages may be the same memory, although their positions differ.
  bool MayAlias(int storage, int other) const;
  // Whether components [first, first + count) are consecutive in memory.
  bool IsContiguous(int storage, uint64_t first, uint64_t count) const;
  // Whether these components have bases with strides of their own.
  bool HasUnevenStrides(int storage, uint64_t first, uint64_t count) const;

  // Whether code that addresses components of one storage by a run-time index can address those of
  // the other one likewise.
  bool AreArrangedAlike(int storage, int other) const;

  // By position and component, but of ndarrays: the first component of the consecutive ones that it
  // is among.
  std::vector<std::vector<uint32_t>> runs;
};

// `checked` is what CheckUnit returned for the unit. lower_storages.cc.
Storages LowerStorages(const proto::CompileUnit& unit, const CheckedUnit& checked,
                       mlir::MLIRContext* context);

}  // namespace kiln

#endif  // KILN_SERVER_COMPILER_LOWERING_STORAGES_H_
