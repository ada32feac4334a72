#include "command.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"

#define COMMAND(id, first, second, argument, help) [COMMAND_##id] = {first, second, argument, help},
const struct command_row command_rows[COMMAND_COUNT] = {
#include "commands.def"
};
#undef COMMAND

static void reply_error(struct command_reply *reply, const char *text)
{
    reply->ok = false;
    snprintf(reply->text, sizeof(reply->text), "%s", text);
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

static void run_show(struct app *app, const struct command *command, struct command_reply *reply)
{
    switch (command->what) {
    case CTL_SHOW_version:
    case CTL_SHOW_config:
    case CTL_SHOW_ports:
        reply->ok = show_local(app, command->what, command->form, reply->text, sizeof(reply->text));
        if (!reply->ok)
            reply_error(reply, "the answer is too long");
        return;
    case CTL_SHOW_peers:
    case CTL_SHOW_edges:
    case CTL_SHOW_jobs:
    case CTL_SHOW_plan:
    case CTL_SHOW_manifest:
    case CTL_SHOW_counters:
        reply->call.msg.type = CTL_SHOW;
        reply->call.msg.body.show.what = command->what;
        reply->call.msg.body.show.form = command->form;
        name_copy(reply->call.msg.body.show.job, NAME_BYTES, command->name);
        run_call(app, reply);
        return;
    case CTL_SHOW_COUNT:
        reply_error(reply, "show what? 'help' lists the words");
        return;
    }
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
    if (command->input[0] != '\0')
        return name_copy(spec->file, sizeof(spec->file), command->input);
    reply_error(reply, "the job's stream is the standard input of sluicectl: run it by sluicectl job run");
    return false;
}

static void run_job(struct app *app, const struct command *command, struct command_reply *reply)
{
    struct conf_errors errors = {0};
    struct job_spec *spec = &reply->call.msg.body.job_run;
    reply->call.msg.type = CTL_JOB_RUN;
    if (!conf_read_job(command->path, command->text, spec, &errors)) {
        reply_errors(reply, &errors);
        return;
    }
    struct err err;
    if (!resolve_input(command, spec, reply))
        return;
    if (command->caller != NULL &&
        !outgoing_permits(&app->config, command->caller, command->input[0] != '\0', spec, &err)) {
        reply_error(reply, err.text);
        return;
    }
    char name[NAME_BYTES];
    name_copy(name, sizeof(name), spec->name);
    run_call(app, reply);
    if (reply->ok)
        snprintf(reply->text, sizeof(reply->text), "job %s accepted", name);
}

static void run_cancel(struct app *app, const struct command *command, struct command_reply *reply)
{
    reply->call.msg.type = CTL_JOB_CANCEL;
    name_copy(reply->call.msg.body.job_cancel.name, NAME_BYTES, command->name);
    run_call(app, reply);
    if (reply->ok)
        snprintf(reply->text, sizeof(reply->text), "job %s is being cancelled", command->name);
}

static void run_set(struct app *app, const struct command *command, struct command_reply *reply)
{
    reply->call.msg.type = CTL_JOB_SET;
    name_copy(reply->call.msg.body.job_set.name, NAME_BYTES, command->name);
    reply->call.msg.body.job_set.changed = command->changed;
    reply->call.msg.body.job_set.controls = command->controls;
    run_call(app, reply);
    if (!reply->ok)
        return;
    bool pause = (command->changed & JOB_CONTROL_PAUSED) != 0;
    snprintf(reply->text, sizeof(reply->text), "job %s %s", command->name,
             !pause                     ? "is changed"
             : command->controls.paused ? "is paused"
                                        : "goes on");
}

bool command_set(struct command *command, const char *key, const char *value, struct command_reply *reply)
{
    struct err err;
    if (conf_parse_job_control(key, value, &command->controls, &command->changed, &err))
        return true;
    reply_error(reply, err.text);
    return false;
}

void command_run(struct app *app, const struct command *command, struct command_reply *reply)
{
    reply->ok = true;
    reply->text[0] = '\0';
    switch (command->kind) {
    case COMMAND_SHOW:
    case COMMAND_JOB_LIST:
    case COMMAND_JOB_MANIFEST:
        run_show(app, command, reply);
        return;
    case COMMAND_JOB_RUN:
        run_job(app, command, reply);
        return;
    case COMMAND_JOB_CANCEL:
        run_cancel(app, command, reply);
        return;
    case COMMAND_JOB_PAUSE:
    case COMMAND_JOB_SET:
        run_set(app, command, reply);
        return;
    case COMMAND_HELP:
        command_help(reply->text, sizeof(reply->text));
        return;
    case COMMAND_HELP_COUNTERS:
        show_counter_help(reply->text, sizeof(reply->text));
        return;
    case COMMAND_QUIT:
        app_stop(app);
        return;
    case COMMAND_COUNT:
        break;
    }
    reply_error(reply, "unknown command");
}

/* ---- words ---- */

/* Whether `word` is one of "a#b#"; a single fixed word is a list of one. */
static bool word_listed(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; *at != '\0';) {
        size_t item = strcspn(at, "#");
        if (item == length && strncmp(at, word, length) == 0)
            return true;
        at += item + (at[item] == '#');
    }
    return false;
}

