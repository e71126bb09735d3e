#include "client_py/native/bound_instance.h"

#include <pybind11/stl.h>

#include <stdexcept>
#include <string>

#include "client_py/native/field_object.h"

namespace kiln {

namespace py = pybind11;

namespace {

PyObject* Own(py::handle object) { return object.inc_ref().ptr(); }

Matcher MakeMatcher(const py::tuple& spec) {
  Matcher matcher;
  const std::string kind = py::cast<std::string>(spec[0]);
  // The kinds are those of Python's argument handling, which makes these tuples.
  if (kind == "any") return matcher;
  if (kind == "is" || kind == "weak" || kind == "eq") {
    matcher.kind = kind == "is" ? Matcher::kIs : kind == "weak" ? Matcher::kWeak : Matcher::kEqual;
    matcher.object = Own(py::object(spec[1]));
  } else if (kind == "array") {
    matcher.kind = Matcher::kArray;
    matcher.scalar = static_cast<Scalar>(py::cast<int>(spec[1]));
    matcher.ndim = py::cast<int>(spec[2]);
    matcher.element_shape = py::cast<std::vector<uint32_t>>(spec[3]);
    matcher.numpy_element_axes = py::cast<int>(spec[4]);
    const int gradient = py::cast<int>(spec[5]);
    if (gradient < Matcher::kEither || gradient > Matcher::kWithout) {
      throw py::value_error("unknown demand for a gradient");
    }
    matcher.gradient = static_cast<Matcher::Gradient>(gradient);
    if (spec.size() > 6) matcher.object = Own(py::object(spec[6]));
  } else {
    throw py::value_error("unknown matcher " + kind);
  }
  return matcher;
}

// Reads `spec`: a scalar or, for structs, the scalar of each number. Returns the first one.
Scalar ReadScalars(py::handle spec, std::vector<Scalar>* scalars) {
  if (py::isinstance<py::int_>(spec)) return static_cast<Scalar>(py::cast<int>(spec));
  for (int scalar : py::cast<std::vector<int>>(spec)) {
    scalars->push_back(static_cast<Scalar>(scalar));
  }
  return scalars->empty() ? proto::SCALAR_NONE : scalars->front();
}

// Binds the artifact's slots one by one: fills in the constant ones, and records how each call
// fills the others. There is one source per kernel parameter.
class SlotBinder {
 public:
  SlotBinder(BoundInstance* bound, const py::sequence& sources) : bound_(bound) {
    std::vector<const FieldStorage*> storages;
    for (py::handle source : sources) {
      sources_.push_back(py::reinterpret_borrow<py::tuple>(source));
      // Trees are bound for all fields together, because they are numbered across the kernel.
      if (py::cast<std::string>(sources_.back()[0]) != "field") continue;
      storages.push_back(TakeStorage(sources_.back()));
    }
    bound_->trees = BindTrees(storages);
    for (const BoundTree& bound : bound_->trees) bound_->memories.push_back(bound.tree->memory());
  }

  void Bind(const ArgumentSlot& slot, int index) {
    if (slot.kind == ArgumentSlot::Kind::kTree) return BindTreeSlot(slot, index);
    if (slot.param >= sources_.size()) {
      // Only a damaged or foreign entry gets here; without the check it would read beyond the list.
      throw std::runtime_error("the artifact has a parameter that the kernel has not");
    }
    const py::tuple& source = sources_[slot.param];
    const std::string kind = py::cast<std::string>(source[0]);
    if (kind == "field") {
      BindField(source, slot, index);
    } else if (kind == "array" || kind == "gradient") {
      BindArray(source, slot, index);
    } else {
      BindValue(kind, source, slot, index);
    }
  }

 private:
  // The storage of a "field" source, which is a bound field or a storage itself.
  static const FieldStorage& StorageOf(const py::tuple& source) {
    py::object object = source[1];
    if (IsField(object.ptr())) {
      auto* field = reinterpret_cast<FieldObject*>(object.ptr());
      if (field->storage_object == nullptr) throw std::runtime_error("an unbound field");
      object = py::reinterpret_borrow<py::object>(field->storage_object);
    }
    return py::cast<const FieldStorage&>(object);
  }

  // Keeps the object to which the instance is bound alive; once for all its slots.
  const FieldStorage* TakeStorage(const py::tuple& source) {
    const FieldStorage& storage = StorageOf(source);
    py::object object = source[1];
    Keep(object);
    if (IsField(object.ptr())) {
      PyObject* of_field = reinterpret_cast<FieldObject*>(object.ptr())->storage_object;
      Keep(py::reinterpret_borrow<py::object>(of_field));
    }
    // A launch checks that all of them still exist.
    bound_->memories.push_back(storage.memory);
    return &storage;
  }

  void BindField(const py::tuple& source, const ArgumentSlot& slot, int index) {
    const FieldStorage& storage = StorageOf(source);
    if (slot.kind == ArgumentSlot::Kind::kBase) {
      bound_->slots[index] = storage.bases.at(slot.element);
    } else {
      bound_->slots[index] = static_cast<uint64_t>(storage.extents.at(slot.element));
    }
  }

