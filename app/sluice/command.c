#include "command.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "conf/conf.h"
#include "insecure.h"
#include "picture.h"
#include "reload.h"

#define DONE_BYTES 8192 /* of reload: a line for each peer */

static void reply_error(struct command_reply *reply, const char *text)
{
    reply->ok = false;
    snprintf(reply->text, sizeof(reply->text), "%s", text);
}

/* What was done, for people; programs get it as an object, with the name (as it was given) and the id of the job if it is one's. */
__attribute__((format(printf, 4, 5))) static void reply_done(const struct command *command,
                                                             struct command_reply *reply, const char *job,
                                                             const char *format, ...)
{
    char done[256];
    struct report report;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(done, sizeof(done), format, arguments);
    va_end(arguments);
    if (command->form == REPORT_TEXT) {
        snprintf(reply->text, sizeof(reply->text), "%s", done);
        return;
    }
    report_begin(&report, REPORT_JSON, reply->text, sizeof(reply->text));
    if (job != NULL)
        report_text(&report, "job", job);
    if (job != NULL && reply->call.reply.job != 0)
        report_u64(&report, "id", reply->call.reply.job);
    report_text(&report, "done", done);
    reply->ok = report_end(&report);
}

static void run_call(struct app *app, struct command_reply *reply)
{
    struct channel_call *call = &reply->call;
    call->reply.text = reply->text;
    call->reply.room = sizeof(reply->text);
    reply->text[0] = '\0';
    reply->ok = channel_call(&app->channel, call);
    if (!reply->ok)
        reply_error(reply, call->reply.err.text);
}

/* A name of the request; false: reply says what is wrong with it. */
static bool take_name(char name[NAME_BYTES], const char *text, struct command_reply *reply)
{
    if (name_copy(name, NAME_BYTES, text != NULL ? text : ""))
        return true;
    reply_error(reply, "the name is too long");
    return false;
}

/* The node's answer: of one job, or all; of one edge of its plan, or all of it. */
static void ask_node(struct app *app, const struct command *command, enum ctl_show what,
                     const char *const names[3], struct command_reply *reply)
{
    struct ctl_msg *msg = &reply->call.msg;
    msg->type = CTL_SHOW;
    msg->body.show.what = what;
    msg->body.show.form = command->form;
    if (take_name(msg->body.show.job, names[0], reply) && take_name(msg->body.show.from, names[1], reply) &&
        take_name(msg->body.show.to, names[2], reply))
        run_call(app, reply);
}

/* Some words are the program's own, all others the node's. */
static void run_show(struct app *app, const struct command *command, enum ctl_show what, const char *job,
                     struct command_reply *reply)
{
    const char *const names[3] = {command->job != NULL ? command->job : job, NULL, NULL};
    if (what == CTL_SHOW_COUNT) {
        reply_error(reply, "show what? 'help' lists the words");
        return;
    }
    if (job != NULL && job[0] != '\0' && !ctl_show_is_of_job(what)) {
        snprintf(reply->text, sizeof(reply->text), "'show %s' takes no name", ctl_show_name(what));
        reply->ok = false;
        return;
    }
    if (!ctl_show_is_of_program(what)) {
        ask_node(app, command, what, names, reply);
        return;
    }
    reply->ok = show_local(app, what, command->form, reply->text, sizeof(reply->text));
    if (!reply->ok)
        reply_error(reply, "the answer is too long");
}

/* Errors of the file as lines; they are the reply. */
static void reply_errors(struct command_reply *reply, const struct conf_errors *errors)
{
    size_t length = 0;
    reply->ok = false;
    for (unsigned index = 0; index < errors->count && index < CONF_ERRORS_MAX; index++)
        length += (size_t)snprintf(reply->text + length, sizeof(reply->text) - length, "%s%s",
                                   index > 0 ? "\n" : "", errors->lines[index]);
}

