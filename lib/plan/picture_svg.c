#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "plan/caption.h"
#include "plan/picture.h"
#include "plan/place.h"
#include "plan/words.h"

/* All in pixels. Letters of the fonts that viewers take for "monospace" are up to 0.61 of the font's size wide: a
 * text's width is known without its font. */
#define NAME_LETTER  8u  /* of 13 pixels: a site's name, the lines above the trees */
#define SMALL_LETTER 7u  /* of 11 pixels: what stands at nodes and edges */
#define TITLE_LETTER 10u /* of 16 pixels */
#define LINE_HEIGHT  20u
#define BOX_PADDING  8u
#define WORDS_GAP    6u /* on both sides of an edge's words */
#define SAMPLE_WIDTH 40u

#define HEAD                                                                                                 \
    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" viewBox=\"0 0 %u %u\" "            \
    "font-family=\"DejaVu Sans Mono,monospace\" font-size=\"13\">\n"                                         \
    "<style>.small{font-size:11px;fill:#333}.full{fill:#c00;font-weight:bold}"                               \
    ".title{font-size:16px;font-weight:bold}.head{font-weight:bold}"                                         \
    ".edge{fill:none;stroke:#888;stroke-width:1.5}.trunk{fill:none;stroke:#888;stroke-width:1.5}"            \
    ".tight{stroke:#c00;stroke-width:3}.assumed{stroke-dasharray:5 4}"                                       \
    ".box{fill:#fff;stroke:#666}.up{fill:#ffc9c9}.down{stroke:#04c;stroke-width:2.5}</style>\n"              \
    "<rect width=\"100%%\" height=\"100%%\" fill=\"#fafafa\"/>\n"

struct drawing {
    struct sheet sheet;
    const struct plan *plan;
    const struct plan_request *request;
    struct load load;
    struct caption caption;
    struct place place;
    unsigned trees_top; /* on the page */
    unsigned trunk[PLAN_TREES_MAX]
                  [PLAN_NODES_MAX]; /* indented: how far down the line to a node's children goes by now */
};

static const struct legend {
    const char *shape, *class; /* a line or a box, and how it is drawn */
    const char *text;
} legends[] = {
    {"line", "edge", "path measured or told; ages are those when the plan was made"},
    {"line", "edge assumed", "path assumed: nothing is known of it but its interfaces"},
    {"line", "edge tight", "path or shared link full"},
    {"box", "box up", "uplink full"},
    {"box", "box down", "downlink full"},
};
static const char legend_note[] =
    "at edges: rates on the wire; in boxes: shares of a site's interface, over all trees";
#define LEGENDS (sizeof(legends) / sizeof(legends[0]))

/* ---- widths ---- */

static unsigned length_of(const char *text, unsigned letter)
{
    return (unsigned)strlen(text) * letter;
}

static unsigned widest_box(const struct drawing *drawing)
{
    unsigned widest = 0;
    for (uint16_t node = 0; node < drawing->request->node_count; node++) {
        char text[64] = "";
        struct sheet sheet = {.text = text, .room = sizeof(text)};
        caption_add_node(&sheet, drawing->plan, drawing->request, &drawing->load, node);
        widest = MAX(widest, length_of(drawing->request->nodes[node].name, NAME_LETTER));
        widest = MAX(widest, length_of(text, SMALL_LETTER));
    }
    return widest + 2 * BOX_PADDING;
}

/* Rate and basis of the edge that enters a node. */
struct words {
    char rate[24], known[PLAN_KNOWN_TEXT_BYTES];
};

static struct words words_of(const struct plan *plan, uint16_t tree, uint16_t node)
{
    struct words words = {0};
    struct sheet sheet = {.text = words.rate, .room = sizeof(words.rate)};
    sheet_add_rate(&sheet, plan_edge_rate_bps(plan, tree, node));
    plan_known_text(&plan->into_known[tree][node], words.known, sizeof(words.known));
    return words;
}

static unsigned widest_words(const struct plan *plan)
{
    unsigned widest = 0;
    for (uint16_t tree = 0; tree < plan->tree_count; tree++)
        for (uint16_t edge = 0; edge < plan->trees[tree].edge_count; edge++) {
            struct words words = words_of(plan, tree, plan->trees[tree].edges[edge].to);
            widest = MAX(widest, length_of(words.rate, SMALL_LETTER));
            widest = MAX(widest, length_of(words.known, SMALL_LETTER));
        }
    return widest + 2 * WORDS_GAP;
}

