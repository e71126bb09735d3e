// Addresses, loads and stores of lanes.
#include "server/compiler/codegen/lane_emitter.h"
#include "server/compiler/codegen/scalar_ops.h"

namespace kiln {

using llvm::BasicBlock;
using llvm::Value;

// --- Distances -------------------------------------------------------------------------

// The index of lane 0 is a leaf of its own; what varies otherwise is a vector.
LaneEmitter::Linear LaneEmitter::Split(const Affine& affine) {
  Affine scalars;
  scalars.constant = affine.constant;
  Linear result;
  llvm::Type* type = VectorOf(b_.getInt64Ty());
  for (const Affine::Term& term : affine.terms) {
    if (!term.leaf->getType()->isVectorTy()) {
      if (term.leaf == first_) result.stride += term.factor;
      scalars.terms.push_back(term);
      continue;
    }
    Value* leaf = b_.CreateSExt(term.leaf, type);
    if (term.factor != 1) leaf = b_.CreateMul(leaf, Splat(b_.getInt64(term.factor)));
    result.vector = result.vector == nullptr ? leaf : b_.CreateAdd(result.vector, leaf);
  }
  result.scalar = EmitAffine(b_, scalars);
  return result;
}

void LaneEmitter::Multiply(Linear* linear, Value* factor) {
  linear->scalar = b_.CreateMul(linear->scalar, factor, "", false, true);
  auto* constant = llvm::dyn_cast<llvm::ConstantInt>(factor);
  if (constant != nullptr) linear->stride *= constant->getSExtValue();
  if (constant == nullptr && linear->stride != 0) {
    Value* ramp = Ramp(b_.getInt64Ty(), linear->stride);
    linear->vector = linear->vector == nullptr ? ramp : b_.CreateAdd(linear->vector, ramp);
    linear->stride = 0;
  }
  if (linear->vector != nullptr) linear->vector = b_.CreateMul(linear->vector, Splat(factor));
}

Value* LaneEmitter::AsVector(const Linear& linear) {
  Value* sum = b_.CreateAdd(Splat(linear.scalar), Ramp(b_.getInt64Ty(), linear.stride));
  return linear.vector == nullptr ? sum : b_.CreateAdd(sum, linear.vector);
}

// --- Addresses -------------------------------------------------------------------------

LaneEmitter::Address LaneEmitter::At(const Linear& bytes, Value* pointer, int memory) {
  Address address;
  address.pointer = b_.CreateGEP(b_.getInt8Ty(), pointer, bytes.scalar);
  address.stride = bytes.stride;
  address.offsets = bytes.vector;
  address.memory = memory;
  return address;
}

LaneEmitter::Address LaneEmitter::Global(ir::GlobalOp op) {
  const int storage = static_cast<int>(op.getStorage());
  const int component = static_cast<int>(op.getComponent());
  mlir::Attribute attribute = f_.state().storages[storage];
  if (auto dense = llvm::dyn_cast<ir::DenseAttr>(attribute)) {
    const int base = static_cast<int>(dense.getComponentBase(component));
    const Affine bytes =
        f_.DenseOffset(dense, base, dense.getComponentOffset(component), op.getIndices());
    return At(Split(bytes), f_.Argument(dense.getSlot() + base, b_.getPtrTy()),
              f_.state().scopes.OfBase(storage, base));
  }
  auto array = llvm::cast<ir::NdarrayAttr>(attribute);
  const int64_t size = Bytes(op.getType().getPointee());
  Linear cell = NdarrayCell(storage, array, op.getIndices());
  Value* pointer = f_.Argument(array.getSlot(), b_.getPtrTy());
  if (array.getSoa()) {
    Value* before =
        b_.CreateMul(b_.getInt64(op.getComponent()), f_.NdarrayCells(array), "", false, true);
    cell.scalar = b_.CreateAdd(cell.scalar, before);
    Multiply(&cell, b_.getInt64(size));
  } else {
    Multiply(&cell, b_.getInt64(size * static_cast<int64_t>(array.getTypes().size())));
    cell.scalar = b_.CreateAdd(cell.scalar, b_.getInt64(op.getComponent() * size));
  }
  return At(cell, pointer, f_.state().scopes.OfBase(storage, 0));
}

// The row-major number of the cell at the indices.
LaneEmitter::Linear LaneEmitter::NdarrayCell(int storage, ir::NdarrayAttr array,
                                             mlir::ValueRange indices) {
  Linear sum;
  sum.scalar = b_.getInt64(0);
  for (int axis = 0; axis < array.getAxes(); ++axis) {
    Linear index = Split(f_.indices().Read(b_, indices[axis], f_.values_));
    // As in FunctionEmitter::NdarrayCell.
    if (array.getClamp()) {
      const bool is_vector = index.stride != 0 || index.vector != nullptr;
      Value* last = b_.CreateSub(f_.AxisExtent(storage, axis), b_.getInt64(1));
      Value* value = is_vector ? AsVector(index) : index.scalar;
      if (is_vector) last = Splat(last);
      value = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, value, last);
      value = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, value,
                                       llvm::ConstantInt::get(value->getType(), 0));
      index = Linear();
      index.scalar = is_vector ? b_.getInt64(0) : value;
      if (is_vector) index.vector = value;
    }
    if (axis > 0) Multiply(&sum, f_.Argument(array.getExtentSlot(axis), b_.getInt64Ty()));
    sum.scalar = b_.CreateAdd(sum.scalar, index.scalar);
    sum.stride += index.stride;
    if (index.vector != nullptr) {
      sum.vector = sum.vector == nullptr ? index.vector : b_.CreateAdd(sum.vector, index.vector);
    }
  }
  return sum;
}

