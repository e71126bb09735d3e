#!/bin/bash
# The part of check.sh that runs in the chroot, in which /check has wheels, programs and a module.
set -eu
cd /check

# install ENVIRONMENT: the wheels that are for its Python.
install() {
  "$1/bin/pip" install -q --no-index --no-deps --find-links . kiln-lang kiln-lang-compiler
}

# To the first picture, with Debian's NumPy in place of one that pip would fetch.
start=$SECONDS
python3 -m venv --system-site-packages pictures
install pictures
KILN_GUI_FRAMES=2 KILN_GUI_SAVE=first.png pictures/bin/kiln run mpm88.py
[ -s first.png ]
[ "$(pictures/bin/python window.py)" = "NumPy [1. 0. 0.]" ] # there is no EGL
echo $((SECONDS - start)) >seconds
[ "$(cat seconds)" -le 30 ]
pictures/bin/kiln stop
# All else without NumPy.
python3 -m venv venv
install venv
[ "$(venv/bin/python first.py)" = 2000.0 ]
[ "$(KILN_SERVER=off KILN_HOME=/other venv/bin/python first.py)" = 2000.0 ]
venv/bin/kiln doctor
venv/bin/kiln stop
# Each program finds its libraries.
for program in venv/lib/python3*/site-packages/kiln{,_compiler}/bin/*; do
  "$program" --help >/dev/null 2>&1 || [ $? -lt 126 ]
done
[ "$(venv/bin/python load.py)" = 128.0 ]
