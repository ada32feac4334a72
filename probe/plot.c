#include "probe/plot.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"

/* All in pixels. */
#define PAGE_WIDTH   960
#define PAGE_HEIGHT  720
#define PANEL_LEFT   80
#define PANEL_WIDTH  850
#define DELAY_TOP    80
#define DELAY_HEIGHT 300
#define RATE_TOP     420
#define RATE_HEIGHT  90
#define LEFT_TOP     550
#define LEFT_HEIGHT  110
#define TICKS        6 /* about, along an axis */
#define LINE_BYTES   512

#define BUSY_COLOUR "#0044cc"
#define IDLE_COLOUR "#999999"
#define FIT_COLOUR  "#cc2200"

/* The least delay of points up to i is what the rule of the fit goes by. */
static void find_busy(struct plot *plot)
{
    const struct probe_points *points = &plot->points;
    struct conserve_path path = {plot->path.capacity, plot->cross, points->packet_bits};
    int64_t least_ns = INT64_MAX;
    for (uint32_t i = 0; i < points->count; i++) {
        least_ns = MIN(least_ns, points_delay_ns(points, i));
        plot->busy[i] =
            plot->reading.fit.steps > 0 && i + 1 < points->count && conserve_busy(points, &path, i, least_ns);
    }
}

void plot_begin(struct plot *plot, uint64_t capacity_bps)
{
    memset(plot, 0, sizeof(*plot));
    plot->path.capacity = (double)capacity_bps / NS_PER_S;
}

void plot_read(struct plot *plot, const struct train_record *record)
{
    plot->points.count = 0;
    plot->verdict = reading_take(&plot->reading, &plot->points, &plot->path, record);
    const struct conserve_sums *all = &plot->reading.fit.all;
    plot->cross = all->sent_ns > 0 ? conserve_cross_bits(all, plot->path.capacity, false) / all->sent_ns : 0;
    plot->least_ns = INT64_MAX;
    for (uint32_t i = 0; i < plot->points.count; i++)
        plot->least_ns = MIN(plot->least_ns, points_delay_ns(&plot->points, i));
    find_busy(plot);
}

void plot_dot(const struct plot *plot, uint32_t i, struct plot_dot *dot)
{
    const struct probe_points *points = &plot->points;
    const struct probe_point *first = &points->point[plot->reading.fit.first], *this = &points->point[i];
    *dot = (struct plot_dot){.sent_us = (double)this->sent_ns / 1e3,
                             .delay_us = (double)(points_delay_ns(points, i) - plot->least_ns) / 1e3,
                             .busy = plot->busy[i]};
    if (i + 1 < points->count && this[1].sent_ns > this->sent_ns)
        dot->rate_bps = points_rate(points, i, i + 1) * 1e9;
    if (!dot->busy)
        return;
    double capacity = plot->path.capacity, sent_ns = (double)(this->sent_ns - first->sent_ns);
    double probe_bits = ((double)this->index - first->index) * points->packet_bits;
    double line_ns = (probe_bits + plot->cross * sent_ns) / capacity - sent_ns;
    double first_ns = (double)(points_delay_ns(points, plot->reading.fit.first) - plot->least_ns);
    dot->fit_us = (first_ns + line_ns) / 1e3;
    dot->left_over = (dot->delay_us - dot->fit_us) * 1e3 * capacity / points->packet_bits;
}

struct pen {
    plot_write *write;
    void *user;
};