// The component is the same in all lanes.
LaneEmitter::Address LaneEmitter::Component(ir::ComponentOp op) {
  const int storage = static_cast<int>(op.getStorage());
  const int64_t first = op.getFirst();
  mlir::Attribute attribute = f_.state().storages[storage];
  Value* index = EmitAffine(b_, f_.indices().Read(b_, op.getIndex(), f_.values_));
  if (auto dense = llvm::dyn_cast<ir::DenseAttr>(attribute)) {
    const int any = static_cast<int>(dense.getComponentBase(first));
    Value* pointer = f_.ComponentBase(dense, first, op.getCount(), index);
    return At(Split(f_.DenseOffset(dense, any, 0, op.getIndices())), pointer,
              FunctionEmitter::kAnyBase);
  }
  auto array = llvm::cast<ir::NdarrayAttr>(attribute);
  Linear cell = NdarrayCell(storage, array, op.getIndices());
  Value* component = b_.CreateNSWAdd(index, b_.getInt64(first));
  cell.scalar = b_.CreateAdd(cell.scalar, b_.CreateNSWMul(component, f_.NdarrayCells(array)));
  Multiply(&cell, b_.getInt64(Bytes(op.getType().getPointee())));
  return At(cell, f_.Argument(array.getSlot(), b_.getPtrTy()),
            f_.state().scopes.OfBase(storage, 0));
}

LaneEmitter::Address LaneEmitter::Element(ir::ElementOp op) {
  const Address array = addresses_.lookup(op.getArray());
  Affine bytes;
  bytes.Add(f_.indices().Read(b_, op.getIndex(), f_.values_),
            Bytes(op.getType().getPointee()) * array.scale);
  Address element = At(Split(bytes), array.pointer, array.memory);
  element.stride += array.stride;
  element.scale = array.scale;
  if (array.offsets != nullptr) {
    element.offsets =
        element.offsets == nullptr ? array.offsets : b_.CreateAdd(element.offsets, array.offsets);
  }
  return element;
}

// Memory of each lane, interleaved: equal elements of all lanes are consecutive.
LaneEmitter::Address LaneEmitter::Local(llvm::Type* element, int64_t count) {
  Address address;
  address.pointer = f_.Alloca(element, count * lanes_);
  address.stride = static_cast<int64_t>(element->getPrimitiveSizeInBits()) / 8;
  address.memory = FunctionEmitter::kLocal;
  address.scale = lanes_;
  return address;
}

// --- Accesses --------------------------------------------------------------------------

void LaneEmitter::Tag(const Address& address, llvm::Instruction* access) {
  f_.Tag({address.pointer, address.memory}, access);
}

// Bytes of each lane behind the pointer.
Value* LaneEmitter::Offsets(const Address& address) {
  Value* offsets = Ramp(b_.getInt64Ty(), address.stride);
  return address.offsets == nullptr ? offsets : b_.CreateAdd(address.offsets, offsets);
}

// Of each lane.
Value* LaneEmitter::Pointers(const Address& address) {
  return b_.CreateGEP(b_.getInt8Ty(), address.pointer, Offsets(address));
}

Value* LaneEmitter::PointerOf(const Address& address, Value* lane) {
  Value* offset = b_.CreateMul(b_.CreateZExt(lane, b_.getInt64Ty()), b_.getInt64(address.stride));
  if (address.offsets != nullptr) {
    offset = b_.CreateAdd(offset, b_.CreateExtractElement(address.offsets, lane));
  }
  return b_.CreateGEP(b_.getInt8Ty(), address.pointer, offset);
}

