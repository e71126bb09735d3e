// The loss of an X server. Xlib ends the process then, unless it is told otherwise; its headers
// define macros such as `Status`, which keeps it in a file of its own.
#ifndef KILN_WINDOW_X_SERVER_H_
#define KILN_WINDOW_X_SERVER_H_

#include <string>

struct SDL_Window;

namespace kiln::window {

// From now on, calls of Xlib for the window's display return if its server has ended, and
// `LostDisplay` tells. Does nothing if the window belongs to another system (Wayland), or if libX11
// is older than 1.7. Requires that SDL is loaded.
void OutliveXServer(SDL_Window* window);

// The name of the display whose server has ended; empty if there is none.
const std::string& LostDisplay();

}  // namespace kiln::window

#endif  // KILN_WINDOW_X_SERVER_H_
