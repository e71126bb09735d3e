// Addresses, loads and stores.
#include "server/compiler/codegen/abi.h"
#include "server/compiler/codegen/function_emitter.h"
#include "server/compiler/codegen/scalar_ops.h"

namespace kiln {

using codegen::LaunchField;
using llvm::Value;

void MarkInvariant(llvm::LoadInst* load) {
  load->setMetadata(llvm::LLVMContext::MD_invariant_load,
                    llvm::MDNode::get(load->getContext(), {}));
}

Value* ToSlot(llvm::IRBuilder<>& b, Value* scalar) {
  llvm::Type* type = scalar->getType();
  if (!type->isIntegerTy()) {
    scalar = b.CreateBitCast(scalar, b.getIntNTy(type->getPrimitiveSizeInBits()));
  }
  return b.CreateZExt(scalar, b.getInt64Ty());
}

// i1 has a byte of its own in memory.
int64_t Bytes(mlir::Type type) { return (type.getIntOrFloatBitWidth() + 7) / 8; }

llvm::Type* MemoryType(mlir::Type type, llvm::LLVMContext& context) {
  return type.isInteger(1) ? llvm::Type::getInt8Ty(context) : LlvmType(type, context);
}

// --- Addresses -------------------------------------------------------------------------
//
// Those in trees have none until an op uses them: the walk to a cell depends on what the op does to
// it (AddressFor).

void FunctionEmitter::Emit(ir::GlobalOp op) {
  if (!TreeFieldAt(op)) addresses_[op] = Global(op);
}

void FunctionEmitter::Emit(ir::ComponentOp op) {
  if (!TreeFieldAt(op)) addresses_[op] = Component(op);
}

void FunctionEmitter::Emit(ir::ElementOp op) {
  if (!TreeFieldAt(op)) addresses_[op] = Element(op, addresses_.lookup(op.getArray()));
}

void FunctionEmitter::Emit(ir::AddressOfOp op) {
  Map(op, b_.CreatePtrToInt(AddressFor(op.getAddress(), op).pointer, TypeOf(op)));
}

void FunctionEmitter::Emit(ir::LocalOp op) {
  addresses_[op] = {Alloca(MemoryType(op.getType().getPointee(), b_.getContext()), 1), kLocal};
}

void FunctionEmitter::Emit(ir::LocalArrayOp op) {
  llvm::Type* element = MemoryType(op.getType().getPointee(), b_.getContext());
  addresses_[op] = {Alloca(element, op.getCount()), kLocal};
}

// Shared arrays overlap no memory of an argument, as temporaries do not.
void FunctionEmitter::Emit(ir::SharedArrayOp op) {
  llvm::Type* element = MemoryType(op.getType().getPointee(), b_.getContext());
  Value* array = state_->target->AllocateShared(state_, element, op.getCount());
  if (array == nullptr) {
    if (state_->unsupported.empty()) state_->unsupported = "ti.simt.block.SharedArray";
    array = llvm::PoisonValue::get(b_.getPtrTy());
  }
  addresses_[op] = {array, AliasScopes::kTemporaries};
}

FunctionEmitter::Address FunctionEmitter::Global(ir::GlobalOp op) {
  const int storage = static_cast<int>(op.getStorage());
  mlir::Attribute attribute = state_->storages[storage];
  if (auto dense = llvm::dyn_cast<ir::DenseAttr>(attribute))
    return DenseAddress(storage, dense, op);
  return NdarrayAddress(storage, llvm::cast<ir::NdarrayAttr>(attribute), op);
}

// The distance in bytes of the cell at the indices, plus a constant. An axis may have several
// digits (a blocked layout): the innermost takes the rest of the index, and so on outwards.
Affine FunctionEmitter::DenseOffset(ir::DenseAttr dense, int base, int64_t constant,
                                    mlir::ValueRange indices) {
  Affine offset;
  offset.constant = constant;
  for (int axis = 0; axis < dense.getAxes(); ++axis) {
    Affine index = indices_.Read(b_, indices[axis], values_);
    index.constant -= dense.getAxisOffset(axis);
    // The outermost digit takes the whole quotient. An index out of range then leads to memory
    // beside the field and not to another cell of it.
    llvm::SmallVector<int, 4> digits;  // outermost first
    for (int d = 0; d < dense.getNumDigits(); ++d) {
      if (dense.getDigitAxis(d) == axis) digits.push_back(d);
    }
    for (size_t i = digits.size(); i-- > 0;) {
      Affine digit = index;
      if (i > 0) {
        std::tie(index, digit) = DivideAffine(b_, index, dense.getDigitExtent(digits[i]));
      }
      offset.Add(digit, dense.getDigitStride(base, digits[i]));
    }
  }
  return offset;
}

// `pointer` plus that distance.
Value* FunctionEmitter::DenseCell(ir::DenseAttr dense, int base, int64_t constant,
                                  mlir::ValueRange indices, Value* pointer) {
  const Affine offset = DenseOffset(dense, base, constant, indices);
  if (Value* terms = EmitTerms(b_, offset)) {
    pointer = b_.CreateInBoundsGEP(b_.getInt8Ty(), pointer, terms);
  }
  // A step of its own, so that LLVM sees neighbouring accesses as one base with constant distances.
  if (offset.constant != 0) {
    pointer = b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), pointer, offset.constant);
  }
  return pointer;
}