// A scalar if all lanes read one cell.
Value* LaneEmitter::Load(const Address& address, mlir::Type type, Value* mask) {
  if (address.stride == 0 && address.offsets == nullptr) {
    return f_.Load({address.pointer, address.memory}, type);
  }
  llvm::Type* element = MemoryType(type, b_.getContext());
  const bool consecutive = address.offsets == nullptr && address.stride == Bytes(type);
  Value* loaded =
      consecutive ? LoadConsecutive(address, element, mask) : Gather(address, element, mask);
  return type.isInteger(1) ? b_.CreateIsNotNull(loaded) : loaded;
}

Value* LaneEmitter::LoadConsecutive(const Address& address, llvm::Type* type, Value* mask) {
  const llvm::Align align(type->getPrimitiveSizeInBits() / 8);
  llvm::Type* vector = VectorOf(type);
  // Locals have memory for all lanes.
  if (address.memory == FunctionEmitter::kLocal || IsWhole(mask)) {
    llvm::LoadInst* load = b_.CreateAlignedLoad(vector, address.pointer, align);
    Tag(address, load);
    return load;
  }
  llvm::CallInst* load = b_.CreateMaskedLoad(vector, address.pointer, align, mask,
                                             llvm::Constant::getNullValue(vector));
  Tag(address, load);
  return load;
}

// One load for each lane, if all run: instructions that gather take longer on all processors.
Value* LaneEmitter::Gather(const Address& address, llvm::Type* type, Value* mask) {
  const llvm::Align align(type->getPrimitiveSizeInBits() / 8);
  Value* pointers = nullptr;
  if (!IsWhole(mask)) {
    Value* gather =
        f_.state().target->EmitGather(b_, type, address.pointer, Offsets(address), mask);
    if (gather != nullptr) {
      Tag(address, llvm::cast<llvm::Instruction>(gather));
      return gather;
    }
    // Lanes outside of the mask read a zero of their own: without a branch for each.
    if (nowhere_ == nullptr) {
      nowhere_ = f_.Alloca(b_.getInt64Ty(), 1);
      f_.entry_builder_.CreateStore(b_.getInt64(0), nowhere_);
    }
    pointers = b_.CreateSelect(mask, Pointers(address), Splat(nowhere_));
  }
  Value* result = llvm::PoisonValue::get(VectorOf(type));
  for (int64_t lane = 0; lane < lanes_; ++lane) {
    Value* pointer = pointers == nullptr ? PointerOf(address, b_.getInt32(lane))
                                         : b_.CreateExtractElement(pointers, lane);
    llvm::LoadInst* load = b_.CreateAlignedLoad(type, pointer, align);
    if (pointers == nullptr) Tag(address, load);
    result = b_.CreateInsertElement(result, load, lane);
  }
  return result;
}

void LaneEmitter::Emit(ir::LoadOp op, Value* mask) {
  // One cell for all lanes.
  if (f_.TreeFieldAt(op.getAddress())) return f_.Emit(op);
  // LLVM moves loads of all lanes out of the loop.
  if (Variable kept = kept_values_.lookup(op); kept != nullptr && !IsWhole(mask)) {
    const auto first = kept_.find(op);
    if (first != kept_.end()) ReadKept(first->second, mask);
    return f_.Map(op, Get(kept));
  }
  Value* value = Load(addresses_.lookup(op.getAddress()), op.getType(), mask);
  f_.Map(op, Varies(op) ? Splat(value) : value);
}

// --- Kept loads ------------------------------------------------------------------------

// Before the loop: no lane has read the cells of the loads that it keeps.
void LaneEmitter::StartKept(mlir::Operation* loop) {
  const auto is_of_loop = [&](ir::LoadOp load) {
    auto loops = load->getAttrOfType<mlir::IntegerAttr>(kKeptAttribute);
    if (!loops) return false;
    int64_t left = loops.getInt();
    mlir::Operation* up = load;
    while (left > 0) {
      up = up->getParentOp();
      if (llvm::isa<ir::ForOp, ir::LoopOp>(up)) --left;
    }
    return up == loop;
  };
  loop->walk([&](mlir::Block* block) {
    Kept* kept = nullptr;
    for (mlir::Operation& op : *block) {
      // Not all lanes may reach what follows.
      if (shapes_.Leaves(&op)) kept = nullptr;
      auto load = llvm::dyn_cast<ir::LoadOp>(op);
      if (!load || !is_of_loop(load)) continue;
      if (kept == nullptr) {
        kept = &kept_[load];
        *kept = {{}, NewMask(llvm::Constant::getNullValue(VectorOf(b_.getInt1Ty())))};
      }
      kept->loads.push_back(load);
      kept_values_[load] = NewVariable(load);
    }
  });
}