/* A job that reads what sluicectl gets reads its socket. False: reply says why not. */
static bool resolve_input(const struct command *command, struct job_spec *spec, struct command_reply *reply)
{
    if (spec->object != PART_OBJECT_STREAM || strcmp(spec->file, CONF_JOB_STDIN) != 0)
        return true;
    spec->fed = command->input != NULL && name_copy(spec->file, sizeof(spec->file), command->input);
    if (spec->fed)
        return true;
    reply_error(reply,
                command->input != NULL
                    ? "the path of the standard input is too long"
                    : "the job's stream is the standard input of sluicectl: run it by sluicectl job run");
    return false;
}

/* A file of the console's own machine; one that a client sent is only named by its path, which is absolute. */
static bool absolute_path(const struct command *command, char path[PATH_MAX], struct command_reply *reply)
{
    const char *given = command->words.arguments[0];
    if (command->text != NULL ? name_copy(path, PATH_MAX, given) : realpath(given, path) != NULL)
        return true;
    snprintf(reply->text, sizeof(reply->text), "%s: %s", given,
             strerror(command->text != NULL ? ENAMETOOLONG : errno));
    text_make_printable(reply->text);
    return reply->ok = false;
}

/* What the operator's matrices say by now. False: reply says what is wrong with it. */
static bool tell_paths(struct app *app, struct command_reply *reply)
{
    struct err err;
    if (app->config.avb_file[0] == '\0' && app->config.distance_file[0] == '\0')
        return true;
    reply->call.msg.type = CTL_PATHS;
    if (conf_read_paths(app->config.avb_file, app->config.distance_file, &reply->call.msg.body.paths, &err)) {
        run_call(app, reply);
        return reply->ok;
    }
    reply_error(reply, err.text);
    return false;
}

static void run_job(struct app *app, const struct command *command, struct command_reply *reply)
{
    struct conf_errors errors = {0};
    struct job_spec *spec = &reply->call.msg.body.job_run;
    char path[PATH_MAX];
    if (!absolute_path(command, path, reply) || !tell_paths(app, reply))
        return;
    reply->call.msg.type = CTL_JOB_RUN;
    if (!conf_read_job(path, command->text, spec, &errors)) {
        reply_errors(reply, &errors);
        return;
    }
    struct err err;
    if (spec->source[0] == '\0')
        name_copy(spec->source, sizeof(spec->source), app->config.node.name);
    spec->dry_run = command->words.kind == COMMAND_JOB_PLAN;
    if (!resolve_input(command, spec, reply))
        return;
    if (command->caller != NULL && !outgoing_permits(&app->config, command->caller, spec, &err)) {
        reply_error(reply, err.text);
        return;
    }
    char name[NAME_BYTES];
    name_copy(name, sizeof(name), spec->name);
    run_call(app, reply);
    if (reply->ok)
        reply_done(command, reply, name, "job %s accepted", name);
}

static void run_cancel(struct app *app, const struct command *command, struct command_reply *reply)
{
    const char *name = command->words.arguments[0];
    reply->call.msg.type = CTL_JOB_CANCEL;
    if (!take_name(reply->call.msg.body.job_cancel.name, name, reply))
        return;
    run_call(app, reply);
    if (reply->ok)
        reply_done(command, reply, name, "job %s is being cancelled", name);
}

/* `to` empty: from here to the peer. */
static void run_probe(struct app *app, const struct command *command, struct command_reply *reply)
{
    const char *peer = command->words.arguments[0], *to = command->words.arguments[1];
    char name[NAME_BYTES], other[NAME_BYTES] = "";
    reply->call.msg.type = CTL_PROBE;
    if (!take_name(name, peer, reply) || (to[0] != '\0' && !take_name(other, to, reply)))
        return;
    memcpy(reply->call.msg.body.probe.peer, name, sizeof(name));
    memcpy(reply->call.msg.body.probe.to, other, sizeof(other));
    run_call(app, reply);
    if (reply->ok && other[0] != '\0')
        reply_done(command, reply, NULL, "the path from %s to %s is being measured: show probes", name,
                   other);
    else if (reply->ok)
        reply_done(command, reply, NULL, "the path to %s is being measured: show probes", name);
}

