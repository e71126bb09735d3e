// The `kiln` dialect: kernels on scalars.
//
// Arithmetic is arith and math; this dialect adds what they lack: kernels, tasks,
// loops that can be left in the middle, memory of locals, storages and temporaries.
// Ops tell signed from unsigned (arith.divsi, arith.divui), so integers are signless;
// u1 is i1, one byte in memory.
//
// Two levels share the ops:
//   structured  kiln.kernel holds code and loops; kiln.parallel_for directly in it
//   offloaded   kiln.kernel holds only kiln.task. ops: serial, range_for, listgen, gc
//
// Blocks end in one of
//   continue  the iteration ends, the carried values go to the next one
//   break     the loop ends, the carried values are its results
//   yield     the value of an if, or of bounds
//   return    the kernel (task) ends
// The first two, and return, may end a block of an if inside the loop: they leave the
// nearest kiln.for, kiln.loop, kiln.parallel_for or task body.
#ifndef KILN_SERVER_COMPILER_DIALECT_OPS_TD_
#define KILN_SERVER_COMPILER_DIALECT_OPS_TD_

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/LoopLikeInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Kiln_Dialect : Dialect {
  let name = "kiln";
  let cppNamespace = "::kiln::ir";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

// --- Types and attributes ------------------------------------------------------

def Kiln_Addr : TypeDef<Kiln_Dialect, "Addr"> {
  let summary = "address of a scalar in memory";
  let mnemonic = "addr";
  let parameters = (ins "::mlir::Type":$pointee);
  let assemblyFormat = "`<` $pointee `>`";
}

// The layout of a field or array: proto/layout.proto as text of the IR. `slot` is the
// storage's first argument slot; storages of equal non-zero `alias` may overlap.
class Kiln_Storage<string cls, string name> : AttrDef<Kiln_Dialect, cls> {
  let mnemonic = name;
}

def Kiln_DenseAttr : Kiln_Storage<"Dense", "dense"> {
  let summary = "a field all of whose ancestors are dense";
  let parameters = (ins
    "int64_t":$slot,
    "int64_t":$axes,
    "::mlir::DenseI64ArrayAttr":$digits,      // axis, extent (0: at launch), stride in bytes; thrice each
    "::mlir::DenseI64ArrayAttr":$offset,      // subtracted from the indices; empty: zeros
    "::mlir::ArrayAttr":$types,               // scalar type of each component
    "::mlir::DenseI64ArrayAttr":$components,  // base, byte offset; twice each
    "int64_t":$bases,
    "::mlir::DenseI64ArrayAttr":$base_strides,  // bases x digits, where `digits` do not serve all
    "int64_t":$alias,
    "bool":$read_only);
  let assemblyFormat = [{ `<` `slot` `=` $slot `,` `axes` `=` $axes `,` `digits` `=` $digits `,`
      `offset` `=` $offset `,` `types` `=` $types `,` `components` `=` $components `,`
      `bases` `=` $bases `,` `base_strides` `=` $base_strides `,` `alias` `=` $alias `,`
      `read_only` `=` $read_only `>` }];
  let extraClassDeclaration = [{
    int getNumDigits() const { return getDigits().size() / 3; }
    int64_t getDigitAxis(int d) const { return getDigits()[3 * d]; }
    // 0: the outermost digit's, passed at launch.
    int64_t getDigitExtent(int d) const { return getDigits()[3 * d + 1]; }
    int64_t getDigitStride(int base, int d) const {
      return getBaseStrides().empty() ? getDigits()[3 * d + 2]
                                      : getBaseStrides()[base * getNumDigits() + d];
    }
    int64_t getAxisOffset(int axis) const { return getOffset().empty() ? 0 : getOffset()[axis]; }
    int64_t getComponentBase(int c) const { return getComponents()[2 * c]; }
    int64_t getComponentOffset(int c) const { return getComponents()[2 * c + 1]; }
    // Slot of the outermost digit's extent; bases come first.
    int64_t getExtentSlot() const { return getSlot() + getBases(); }
  }];
}

def Kiln_NdarrayAttr : Kiln_Storage<"Ndarray", "ndarray"> {
  let summary = "an array whose shape is known at launch; all components of one scalar type";
  let parameters = (ins
    "int64_t":$slot,
    "int64_t":$axes,
    "::mlir::ArrayAttr":$types,
    "bool":$soa,
    "bool":$clamp,
    "int64_t":$alias,
    "bool":$read_only);
  let assemblyFormat = [{ `<` `slot` `=` $slot `,` `axes` `=` $axes `,` `types` `=` $types `,`
      `soa` `=` $soa `,` `clamp` `=` $clamp `,` `alias` `=` $alias `,`
      `read_only` `=` $read_only `>` }];
  let extraClassDeclaration = [{
    int64_t getExtentSlot(int axis) const { return getSlot() + 1 + axis; }
  }];
}

class Kiln_Case<string name, int value> : I32EnumAttrCase<name, value, name>;

// By name, as in common/layout/snode_kinds.h.
def Kiln_SNodeKind : AttrParameter<"::kiln::SNodeKind", "kind of an SNode"> {
  let parser = "ParseSNodeKind($_parser)";
  let printer = "$_printer << FactsOf($_self).name";
}

def Kiln_SNodeAttr : AttrDef<Kiln_Dialect, "SNode"> {
  let summary = "one node of a tree: its containers, and their place in the parent's cell";
  let mnemonic = "snode";
  let parameters = (ins
    Kiln_SNodeKind:$kind,
    DefaultValuedParameter<"int64_t", "0">:$parent,
    "::mlir::DenseI64ArrayAttr":$axes,  // physical axis, extent; twice each, ascending
    DefaultValuedParameter<"int64_t", "0">:$cell_bytes,
    DefaultValuedParameter<"int64_t", "0">:$offset,
    DefaultValuedParameter<"int64_t", "0">:$mask,  // offset of the mask words, if the kind has any
    DefaultValuedParameter<"int64_t", "0">:$chunk);  // lists: cells per chunk
  let assemblyFormat = [{ `<` $kind `,`
      struct($parent, $axes, $cell_bytes, $offset, $mask, $chunk) `>` }];
  let extraClassDeclaration = [{
    int getNumAxes() const { return getAxes().size() / 2; }
    int64_t getAxis(int a) const { return getAxes()[2 * a]; }
    int64_t getExtent(int a) const { return getAxes()[2 * a + 1]; }
    int64_t getNumCells() const;
    const SNodeFacts& getFacts() const { return FactsOf(getKind()); }
    bool isSparse() const { return getFacts().is_sparse; }
  }];
}

def Kiln_TreeAttr : AttrDef<Kiln_Dialect, "Tree"> {
  let summary = "the part of a tree with sparse levels that the kernel reaches; node 0 is the root";
  let mnemonic = "tree";
  let parameters = (ins
    "int64_t":$slot,  // the root's cell; the next one has the KilnNode* by node
    ArrayRefParameter<"::kiln::ir::SNodeAttr">:$nodes);
  let assemblyFormat = "`<` `slot` `=` $slot `,` `nodes` `=` `[` $nodes `]` `>`";
  let extraClassDeclaration = [{
    SNodeAttr getNode(int64_t n) const { return getNodes()[n]; }
    // From the level below the root down to the node, itself included; empty for the root.
    ::llvm::SmallVector<int64_t> getPath(int64_t node) const;
    // The last sparse node on the path; 0: there is none.
    int64_t getLastSparse(int64_t node) const;
    // Product of the axis' extents on the path: how many indices reach the node's cells.
    int64_t getAxisExtent(int64_t node, int64_t axis) const;
    // Whether a level on the path divides the axis.
    bool divides(int64_t node, int64_t axis) const;
  }];
}

def Kiln_TreeFieldAttr : Kiln_Storage<"TreeField", "tree_field"> {
  let summary = "a field in a tree with sparse levels; without components: an SNode of it";
  let parameters = (ins
    "int64_t":$tree,  // of the kernel's trees
    "int64_t":$node,  // whose cells a loop over the storage visits
    "::mlir::DenseI64ArrayAttr":$axes,        // physical axis of each index; -1: unused
    "::mlir::DenseI64ArrayAttr":$offset,      // subtracted from the indices; empty: zeros
    "::mlir::ArrayAttr":$types,               // scalar type of each component
    "::mlir::DenseI64ArrayAttr":$components,  // tree, node, byte offset in its cells; thrice each
    "int64_t":$alias,
    "bool":$read_only,
    // Physical axis of each index, component by component, where they do not all have `axes`.
    OptionalParameter<"::mlir::DenseI64ArrayAttr">:$component_axes);
  let assemblyFormat = [{ `<` `tree` `=` $tree `,` `node` `=` $node `,` `axes` `=` $axes `,`
      `offset` `=` $offset `,` `types` `=` $types `,` `components` `=` $components `,`
      `alias` `=` $alias `,` `read_only` `=` $read_only
      (`,` `component_axes` `=` $component_axes^)? `>` }];
  let extraClassDeclaration = [{
    int getNumAxes() const { return getAxes().size(); }
    int64_t getAxis(int index) const { return getAxes()[index]; }
    int64_t getAxisOffset(int index) const { return getOffset().empty() ? 0 : getOffset()[index]; }
    int getNumComponents() const { return getComponents().size() / 3; }
    int64_t getComponentTree(int c) const { return getComponents()[3 * c]; }
    int64_t getComponentNode(int c) const { return getComponents()[3 * c + 1]; }
    int64_t getComponentOffset(int c) const { return getComponents()[3 * c + 2]; }
    int64_t getComponentAxis(int c, int index) const {
      return getComponentAxes() ? getComponentAxes()[c * getNumAxes() + index] : getAxis(index);
    }
    // Which of the indices reach the cells of the node's parent: those of ops that name a
    // container (NamesContainer in common/layout/snode_kinds.h).
    ::llvm::SmallVector<int> getIndicesAbove(TreeAttr tree) const;
  }];
}

def Kiln_AccessAttr : AttrDef<Kiln_Dialect, "Access"> {
  let summary = "a box of cells that a kernel writes, or that its gradient reads again";
  let mnemonic = "access";
  let parameters = (ins
    "bool":$writes,
    "int64_t":$slot,       // of a storage's base; of a tree's KilnNode*, where `tree_node` is not 0
    "int64_t":$tree_node,
    "int64_t":$offset,     // of the component in its cell
    "int64_t":$source,     // the node that accesses them
    // Of each index the first and the last, thrice each: the slot of the argument that its factor
    // multiplies, or one of the markers below; the factor; the number added.
    "::mlir::DenseI64ArrayAttr":$bounds);
  let assemblyFormat = [{ `<` `writes` `=` $writes `,` `slot` `=` $slot `,`
      `tree_node` `=` $tree_node `,` `offset` `=` $offset `,` `source` `=` $source `,`
      `bounds` `=` $bounds `>` }];
  let extraClassDeclaration = [{
    static constexpr int64_t kNumber = -1;     // in place of a slot: only the number counts
    static constexpr int64_t kUnbounded = -2;  // in place of a slot: any index
  }];
}

def Kiln_AtomicKind : I32EnumAttr<"AtomicKind", "read-modify-write", [
    Kiln_Case<"addi", 0>, Kiln_Case<"subi", 1>, Kiln_Case<"muli", 2>,
    Kiln_Case<"minsi", 3>, Kiln_Case<"maxsi", 4>, Kiln_Case<"minui", 5>, Kiln_Case<"maxui", 6>,
    Kiln_Case<"andi", 7>, Kiln_Case<"ori", 8>, Kiln_Case<"xori", 9>,
    Kiln_Case<"addf", 10>, Kiln_Case<"subf", 11>, Kiln_Case<"mulf", 12>,
    Kiln_Case<"minf", 13>, Kiln_Case<"maxf", 14>]> {
  let cppNamespace = "::kiln::ir";
  let genSpecializedAttr = 0;
}
def Kiln_AtomicKindAttr : EnumAttr<Kiln_Dialect, Kiln_AtomicKind, "atomic_kind">;

// --- Ops -----------------------------------------------------------------------

// What an op does besides computing its results is said once, in effects.cc, unless it is Pure.
class Kiln_Op<string mnemonic, list<Trait> traits = []> : Op<Kiln_Dialect, mnemonic, traits>;
// MLIR's passes ask effects.cc as well. To them, an op of another class that is not Pure may do
// anything: they leave it where it is.
class Kiln_MemoryOp<string mnemonic, list<Trait> traits = []>
    : Kiln_Op<mnemonic, !listconcat(traits, [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>])> {
  let extraClassDefinition = [{
    void $cppClass::getEffects(
        ::llvm::SmallVectorImpl<::mlir::SideEffects::EffectInstance<::mlir::MemoryEffects::Effect>>&
            effects) {
      ::kiln::AppendMemoryEffects(*this, &effects);
    }
  }];
}
class Kiln_CustomOp<string mnemonic, list<Trait> traits = []> : Kiln_Op<mnemonic, traits> {
  let hasCustomAssemblyFormat = 1;
}

def Kiln_Scalar : AnyTypeOf<[AnySignlessInteger, AnyFloat]>;
def Kiln_ScalarOrAddr : AnyTypeOf<[AnySignlessInteger, AnyFloat, Kiln_Addr]>;
class Kiln_PointeeIs<string value> : TypesMatchWith<
    "the address is of the value's type", "address", value,
    "::llvm::cast<::kiln::ir::AddrType>($_self).getPointee()">;

def Kiln_KernelOp : Kiln_Op<"kernel", [IsolatedFromAbove, Symbol, SingleBlock]> {
  let summary = "a kernel: the storages that it accesses, its result types, its code or tasks";
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<ArrayAttr>:$trees,
                       ArrayAttr:$storages, TypeArrayAttr:$results,
                       UnitAttr:$fast_math, UnitAttr:$debug,
                       OptionalAttr<I64Attr>:$temporary_bytes,
                       // Of a kernel to differentiate, by storage: that of its gradients, or of
                       // its duals if the mode is `forward`; -1: none.
                       OptionalAttr<DenseI64ArrayAttr>:$companions, UnitAttr:$forward,
                       // Of a gradient to differentiate again, by storage: that of its duals.
                       OptionalAttr<DenseI64ArrayAttr>:$duals,
                       OptionalAttr<ArrayAttr>:$accesses);  // Kiln_AccessAttr; of gradients
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{ $sym_name (`trees` $trees^)? `storages` $storages `results` $results
      attr-dict-with-keyword $body }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::kiln::ir::TreeAttr getTree(int64_t tree) {
      return ::llvm::cast<::kiln::ir::TreeAttr>((*getTrees())[tree]);
    }
    // Null where the storage is none.
    ::kiln::ir::TreeFieldAttr getTreeField(int64_t storage) {
      return ::llvm::dyn_cast<::kiln::ir::TreeFieldAttr>(getStorages()[storage]);
    }
  }];
}