static unsigned page_width(const struct drawing *drawing)
{
    const struct caption *caption = &drawing->caption;
    unsigned widest = MAX(length_of(caption->lines[0], TITLE_LETTER), length_of(legend_note, NAME_LETTER));
    for (unsigned line = 1; line < caption->count; line++)
        widest = MAX(widest, length_of(caption->lines[line], NAME_LETTER));
    return MAX(drawing->place.width, widest + 2 * PLACE_MARGIN);
}

/* ---- parts ---- */

static void add_caption(struct drawing *drawing)
{
    for (unsigned line = 0; line < drawing->caption.count; line++) {
        sheet_add(&drawing->sheet, "<text x=\"%u\" y=\"%u\"%s>", PLACE_MARGIN,
                  PLACE_MARGIN + 14 + line * LINE_HEIGHT, line == 0 ? " class=\"title\"" : "");
        sheet_add_xml(&drawing->sheet, drawing->caption.lines[line]);
        sheet_add(&drawing->sheet, "</text>\n");
    }
}

static unsigned middle_of(const struct drawing *drawing, uint16_t tree, uint16_t node)
{
    return drawing->trees_top + place_box_middle(&drawing->place, tree, node);
}

static void add_box(struct drawing *drawing, uint16_t tree, uint16_t node)
{
    const struct plan_request *request = drawing->request;
    unsigned width = drawing->place.box_width, left = place_box_left(&drawing->place, tree, node);
    unsigned middle = middle_of(drawing, tree, node);
    sheet_add(&drawing->sheet,
              "<rect x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\" rx=\"5\" class=\"box%s%s\"/>\n", left,
              middle - PLACE_BOX_HEIGHT / 2, width, PLACE_BOX_HEIGHT,
              load_up(&drawing->load, request, node) >= LOAD_TIGHT ? " up" : "",
              load_down(&drawing->load, request, node) >= LOAD_TIGHT ? " down" : "");
    sheet_add(&drawing->sheet, "<text x=\"%u\" y=\"%u\" text-anchor=\"middle\">", left + width / 2,
              middle - 3);
    sheet_add_xml(&drawing->sheet, request->nodes[node].name);
    sheet_add(&drawing->sheet, "</text>\n<text x=\"%u\" y=\"%u\" text-anchor=\"middle\" class=\"small\">",
              left + width / 2, middle + 12);
    caption_add_node(&drawing->sheet, drawing->plan, request, &drawing->load, node);
    sheet_add(&drawing->sheet, "</text>\n");
}

/* From the parent's right side into the child's row, and along that row. */
static void add_curve(struct drawing *drawing, uint16_t tree, struct plan_edge edge, const char *style)
{
    unsigned from = place_box_left(&drawing->place, tree, edge.from) + drawing->place.box_width;
    unsigned from_middle = middle_of(drawing, tree, edge.from), to_middle = middle_of(drawing, tree, edge.to);
    sheet_add(&drawing->sheet, "<path d=\"M%u %u C%u %u %u %u %u %u H%u\" class=\"edge%s\"/>\n", from,
              from_middle, from + PLACE_TURN_WIDTH, from_middle, from, to_middle, from + PLACE_TURN_WIDTH,
              to_middle, place_box_left(&drawing->place, tree, edge.to), style);
}

/* Down the line that the parent's edges share, from where the child before left it, and to the right in a style of
 * its own. */
static void add_corner(struct drawing *drawing, uint16_t tree, struct plan_edge edge, const char *style)
{
    unsigned *trunk = &drawing->trunk[tree][edge.from], middle = middle_of(drawing, tree, edge.to);
    unsigned left = place_box_left(&drawing->place, tree, edge.from) + drawing->place.step / 4;
    if (*trunk == 0)
        *trunk = middle_of(drawing, tree, edge.from) + PLACE_BOX_HEIGHT / 2;
    sheet_add(&drawing->sheet, "<path d=\"M%u %u V%u\" class=\"trunk\"/>\n", left, *trunk, middle);
    sheet_add(&drawing->sheet, "<path d=\"M%u %u H%u\" class=\"edge%s\"/>\n", left, middle,
              place_box_left(&drawing->place, tree, edge.to), style);
    *trunk = middle;
}