  void BindTreeSlot(const ArgumentSlot& slot, int index) {
    const BoundTree& bound = bound_->trees.at(slot.param);
    bound_->slots[index] =
        slot.element == 0 ? bound.root : reinterpret_cast<uint64_t>(bound.nodes.data());
  }

  void BindArray(const py::tuple& source, const ArgumentSlot& slot, int index) {
    SlotFill fill;
    fill.argument = py::cast<int>(source[1]);
    fill.slot = index;
    fill.of_gradient = py::cast<std::string>(source[0]) == "gradient";
    if (slot.kind == ArgumentSlot::Kind::kBase) {
      fill.kind = SlotFill::kArrayBase;
      const std::vector<bool>& writes = bound_->instance->writes();
      fill.needs_writable = slot.param < writes.size() && writes[slot.param];
    } else {
      fill.kind = SlotFill::kArrayExtent;
      fill.count = static_cast<int>(slot.element);
    }
    bound_->fills.push_back(fill);
  }

  void BindValue(const std::string& kind, const py::tuple& source, const ArgumentSlot& slot,
                 int index) {
    if (slot.element > 0) return;  // the fill of element 0 covers all elements
    SlotFill fill;
    fill.kind = kind == "scalar" ? SlotFill::kScalar : SlotFill::kTensor;
    fill.argument = py::cast<int>(source[1]);
    fill.slot = index;
    fill.scalar = ReadScalars(py::object(source[2]), &fill.scalars);
    if (kind == "tensor") {
      fill.count = py::cast<int>(source[3]);
      if (!fill.scalars.empty() && fill.scalars.size() != static_cast<size_t>(fill.count)) {
        throw py::value_error("one scalar per number of a struct expected");
      }
      fill.flatten = Own(py::object(source[4]));
    } else if (kind != "scalar") {
      throw py::value_error("unknown source " + kind);
    }
    // The artifact comes from a cache: what does not match it must not write beyond the slots.
    if (index + (kind == "tensor" ? fill.count : 1) > static_cast<int>(bound_->slots.size())) {
      throw std::runtime_error("a value does not fit the artifact's slots");
    }
    bound_->fills.push_back(fill);
  }

  void Keep(const py::object& object) { bound_->keep.push_back(Own(object)); }

  BoundInstance* bound_;
  std::vector<py::tuple> sources_;
};

}  // namespace

bool MemoriesAlive(BoundInstance* bound) {
  if (bound->epoch == memory_epoch) return true;  // the fast path: no memory was destroyed since
  for (const auto& memory : bound->memories) {
    if (!memory->alive) return false;
  }
  // All are alive: the next call takes the fast path until the next destruction.
  bound->epoch = memory_epoch;
  return true;
}

BoundInstance::~BoundInstance() {
  for (Matcher& matcher : matchers) Py_XDECREF(matcher.object);
  for (SlotFill& fill : fills) Py_XDECREF(fill.flatten);
  for (ReturnValue& result : results) Py_XDECREF(result.make);
  for (PyObject* kept : keep) Py_DECREF(kept);
  Py_XDECREF(object);
}

std::unique_ptr<BoundInstance> BindInstance(py::handle kernel, py::handle instance,
                                            py::handle matchers, py::handle sources,
                                            py::handle returns) {
  auto bound = std::make_unique<BoundInstance>();
  bound->instance = py::cast<std::shared_ptr<Instance>>(instance);
  bound->object = Own(instance);
  for (py::handle spec : py::reinterpret_borrow<py::sequence>(matchers)) {
    bound->matchers.push_back(MakeMatcher(py::reinterpret_borrow<py::tuple>(spec)));
  }
  const KernelInfo& info = bound->instance->kernel()->info();
  bound->slots.assign(info.arguments.size(), 0);
  bound->sources = Own(sources);
  bound->keep.push_back(bound->sources);
  SlotBinder binder(bound.get(), py::reinterpret_borrow<py::sequence>(sources));
  for (size_t i = 0; i < info.arguments.size(); ++i) {
    binder.Bind(info.arguments[i], static_cast<int>(i));
  }
  int scalars = 0;
  for (py::handle item : py::reinterpret_borrow<py::sequence>(returns)) {
    const auto spec = py::reinterpret_borrow<py::tuple>(item);
    ReturnValue result;
    result.scalar = ReadScalars(py::object(spec[0]), &result.scalars);
    result.count = py::cast<int>(spec[1]);
    py::object make = spec[2];
    if (!make.is_none()) result.make = Own(make);
    if (!result.scalars.empty() && result.scalars.size() != static_cast<size_t>(result.count)) {
      throw py::value_error("one scalar per number of a struct expected");
    }
    // 0 stands for a plain scalar, which needs no list.
    scalars += result.count == 0 ? 1 : result.count;
    bound->results.push_back(result);
  }
  // Results are read from an array of this size.
  if (scalars > static_cast<int>(info.results.size())) {
    throw std::runtime_error("the artifact returns fewer values than the kernel");
  }
  bound->prints = info.has_effects;
  bound->can_fail = info.can_fail;
  if (bound->instance->kernel()->is_on_device()) {
    bound->names = std::make_shared<const std::vector<std::string>>(
        1, py::cast<std::string>(kernel.attr("__name__")));
  }
  // All memories were alive when their storages were taken, just now.
  bound->epoch = memory_epoch;
  return bound;
}

}  // namespace kiln