def Kiln_FunctionOp : Kiln_CustomOp<"function", [IsolatedFromAbove, SingleBlock]> {
  let summary = "a function of the kernel, which its code and functions call by number";
  let description = [{
      kiln.function 0 (%n : i32, %at : !kiln.addr<f32>) -> (i32) { ... kiln.return %n : i32 }
    Arguments are scalars, and addresses that are good for the length of the call.
  }];
  let arguments = (ins I64Attr:$number, TypeArrayAttr:$results);
  let regions = (region SizedRegion<1>:$body);
}

def Kiln_CallOp : Kiln_Op<"call"> {
  let summary = "calls a function of the kernel";
  let arguments = (ins I64Attr:$callee,
                       Variadic<AnyTypeOf<[Kiln_Scalar, Kiln_Addr]>>:$arguments);
  let results = (outs Variadic<Kiln_Scalar>:$results);
  let assemblyFormat = [{ $callee `(` $arguments `)` attr-dict `:`
      functional-type($arguments, $results) }];
}

def Kiln_ArgumentOp : Kiln_Op<"argument", [Pure]> {
  let summary = "the scalar in an argument slot, or in the one `index` slots on";
  let arguments = (ins I64Attr:$slot, Optional<I32>:$index);
  let results = (outs Kiln_Scalar:$value);
  let assemblyFormat = "$slot (`[` $index^ `]`)? attr-dict `:` type($value)";
  let builders = [OpBuilder<(ins "::mlir::Type":$type, "uint64_t":$slot),
                            "build($_builder, $_state, type, slot, ::mlir::Value());">];
}

