#include "app/ctl/job_view.h"

#include <inttypes.h>
#include <stdio.h>

#include <jansson.h>

static void get_text(const json_t *object, const char *key, char *text, size_t room)
{
    const char *value = json_string_value(json_object_get(object, key));
    name_copy(text, room, value != NULL ? value : "");
}

static uint64_t get_number(const json_t *object, const char *key)
{
    json_int_t value = json_integer_value(json_object_get(object, key));
    return value > 0 ? (uint64_t)value : 0;
}

static void parse_site(struct site_view *site, const json_t *object)
{
    get_text(object, "name", site->name, sizeof(site->name));
    get_text(object, "state", site->state, sizeof(site->state));
    get_text(object, "text", site->text, sizeof(site->text));
    get_text(object, "limited_from", site->limited_from, sizeof(site->limited_from));
    get_text(object, "limited_to", site->limited_to, sizeof(site->limited_to));
    get_text(object, "limited_by", site->limited_by, sizeof(site->limited_by));
    site->received_bytes = get_number(object, "received_bytes");
    site->verified_bytes = get_number(object, "verified_bytes");
    site->complete_ns = get_number(object, "complete_ns");
    site->stalled_ns = get_number(object, "stalled_ns");
}

static void parse_job(struct job_view *view, const json_t *object)
{
    *view = (struct job_view){.id = get_number(object, "id"),
                              .size_bytes = get_number(object, "size_bytes"),
                              .created_ns = get_number(object, "created_ns"),
                              .running_ns = get_number(object, "running_ns"),
                              .ended_ns = get_number(object, "ended_ns"),
                              .now_ns = get_number(object, "now_ns"),
                              .rate_bps = get_number(json_object_get(object, "plan"), "common_rate_bps")};
    get_text(object, "name", view->name, sizeof(view->name));
    get_text(object, "state", view->state, sizeof(view->state));
    get_text(object, "text", view->text, sizeof(view->text));
    get_text(object, "note", view->note, sizeof(view->note));
    get_text(object, "tree", view->tree, sizeof(view->tree));
    size_t index;
    const json_t *site;
    json_array_foreach(json_object_get(object, "sites"), index, site)
    {
        if (view->site_count < VIEW_SITES_MAX)
            parse_site(&view->sites[view->site_count++], site);
    }
}

static bool is_candidate(const json_t *job, const char *asked)
{
    char id[24];
    const char *name = json_string_value(json_object_get(job, "name"));
    snprintf(id, sizeof(id), "%" PRIu64, get_number(job, "id"));
    bool named = name != NULL && (strcmp(name, asked) == 0 || strcmp(id, asked) == 0);
    return named && !json_is_false(json_object_get(job, "source"));
}

static const json_t *newest_of(const json_t *jobs, const char *asked, const json_t *newest)
{
    const json_t *job;
    size_t index;
    json_array_foreach(jobs, index, job)
    {
        if (is_candidate(job, asked) &&
            (newest == NULL || get_number(job, "created_ns") > get_number(newest, "created_ns")))
            newest = job;
    }
    return newest;
}

enum view_result job_view_parse(struct job_view *view, const char *json, const char *asked)
{
    json_t *root = json_loads(json, 0, NULL);
    const json_t *jobs = json_object_get(root, "jobs");
    const json_t *newest = newest_of(jobs, asked, newest_of(json_object_get(root, "plans"), asked, NULL));
    enum view_result result = json_is_array(jobs) ? VIEW_NO_SUCH_JOB : VIEW_MALFORMED;
    if (newest != NULL) {
        parse_job(view, newest);
        result = VIEW_FOUND;
    }
    json_decref(root);
    return result;
}

bool job_view_is(const struct job_view *view, enum job_state state)
{
    return strcmp(view->state, job_state_name(state)) == 0;
}

bool site_view_is(const struct site_view *site, enum site_state state)
{
    return strcmp(site->state, site_state_name(state)) == 0;
}

bool site_view_going(const struct site_view *site)
{
    return site_view_is(site, SITE_RECEIVING) || strcmp(site->state, SITE_TOLD_STALLED) == 0 ||
           strcmp(site->state, SITE_TOLD_PAUSED) == 0;
}

bool job_view_over(const struct job_view *view)
{
    return job_view_is(view, JOB_DONE) || job_view_is(view, JOB_FAILED) || job_view_is(view, JOB_CANCELLED);
}

bool site_view_complete(const struct site_view *site)
{
    return site_view_is(site, SITE_VERIFIED) || site_view_is(site, SITE_SKIPPED);
}

bool job_view_good(const struct job_view *view)
{
    for (unsigned site = 0; site < view->site_count; site++)
        if (!site_view_complete(&view->sites[site]))
            return false;
    return view->site_count > 0 && job_view_is(view, JOB_DONE);
}

bool job_view_incomplete(const struct job_view *view)
{
    unsigned complete = 0;
    for (unsigned site = 0; site < view->site_count; site++)
        complete += site_view_complete(&view->sites[site]);
    bool over = job_view_is(view, JOB_DONE) || job_view_is(view, JOB_FAILED);
    return over && complete > 0 && complete < view->site_count;
}
