#!/bin/bash
# SPDX-License-Identifier: MIT
# How long the dialog takes from its window to exact pixels, in the real GIMP: inside what make-gimp-bundle packed, as
# gimp.sh, beside gimp_env.sh, what that asks for, in8.tif and in16.tif. Each picture's dialog is opened four times in one
# GIMP (8 bit, 16 bit, 8 bit with alpha), then its slider is clicked ten times. Prints the milliseconds; the status says
# whether all came.
set -u
cd /root || exit 1
# shellcheck source=tools/card/gimp_env.sh
. ./gimp_env.sh
Xvfb :78 -screen 0 1600x1000x24 -extension GLX >/dev/null 2>&1 &
display=$!
sleep 1
status=0
openings=4 clicks=10
log=
delays() { grep -c 'exact pixels' "$log" 2>/dev/null; }
await() { # COUNT: of delays in the log
  local i
  for ((i = 0; i < 400; ++i)); do
    (($(delays) >= $1)) && return 0
    sleep 0.05
  done
  echo "WRONG: no exact pixels came: $log"
  status=1
  return 1
}
window() { xdotool search --onlyvisible --name '^Grainless Denoise' 2>/dev/null | head -n 1; }
measure() { # NAME FILE STEP: a Scheme expression before the first dialog
  log=$out/$1.log
  G_MESSAGES_DEBUG=grainless gimp --no-splash --batch-interpreter plug-in-script-fu-eval -b "(script-fu-use-v3)
    (let* ((image (gimp-file-load RUN-NONINTERACTIVE \"/root/$2\")) (layers (gimp-image-get-layers image)))
      $3 (gimp-display-new image)
      (let loop ((i 0)) (when (< i $openings)
        (catch #f (plug-in-grainless-denoise #:run-mode RUN-INTERACTIVE #:image image #:drawables layers))
        (loop (+ i 1)))))" >"$log" 2>&1 &
  local gimp=$! i j
  for ((i = 1; i <= openings; ++i)); do
    await "$i" || break
    if ((i == openings)); then
      for ((j = 1; j <= clicks; ++j)); do
        xdotool mousemove "${PLUS_X:-1175}" "${PLUS_Y:-397}" click 1
        await $((openings + j)) || break
        sleep 0.3
      done
      xwd -root -silent -out "$out/$1.xwd"
    fi
    xdotool windowfocus "$(window)" key --window "$(window)" Escape 2>/dev/null
    sleep 1
  done
  kill "$gimp"
  sleep 1
  echo "$1: $(grep -o 'exact pixels [0-9.]*' "$log" | grep -o '[0-9.]*$' | sed -z 's|\n| |g')"
}
measure 8 in8.tif ''
measure 16 in16.tif ''
measure alpha in8.tif '(gimp-layer-add-alpha (vector-ref layers 0))'
kill "$display"
exit $status
