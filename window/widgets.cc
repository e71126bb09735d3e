#include "window/widgets.h"

#include <imgui/imgui.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>
#include <vector>

namespace kiln::window {
namespace {

constexpr char kFont[] = "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf";

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Keys of which text fields know a meaning.
const std::map<std::string, ImGuiKey_>& Keys() {
  static const auto& keys = *new std::map<std::string, ImGuiKey_>{
      {"Tab", ImGuiKey_Tab},
      {"Left", ImGuiKey_LeftArrow},
      {"Right", ImGuiKey_RightArrow},
      {"Up", ImGuiKey_UpArrow},
      {"Down", ImGuiKey_DownArrow},
      {"Home", ImGuiKey_Home},
      {"End", ImGuiKey_End},
      {"Delete", ImGuiKey_Delete},
      {"BackSpace", ImGuiKey_Backspace},
      {"Return", ImGuiKey_Enter},
      {"Escape", ImGuiKey_Escape},
      {"a", ImGuiKey_A},
      {"c", ImGuiKey_C},
      {"v", ImGuiKey_V},
      {"x", ImGuiKey_X},
      {"z", ImGuiKey_Z},
  };
  return keys;
}

ImVec4 Color(const float* color) { return {color[0], color[1], color[2], 1}; }

}  // namespace

Widgets::Widgets(Painter* painter) : painter_(painter), context_(ImGui::CreateContext()) {
  ImGui::SetCurrentContext(context_);
  ImGuiIO& io = ImGui::GetIO();
  io.IniFilename = nullptr;  // no file in the program's folder
  io.LogFilename = nullptr;
  io.MousePos = {-1, -1};
  for (const auto& [name, key] : Keys()) io.KeyMap[key] = key;
  io.Fonts->AddFontDefault();
  if (access(kFont, R_OK) == 0) {
    static const ImWchar ranges[] = {0x20, 0x24f, 0x370, 0x3ff, 0x400, 0x52f, 0x2010, 0x2265, 0};
    for (int* font : {&small_font_, &large_font_}) {
      *font = io.Fonts->Fonts.Size;
      io.Fonts->AddFontFromFileTTF(kFont, font == &small_font_ ? 15.0F : 40.0F, nullptr, ranges);
    }
  }
  unsigned char* pixels = nullptr;
  int width = 0, height = 0;
  io.Fonts->GetTexDataAsRGBA32(&pixels, &width, &height);
  texture_ = painter_->MakeTexture(pixels, width, height);
  io.Fonts->ClearTexData();
  time_ = Now();
}

Widgets::~Widgets() { ImGui::DestroyContext(context_); }

void Widgets::Handle(const Event& event) {
  ImGui::SetCurrentContext(context_);
  ImGuiIO& io = ImGui::GetIO();
  const bool down = event.type == Event::kPress;
  switch (event.type) {
    case Event::kPress:
    case Event::kRelease: {
      static const char* const buttons[] = {"LMB", "RMB", "MMB"};
      for (int i = 0; i < 3; ++i) {
        if (event.key != buttons[i]) continue;
        io.MouseDown[i] = down;
        io.MousePos = {event.x, event.y};
      }
      if (const auto key = Keys().find(event.key); key != Keys().end()) {
        io.KeysDown[key->second] = down;
      }
      if (event.key.compare(0, 5, "Shift") == 0) io.KeyShift = down;
      if (event.key.compare(0, 7, "Control") == 0) io.KeyCtrl = down;
      if (event.key.compare(0, 3, "Alt") == 0) io.KeyAlt = down;
      break;
    }
    case Event::kMove:
      io.MousePos = {event.x, event.y};
      break;
    case Event::kWheel:
      io.MouseWheel += event.dy;
      io.MouseWheelH += event.dx;
      break;
    case Event::kText:
      io.AddInputCharactersUTF8(event.key.c_str());
      break;
    case Event::kClose:
    case Event::kResize:
      break;
  }
}

void Widgets::BeginFrame() {
  ImGui::SetCurrentContext(context_);
  if (in_frame_) return;
  ImGuiIO& io = ImGui::GetIO();
  io.DisplaySize = {static_cast<float>(painter_->width()), static_cast<float>(painter_->height())};
  const double now = Now();
  io.DeltaTime = std::max(static_cast<float>(now - std::exchange(time_, now)), 1e-4F);
  ImGui::NewFrame();
  in_frame_ = true;
}

void Widgets::Begin(const std::string& name, float x, float y, float width, float height) {
  BeginFrame();
  const ImVec2 size = ImGui::GetIO().DisplaySize;
  ImGui::SetNextWindowPos({x * size.x, y * size.y}, ImGuiCond_Once);
  const bool fits = width <= 0 || height <= 0;
  if (!fits) ImGui::SetNextWindowSize({width * size.x, height * size.y}, ImGuiCond_Once);
  ImGui::Begin(name.empty() ? "##" : name.c_str(), nullptr,
               fits ? ImGuiWindowFlags_AlwaysAutoResize : ImGuiWindowFlags_None);
  ++depth_;
}

bool Widgets::End() {
  ImGui::SetCurrentContext(context_);
  if (depth_ == 0) return false;
  ImGui::End();
  --depth_;
  return true;
}

void Widgets::Text(const std::string& text, const float* color) {
  BeginFrame();
  if (color != nullptr) ImGui::PushStyleColor(ImGuiCol_Text, Color(color));
  ImGui::TextUnformatted(text.data(), text.data() + text.size());
  if (color != nullptr) ImGui::PopStyleColor();
}

bool Widgets::Button(const std::string& text) {
  BeginFrame();
  return ImGui::Button(text.empty() ? "##" : text.c_str());
}

bool Widgets::Checkbox(const std::string& text, bool value) {
  BeginFrame();
  ImGui::Checkbox(text.empty() ? "##" : text.c_str(), &value);
  return value;
}

int Widgets::SliderInt(const std::string& text, int value, int low, int high) {
  BeginFrame();
  ImGui::SliderInt(text.empty() ? "##" : text.c_str(), &value, low, high);
  return value;
}

float Widgets::SliderFloat(const std::string& text, float value, float low, float high) {
  BeginFrame();
  ImGui::SliderFloat(text.empty() ? "##" : text.c_str(), &value, low, high);
  return value;
}

void Widgets::ColorEdit(const std::string& text, float color[3]) {
  BeginFrame();
  ImGui::ColorEdit3(text.empty() ? "##" : text.c_str(), color);
}

void Widgets::Label(const std::string& text, float x, float y, float size, const float color[3]) {
  texts_.push_back({text, x, y, size, {color[0], color[1], color[2]}});
  BeginFrame();
}

void Widgets::DrawTexts() {
  const auto& fonts = ImGui::GetIO().Fonts->Fonts;
  for (const PlacedText& text : texts_) {
    const ImFont* font = fonts[text.size > 20 ? large_font_ : small_font_];
    ImGui::GetBackgroundDrawList()->AddText(font, std::max(text.size, 1.0F), {text.x, text.y},
                                            ImGui::ColorConvertFloat4ToU32(Color(text.color)),
                                            text.text.data(), text.text.data() + text.text.size());
  }
}

void Widgets::Forget() {
  drawn_ = false;
  texts_.clear();
}

absl::Status Widgets::Draw() {
  ImGui::SetCurrentContext(context_);
  if (!in_frame_ && !drawn_) return absl::OkStatus();
  if (in_frame_) {
    while (End()) {
    }
    DrawTexts();
    ImGui::Render();
    in_frame_ = false;
    drawn_ = true;
  }
  const ImDrawData& data = *ImGui::GetDrawData();
  for (int i = 0; i < data.CmdListsCount; ++i) {
    const ImDrawList& list = *data.CmdLists[i];
    std::vector<Painter::WidgetPart> parts;
    for (const ImDrawCmd& command : list.CmdBuffer) {
      if (command.UserCallback != nullptr) continue;
      const ImVec4& clip = command.ClipRect;
      const int left = std::max(static_cast<int>(clip.x), 0);
      const int right = std::min(static_cast<int>(clip.z), painter_->width());
      const int top = std::max(static_cast<int>(clip.y), 0);
      const int bottom = std::min(static_cast<int>(clip.w), painter_->height());
      if (left >= right || top >= bottom) continue;
      parts.push_back({static_cast<int>(command.IdxOffset),
                       static_cast<int>(command.ElemCount),
                       {left, painter_->height() - bottom, right - left, bottom - top}});
    }
    static_assert(sizeof(ImDrawIdx) == 2 && sizeof(ImDrawVert) == 20);
    const absl::Status status =
        painter_->DrawWidgets({list.VtxBuffer.Data, list.VtxBuffer.size_in_bytes(),
                               list.IdxBuffer.Data, list.IdxBuffer.size_in_bytes()},
                              parts, texture_);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace kiln::window