def Kiln_ResultOp : Kiln_Op<"result"> {
  let summary = "writes a result slot, or the one `index` slots on";
  let arguments = (ins I64Attr:$slot, Kiln_Scalar:$value, Optional<I32>:$index);
  let assemblyFormat = "$slot (`[` $index^ `]`)? `,` $value attr-dict `:` type($value)";
  let builders = [OpBuilder<(ins "uint64_t":$slot, "::mlir::Value":$value),
                            "build($_builder, $_state, slot, value, ::mlir::Value());">];
}

def Kiln_ExtentOp : Kiln_Op<"extent", [Pure]> {
  let summary = "run-time extent of an axis of a storage";
  let arguments = (ins I64Attr:$storage, I64Attr:$axis);
  let results = (outs AnySignlessInteger:$value);
  let assemblyFormat = "$storage `axis` $axis attr-dict `:` type($value)";
}

def Kiln_OuterExtentOp : Kiln_Op<"outer_extent", [Pure]> {
  let summary = "run-time extent of the outermost digit of a dense storage";
  let arguments = (ins I64Attr:$storage);
  let results = (outs AnySignlessInteger:$value);
  let assemblyFormat = "$storage attr-dict `:` type($value)";
}

def Kiln_GlobalOp : Kiln_Op<"global", [Pure]> {
  let summary = "address of a component of a storage at indices (offset included, one per axis)";
  let description = [{
    In a tree the address is symbolic: the op that uses it decides what happens at inactive
    cells. A load sees zero, address_of gives the address of zeros, and an op that writes
    activates them. With `no_activate` its writes are lost instead.
  }];
  let arguments = (ins I64Attr:$storage, I64Attr:$component, Variadic<I32>:$indices,
                       UnitAttr:$no_activate);
  let results = (outs Kiln_Addr:$address);
  let assemblyFormat = [{ $storage `component` $component `[` $indices `]` attr-dict `:`
      type($address) }];
}

