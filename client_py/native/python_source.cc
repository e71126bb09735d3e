#include "client_py/native/python_source.h"

#include <cctype>

namespace kiln {
namespace {

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\f'; }

bool StartsWord(absl::string_view text, absl::string_view word) {
  return text.size() > word.size() && text.substr(0, word.size()) == word &&
         IsSpace(text[word.size()]);
}

// The state of tokens that continue over the end of a line.
struct TokenState {
  int depth = 0;           // open brackets
  char quote = 0;          // of the open string; 0: none
  bool is_triple = false;  // whether that string is triple-quoted
  bool joined = false;     // whether the line before ended with a backslash

  bool at_statement() const { return depth == 0 && quote == 0 && !joined; }
};

class BlockReader {
 public:
  explicit BlockReader(bool nested_fstrings) : nested_fstrings_(nested_fstrings) {}

  // Adds a line to the block. False: the block ended before this line.
  bool Take(absl::string_view line, int number) {
    while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
    const bool in_string = state_.quote != 0;
    size_t indent = 0;
    while (indent < line.size() && IsSpace(line[indent])) ++indent;
    const absl::string_view code = line.substr(indent);
    // A blank line or comment says nothing about indentation; inside a string it is text.
    if (!in_string && !state_.joined && (code.empty() || code[0] == '#')) {
      if (keep_comments_ && !code.empty()) Keep(line, number);
      return true;
    }
    if (state_.at_statement()) {
      if (first_) {
        indent_ = indent;
        first_ = false;
        // Decorators have the indentation of `def`, so only what follows `def` can end the block.
      } else if (seen_def_ && indent <= indent_) {
        return false;
      }
      seen_def_ |= StartsWord(code, "def") || StartsWord(code, "async");
      // Only decorators come before `def`: anything else means that the line number was wrong,
      // as after an edit of the file.
      bad_ |= !seen_def_ && code[0] != '@';
    }
    // Inside a string the spaces at the start are text.
    absl::string_view kept = line.substr(0, Scan(line, in_string ? 0 : indent));
    if (state_.quote == 0) {
      while (!kept.empty() && IsSpace(kept.back())) kept.remove_suffix(1);
    }
    // An empty line inside a string is part of its value.
    if (!kept.empty() || in_string) Keep(kept, number);
    return true;
  }

  bool bad() const { return bad_; }
  // Whether removing comments is not safe for this function, which must be read again with them.
  bool wants_comments() const { return wants_comments_; }
  void KeepComments() { keep_comments_ = true; }
  bool complete() const { return seen_def_ && state_.at_statement() && !bad_; }
  PythonBlock block;

 private:
  void Keep(absl::string_view text, int number) {
    block.normal_form.append(text.data(), text.size());
    block.normal_form.push_back('\n');
    block.lines.push_back(number);
  }

  // Advances the state over the line from `at`. Returns where its code ends.
  size_t Scan(absl::string_view line, size_t at) {
    state_.joined = false;
    escaped_end_ = false;
    while (at < line.size()) {
      const char c = line[at];
      if (state_.quote != 0) {
        at = ScanString(line, at);
        continue;
      }
      if (c == '#') {
        if (!keep_comments_) return at;
        break;
      }
      if (c == '"' || c == '\'') {
        NoteFstring(line, at);
        state_.quote = c;
        escaped_end_ = false;
        state_.is_triple = at + 2 < line.size() && line[at + 1] == c && line[at + 2] == c;
        at += state_.is_triple ? 3 : 1;
        continue;
      }
      // The kinds of brackets need not match here: Python parsed this text before.
      if (c == '(' || c == '[' || c == '{') ++state_.depth;
      if (c == ')' || c == ']' || c == '}') bad_ |= --state_.depth < 0;
      if (c == '\\' && at + 1 == line.size()) state_.joined = true;
      ++at;
    }
    // A single-quoted string may continue on the next line only after a backslash.
    if (state_.quote != 0 && !state_.is_triple && !escaped_end_) bad_ = true;
    return line.size();
  }

  // Skips the rest of the string, or of the line. Backslashes escape quotes even in raw strings.
  size_t ScanString(absl::string_view line, size_t at) {
    escaped_end_ = false;
    while (at < line.size()) {
      const char c = line[at];
      if (c == '\\') {
        escaped_end_ = at + 1 == line.size();
        at += 2;
        continue;
      }
      if (c == state_.quote) {
        if (!state_.is_triple) {
          state_.quote = 0;
          return at + 1;
        }
        if (at + 2 < line.size() && line[at + 1] == c && line[at + 2] == c) {
          state_.quote = 0;
          return at + 3;
        }
      }
      ++at;
    }
    return line.size();
  }

  // In a nested string of an f-string a `#` need not begin a comment, and this scanner does not
  // parse the expressions in braces. The prefix has up to two letters, f or t with r.
  void NoteFstring(absl::string_view line, size_t at) {
    if (!nested_fstrings_ || keep_comments_) return;
    for (size_t back = 1; back <= 2 && back <= at; ++back) {
      const char c = static_cast<char>(std::tolower(static_cast<unsigned char>(line[at - back])));
      if (c == 'f' || c == 't') wants_comments_ = true;
      if (c != 'r') break;
    }
  }

  const bool nested_fstrings_;
  TokenState state_;
  size_t indent_ = 0;
  bool first_ = true, seen_def_ = false, bad_ = false, escaped_end_ = false;
  bool keep_comments_ = false, wants_comments_ = false;
};

}  // namespace

absl::optional<PythonBlock> ReadPythonBlock(
    const std::function<absl::optional<absl::string_view>(int)>& line, int first,
    bool nested_fstrings) {
  // A second pass with comments is rare: only for an f-string where strings can nest.
  for (bool comments : {false, true}) {
    BlockReader reader(nested_fstrings);
    if (comments) reader.KeepComments();
    int number = first;
    for (;; ++number) {
      const absl::optional<absl::string_view> text = line(number);
      if (!text.has_value() || !reader.Take(*text, number)) break;
      if (reader.bad()) return absl::nullopt;
    }
    if (reader.wants_comments()) continue;
    if (!reader.complete()) return absl::nullopt;
    reader.block.end = number;
    return std::move(reader.block);
  }
  return absl::nullopt;
}

}  // namespace kiln
