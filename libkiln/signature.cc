// Also the functions of the C interface that describe kernels, graphs and dtypes.
#include "libkiln/signature.h"

#include "libkiln/failure.h"
#include "libkiln/handles.h"
#include "runtime/scalar.h"

namespace kiln::capi {
namespace {

std::string NameOf(uint32_t scalar) {
  const ScalarFacts* facts = FindScalar(scalar);
  return facts == nullptr ? "?" : facts->name;
}

std::string ArrayOf(const ValueShape& element, uint32_t rank) {
  const std::string of =
      element.texels == 0 ? "array<" + TextOf(element) : "texture<" + FormatOf(element);
  return of + ", " + std::to_string(rank) + ">";
}

}  // namespace

std::string FormatOf(const ValueShape& texels) {
  const ScalarFacts& facts = *FindScalar(texels.scalar);
  const bool is_fraction = (texels.texels & module::Param::kFractions) != 0;
  const char* kind = facts.kind == ScalarFacts::kFloat    ? "f"
                     : facts.kind == ScalarFacts::kSigned ? "i"
                     : is_fraction                        ? ""
                                                          : "u";
  return std::string("rgba", texels.shape[0]) + std::to_string(facts.bytes * 8) + kind;
}

std::string TextOf(const ValueShape& value) {
  if (value.scalar == 0) {
    std::string text = "struct<";
    for (size_t i = 0; i < value.scalars.size(); ++i) {
      text += (i > 0 ? ", " : "") + NameOf(value.scalars[i]);
    }
    return text + ">";
  }
  if (value.shape.empty()) return NameOf(value.scalar);
  std::string text = value.shape.size() == 1 ? "vec" : "mat";
  for (size_t i = 0; i < value.shape.size(); ++i) {
    text += (i > 0 ? "x" : "") + std::to_string(value.shape[i]);
  }
  return text + "<" + NameOf(value.scalar) + ">";
}

std::string TextOf(const ModuleParam& param) {
  return param.name + ": " +
         (param.is_array ? ArrayOf(param.value, param.rank) : TextOf(param.value));
}

std::string TextOf(const ModuleField& field) {
  ValueShape element;
  element.scalar = field.scalar;
  element.shape = field.element;
  std::string text = field.name + ": " + TextOf(element);
  for (size_t i = 0; i < field.shape.size(); ++i) {
    text += (i > 0 ? " x " : ", ") + std::to_string(field.shape[i]);
  }
  if (field.is_sparse) text += ", sparse";
  if (field.is_quantised) {
    text += ", quantised";
  } else if (field.only_kernels != nullptr) {
    text += ", reordered";
  }
  return text;
}

std::string SignatureOf(const ModuleGraph& graph) {
  std::string text = graph.name + "(";
  for (size_t i = 0; i < graph.args.size(); ++i) {
    const ModuleGraph::Arg& arg = graph.args[i];
    text += (i > 0 ? ", " : "") + arg.name + ": " +
            (arg.is_array ? ArrayOf(arg.value, arg.rank) : TextOf(arg.value));
  }
  return text + ")";
}

std::string SignatureOf(const ModuleKernel& kernel) {
  std::string text = kernel.name + "(";
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    text += (i > 0 ? ", " : "") + TextOf(kernel.params[i]);
  }
  text += ")";
  for (size_t i = 0; i < kernel.results.size(); ++i) {
    text += (i > 0 ? ", " : " -> ") + TextOf(kernel.results[i].value);
  }
  return text;
}

std::string SignaturesOf(const Module& module) {
  std::string text;
  for (const ModuleKernel& kernel : module.kernels()) {
    text += (text.empty() ? "" : "; ") + SignatureOf(kernel);
  }
  return text;
}