FunctionEmitter::Address FunctionEmitter::DenseAddress(int storage, ir::DenseAttr dense,
                                                       ir::GlobalOp op) {
  const int component = static_cast<int>(op.getComponent());
  const int base = static_cast<int>(dense.getComponentBase(component));
  Value* pointer = Argument(dense.getSlot() + base, b_.getPtrTy());
  pointer = DenseCell(dense, base, dense.getComponentOffset(component), op.getIndices(), pointer);
  return {pointer, state_->scopes.OfBase(storage, base)};
}

// The row-major number of the cell at the indices.
Value* FunctionEmitter::NdarrayCell(int storage, ir::NdarrayAttr array, mlir::ValueRange indices) {
  Value* linear = nullptr;
  for (int axis = 0; axis < array.getAxes(); ++axis) {
    Value* index = EmitAffine(b_, indices_.Read(b_, indices[axis], values_));
    // boundary="clamp": accesses beyond the border go to it. smin first: an empty axis gives -1,
    // and smax makes it 0.
    if (array.getClamp()) {
      Value* last = b_.CreateSub(AxisExtent(storage, axis), b_.getInt64(1));
      index = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, index, last);
      index = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, index, b_.getInt64(0));
    }
    if (linear != nullptr) {
      linear = b_.CreateMul(linear, Argument(array.getExtentSlot(axis), b_.getInt64Ty()), "", false,
                            true);
    }
    linear = linear == nullptr ? index : b_.CreateAdd(linear, index, "", false, true);
  }
  return linear == nullptr ? b_.getInt64(0) : linear;
}

Value* FunctionEmitter::NdarrayCells(ir::NdarrayAttr array) {
  Value* total = b_.getInt64(1);
  for (int axis = 0; axis < array.getAxes(); ++axis) {
    total =
        b_.CreateMul(total, Argument(array.getExtentSlot(axis), b_.getInt64Ty()), "", false, true);
  }
  return total;
}

FunctionEmitter::Address FunctionEmitter::NdarrayAddress(int storage, ir::NdarrayAttr array,
                                                         ir::GlobalOp op) {
  const int64_t components = array.getTypes().size();
  const int64_t component = op.getComponent();
  const int64_t bytes = Bytes(op.getType().getPointee());
  if (shares_addresses_ && !array.getSoa() && !array.getClamp()) {
    return {SharedAddress(array, op), state_->scopes.OfBase(storage, 0)};
  }
  Value* linear = NdarrayCell(storage, array, op.getIndices());
  Value* pointer = Argument(array.getSlot(), b_.getPtrTy());
  int64_t factor = bytes;
  // One whole array for each component, one after the other; else components are the fastest index.
  if (array.getSoa()) {
    Value* before = b_.CreateMul(b_.getInt64(component), NdarrayCells(array), "", false, true);
    linear = b_.CreateAdd(linear, before, "", false, true);
  } else {
    factor *= components;
  }
  pointer = b_.CreateInBoundsGEP(b_.getInt8Ty(), pointer,
                                 b_.CreateMul(linear, b_.getInt64(factor), "", false, true));
  if (!array.getSoa() && component != 0) {
    pointer = b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), pointer, component * bytes);
  }
  return {pointer, state_->scopes.OfBase(storage, 0)};
}