static void run_all(struct app *app, const struct command *command, enum ctl_all what, const char *done,
                    struct command_reply *reply)
{
    reply->call.msg.type = CTL_PROBE_ALL;
    reply->call.msg.body.probe_all.what = (uint8_t)what;
    reply->call.msg.body.probe_all.order = command->words.kind == COMMAND_PROBE_ORDER;
    run_call(app, reply);
    if (reply->ok)
        reply_done(command, reply, NULL, "%s", done);
}

static void run_measurement(struct app *app, const struct command *command, struct command_reply *reply)
{
    if (command->words.kind == COMMAND_PROBE)
        run_probe(app, command, reply);
    else if (command->words.kind == COMMAND_PROBE_START)
        run_all(app, command, CTL_ALL_START, "all pairs are being measured: show probes; probe stop", reply);
    else if (command->words.kind == COMMAND_PROBE_STOP)
        run_all(app, command, CTL_ALL_STOP, "no more pairs are measured", reply);
    else
        run_all(app, command, CTL_ALL_RECKON, "what it costs is being estimated: show probes; probe start",
                reply);
}

static void run_train(struct app *app, const struct command *command, struct command_reply *reply)
{
    reply->call.msg.type = CTL_TRAIN;
    if (command->form == REPORT_JSON) {
        reply_error(reply, "a picture has no JSON form");
        return;
    }
    if (!take_name(reply->call.msg.body.probe.peer, command->words.arguments[0], reply))
        return;
    run_call(app, reply);
    if (reply->ok)
        reply->ok = picture_of_train(reply->text, reply->call.reply.length, sizeof(reply->text));
}

static void run_set(struct app *app, const struct command *command, const struct job_controls *controls,
                    uint8_t changed, const char *done, struct command_reply *reply)
{
    const char *name = command->words.arguments[0];
    reply->call.msg.type = CTL_JOB_SET;
    reply->call.msg.body.job_set.changed = changed;
    reply->call.msg.body.job_set.controls = *controls;
    if (!take_name(reply->call.msg.body.job_set.name, name, reply))
        return;
    run_call(app, reply);
    if (reply->ok)
        reply_done(command, reply, name, "job %s %s", name, done);
}

static void run_pause(struct app *app, const struct command *command, struct command_reply *reply)
{
    const struct job_controls controls = {.paused = command->words.kind == COMMAND_JOB_PAUSE};
    run_set(app, command, &controls, JOB_CONTROL_PAUSED, controls.paused ? "is paused" : "is resumed", reply);
}

static void run_change(struct app *app, const struct command *command, struct command_reply *reply)
{
    const char *const *arguments = command->words.arguments;
    struct job_controls controls = {0};
    uint8_t changed = 0;
    struct err err;
    if (conf_parse_job_control(arguments[1], arguments[2], &controls, &changed, &err))
        run_set(app, command, &controls, changed, "is changed", reply);
    else
        reply_error(reply, err.text);
}

static void run_control(struct app *app, const struct command *command, struct command_reply *reply)
{
    if (command->words.kind == COMMAND_JOB_CANCEL)
        run_cancel(app, command, reply);
    else if (command->words.kind == COMMAND_JOB_SET)
        run_change(app, command, reply);
    else
        run_pause(app, command, reply);
}

static void run_history(struct app *app, const struct command *command, struct command_reply *reply)
{
    reply->ok = question_ask_history(&app->question, command->words.arguments[0], command->words.arguments[1],
                                     command->form, reply->text, sizeof(reply->text));
}