// Reads for the lanes of the mask that have not read yet.
void LaneEmitter::ReadKept(const Kept& kept, Value* mask) {
  Value* lanes = GetMask(kept.lanes);
  Value* missing = AndNot(mask, lanes);
  BasicBlock* code = f_.NewBlock("read");
  BasicBlock* done = f_.NewBlock("have_read");
  b_.CreateCondBr(Any(missing), code, done);
  b_.SetInsertPoint(code);
  for (ir::LoadOp load : kept.loads) {
    const Address address = Global(load.getAddress().getDefiningOp<ir::GlobalOp>());
    SetIn(missing, kept_values_.lookup(load), Load(address, load.getType(), missing));
  }
  SetMask(kept.lanes, b_.CreateOr(lanes, mask));
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
}

// --- Stores ----------------------------------------------------------------------------

// Of local memory.
void LaneEmitter::Emit(ir::ZeroOp op, Value* mask) {
  llvm::Type* type =
      MemoryType(llvm::cast<ir::AddrType>(op.getAddress().getType()).getPointee(), b_.getContext());
  llvm::Constant* zero = llvm::Constant::getNullValue(VectorOf(type));
  Address address = addresses_.lookup(op.getAddress());
  Value* first = address.pointer;
  BasicBlock* before = b_.GetInsertBlock();
  BasicBlock* code = f_.NewBlock("zero");
  BasicBlock* done = f_.NewBlock("zeroed");
  b_.CreateBr(code);
  b_.SetInsertPoint(code);
  llvm::PHINode* element = b_.CreatePHI(b_.getInt64Ty(), 2);
  element->addIncoming(b_.getInt64(0), before);
  address.pointer = b_.CreateGEP(zero->getType(), first, element);
  Store(address, zero, mask);
  Value* next = b_.CreateNSWAdd(element, b_.getInt64(1));
  element->addIncoming(next, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpSLT(next, b_.getInt64(op.getCount())), code, done);
  b_.SetInsertPoint(done);
}

// In the order of lanes: the last one wins, as in scalar code.
void LaneEmitter::Scatter(const Address& address, Value* value, Value* mask) {
  const llvm::Align align(value->getType()->getScalarSizeInBits() / 8);
  if (!IsWhole(mask)) {
    Value* scatter =
        f_.state().target->EmitScatter(b_, value, address.pointer, Offsets(address), mask);
    if (scatter == nullptr) scatter = b_.CreateMaskedScatter(value, Pointers(address), align, mask);
    Tag(address, llvm::cast<llvm::Instruction>(scatter));
    return;
  }
  for (int64_t lane = 0; lane < lanes_; ++lane) {
    Tag(address, b_.CreateAlignedStore(b_.CreateExtractElement(value, lane),
                                       PointerOf(address, b_.getInt32(lane)), align));
  }
}

void LaneEmitter::Store(const Address& address, Value* value, Value* mask) {
  if (value->getType()->getScalarType()->isIntegerTy(1)) {
    llvm::Type* byte = b_.getInt8Ty();
    value = b_.CreateZExt(value, value->getType()->isVectorTy() ? VectorOf(byte) : byte);
  }
  const bool is_one = address.stride == 0 && address.offsets == nullptr;
  if (is_one && !value->getType()->isVectorTy()) {
    f_.Store({address.pointer, address.memory}, value);
    return;
  }
  value = Splat(value);
  llvm::Type* type = value->getType()->getScalarType();
  const int64_t size = static_cast<int64_t>(type->getPrimitiveSizeInBits()) / 8;
  const llvm::Align align(size);
  if (address.offsets != nullptr || address.stride != size) {
    Scatter(address, value, mask);
    return;
  }
  if (mask != row_mask_) {
    Tag(address, b_.CreateMaskedStore(value, address.pointer, align, mask));
    return;
  }
  if (IsWhole(mask)) {
    Tag(address, b_.CreateAlignedStore(value, address.pointer, align));
    return;
  }
  // All but the last vector of a row are whole. Stores under a mask are slow on many processors.
  llvm::BasicBlock* whole = f_.NewBlock("whole");
  llvm::BasicBlock* part = f_.NewBlock("part");
  llvm::BasicBlock* stored = f_.NewBlock("stored");
  b_.CreateCondBr(All(mask), whole, part);
  b_.SetInsertPoint(whole);
  Tag(address, b_.CreateAlignedStore(value, address.pointer, align));
  b_.CreateBr(stored);
  b_.SetInsertPoint(part);
  Tag(address, b_.CreateMaskedStore(value, address.pointer, align, mask));
  b_.CreateBr(stored);
  b_.SetInsertPoint(stored);
}

}  // namespace kiln
