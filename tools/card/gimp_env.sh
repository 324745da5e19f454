# SPDX-License-Identifier: MIT
# A GIMP of its own with the plug-in (sourced, in bash, by what runs inside what make-gimp-bundle packed): the folder holds
# plug.tar.xz (the plug-in's folder) and libhwy.so.1. Sets out, where results go.
# shellcheck shell=bash
out=/root/out
plug_ins=/usr/lib/x86_64-linux-gnu/gimp/3.0/plug-ins
mkdir -p "$plug_ins" "$out" /tmp/run
tar -C "$plug_ins" -xf plug.tar.xz
cp libhwy.so.1 /usr/lib/x86_64-linux-gnu/
export HOME=/root LANG=C.UTF-8 XDG_RUNTIME_DIR=/tmp/run NO_AT_BRIDGE=1 DISPLAY=:78 GIMP3_DIRECTORY=/root/profile
mkdir -p "$GIMP3_DIRECTORY"
version=$(gimp --version | grep -o '3\.[0-9.]*' | head -n 1)
cat >"$GIMP3_DIRECTORY/gimprc" <<GIMPRC
(show-welcome-dialog no)
(check-updates no)
(color-profile-policy keep)
(config-version "$version")
(last-release-seen-at-least "$version")
GIMPRC