def Kiln_ComponentOp : Kiln_Op<"component", [Pure]> {
  let summary = "address of component `first` + `index` of a storage, `count` of one type and strides";
  let arguments = (ins I64Attr:$storage, I64Attr:$first, I64Attr:$count, I32:$index,
                       Variadic<I32>:$indices);
  let results = (outs Kiln_Addr:$address);
  let assemblyFormat = [{ $storage `components` $first `,` $count `at` $index `[` $indices `]`
      attr-dict `:` type($address) }];
}

// --- SNodes ------------------------------------------------------------------------
// `storage` is one in a tree, the SNode the one that its cells belong to.

class Kiln_SNodeOp<string mnemonic> : Kiln_MemoryOp<mnemonic> {
  let arguments = (ins I64Attr:$storage, Variadic<I32>:$indices);
  let hasVerifier = 1;
}
class Kiln_SNodeQueryOp<string mnemonic, Type type> : Kiln_SNodeOp<mnemonic> {
  let results = (outs type:$value);
  let assemblyFormat = "$storage `[` $indices `]` attr-dict";
}

def Kiln_ActivateOp : Kiln_SNodeOp<"activate"> {
  let summary = "makes a cell active, with all above it";
  let assemblyFormat = "$storage `[` $indices `]` attr-dict";
}

