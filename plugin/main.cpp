// SPDX-License-Identifier: MIT
// GType boilerplate. Querying must touch neither a display nor a graphics card: GIMP queries
// plug-ins at its start, in batch too.
#include <libgimp/gimp.h>

#include "card_process.h"
#include "procedure.h"
#ifdef GRAINLESS_CARD_PROCESS
#include "plugin/cards/serve.h"
#endif

// Of the ways from one format to another babl takes the one that it has measured to be the fastest,
// in each process anew; on a busy machine that may be any of them, and their roundings differ. Left
// to it are ways of one step (what it takes on an idle machine, no slower) that have no rounding of
// their own (where there is none, its exact and slower way). It looks before main() could say so.
[[maybe_unused]] static const bool kOneWayOfConverting =
    g_setenv("BABL_PATH_LENGTH", "1", TRUE) != FALSE &&
    g_setenv("BABL_TOLERANCE", "0", TRUE) != FALSE;

struct GrainlessPlugIn {
  GimpPlugIn parent;
};
struct GrainlessPlugInClass {
  GimpPlugInClass parent;
};

extern "C" GType grainless_plug_in_get_type();

static GList* query_procedures(GimpPlugIn*) {
  GList* names = g_list_append(nullptr, g_strdup(grainless::kProcedureName));
  return g_list_append(names, g_strdup(grainless::kStackProcedureName));
}

static GimpProcedure* create_procedure(GimpPlugIn* plug_in, const gchar* name) {
  if (g_strcmp0(name, grainless::kStackProcedureName) == 0) {
    return grainless::create_stack_procedure(plug_in);
  }
  return grainless::create_denoise_procedure(plug_in);
}

static void grainless_plug_in_class_init(GrainlessPlugInClass* type) {
  GimpPlugInClass* plug_in = GIMP_PLUG_IN_CLASS(type);
  plug_in->query_procedures = query_procedures;
  plug_in->create_procedure = create_procedure;
}

static void grainless_plug_in_init(GrainlessPlugIn*) {}

G_DEFINE_TYPE(GrainlessPlugIn, grainless_plug_in, GIMP_TYPE_PLUG_IN)

#ifdef GRAINLESS_CARD_PROCESS
// As the process that holds the cards, this program is no plug-in and speaks to no GIMP.
int main(int count, char** arguments) {
  if (count > 1 && g_strcmp0(arguments[1], grainless::kServeCards) == 0) {
    return grainless::cards::serve_cards(count - 2, arguments + 2);
  }
  return gimp_main(grainless_plug_in_get_type(), count, arguments);
}
#else
GIMP_MAIN(grainless_plug_in_get_type())
#endif
