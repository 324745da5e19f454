#!/bin/bash
# SPDX-License-Identifier: MIT
# The real GIMP on a computer with a card, inside what make-gimp-bundle packed; the folder it starts in holds gimp_env.sh and
# what that asks for, in8.tif, in16.tif and, if wanted, preview-test. In /root/out: report.jsonl, one line a run of the
# procedure (8 bit, 16 bit, three times each; a stack of frame-1.png to frame-8.png), dialog.xwd and stack.xwd, and .log of both with
# the delays of their previews, preview.xml. The status says whether all of it was so, on the card, without a complaint of GIMP.
set -u
cd /root || exit 1
# shellcheck source=tools/card/gimp_env.sh
. ./gimp_env.sh
status=0
wrong() {
  echo "WRONG: $*"
  status=1
}
export GRAINLESS_REPORT=$out/report.jsonl

procedure() { # FILE: prints the milliseconds that the caller waited
  cat <<SCHEME
(define (clock) (let ((now (gettimeofday))) (+ (* 1000.0 (car now)) (/ (cadr now) 1000.0))))
(let* ((image (gimp-file-load RUN-NONINTERACTIVE "/root/$1")) (layers (gimp-image-get-layers image)) (start 0))
  (let loop ((i 0))
    (when (< i 3)
      (set! start (clock))
      (plug-in-grainless-denoise #:run-mode RUN-NONINTERACTIVE #:image image #:drawables layers
                                 #:auto-sigma #f #:sigma 15.0)
      (gimp-message (string-append "$1 ms: " (number->string (- (clock) start))))
      (loop (+ i 1))))
  (gimp-image-delete image))
SCHEME
}
frames() { # an image of them; the rest of the script's let* follows
  echo '(image (gimp-file-load RUN-NONINTERACTIVE "/root/frame-1.png"))'
  for i in 2 3 4 5 6 7 8; do
    echo "(layer$i (gimp-file-load-layer RUN-NONINTERACTIVE image \"/root/frame-$i.png\"))"
    echo "(done$i (gimp-image-insert-layer image layer$i 0 0))"
  done
}
stack="(script-fu-use-v3) (let* ($(frames)) (plug-in-grainless-denoise-stack #:run-mode RUN-NONINTERACTIVE #:image image
  #:drawables (gimp-image-get-layers image) #:depth 7))"
stack_dialog="(script-fu-use-v3) (let* ($(frames)) (gimp-display-new image) (plug-in-grainless-denoise-stack
  #:run-mode RUN-INTERACTIVE #:image image #:drawables (gimp-image-get-layers image)))"
timeout 100 gimp-console --batch-interpreter plug-in-script-fu-eval -b '(script-fu-use-v3)' -b "(script-fu-use-v3) $(procedure in8.tif)" \
  -b "(script-fu-use-v3) $(procedure in16.tif)" -b "$stack" --quit >"$out/batch.log" 2>&1
result=$?
echo "gimp-console: $result"
((result == 0)) || wrong "gimp-console ended with $result: batch.log"
runs=$(grep -c '"changed":true' "$out/report.jsonl" 2>/dev/null)
((runs == 7)) || wrong "$runs of 7 runs changed their layers: report.jsonl"
on_card=$(grep -c '"device":"cuda' "$out/report.jsonl" 2>/dev/null)
((on_card == 7)) || wrong "$on_card of 7 runs were the card's: report.jsonl"

Xvfb :78 -screen 0 1600x1000x24 -extension GLX >/dev/null 2>&1 &
display=$!
sleep 1
if [[ -x preview-test ]]; then
  timeout 60 ./preview-test --gtest_output=xml:"$out/preview.xml" >"$out/preview.log" 2>&1
  result=$?
  echo "preview-test: $result"
  ((result == 0)) || wrong "preview-test ended with $result: preview.log"
fi
# Opens GIMP with a dialog, clicks at a place of it and takes a picture: the slider's plus buttons, without a window manager.
dialog() { # NAME SCHEME X Y
  G_MESSAGES_DEBUG=grainless gimp --no-splash --batch-interpreter plug-in-script-fu-eval -b "$2" >"$out/$1.log" 2>&1 &
  local gimp=$! window i
  for ((i = 0; i < 60; ++i)); do
    sleep 0.5
    window=$(xdotool search --onlyvisible --name '^Grainless Denoise' 2>/dev/null | head -n 1)
    [[ -z $window ]] || break
  done
  [[ -n $window ]] || wrong "the dialog of '$1' did not open"
  sleep "${SETTLE:-8}"
  for ((i = 0; i < 15; ++i)); do
    xdotool mousemove "$3" "$4" click 1
    sleep 0.4
  done
  xwd -root -silent -out "$out/$1.xwd"
  kill "$gimp"
  sleep 1
  grep -q 'exact pixels' "$out/$1.log" || wrong "no preview was finished: $1.log"
}
dialog dialog '(script-fu-use-v3) (let* ((image (gimp-file-load RUN-NONINTERACTIVE "/root/in8.tif")))
  (gimp-display-new image)
  (plug-in-grainless-denoise #:run-mode RUN-INTERACTIVE #:image image #:drawables (gimp-image-get-layers image)))' 1175 397
read -r plus_x plus_y <<<"${STACK_PLUS:-1175 362}"
dialog stack "$stack_dialog" "$plus_x" "$plus_y"
kill "$display"
grep -o 'tif ms: .*' "$out/batch.log"
grep -o 'exact pixels.*' "$out/dialog.log" "$out/stack.log"
complaints=$(grep -hE '\(grainless:[0-9]+\).*(CRITICAL|WARNING)' "$out"/{batch,dialog,stack}.log | grep -vc 'gimp_flush(): error: Broken pipe')
((complaints == 0)) || wrong "$complaints complaints of GTK, GLib or GIMP about the filter"
exit "$status"
