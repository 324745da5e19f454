// SPDX-License-Identifier: MIT
// What the runs of both procedures share.
#pragma once

#include <libgimp/gimp.h>

#include <string>

#include "report.h"
#include "ui/dialog.h"

namespace grainless {

// The procedure's answer; why may be empty.
GimpValueArray* answer(GimpProcedure* procedure, GimpPDBStatusType status, const std::string& why);
GimpPDBStatusType pdb_status(ErrorCode code);

// One undo step, however many drawables there are.
class UndoGroup {
 public:
  UndoGroup(GimpImage* image, bool wanted);
  ~UndoGroup();
  UndoGroup(const UndoGroup&) = delete;
  UndoGroup& operator=(const UndoGroup&) = delete;

 private:
  GimpImage* image_;
};

// Nothing is silent: what the user asked for and didn't get is said. On "auto" the processor is no
// surprise; the dialog names it.
void tell(const RunReport& report);

ui::Places places();

}  // namespace grainless