static void put(const struct pen *pen, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(const struct pen *pen, const char *format, ...)
{
    char line[LINE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    pen->write(pen->user, line);
}

struct axis {
    double low, high, step;
};

/* Whole steps of 1, 2 or 5 times a power of ten that hold both ends. */
static struct axis axis_of(double low, double high)
{
    double span = fmax(high - low, 1e-3), rough = span / TICKS, power = pow(10, floor(log10(rough)));
    double step = power * (rough / power > 5 ? 10 : rough / power > 2 ? 5 : rough / power > 1 ? 2 : 1);
    return (struct axis){floor(low / step) * step, fmax(ceil(high / step), floor(low / step) + 1) * step,
                         step};
}

struct panel {
    int top, height;
    struct axis x, y;
};

static double x_of(const struct panel *panel, double value)
{
    return PANEL_LEFT + PANEL_WIDTH * (value - panel->x.low) / (panel->x.high - panel->x.low);
}

static double y_of(const struct panel *panel, double value)
{
    double share = (value - panel->y.low) / (panel->y.high - panel->y.low);
    return panel->top + panel->height * (1 - fmin(fmax(share, 0), 1));
}

static void put_panel(const struct pen *pen, const struct panel *panel, const char *title, bool numbers_below)
{
    put(pen, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#666666\"/>\n",
        PANEL_LEFT, panel->top, PANEL_WIDTH, panel->height);
    put(pen, "<text x=\"%d\" y=\"%d\">%s</text>\n", PANEL_LEFT, panel->top - 6, title);
    for (double y = panel->y.low; y <= panel->y.high + panel->y.step / 2; y += panel->y.step)
        put(pen,
            "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#dddddd\"/>"
            "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
            PANEL_LEFT, PANEL_LEFT + PANEL_WIDTH, y_of(panel, y), y_of(panel, y), PANEL_LEFT - 6,
            y_of(panel, y) + 4, fabs(y) < panel->y.step / 1e6 ? 0 : y);
    if (!numbers_below)
        return;
    for (double x = panel->x.low; x <= panel->x.high + panel->x.step / 2; x += panel->x.step)
        put(pen, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g</text>\n", x_of(panel, x),
            panel->top + panel->height + 16, x);
}

/* Round ends of lines without a length: a quarter of the bytes of circles. */
static void begin_dots(const struct pen *pen, const char *colour, double width)
{
    put(pen, "<path stroke=\"%s\" stroke-width=\"%g\" stroke-linecap=\"round\" d=\"", colour, width);
}

static void put_point(const struct pen *pen, double x, double y)
{
    put(pen, "M%.1f %.1fh0", x, y);
}

static void end_dots(const struct pen *pen)
{
    put(pen, "\"/>\n");
}

static struct axis sent_axis(const struct plot *plot)
{
    uint32_t last = plot->points.count - 1;
    return axis_of(0, (double)plot->points.point[last].sent_ns / 1e3);
}

static void put_delays(const struct pen *pen, const struct plot *plot)
{
    struct plot_dot dot;
    double most = 0;
    for (uint32_t i = 0; i < plot->points.count; i++) {
        plot_dot(plot, i, &dot);
        most = fmax(most, dot.delay_us);
    }
    struct panel panel = {DELAY_TOP, DELAY_HEIGHT, sent_axis(plot), axis_of(0, most)};
    put_panel(pen, &panel, "delay beyond the least, us, over departure, us", true);
    for (int busy = 0; busy < 2; busy++) {
        begin_dots(pen, busy ? BUSY_COLOUR : IDLE_COLOUR, 3.6);
        for (uint32_t i = 0; i < plot->points.count; i++) {
            plot_dot(plot, i, &dot);
            if (dot.busy == busy)
                put_point(pen, x_of(&panel, dot.sent_us), y_of(&panel, dot.delay_us));
        }
        end_dots(pen);
    }
    put(pen, "<polyline fill=\"none\" stroke=\"" FIT_COLOUR "\" stroke-width=\"1.2\" points=\"");
    for (uint32_t i = 0; i < plot->points.count; i++) {
        plot_dot(plot, i, &dot);
        if (dot.busy)
            put(pen, "%.1f,%.1f ", x_of(&panel, dot.sent_us), y_of(&panel, dot.fit_us));
    }
    put(pen, "\"/>\n");
}

static void put_rates(const struct pen *pen, const struct plot *plot)
{
    struct plot_dot dot;
    double most = 0;
    for (uint32_t i = 0; i < plot->points.count; i++) {
        plot_dot(plot, i, &dot);
        most = fmax(most, dot.rate_bps / 1e9);
    }
    struct panel panel = {RATE_TOP, RATE_HEIGHT, sent_axis(plot), axis_of(0, most)};
    panel.y.step = panel.y.high / 2;
    put_panel(pen, &panel, "rate at which it left, Gbit/s", false);
    put(pen, "<polyline fill=\"none\" stroke=\"" BUSY_COLOUR "\" points=\"");
    for (uint32_t i = 0; i + 1 < plot->points.count; i++) {
        plot_dot(plot, i, &dot);
        put(pen, "%.1f,%.1f ", x_of(&panel, dot.sent_us), y_of(&panel, dot.rate_bps / 1e9));
    }
    put(pen, "\"/>\n");
}

static void put_left_over(const struct pen *pen, const struct plot *plot)
{
    struct plot_dot dot;
    double most = 1;
    for (uint32_t i = 0; i < plot->points.count; i++) {
        plot_dot(plot, i, &dot);
        most = fmax(most, fabs(dot.left_over));
    }
    struct panel panel = {LEFT_TOP, LEFT_HEIGHT, sent_axis(plot), axis_of(-most, most)};
    panel.y.step = panel.y.high;
    put_panel(pen, &panel, "beside the line, in packets of cross traffic", true);
    begin_dots(pen, BUSY_COLOUR, 3);
    for (uint32_t i = 0; i < plot->points.count; i++) {
        plot_dot(plot, i, &dot);
        if (dot.busy)
            put_point(pen, x_of(&panel, dot.sent_us), y_of(&panel, dot.left_over));
    }
    end_dots(pen);
}

static void put_head(const struct pen *pen, const struct plot *plot)
{
    static const char *const verdicts[] = {[READING_GOOD] = "",
                                           [READING_SPOILED] = " (too little of it came as it was sent)",
                                           [READING_STEPPED] = " (a clock was set meanwhile)",
                                           [READING_JITTER] = " (packets overtake each other: no reading)",
                                           [READING_IDLE] = " (hardly anything queued)"};
    const struct probe_points *points = &plot->points;
    put(pen,
        "<text x=\"%d\" y=\"24\" font-size=\"15\">%u points of a train%s; %u lost, %u overtaken</text>\n",
        PANEL_LEFT, points->count, verdicts[plot->verdict], points->lost, points->late);
    if (plot->reading.fit.steps == 0)
        return;
    double busy_ns = plot->reading.fit.all.sent_ns;
    put(pen,
        "<text x=\"%d\" y=\"46\">capacity %.3f Gbit/s, cross traffic %.3f, available %.3f over %.0f us "
        "(<tspan fill=\"" BUSY_COLOUR "\">busy</tspan>, <tspan fill=\"" IDLE_COLOUR
        "\">perhaps not</tspan>, <tspan fill=\"" FIT_COLOUR "\">fit</tspan>)</text>\n",
        PANEL_LEFT, plot->path.capacity, plot->cross, plot->path.capacity - plot->cross, busy_ns / 1e3);
}

void plot_svg(const struct plot *plot, plot_write *write, void *user)
{
    const struct pen pen = {write, user};
    put(&pen,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" "
        "font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
        PAGE_WIDTH, PAGE_HEIGHT);
    put_head(&pen, plot);
    if (plot->points.count > 1) {
        put_delays(&pen, plot);
        put_rates(&pen, plot);
        put_left_over(&pen, plot);
    }
    put(&pen, "</svg>\n");
}