// First the address by the indices without their constants, which is none of an element's: it may
// be out of bounds. Then the constants, axis by axis.
Value* FunctionEmitter::SharedAddress(ir::NdarrayAttr array, ir::GlobalOp op) {
  const int64_t bytes = Bytes(op.getType().getPointee());
  const int64_t cell = bytes * static_cast<int64_t>(array.getTypes().size());
  Value* stride = b_.getInt64(cell);  // of the axis, in bytes
  Value* sum = b_.getInt64(0);
  Value* pointer = Argument(array.getSlot(), b_.getPtrTy());
  llvm::SmallVector<Value*, 4> constants;
  for (int axis = array.getAxes(); axis-- > 0;) {
    const Affine index = indices_.Read(b_, op.getIndices()[axis], values_);
    if (Value* terms = EmitTerms(b_, index)) sum = b_.CreateAdd(sum, b_.CreateMul(terms, stride));
    if (index.constant != 0) {
      constants.push_back(b_.CreateMul(b_.getInt64(index.constant), stride));
    }
    if (axis > 0) {
      stride = b_.CreateMul(stride, Argument(array.getExtentSlot(axis), b_.getInt64Ty()));
    }
  }
  pointer = b_.CreateGEP(b_.getInt8Ty(), pointer, sum);
  for (Value* constant : llvm::reverse(constants)) {
    pointer = b_.CreateGEP(b_.getInt8Ty(), pointer, constant);
  }
  const int64_t component = op.getComponent();
  return component == 0 ? pointer
                        : b_.CreateConstGEP1_64(b_.getInt8Ty(), pointer, component * bytes);
}

// A table of constants, by the index; a constant if all are equal.
Value* FunctionEmitter::Lookup(llvm::ArrayRef<uint64_t> values, Value* index) {
  // Components of one field often share a base, and then differ in their offsets only.
  if (llvm::all_equal(values)) return b_.getInt64(values[0]);
  auto* constant = llvm::ConstantDataArray::get(b_.getContext(), values);
  auto* global = new llvm::GlobalVariable(*state_->module, constant->getType(), /*isConstant=*/true,
                                          llvm::GlobalValue::PrivateLinkage, constant);
  return b_.CreateLoad(b_.getInt64Ty(), b_.CreateInBoundsGEP(b_.getInt64Ty(), global, index));
}

// A component by number, where components are not consecutive in memory. In ndarrays, the number is
// the slowest index; of fields, tables have the place of each component.
FunctionEmitter::Address FunctionEmitter::Component(ir::ComponentOp op) {
  const int storage = static_cast<int>(op.getStorage());
  const int64_t first = op.getFirst(), count = op.getCount();
  Value* index = EmitAffine(b_, indices_.Read(b_, op.getIndex(), values_));
  if (auto array = llvm::dyn_cast<ir::NdarrayAttr>(state_->storages[storage])) {
    Value* component = b_.CreateNSWAdd(index, b_.getInt64(first));
    Value* linear = b_.CreateNSWAdd(NdarrayCell(storage, array, op.getIndices()),
                                    b_.CreateNSWMul(component, NdarrayCells(array)));
    llvm::Type* type = kiln::MemoryType(op.getType().getPointee(), b_.getContext());
    Value* pointer = Argument(array.getSlot(), b_.getPtrTy());
    return {b_.CreateInBoundsGEP(type, pointer, linear), state_->scopes.OfBase(storage, 0)};
  }
  auto dense = llvm::cast<ir::DenseAttr>(state_->storages[storage]);
  Value* pointer = ComponentBase(dense, first, count, index);
  // The front end has checked that all bases have the same strides. The base may be any of them, so
  // no alias scope fits.
  const int any = static_cast<int>(dense.getComponentBase(first));
  return {DenseCell(dense, any, 0, op.getIndices(), pointer), kAnyBase};
}

// Where the component `first` + `index` of the field's first cell is.
Value* FunctionEmitter::ComponentBase(ir::DenseAttr dense, int64_t first, int64_t count,
                                      Value* index) {
  llvm::SmallVector<uint64_t> slot_of, offset_of;
  for (int64_t c = first; c < first + count; ++c) {
    slot_of.push_back(dense.getSlot() + dense.getComponentBase(c));
    offset_of.push_back(dense.getComponentOffset(c));
  }
  Value* slot = Lookup(slot_of, index);
  Value* offset = Lookup(offset_of, index);
  Value* slots = FromLaunch(LaunchField::kArguments);
  auto* base = b_.CreateLoad(b_.getPtrTy(), b_.CreateInBoundsGEP(b_.getInt64Ty(), slots, slot));
  MarkInvariant(base);
  return b_.CreateInBoundsGEP(b_.getInt8Ty(), base, offset);
}