def Kiln_DeactivateOp : Kiln_SNodeOp<"deactivate"> {
  let summary = "makes a cell inactive, with all below it; of a list all cells of a container";
  let description = [{ Of a list the indices are those above, as for length. }];
  let assemblyFormat = "$storage `[` $indices `]` attr-dict";
}

def Kiln_IsActiveOp : Kiln_SNodeQueryOp<"is_active", I1> {
  let summary = "whether a cell, and all above it, is active";
}

def Kiln_LengthOp : Kiln_SNodeQueryOp<"length", I32> {
  let summary = "cells in use in the container of a list";
  let description = [{ The indices are TreeFieldAttr::getIndicesAbove of the storage's. }];
}

def Kiln_AppendOp : Kiln_SNodeQueryOp<"append", I32> {
  let summary = "takes the next cell of a container of a list: its number; -1: it is full";
  let description = [{ The indices are TreeFieldAttr::getIndicesAbove of the storage's. }];
}

def Kiln_AddressOfOp : Kiln_Op<"address_of", [Pure]> {
  let summary = "an address as a number; activates nothing";
  let arguments = (ins Kiln_Addr:$address);
  let results = (outs I64:$value);
  let assemblyFormat = "$address attr-dict `:` type($address)";
}

def Kiln_LocalOp : Kiln_Op<"local"> {
  let summary = "memory for one scalar, unset; one a function however often it runs";
  let results = (outs Res<Kiln_Addr, "", [MemAlloc]>:$address);
  let assemblyFormat = "attr-dict `:` type($address)";
}

def Kiln_LocalArrayOp : Kiln_Op<"local_array"> {
  let summary = "memory for `count` scalars of one type, unset; the address of the first";
  let arguments = (ins I64Attr:$count);
  let results = (outs Res<Kiln_Addr, "", [MemAlloc]>:$address);
  let assemblyFormat = "$count attr-dict `:` type($address)";
}

def Kiln_TemporaryOp : Kiln_Op<"temporary", [Pure]> {
  let summary = "address in the launch's temporaries, zero when the launch starts";
  let arguments = (ins I64Attr:$offset);
  let results = (outs Kiln_Addr:$address);
  let assemblyFormat = "$offset attr-dict `:` type($address)";
}

def Kiln_ElementOp : Kiln_Op<"element", [Pure, AllTypesMatch<["array", "address"]>]> {
  let summary = "address of a scalar of an array of locals or temporaries";
  let arguments = (ins Kiln_Addr:$array, I32:$index);
  let results = (outs Kiln_Addr:$address);
  let assemblyFormat = "$array `[` $index `]` attr-dict `:` type($address)";
}

def Kiln_LoadOp : Kiln_MemoryOp<"load", [Kiln_PointeeIs<"value">]> {
  let summary = "reads memory";
  let arguments = (ins Kiln_Addr:$address);
  let results = (outs Kiln_Scalar:$value);
  let assemblyFormat = "$address attr-dict `:` type($address)";
}

def Kiln_StoreOp : Kiln_MemoryOp<"store", [Kiln_PointeeIs<"value">]> {
  let summary = "writes memory";
  let arguments = (ins Kiln_Scalar:$value, Kiln_Addr:$address);
  let assemblyFormat = "$value `,` $address attr-dict `:` type($address)";
}

def Kiln_ZeroOp : Kiln_MemoryOp<"zero"> {
  let summary = "zeroes `count` scalars";
  let arguments = (ins I64Attr:$count, Kiln_Addr:$address);
  let assemblyFormat = "$count `,` $address attr-dict `:` type($address)";
}

def Kiln_AtomicOp : Kiln_MemoryOp<"atomic", [Kiln_PointeeIs<"value">, Kiln_PointeeIs<"old">]> {
  let summary = "atomic read-modify-write, relaxed; the old value";
  let description = [{
    `pair_offset`: the block's next atomic is of the same kind, at the component so many bytes
    after this one. Both may be updated at once, at the place of the second. `apart`: storages of
    arrays. If these do not overlap with the updated array, no other iteration writes the cell.
  }];
  let arguments = (ins Kiln_AtomicKindAttr:$kind, Kiln_Scalar:$value, Kiln_Addr:$address,
                       OptionalAttr<I64Attr>:$pair_offset, OptionalAttr<DenseI64ArrayAttr>:$apart);
  let results = (outs Kiln_Scalar:$old);
  let assemblyFormat = "$kind $value `,` $address attr-dict `:` type($address)";
  let builders = [OpBuilder<
      (ins "::mlir::Type":$type, "::kiln::ir::AtomicKind":$kind, "::mlir::Value":$value,
           "::mlir::Value":$address),
      "build($_builder, $_state, type, kind, value, address, ::mlir::IntegerAttr(), "
      "::mlir::DenseI64ArrayAttr());">];
}

def Kiln_UpdateOp : Kiln_MemoryOp<"update", [SingleBlock, Kiln_PointeeIs<"old">]> {
  let summary = "atomic read-modify-write by code: what the body makes of the old value, its argument";
  let description = [{
      %old = kiln.update %a : !kiln.addr<i32> { ^bb0(%x: i32): ... kiln.yield %y : i32 }
    The body has no memory effects and may run more than once.
  }];
  let arguments = (ins Kiln_Addr:$address);
  let results = (outs Kiln_Scalar:$old);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$address attr-dict `:` type($address) $body";
}

def Kiln_RandomOp : Kiln_MemoryOp<"random"> {
  let summary = "the iteration's next random number: floats in [0, 1), integers of all bits";
  let results = (outs Kiln_Scalar:$value);
  let assemblyFormat = "attr-dict `:` type($value)";
}

def Kiln_SimtOp : Kiln_Op<"simt"> {
  let summary = "an operation of the threads of a GPU (common/language/simt_ops.h)";
  let description = [{
    Other threads' accesses come before and after it, and it stays where it is: no pass moves,
    repeats or removes it, nor accesses to shared memory across it.
  }];
  let arguments = (ins StrAttr:$spelling, Variadic<Kiln_Scalar>:$values);
  let results = (outs Optional<Kiln_Scalar>:$result);
  let assemblyFormat = "$spelling `(` $values `)` attr-dict `:` functional-type($values, $result)";
}

def Kiln_SharedArrayOp : Kiln_Op<"shared_array"> {
  let summary = "memory of a block of threads for `count` scalars of one type, unset; of the first";
  let arguments = (ins I64Attr:$count);
  let results = (outs Res<Kiln_Addr, "", [MemAlloc]>:$address);
  let assemblyFormat = "$count attr-dict `:` type($address)";
}

def Kiln_PrintOp : Kiln_Op<"print"> {
  let summary = "sends (node id, values) to the client; of an address as many scalars as `counts` says";
  let arguments = (ins I64Attr:$node, Variadic<Kiln_ScalarOrAddr>:$values,
                       OptionalAttr<DenseI64ArrayAttr>:$counts);
  let assemblyFormat = "$node `(` $values `)` attr-dict `:` `(` type($values) `)`";
}

def Kiln_AssertOp : Kiln_Op<"assert"> {
  let summary = "ends the task's chunk and fails the launch with (node id, values) unless true";
  let arguments = (ins I1:$condition, I64Attr:$node, Variadic<Kiln_ScalarOrAddr>:$values,
                       OptionalAttr<DenseI64ArrayAttr>:$counts);
  let assemblyFormat = "$condition `,` $node `(` $values `)` attr-dict `:` `(` type($values) `)`";
}

// --- Derivatives -------------------------------------------------------------------

def Kiln_StopGradientOp : Kiln_Op<"stop_gradient", [Pure, AllTypesMatch<["value", "result"]>]> {
  let summary = "the value, as a constant of derivatives; only in kernels to differentiate";
  let arguments = (ins AnyType:$value);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

// --- Tapes -------------------------------------------------------------------------
// What iterations of a loop leave for its reverse: records on a stack of the thread. The reverse of
// the loop takes the last one first, and a parallel iteration leaves the stack as it found it.

def Kiln_TapePushOp : Kiln_MemoryOp<"tape.push"> {
  let summary = "so many new records of so many bytes, a multiple of 8: the address of the first";
  let description = "If there is no room for them, the launch fails at `node`.";
  let arguments = (ins I64Attr:$node, I64:$count, I64Attr:$bytes);
  let results = (outs Kiln_Addr:$record);
  let assemblyFormat = "$node `,` $count `x` $bytes attr-dict `:` type($record)";
}

def Kiln_TapeTopOp : Kiln_MemoryOp<"tape.top"> {
  let summary = "the address of the first of the last records";
  let arguments = (ins I64:$count, I64Attr:$bytes);
  let results = (outs Kiln_Addr:$record);
  let assemblyFormat = "$count `x` $bytes attr-dict `:` type($record)";
}

def Kiln_TapePopOp : Kiln_MemoryOp<"tape.pop"> {
  let summary = "removes the last records";
  let arguments = (ins I64:$count, I64Attr:$bytes);
  let assemblyFormat = "$count `x` $bytes attr-dict";
}

def Kiln_TapeSlotOp : Kiln_Op<"tape.slot", [Pure]> {
  let summary = "the address of a scalar, or of an array of them, in a record of so many bytes";
  let arguments = (ins Kiln_Addr:$records, I64:$index, I64Attr:$bytes, I64Attr:$offset);
  let results = (outs Kiln_Addr:$address);
  let assemblyFormat = [{ $records `[` $index `]` `x` $bytes `at` $offset attr-dict `:`
      type($records) `,` type($address) }];
}

// --- Structured control --------------------------------------------------------

class Kiln_LoopOpBase<string mnemonic> : Kiln_CustomOp<mnemonic, [
    RecursiveMemoryEffects, SingleBlock,
    DeclareOpInterfaceMethods<LoopLikeOpInterface>]>;

def Kiln_ForOp : Kiln_LoopOpBase<"for"> {
  let summary = "a serial loop: lower <= index < upper, values carried";
  let description = [{
    Block arguments: the index, then the carried values. Signed bounds of one type.
      %r = kiln.for %i = %lower to %upper : i32 carry (%a = %init : f32) { ... }
  }];
  let arguments = (ins AnySignlessInteger:$lower, AnySignlessInteger:$upper,
                       Variadic<Kiln_Scalar>:$inits);
  let results = (outs Variadic<Kiln_Scalar>:$results);
  let regions = (region SizedRegion<1>:$body);
  let extraClassDeclaration = [{
    mlir::Value getIndex() { return getBody().getArgument(0); }
    mlir::Block::BlockArgListType getCarried() { return getBody().getArguments().drop_front(); }
    mlir::Block::BlockArgListType getRegionIterArgs() { return getCarried(); }
  }];
}

def Kiln_LoopOp : Kiln_LoopOpBase<"loop"> {
  let summary = "repeats until break or return, values carried";
  let arguments = (ins Variadic<Kiln_Scalar>:$inits);
  let results = (outs Variadic<Kiln_Scalar>:$results);
  let regions = (region SizedRegion<1>:$body);
  let extraClassDeclaration = [{
    mlir::Block::BlockArgListType getCarried() { return getBody().getArguments(); }
    mlir::Block::BlockArgListType getRegionIterArgs() { return getCarried(); }
  }];
}

def Kiln_ParallelForOp : Kiln_CustomOp<"parallel_for", [
    RecursiveMemoryEffects, SingleBlock, SameVariadicOperandSize]> {
  let summary = "iterations in any order, at once; the last dimension varies fastest";
  let description = [{
      kiln.parallel_for (%i, %j) = (%l0, %l1) to (%u0, %u1) : i32 { ... }
      kiln.parallel_for (%i, %j) struct_for 2 : i32 { ... }
    `over` is the storage of a struct-for; with bounds it is informational. The second form
    visits the active cells of a storage in a tree, in no order; the indices are the storage's,
    without offset.
  }];
  let arguments = (ins Variadic<AnySignlessInteger>:$lowers, Variadic<AnySignlessInteger>:$uppers,
                       OptionalAttr<I64Attr>:$over, OptionalAttr<I32Attr>:$max_threads,
                       OptionalAttr<I32Attr>:$block_dim);
  let regions = (region SizedRegion<1>:$body);
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    // Over the active cells of a tree's storage.
    bool isSparse() { return getLowers().empty() && getBody().getNumArguments() > 0; }
  }];
}

def Kiln_IfOp : Kiln_CustomOp<"if", [RecursiveMemoryEffects, NoRegionArguments]> {
  let summary = "one of two blocks, each ended by yield, continue, break or return";
  let arguments = (ins I1:$condition);
  let results = (outs Variadic<Kiln_Scalar>:$results);
  let regions = (region SizedRegion<1>:$then_region, SizedRegion<1>:$else_region);
  let extraClassDeclaration = [{
    mlir::Block& getThenBlock() { return getThenRegion().front(); }
    mlir::Block& getElseBlock() { return getElseRegion().front(); }
  }];
}

def Kiln_InsideOp : Kiln_Op<"inside", [Pure]> {
  let summary = "whether an index is in the part of its row in which conditions are decided";
  let description = [{
    lower <= index < upper. Code generation for CPUs makes loops of their own of the branches of an
    if on it that is directly in a task's body.
  }];
  let arguments = (ins AnySignlessInteger:$index, I64:$lower, I64:$upper);
  let results = (outs I1:$result);
  let assemblyFormat = "$index `from` $lower `to` $upper attr-dict `:` type($index)";
}

class Kiln_Terminator<string mnemonic, list<Trait> traits = []>
    : Kiln_Op<mnemonic, !listconcat([Terminator], traits)> {
  let arguments = (ins Variadic<Kiln_Scalar>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
  let builders = [OpBuilder<(ins), "build($_builder, $_state, ::mlir::ValueRange());">];
}
def Kiln_YieldOp : Kiln_Terminator<"yield", [Pure]> { let summary = "ends a block of an if, bounds or finish"; }
def Kiln_ContinueOp : Kiln_Terminator<"continue"> { let summary = "ends an iteration"; }
def Kiln_BreakOp : Kiln_Terminator<"break"> { let summary = "ends a loop"; }
def Kiln_ReturnOp : Kiln_Terminator<"return"> { let summary = "ends the kernel, task or function"; }

// --- Tasks ---------------------------------------------------------------------

def Kiln_SerialTaskOp : Kiln_Op<"task.serial", [IsolatedFromAbove, SingleBlock]> {
  let summary = "code that one thread runs once; ended by return";
  let arguments = (ins StrAttr:$task_name);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$task_name attr-dict-with-keyword $body";
}

def Kiln_RangeTaskOp : Kiln_CustomOp<"task.range_for", [IsolatedFromAbove]> {
  let summary = "iterations over a box, in chunks, by many threads";
  let description = [{
      kiln.task.range_for "k_1" bounds { kiln.yield %l0, %u0, %l1, %u1 : i64, ... }
        body (%i : i32, %j : i32, %acc : f32) { ... kiln.continue %acc2 : f32 }
        finish (%acc : f32) { kiln.atomic addf %acc, %address ...; kiln.yield }
    `bounds` yields lower and upper of each dimension. It reads nothing that the task writes,
    so it may run again at any time. The linear iteration space has the last dimension
    fastest. `body` takes the indices, then the accumulators, which start at `inits` in every
    piece of the loop; its continue gives their next values. `finish` runs once for each
    piece, in order, after all iterations. With `lanes`, a target that can runs several
    iterations at once, in vectors. With `rows`, an iteration computes so many rows of the
    program's loop.

      kiln.task.range_for "k_2" struct_for 2 body (%i : i32, %j : i32) { ... }
    visits the active cells of storage 2, in a tree. It takes them from the launch's list,
    which the last listgen task made. Its `bounds` are empty; a chunk may have no iteration.
  }];
  let arguments = (ins StrAttr:$task_name, ArrayAttr:$inits, OptionalAttr<I64Attr>:$over,
                       DefaultValuedAttr<I32Attr, "0">:$max_threads,
                       DefaultValuedAttr<I32Attr, "0">:$block_dim,
                       DefaultValuedAttr<I32Attr, "0">:$cost, UnitAttr:$lanes,
                       OptionalAttr<I32Attr>:$rows);
  let regions = (region SizedRegion<1>:$bounds, SizedRegion<1>:$body, SizedRegion<1>:$finish);
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    // Over the active cells of a tree's storage.
    bool isSparse() {
      return getNumDims() > 0 && getBounds().front().getTerminator()->getNumOperands() == 0;
    }
    int getNumDims() { return getBody().getNumArguments() - getInits().size(); }
    mlir::Block::BlockArgListType getIndices() {
      return getBody().getArguments().take_front(getNumDims());
    }
    mlir::Block::BlockArgListType getAccumulators() {
      return getBody().getArguments().drop_front(getNumDims());
    }
  }];
}

class Kiln_TreeTaskOp<string mnemonic, dag more = (ins)> : Kiln_Op<mnemonic> {
  let arguments = !con(
      (ins StrAttr:$task_name, I64Attr:$tree, I64Attr:$node, StrAttr:$path), more);
  let assemblyFormat = "$task_name `tree` $tree `node` $node $path attr-dict";
  let hasVerifier = 1;
}

def Kiln_ListgenTaskOp : Kiln_TreeTaskOp<"task.listgen", (ins UnitAttr:$slices)> {
  let summary = "makes the launch's list: of a sparse node's active cells, level by level";
  let description = [{
      kiln.task.listgen "k_1" tree 0 node 2 "S0root->S1dense->S2bitmasked" {slices}
    With `slices`, of slices of the node's containers: loops over the node itself need these,
    loops over fields below it cells. `path` is informational.
  }];
}

def Kiln_GcTaskOp : Kiln_TreeTaskOp<"task.gc"> {
  let summary = "zeroes what the task before made inactive below a node, for use again";
}

#endif  // KILN_SERVER_COMPILER_DIALECT_OPS_TD_