/* Programs get the lines as one text. */
static void run_reload(struct app *app, const struct command *command, struct command_reply *reply)
{
    struct report report;
    reload_keys(app, reply);
    if (!reply->ok || command->form == REPORT_TEXT)
        return;
    char done[DONE_BYTES];
    name_copy(done, sizeof(done), reply->text);
    report_begin(&report, REPORT_JSON, reply->text, sizeof(reply->text));
    report_text(&report, "done", done);
    reply->ok = report_end(&report);
}

static void run_help(const struct command *command, struct command_reply *reply)
{
    if (command->words.kind == COMMAND_HELP_COUNTERS)
        show_counter_help(command->form, reply->text, sizeof(reply->text));
    else
        command_help(command->caller != NULL ? COMMAND_AT_SOCKET : COMMAND_AT_CONSOLE, reply->text,
                     sizeof(reply->text));
}

static void answer(struct app *app, const struct command *command, struct command_reply *reply)
{
    const char *const *arguments = command->words.arguments;
    switch (command->words.kind) {
    case COMMAND_SHOW:
        run_show(app, command, ctl_show_find(arguments[0]), arguments[1], reply);
        return;
    case COMMAND_SHOW_HISTORY:
        run_history(app, command, reply);
        return;
    case COMMAND_SHOW_TRAIN:
        run_train(app, command, reply);
        return;
    case COMMAND_JOB_LIST:
    case COMMAND_JOB_MANIFEST:
        run_show(app, command, command->words.kind == COMMAND_JOB_LIST ? CTL_SHOW_jobs : CTL_SHOW_manifest,
                 arguments[0], reply);
        return;
    case COMMAND_JOB_WHY:
        ask_node(app, command, CTL_SHOW_why, arguments, reply); /* name, from, to */
        return;
    case COMMAND_JOB_RUN:
    case COMMAND_JOB_PLAN:
        run_job(app, command, reply);
        return;
    case COMMAND_JOB_CANCEL:
    case COMMAND_JOB_PAUSE:
    case COMMAND_JOB_RESUME:
    case COMMAND_JOB_SET:
        run_control(app, command, reply);
        return;
    case COMMAND_PROBE:
    case COMMAND_PROBE_ALL:
    case COMMAND_PROBE_ORDER:
    case COMMAND_PROBE_START:
    case COMMAND_PROBE_STOP:
        run_measurement(app, command, reply);
        return;
    case COMMAND_RELOAD_KEYS:
        run_reload(app, command, reply);
        return;
    case COMMAND_HELP:
    case COMMAND_HELP_COUNTERS:
        run_help(command, reply);
        return;
    case COMMAND_QUIT:
    case COMMAND_EXIT: /* a terminal has asked by now */
        app_stop(app);
        return;
    case COMMAND_CLEAR: /* a terminal has done it by now */
        return;
    case COMMAND_JOB_WATCH: /* sluicectl's own: command_find knows them nowhere else */
    case COMMAND_HELP_JOB:
    case COMMAND_KEY_GEN:
    case COMMAND_KEY_SHOW:
    case COMMAND_COUNT:
        break;
    }
    reply_error(reply, "unknown command");
}

/* A report, in whose first line something may be said. Drawings are files of other programs. */
static bool is_report(const struct command *command)
{
    enum command_kind kind = command->words.kind;
    if (kind == COMMAND_SHOW) {
        enum ctl_show what = ctl_show_find(command->words.arguments[0]);
        return what != CTL_SHOW_dot && what != CTL_SHOW_svg;
    }
    return kind == COMMAND_SHOW_HISTORY || kind == COMMAND_JOB_LIST || kind == COMMAND_JOB_MANIFEST ||
           kind == COMMAND_JOB_WHY;
}

void command_run(struct app *app, const struct command *command, struct command_reply *reply)
{
    reply->ok = true;
    reply->text[0] = '\0';
    answer(app, command, reply);
    if (app->config.insecure && reply->ok && is_report(command) &&
        !insecure_mark(command->form, reply->text, sizeof(reply->text)))
        reply_error(reply, "the answer is too long");
}