namespace {

kiln_param Described(const char* name, bool is_array, const ValueShape& value, uint32_t rank,
                     uint32_t first_slot, bool writes) {
  kiln_param made{};
  made.kind = is_array ? KILN_PARAM_ARRAY : KILN_PARAM_VALUE;
  made.name = name;
  made.dtype = value.scalar;
  made.count = value.count;
  made.rank = rank;
  made.element_ndim = static_cast<uint32_t>(value.shape.size());
  made.element_shape = value.shape.data();
  made.first_slot = first_slot;
  made.writes = writes ? 1 : 0;
  made.dtypes = value.scalars.empty() ? nullptr : value.scalars.data();
  made.texels = (value.texels & module::Param::kFractions) != 0 ? KILN_FRACTIONS
                : value.texels != 0                             ? KILN_TEXELS
                                                                : KILN_NO_TEXELS;
  return made;
}

// Whether any of the graph's kernels may write to the argument.
bool Writes(const ModuleGraph& graph, uint64_t arg, const kiln_module& module) {
  for (const ModuleGraph::Launch& launch : graph.launches) {
    const std::vector<ModuleParam>& params = module.kernels[launch.kernel].of().params;
    for (size_t p = 0; p < params.size(); ++p) {
      if (launch.args[p] == arg && params[p].writes) return true;
    }
  }
  return false;
}

kiln_status Beyond(const char* what, const std::string& of, size_t count) {
  return Fail(KILN_INVALID_ARGUMENT, "'" + of + "' has " + std::to_string(count) + " " + what);
}

}  // namespace
}  // namespace kiln::capi

using kiln::capi::FailNull;
using kiln::capi::Guarded;

kiln_status kiln_kernel_signature(const kiln_kernel* kernel, kiln_signature* signature) {
  if (!kiln::capi::IsLive(kernel)) return FailNull("kiln_kernel_signature", "kernel");
  if (signature == nullptr) return FailNull("kiln_kernel_signature", "signature");
  const kiln::ModuleKernel& of = kernel->of();
  kiln_signature made{};
  made.params = static_cast<uint32_t>(of.params.size());
  made.slots = static_cast<uint32_t>(of.code->info().arguments.size());
  made.results = static_cast<uint32_t>(of.results.size());
  made.result_slots = static_cast<uint32_t>(of.code->info().results.size());
  made.needs_world = of.has_data ? 1 : 0;
  made.name = of.name.c_str();
  made.text = kernel->text.c_str();
  kiln::capi::SetSized(made, signature);
  return KILN_OK;
}

kiln_status kiln_kernel_param(const kiln_kernel* kernel, size_t number, kiln_param* param) {
  return Guarded([&]() -> kiln_status {
    if (!kiln::capi::IsLive(kernel)) return FailNull("kiln_kernel_param", "kernel");
    if (param == nullptr) return FailNull("kiln_kernel_param", "param");
    const kiln::ModuleKernel& of = kernel->of();
    if (number >= of.params.size()) {
      return kiln::capi::Beyond("parameters", of.name, of.params.size());
    }
    const kiln::ModuleParam& one = of.params[number];
    kiln::capi::SetSized(kiln::capi::Described(one.name.c_str(), one.is_array, one.value, one.rank,
                                               one.first_slot, one.writes),
                         param);
    return KILN_OK;
  });
}

kiln_status kiln_kernel_result(const kiln_kernel* kernel, size_t number, kiln_param* result) {
  return Guarded([&]() -> kiln_status {
    if (!kiln::capi::IsLive(kernel)) return FailNull("kiln_kernel_result", "kernel");
    if (result == nullptr) return FailNull("kiln_kernel_result", "result");
    const kiln::ModuleKernel& of = kernel->of();
    if (number >= of.results.size()) {
      return kiln::capi::Beyond("results", of.name, of.results.size());
    }
    const kiln::ModuleResult& one = of.results[number];
    kiln::capi::SetSized(kiln::capi::Described("", false, one.value, 0, one.first_slot, false),
                         result);
    return KILN_OK;
  });
}

kiln_status kiln_graph_param(const kiln_graph* graph, size_t number, kiln_param* param) {
  return Guarded([&]() -> kiln_status {
    if (!kiln::capi::IsLive(graph)) return FailNull("kiln_graph_param", "graph");
    if (param == nullptr) return FailNull("kiln_graph_param", "param");
    const kiln::ModuleGraph& of = graph->of();
    if (number >= of.args.size()) return kiln::capi::Beyond("arguments", of.name, of.args.size());
    const kiln::ModuleGraph::Arg& one = of.args[number];
    const bool writes = kiln::capi::Writes(of, number, *graph->module);
    kiln::capi::SetSized(
        kiln::capi::Described(one.name.c_str(), one.is_array, one.value, one.rank, 0, writes),
        param);
    return KILN_OK;
  });
}

const char* kiln_graph_name(const kiln_graph* graph) {
  return kiln::capi::IsLive(graph) ? graph->of().name.c_str() : "";
}

const char* kiln_dtype_name(kiln_dtype dtype) {
  const kiln::ScalarFacts* facts = kiln::FindScalar(dtype);
  return facts == nullptr ? nullptr : facts->name;
}
