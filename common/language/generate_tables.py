"""Generates C++ from the options of proto/op.proto and proto/kernel.proto.

    generate_tables.py tables PROTO...    op_table_data.inc: tables indexed by enum number; numbers
                                          without a row have a zeroed entry
    generate_tables.py views PROTO...     node_views_data.inc: a class for each kind of node
                                          (node_views.h)

PROTO... are the files of proto/, of one folder. It needs protoc.
"""

import os
import re
import subprocess
import sys

TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]|[^\s{}\[\]:]+')

OP_FIELDS = [
    ("spelling", "text"),
    ("family", "OpFamily"),
    ("arity", "int"),
    ("result", "ResultRule"),
    ("operands", "OperandKinds"),
    ("python", "text"),
    ("vector_glibc", "int"),
]
NODE_FIELDS = [
    ("spelling", "text"),
    ("min_operands", "int"),
    ("max_operands", "int"),
    ("blocks", "int"),
    ("has_value", "bool"),
    ("is_address", "bool"),
    ("is_terminator", "bool"),
]
NODE_NAMES = {"operands", "index"}  # what only the views hold
# The kind of an `index` that is an id, and how the id is made; by NodeFacts.index.
INDEX_IDS = {
    "param": ("ParamId", "ParamId(message().index())"),
    "function": ("FunctionId", "FunctionAtPosition(message().index())"),
}
ZERO = {"text": '""', "int": "0", "bool": "false"}


def describe(folder):
    """The descriptors of both files in `folder`, options included, in protoc's text format."""
    protoc = ["protoc", f"-Ikiln/proto={folder}", "-I/usr/include"]
    nodes = "kiln/proto/kernel.proto"  # imports op.proto, and declares the options
    compiled = [*protoc, "--include_imports", "-o", "/dev/stdout", nodes]
    descriptors = subprocess.run(compiled, check=True, capture_output=True).stdout
    printed = [
        *protoc,
        "--decode=google.protobuf.FileDescriptorSet",
        "google/protobuf/descriptor.proto",
        nodes,
    ]
    return subprocess.run(printed, check=True, input=descriptors, capture_output=True).stdout


def parse(tokens, position=0):
    """A message body as a list of (name, value); value is a str or such a list."""
    fields = []
    while position < len(tokens) and tokens[position] != "}":
        name = tokens[position]
        position += 1
        if name == "[":
            close = tokens.index("]", position)
            name = "[" + "".join(tokens[position:close]) + "]"
            position = close + 1
        if tokens[position] == "{":
            value, position = parse(tokens, position + 1)
        else:
            value = tokens[position]
        position += 1
        fields.append((name, value))
    return fields, position


def all_of(fields, name):
    return [value for key, value in fields if key == name]


def enum_rows(descriptor, enum_name, option):
    """(name, number, facts) of every value that carries `option`."""
    for file in all_of(descriptor, "file"):
        for enum in all_of(file, "enum_type"):
            if dict(enum)["name"] != f'"{enum_name}"':
                continue
            for value in all_of(enum, "value"):
                fields = dict(value)
                facts = dict(fields.get("options", [])).get(option)
                number = int(fields["number"])
                if facts is None and number != 0:
                    raise SystemExit(f"{enum_name} value {fields['name']} states no facts")
                if facts is not None:
                    yield fields["name"].strip('"'), number, dict(facts)


def literal(kind, value):
    if value is None:
        return ZERO.get(kind, f"static_cast<proto::{kind}>(0)")
    return value if kind in ZERO else f"proto::{value}"


def table(name, struct, fields, rows, elsewhere=frozenset()):
    rows = {number: (row, facts) for row, number, facts in rows}
    lines = [f"constexpr {struct} {name}[] = {{"]
    for number in range(max(rows) + 1):
        if number not in rows:
            lines.append("    {},")
            continue
        row, facts = rows[number]
        unknown = set(facts) - {field for field, _ in fields} - elsewhere
        if unknown:
            raise SystemExit(f"{row} states facts that {struct} does not hold: {sorted(unknown)}")
        cells = [literal(kind, facts.get(field)) for field, kind in fields]
        lines.append("    {" + ", ".join([f"proto::{row}"] + cells) + "},")
    lines.append("};")
    return "\n".join(lines)