Value* FunctionEmitter::EntryLoad(Value* base, int64_t offset) {
  Value*& value = entry_loads_[{base, offset}];
  if (value == nullptr) {
    auto* load =
        entry_builder_.CreateAlignedLoad(b_.getPtrTy(), EntryAddress(base, offset), llvm::Align(8));
    MarkInvariant(load);
    value = load;
  }
  return value;
}

void FunctionEmitter::set_task_body(mlir::Block* body) {
  task_body_ = body;
  first_exit_ = nullptr;
  if (body == nullptr) return;
  for (mlir::Operation& op : body->without_terminator()) {
    const auto leaves = [](mlir::Operation* inner) {
      // A call may fail and end the task, so what follows it is not certain to run.
      const bool exit = EffectsOf(inner).Has(kLeaves | kCalls);
      return exit ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
    };
    first_exit_ = &op;
    if (op.walk(leaves).wasInterrupted()) return;
  }
  first_exit_ = nullptr;
}

bool FunctionEmitter::IsCertain(mlir::Operation* op) const {
  return task_body_ != nullptr && op->getBlock() == task_body_ &&
         (first_exit_ == nullptr || op->isBeforeInBlock(first_exit_));
}

ir::TreeFieldAttr FunctionEmitter::TreeFieldAt(mlir::Value address) {
  address = ArrayOf(address);
  if (auto global = address.getDefiningOp<ir::GlobalOp>()) {
    return state_->kernel.getTreeField(global.getStorage());
  }
  auto component = address.getDefiningOp<ir::ComponentOp>();
  return component ? state_->kernel.getTreeField(component.getStorage()) : ir::TreeFieldAttr();
}

FunctionEmitter::Address FunctionEmitter::AddressFor(mlir::Value address, mlir::Operation* user) {
  using Access = TreeWalker::Access;
  ir::TreeFieldAttr field = TreeFieldAt(address);
  if (!field) return addresses_.lookup(address);
  // The user decides: a load reads through inactive cells, a store activates them.
  const bool writes = llvm::is_contained(EffectsOf(user).writes, address);
  return TreeAddress(field, address, writes ? Access::kActivate : Access::kRead, IsCertain(user));
}

FunctionEmitter::Address FunctionEmitter::TreeAddress(ir::TreeFieldAttr field, mlir::Value address,
                                                      TreeWalker::Access access, bool certain) {
  if (auto element = address.getDefiningOp<ir::ElementOp>()) {
    return Element(element, TreeAddress(field, element.getArray(), access, certain));
  }
  if (auto component = address.getDefiningOp<ir::ComponentOp>()) {
    return TreeComponent(field, component, access, certain);
  }
  auto global = address.getDefiningOp<ir::GlobalOp>();
  // ti.no_activate promises that the cell is active. If it is not, the write goes to the dump.
  if (access == TreeWalker::Access::kActivate && global.getNoActivate()) {
    access = TreeWalker::Access::kFind;
  }
  const int c = static_cast<int>(global.getComponent());
  Value* cell = trees_.Cell(field.getComponentTree(c), field.getComponentNode(c),
                            trees_.At(field, c, global.getIndices()), access, certain);
  cell = b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), cell, field.getComponentOffset(c));
  return {cell, state_->scopes.OfComponent(static_cast<int>(global.getStorage()), c)};
}

// A component by number. If the components are not consecutive in one cell, all are looked up and
// one address is selected.
FunctionEmitter::Address FunctionEmitter::TreeComponent(ir::TreeFieldAttr field, ir::ComponentOp op,
                                                        TreeWalker::Access access, bool certain) {
  Value* index = EmitAffine(b_, indices_.Read(b_, op.getIndex(), values_));
  const int64_t first = op.getFirst(), count = op.getCount();
  const int64_t start = field.getComponentOffset(first);
  const int64_t step = count > 1 ? field.getComponentOffset(first + 1) - start : 0;
  bool regular = true;
  // Regular: all in one cell, at equal distances. This is how matrices are placed by default.
  for (int64_t i = 1; i < count; ++i) {
    regular &= field.getComponentTree(first + i) == field.getComponentTree(first) &&
               field.getComponentNode(first + i) == field.getComponentNode(first) &&
               field.getComponentOffset(first + i) == start + i * step;
  }
  if (regular) {
    Value* cell =
        trees_.Cell(field.getComponentTree(first), field.getComponentNode(first),
                    trees_.At(field, static_cast<int>(first), op.getIndices()), access, certain);
    Value* offset = b_.CreateNSWAdd(b_.CreateNSWMul(index, b_.getInt64(step)), b_.getInt64(start));
    return {b_.CreateInBoundsGEP(b_.getInt8Ty(), cell, offset), kAnyBase};
  }
  Value* pointer = nullptr;
  for (int64_t i = count; i-- > 0;) {
    const int c = static_cast<int>(first + i);
    Value* cell = trees_.Cell(field.getComponentTree(c), field.getComponentNode(c),
                              trees_.At(field, c, op.getIndices()), access, certain);
    cell = b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), cell, field.getComponentOffset(c));
    pointer = pointer == nullptr
                  ? cell
                  : b_.CreateSelect(b_.CreateICmpEQ(index, b_.getInt64(i)), cell, pointer);
  }
  return {pointer, kAnyBase};
}