static void add_words(struct drawing *drawing, uint16_t tree, uint16_t node, bool tight)
{
    const struct place *place = &drawing->place;
    struct words words = words_of(drawing->plan, tree, node);
    unsigned left = place_box_left(place, tree, node), middle = middle_of(drawing, tree, node);
    unsigned at = place->indented ? left + place->box_width + WORDS_GAP : left - WORDS_GAP;
    const char *anchor = place->indented ? "start" : "end";
    sheet_add(&drawing->sheet, "<text x=\"%u\" y=\"%u\" text-anchor=\"%s\" class=\"small%s\">%s</text>\n", at,
              middle - 5, anchor, tight ? " full" : "", words.rate);
    sheet_add(&drawing->sheet, "<text x=\"%u\" y=\"%u\" text-anchor=\"%s\" class=\"small\">%s</text>\n", at,
              middle + (place->indented ? 10 : 14), anchor, words.known);
}

static void add_edge(struct drawing *drawing, uint16_t tree, struct plan_edge edge)
{
    bool tight = load_path(&drawing->load, drawing->request, edge.from, edge.to) >= LOAD_TIGHT;
    bool assumed = drawing->plan->into_known[tree][edge.to].basis == PLAN_BASIS_ASSUMED;
    char style[24];
    snprintf(style, sizeof(style), "%s%s", tight ? " tight" : "", assumed ? " assumed" : "");
    (drawing->place.indented ? add_corner : add_curve)(drawing, tree, edge, style);
    add_words(drawing, tree, edge.to, tight);
}

static void add_tree(struct drawing *drawing, uint16_t index)
{
    const struct plan_tree *tree = &drawing->plan->trees[index];
    const struct place_panel *panel = &drawing->place.panels[index];
    char title[64] = "";
    plan_tree_title(drawing->plan, index, title, sizeof(title));
    sheet_add(&drawing->sheet, "<text x=\"%u\" y=\"%u\" class=\"head\">%s; rates on the wire</text>\n",
              panel->left, drawing->trees_top + panel->top + PLACE_TITLE - 10, title);
    for (uint16_t edge = 0; edge < tree->edge_count; edge++)
        add_edge(drawing, index, tree->edges[edge]);
    add_box(drawing, index, drawing->plan->source);
    for (uint16_t edge = 0; edge < tree->edge_count; edge++)
        add_box(drawing, index, tree->edges[edge].to);
}

static void add_legend(struct drawing *drawing, unsigned top)
{
    struct sheet *sheet = &drawing->sheet;
    for (unsigned index = 0; index < LEGENDS; index++) {
        const struct legend *legend = &legends[index];
        unsigned middle = top + index * LINE_HEIGHT + LINE_HEIGHT / 2;
        if (strcmp(legend->shape, "line") == 0)
            sheet_add(sheet, "<path d=\"M%u %u h%u\" class=\"%s\"/>\n", PLACE_MARGIN, middle, SAMPLE_WIDTH,
                      legend->class);
        else
            sheet_add(sheet, "<rect x=\"%u\" y=\"%u\" width=\"%u\" height=\"12\" rx=\"3\" class=\"%s\"/>\n",
                      PLACE_MARGIN, middle - 6, SAMPLE_WIDTH, legend->class);
        sheet_add(sheet, "<text x=\"%u\" y=\"%u\" class=\"small\">%s</text>\n",
                  PLACE_MARGIN + SAMPLE_WIDTH + 10, middle + 4, legend->text);
    }
    sheet_add(sheet, "<text x=\"%u\" y=\"%u\" class=\"small\">%s</text>\n", PLACE_MARGIN,
              top + (unsigned)LEGENDS * LINE_HEIGHT + LINE_HEIGHT / 2 + 4, legend_note);
}

bool picture_svg(const struct plan *plan, const struct plan_request *request, const char *title, char *text,
                 size_t room)
{
    struct drawing drawing = {.sheet = {.text = text, .room = room}, .plan = plan, .request = request};
    load_init(&drawing.load, plan, request);
    caption_fill(&drawing.caption, plan, request, title);
    place_fill(&drawing.place, plan, widest_box(&drawing), widest_words(plan));
    drawing.trees_top = PLACE_MARGIN + drawing.caption.count * LINE_HEIGHT;
    unsigned legend_top = drawing.trees_top + drawing.place.height + PLACE_MARGIN;
    unsigned width = page_width(&drawing);
    unsigned height = legend_top + ((unsigned)LEGENDS + 1) * LINE_HEIGHT + PLACE_MARGIN;
    sheet_add(&drawing.sheet, HEAD, width, height, width, height);
    add_caption(&drawing);
    for (uint16_t tree = 0; tree < plan->tree_count; tree++)
        add_tree(&drawing, tree);
    add_legend(&drawing, legend_top);
    sheet_add(&drawing.sheet, "</svg>\n");
    return !drawing.sheet.full;
}