static bool command_find(struct command *command, const char *first, const char *second)
{
    for (int kind = 0; kind < COMMAND_COUNT; kind++) {
        const struct command_row *row = &command_rows[kind];
        bool matches = strcmp(first, row->first) == 0 &&
                       (row->second[0] == '\0' ? second[0] == '\0' : word_listed(row->second, second));
        if (matches) {
            command->kind = (enum command_kind)kind;
            return true;
        }
    }
    return false;
}

static bool parse_path(struct command *command, const char *argument, struct command_reply *reply)
{
    char absolute[PATH_MAX];
    bool there = realpath(argument, absolute) != NULL;
    if (there && name_copy(command->path, sizeof(command->path), absolute))
        return true;
    snprintf(reply->text, sizeof(reply->text), "%s: %s", argument,
             there ? "the path is too long" : strerror(errno));
    return reply->ok = false;
}

/* "NAME KEY VALUE" */
static bool parse_set(struct command *command, const char *argument, struct command_reply *reply)
{
    char words[3][NAME_BYTES], more;
    _Static_assert(NAME_BYTES == 32, "the widths below");
    if (sscanf(argument, "%31s %31s %31s %c", words[0], words[1], words[2], &more) != 3) {
        snprintf(reply->text, sizeof(reply->text), "'job set' takes %s",
                 command_rows[COMMAND_JOB_SET].argument);
        return reply->ok = false;
    }
    name_copy(command->name, sizeof(command->name), words[0]);
    return command_set(command, words[1], words[2], reply);
}

static bool parse_argument(struct command *command, const char *second, const char *argument,
                           struct command_reply *reply)
{
    switch (command->kind) {
    case COMMAND_SHOW:
        command->what = ctl_show_find(second);
        return true;
    case COMMAND_JOB_LIST:
        command->what = CTL_SHOW_jobs;
        return true;
    case COMMAND_JOB_MANIFEST:
        command->what = CTL_SHOW_manifest;
        name_copy(command->name, sizeof(command->name), argument);
        return true;
    case COMMAND_JOB_RUN:
        return parse_path(command, argument, reply);
    case COMMAND_JOB_PAUSE:
        command->changed = JOB_CONTROL_PAUSED;
        command->controls.paused = strcmp(second, "pause") == 0;
        name_copy(command->name, sizeof(command->name), argument);
        return true;
    case COMMAND_JOB_CANCEL:
        name_copy(command->name, sizeof(command->name), argument);
        return true;
    case COMMAND_JOB_SET:
        return parse_set(command, argument, reply);
    case COMMAND_HELP:
    case COMMAND_HELP_COUNTERS:
    case COMMAND_QUIT:
    case COMMAND_COUNT:
        break;
    }
    return true;
}

bool command_parse(struct command *command, char *line, struct command_reply *reply)
{
    char *rest = line, *first = strsep(&rest, " ");
    char *second = rest != NULL ? strsep(&rest, " ") : NULL;
    const char *argument = rest != NULL ? rest + strspn(rest, " ") : "";
    *command = (struct command){.form = REPORT_TEXT};
    if (!command_find(command, first, second != NULL ? second : "")) {
        snprintf(reply->text, sizeof(reply->text), "unknown command '%s%s%s'; 'help' lists them", first,
                 second != NULL ? " " : "", second != NULL ? second : "");
        return reply->ok = false;
    }
    const struct command_row *row = &command_rows[command->kind];
    if ((row->argument[0] != '\0') != (argument[0] != '\0')) {
        snprintf(reply->text, sizeof(reply->text), "'%s %s' takes %s", row->first, row->second,
                 row->argument[0] != '\0' ? row->argument : "no argument");
        return reply->ok = false;
    }
    return parse_argument(command, second, argument, reply);
}

void command_help(char *text, size_t room)
{
    size_t length = 0;
    for (int kind = 0; kind < COMMAND_COUNT; kind++) {
        const struct command_row *row = &command_rows[kind];
        if (kind == COMMAND_SHOW) {
            for (unsigned show = 0; show < CTL_SHOW_COUNT; show++)
                length += (size_t)snprintf(text + length, room - length, "show %-18s %s\n",
                                           ctl_show_name(show), ctl_show_help(show));
            continue;
        }
        char words[64];
        snprintf(words, sizeof(words), "%s%s%s%s%s", row->first, row->second[0] != '\0' ? " " : "",
                 row->second, row->argument[0] != '\0' ? " " : "", row->argument);
        length += (size_t)snprintf(text + length, room - length, "%-23s %s\n", words, row->help);
    }
}
