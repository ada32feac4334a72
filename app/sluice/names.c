#include "names.h"

#include <dirent.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "conf/job_file.h"
#include "conf/option.h"
#include "base/text.h"

static void add_peers(const struct app *app, const char *begins, struct word_choices *choices)
{
    const struct node_config *node = &app->config.node;
    for (uint16_t index = 0; index < node->peer_count; index++)
        word_add(choices, begins, node->peers[index].name, "", false);
}

/* All jobs as the worker tells them; to be released. NULL: it does not. */
static json_t *ask_jobs(const struct names *names)
{
    struct command command = {.words = {.kind = COMMAND_JOB_LIST}, .form = REPORT_JSON};
    command_run(names->app, &command, names->reply);
    return names->reply->ok ? json_loads(names->reply->text, 0, NULL) : NULL;
}

static const char *text_of(const json_t *row, const char *key)
{
    const char *text = json_string_value(json_object_get(row, key));
    return text != NULL ? text : "";
}

static void add_jobs(const struct names *names, const char *begins, struct word_choices *choices)
{
    json_t *all = ask_jobs(names), *row;
    size_t index;
    json_array_foreach(json_object_get(all, "jobs"), index, row)
        word_add(choices, begins, text_of(row, "name"), text_of(row, "state"), false);
    json_decref(all);
}

unsigned names_jobs_running(const struct names *names)
{
    json_t *all = ask_jobs(names), *row;
    size_t index;
    unsigned count = 0;
    json_array_foreach(json_object_get(all, "jobs"), index, row)
    {
        bool ended = false;
        for (unsigned state = JOB_DONE; state < JOB_STATE_COUNT; state++)
            ended |= strcmp(text_of(row, "state"), job_state_name(state)) == 0;
        count += !ended;
    }
    json_decref(all);
    return count;
}

static void add_keys(const char *begins, struct word_choices *choices)
{
    for (unsigned row = 0; job_control_options[row].type != OPTION_END; row++)
        word_add(choices, begins, job_control_options[row].key, job_control_options[row].help, false);
}

/* Those of the folder that the path leads into so far. Hidden ones only where the dot was typed. */
static void add_files(const char *begins, struct word_choices *choices)
{
    const char *slash = strrchr(begins, '/');
    int folder_bytes = slash != NULL ? (int)(slash - begins) + 1 : 0;
    char path[PATH_MAX];
    struct stat stat_of;
    snprintf(path, sizeof(path), "%.*s", folder_bytes, begins);
    DIR *folder = opendir(folder_bytes > 0 ? path : ".");
    if (folder == NULL)
        return;
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        if (entry->d_name[0] == '.' && begins[folder_bytes] != '.')
            continue;
        int length = snprintf(path, sizeof(path) - 1, "%.*s%s", folder_bytes, begins, entry->d_name);
        if (length >= (int)sizeof(path) - 1 || !text_printable(entry->d_name))
            continue;
        bool is_folder = stat(path, &stat_of) == 0 && S_ISDIR(stat_of.st_mode);
        word_add(choices, begins, strcat(path, is_folder ? "/" : ""), "", is_folder);
    }
    closedir(folder);
}

void names_add(void *argument, enum word_kind kind, const char *begins, struct word_choices *choices)
{
    const struct names *names = argument;
    switch (kind) {
    case WORD_PEER:
        add_peers(names->app, begins, choices);
        return;
    case WORD_NODE:
        word_add(choices, begins, names->app->config.node.name, "", false);
        add_peers(names->app, begins, choices);
        return;
    case WORD_JOB:
        add_jobs(names, begins, choices);
        return;
    case WORD_KEY:
        add_keys(begins, choices);
        return;
    case WORD_FILE:
        add_files(begins, choices);
        return;
    }
}
