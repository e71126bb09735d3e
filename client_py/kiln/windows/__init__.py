"""Windows: `ti.ui`, the screen of `ti.GUI`, and what both have in common.

`display` opens them (the native module _window.so, which is loaded then), `frames` ends frames,
`drawn` checks what is drawn. `window`, `canvas`, `scene`, `camera` and `widgets` are `ti.ui`.
"""