FunctionEmitter::Address FunctionEmitter::Element(ir::ElementOp op, Address array) {
  Affine offset;
  offset.Add(indices_.Read(b_, op.getIndex(), values_), Bytes(op.getType().getPointee()));
  array.pointer = b_.CreateInBoundsGEP(b_.getInt8Ty(), array.pointer, EmitAffine(b_, offset));
  return array;
}

// --- Accesses --------------------------------------------------------------------------

Value* FunctionEmitter::Alloca(llvm::Type* type, int64_t count) {
  // In the entry block, so that LLVM promotes it and a loop does not grow the stack.
  llvm::IRBuilder<> first(entry_, entry_->begin());
  return state_->target->AllocateLocal(first, type, count);
}

void FunctionEmitter::Tag(const Address& address, llvm::Instruction* access) {
  // Locals need no scope: LLVM sees that their addresses do not escape.
  if (address.memory > kUnknown) state_->scopes.Tag(access, address.memory);
  if (access_group_ != nullptr) {
    access->setMetadata(llvm::LLVMContext::MD_access_group, access_group_);
  }
}

Value* FunctionEmitter::Load(const Address& address, mlir::Type type) {
  auto* load = b_.CreateLoad(kiln::MemoryType(type, b_.getContext()), address.pointer);
  Tag(address, load);
  // Any byte but 0 is true: arrays of the user's may hold others than 1.
  return type.isInteger(1) ? b_.CreateIsNotNull(load) : load;
}

Value* FunctionEmitter::LoadNow(ir::LoadOp op) {
  return Load(AddressFor(op.getAddress(), op), op.getType());
}

void FunctionEmitter::Emit(ir::LoadOp op) {
  if (Value* given = given_.lookup(op)) return Map(op, given);
  const mlir::Type type = op.getType();
  if (Value* source = sources_.lookup(op)) return Map(op, Load(Address{source, kUnknown}, type));
  auto global = op.getAddress().getDefiningOp<ir::GlobalOp>();
  ir::TreeFieldAttr field = global ? trees_.FieldOf(global.getStorage()) : ir::TreeFieldAttr();
  if (field) {
    const int c = static_cast<int>(global.getComponent());
    const int memory = state_->scopes.OfComponent(static_cast<int>(global.getStorage()), c);
    // Reads that leave a row's block are served by the row's own code (tree_row.cc), if one is
    // open.
    Value* value =
        trees_.ReadAcross(field.getComponentTree(c), field.getComponentNode(c),
                          trees_.At(field, global.getIndices()), field.getComponentOffset(c),
                          Bytes(type), [&](Value* at) { return Load(Address{at, memory}, type); });
    if (value != nullptr) return Map(op, value);
  }
  Map(op, LoadNow(op));
}

llvm::StoreInst* FunctionEmitter::Store(const Address& address, Value* value) {
  if (value->getType()->isIntegerTy(1)) value = b_.CreateZExt(value, b_.getInt8Ty());
  auto* store = b_.CreateStore(value, address.pointer);
  Tag(address, store);
  return store;
}

void FunctionEmitter::Emit(ir::StoreOp op) {
  Store(AddressFor(op.getAddress(), op), ValueOf(op.getValue()));
}

void FunctionEmitter::Emit(ir::ZeroOp op) {
  const Address address = addresses_.lookup(op.getAddress());
  const int64_t bytes = Bytes(llvm::cast<ir::AddrType>(op.getAddress().getType()).getPointee());
  auto* zero =
      b_.CreateMemSet(address.pointer, b_.getInt8(0), op.getCount() * bytes, llvm::Align(bytes));
  Tag(address, zero);
}

}  // namespace kiln