def view_name(row):
    """CAST_TO: CastToNode."""
    words = ["SNode" if word == "SNODE" else word.capitalize() for word in row.split("_")]
    return "".join(words) + "Node"


def operand(name, position):
    """The accessor of an operand (NodeFacts.operands)."""
    if name.endswith("*"):
        return f"  NodeIds {name[:-1]}() const {{ return operands_from({position}); }}"
    if name.endswith("?"):
        value = f"operands().size() > {position} ? operand({position}) : NodeId()"
        return f"  NodeId {name[:-1]}() const {{ return {value}; }}"
    return f"  NodeId {name}() const {{ return operand({position}); }}"


def attribute(name, position):
    """The accessor of an attribute (NodeFacts.operands)."""
    if name == "params*":
        params = "IdList<ParamId, int64_t>"
        return f"  {params} params() const {{ return {params}(attributes(), {position}); }}"
    if name.endswith("*"):
        span = "absl::Span<const int64_t>"
        return f"  {span} {name[:-1]}() const {{ return attributes().subspan({position}); }}"
    if name.endswith("?"):
        value = f"attributes().size() > {position} ? attribute({position}) : 0"
        return f"  int64_t {name[:-1]}() const {{ return {value}; }}"
    return f"  int64_t {name}() const {{ return attribute({position}); }}"


def check_counts(row, names, facts):
    """The names of the operands are as many as the row allows."""
    least, most = int(facts.get("min_operands", 0)), int(facts.get("max_operands", 0))
    single = [name for name in names if name[-1] not in "*?"]
    fits = least >= len(single)
    if names and names[-1].endswith("*"):
        fits = fits and (most == -1 or most >= len(names))
    else:
        fits = fits and least == len(single) and most == len(names)
    if not fits or any(name[-1] in "*?" for name in names[:-1]):
        raise SystemExit(f"{row} names the operands {names} of {least} to {most}")


def view(row, facts):
    """The class through which C++ reads a node of the kind."""
    operands, _, attributes = facts.get("operands", '""').strip('"').partition(";")
    names = [name.strip() for name in operands.split(",") if name.strip()]
    check_counts(row, names, facts)
    lines = [operand(name, i) for i, name in enumerate(names)]
    names = [name.strip() for name in attributes.split(",") if name.strip()]
    lines += [attribute(name, i) for i, name in enumerate(names)]
    if "index" in facts:
        name = facts["index"].strip('"')
        kind, value = INDEX_IDS.get(name, ("uint64_t", "message().index()"))
        lines.append(f"  {kind} {name}() const {{ return {value}; }}")
    blocks = {"1": ["body"], "2": ["then_block", "else_block"]}.get(facts.get("blocks"), [])
    lines += [f"  BlockId {name}() const {{ return block({i}); }}" for i, name in enumerate(blocks)]
    head = [f"struct {view_name(row)} : NodeView {{", "  using NodeView::NodeView;"]
    return "\n".join([*head, *lines, "};"])


def visit(rows):
    lines = [
        "template <typename Visitor>",
        "decltype(auto) VisitNode(NodeId id, const proto::Node& node, Visitor&& visit) {",
        "  switch (node.kind()) {",
    ]
    for row, _, _ in rows:
        lines += [f"    case proto::{row}:", f"      return visit({view_name(row)}(id, node));"]
    lines += ["    default:", "      internal::NoSuchKind(node.kind());", "  }", "}"]
    return "\n".join(lines)


def main(what, *protos):
    folder = os.path.dirname(protos[0])
    descriptor, _ = parse(TOKEN.findall(describe(folder).decode()))
    ops = enum_rows(descriptor, "Op", "[kiln.proto.op]")
    nodes = list(enum_rows(descriptor, "NodeKind", "[kiln.proto.node]"))
    print("// Generated by generate_tables.py from proto/op.proto and proto/kernel.proto.")
    if what == "tables":
        print(table("kOps", "OpInfo", OP_FIELDS, ops))
        print(table("kNodes", "NodeInfo", NODE_FIELDS, nodes, NODE_NAMES))
    else:
        nodes = [(row, number, facts) for row, number, facts in nodes if number != 0]
        print("\n".join(view(row, facts) for row, _, facts in nodes))
        print(visit(nodes))


if __name__ == "__main__":
    main(*sys.argv[1:])
