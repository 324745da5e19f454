// SPDX-License-Identifier: MIT
// GEGL's operation grainless:denoise, which GIMP offers on the canvas and as a layer effect.
// Loading the module registers a type and nothing more: every start of GIMP and of every plug-in
// does that.
#include <gegl-plugin.h>
#include <libintl.h>

#include "effect.h"
#include "engine/sentence.h"
#include "place.h"
#include "properties.h"

#define _(text) dgettext("grainless", text)

namespace {

using grainless::effect::Effect;

// GIMP writes the names of operation and properties into its files.
constexpr char kName[] = "grainless:denoise";

GObjectClass* parent_class = nullptr;

}  // namespace

struct GrainlessDenoise {
  GeglOperationFilter parent;
  Effect* effect;
  GeglNode* watched;
};
struct GrainlessDenoiseClass {
  GeglOperationFilterClass parent;
};

static Effect& effect_of(gpointer object) {
  return *static_cast<GrainlessDenoise*>(object)->effect;
}

static GeglRectangle input_box(GeglOperation* operation) {
  const GeglRectangle* box = gegl_operation_source_get_bounding_box(operation, "input");
  return box != nullptr ? *box : GeglRectangle{0, 0, 0, 0};
}

// A picture has ends.
static bool is_picture(const GeglRectangle& box) {
  return box.width > 0 && box.height > 0 && gegl_rectangle_is_infinite_plane(&box) == FALSE;
}

static void input_changed(GrainlessDenoise* self) {
  self->effect->input_changed();
}

static void prepare(GeglOperation* operation) {
  auto* self = reinterpret_cast<GrainlessDenoise*>(operation);
  if (self->watched != operation->node) {
    self->watched = operation->node;
    g_signal_connect_object(operation->node, "invalidated", G_CALLBACK(input_changed), operation,
                            G_CONNECT_SWAPPED);
  }
  self->effect->set_source(gegl_operation_get_source_format(operation, "input"));
  gegl_operation_set_format(operation, "input", self->effect->format());
  gegl_operation_set_format(operation, "output", self->effect->format());
}

static GeglRectangle get_bounding_box(GeglOperation* operation) {
  return input_box(operation);
}

// All of it: the noise is measured on the whole picture, and a change of any pixel changes it.
static GeglRectangle get_required_for_output(GeglOperation* operation, const gchar*,
                                             const GeglRectangle* area) {
  const GeglRectangle box = input_box(operation);
  return is_picture(box) ? box : *area;
}

static GeglRectangle get_invalidated_by_change(GeglOperation* operation, const gchar*,
                                               const GeglRectangle* area) {
  const GeglRectangle box = input_box(operation);
  return is_picture(box) ? box : *area;
}

static gboolean process(GeglOperation* operation, GeglBuffer* input, GeglBuffer* output,
                        const GeglRectangle* area, gint level) {
  const GeglRectangle box = input_box(operation);
  GeglRectangle inside = *area;
  const bool meets = gegl_rectangle_intersect(&inside, area, &box) != FALSE;
  // Smaller pictures are for a look in passing: noise is gone from them by the averaging.
  if (level != 0 || !is_picture(box) || !meets) {
    gegl_buffer_copy(input, area, GEGL_ABYSS_NONE, output, area);
    return TRUE;
  }
  effect_of(operation).process(input, output, box, inside);
  return TRUE;
}

static void set_property(GObject* object, guint number, const GValue* value, GParamSpec* property) {
  Effect& effect = effect_of(object);
  if (!grainless::effect::set_property(effect.params(), number, value)) {
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, number, property);
  }
}

static void get_property(GObject* object, guint number, GValue* value, GParamSpec* property) {
  if (!grainless::effect::get_property(effect_of(object).params(), number, value)) {
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, number, property);
  }
}

static void finalize(GObject* object) {
  delete reinterpret_cast<GrainlessDenoise*>(object)->effect;
  parent_class->finalize(object);
}

static void initialize(GTypeInstance* instance, gpointer) {
  reinterpret_cast<GrainlessDenoise*>(instance)->effect = new Effect;
}

// The plug-in, which loads this module as every program does that uses GEGL, has its catalogues
// bound already.
static void bind_catalogues() {
  const std::string bound = bindtextdomain("grainless", nullptr);
  if (bound.find("plug-ins") != std::string::npos) return;
  const std::filesystem::path folder = grainless::effect::own_folder();
  if (folder.empty()) return;
  bindtextdomain("grainless", (folder / "locale").c_str());
  bind_textdomain_codeset("grainless", "UTF-8");
}

static void set_keys(GeglOperationClass* type) {
  gegl_operation_class_set_keys(
      type, "name", kName, "title", "Grainless Denoise", "categories", "enhance:noise-reduction",
      "description", _("Take the noise out of a photograph and keep its detail"), "gimp:menu-path",
      "<Image>/Filters/Enhance", "gimp:menu-label", _("Grainless Denoise as _Effect…"), nullptr);
}

static void class_initialize(gpointer type, gpointer) {
  parent_class = G_OBJECT_CLASS(g_type_class_peek_parent(type));
  bind_catalogues();
  auto* object = G_OBJECT_CLASS(type);
  object->set_property = set_property;
  object->get_property = get_property;
  object->finalize = finalize;
  grainless::set_translation([](const char* pattern) -> const char* { return _(pattern); });
  grainless::effect::install_properties(object);
  auto* operation = GEGL_OPERATION_CLASS(type);
  operation->prepare = prepare;
  operation->get_bounding_box = get_bounding_box;
  operation->get_required_for_output = get_required_for_output;
  operation->get_invalidated_by_change = get_invalidated_by_change;
  operation->threaded = FALSE;
  operation->want_in_place = FALSE;
  operation->opencl_support = FALSE;
  operation->cache_policy = GEGL_CACHE_POLICY_ALWAYS;
  GEGL_OPERATION_FILTER_CLASS(type)->process = process;
  set_keys(operation);
}

static const GeglModuleInfo kModuleInfo = {GEGL_MODULE_ABI_VERSION};

extern "C" G_MODULE_EXPORT const GeglModuleInfo* gegl_module_query(GTypeModule*) {
  return &kModuleInfo;
}

extern "C" G_MODULE_EXPORT gboolean gegl_module_register(GTypeModule* module) {
  const GTypeInfo info = {.class_size = sizeof(GrainlessDenoiseClass),
                          .base_init = nullptr,
                          .base_finalize = nullptr,
                          .class_init = class_initialize,
                          .class_finalize = nullptr,
                          .class_data = nullptr,
                          .instance_size = sizeof(GrainlessDenoise),
                          .n_preallocs = 0,
                          .instance_init = initialize,
                          .value_table = nullptr};
  g_type_module_register_type(module, GEGL_TYPE_OPERATION_FILTER, "GrainlessDenoise", &info,
                              static_cast<GTypeFlags>(0));
  return TRUE;
}
