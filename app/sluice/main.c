/* sluice: the appliance. Reads the node file, starts everything, then this thread becomes the worker. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "app.h"
#include "app/exit_usage.h"
#include "app/log.h"
#include "app/version.h"
#include "check.h"
#include "conf/conf.h"
#include "conf/places.h"
#include "crypt/crypt.h"
#include "insecure.h"
#include "key_memory.h"
#include "options.h"
#include "own_key.h"
#include "roster_hash.h"
#include "seal/wipe.h"

#define EXIT_FAILED     1
#define SECOND_SIGNAL_S 2 /* by whole seconds of the clock: at least one */

static struct app app;

/* What hangs (a filesystem) would keep us for ever from ending in order: a second word, that can't be part of the first, is
 * enough. Its line has no time: making one takes a lock. */
static void on_signal(int number)
{
    static const char said[] = "sluice: asked again to end: at once, without a farewell\n";
    static struct timespec first;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (first.tv_sec == 0) {
        first = now;
        app_stop(&app);
    } else if (now.tv_sec - first.tv_sec >= SECOND_SIGNAL_S) {
        (void)!write(STDERR_FILENO, said, sizeof(said) - 1);
        signal(number, SIG_DFL);
        raise(number); /* it comes when this handler has ended */
    }
}

static void take_peer_keys(struct node_peer_config *peer, const struct app_keys *keys)
{
    _Static_assert(APP_KEYS_MAX == NODE_PEER_KEYS_MAX, "the roster's keys are the node's");
    peer->key_count = (uint8_t)keys->count;
    memcpy(peer->public_keys, keys->keys, sizeof(peer->public_keys));
}

/* All but the own private key. With keys in the roster the node seals what it sends, and opens nothing else. */
static bool take_keys(struct err *err)
{
    struct node_config *node = &app.config.node;
    if (!own_key_is_needed(&app.config))
        return true;
    node->primitives = crypt_primitives(err);
    node->random = crypt_random;
    for (uint16_t peer = 0; peer < node->peer_count; peer++)
        take_peer_keys(&node->peers[peer], &app.config.peer_keys[peer]);
    if (node->primitives != NULL)
        node->roster = roster_hash(&app.config, node->primitives);
    return node->primitives != NULL;
}

/* What the files of this machine say to what the node file has in that line; 0: to no line of it. */
static bool check(bool good, uint32_t line, const struct err *err)
{
    if (!good && line != 0)
        fprintf(stderr, "%s:%u: %s\n", app.config.source_path, line, err->text);
    else if (!good)
        fprintf(stderr, "%s: %s\n", app.config.source_path, err->text);
    return good;
}

static bool check_key(enum own_key_for use)
{
    struct key_pair own = {0};
    struct err err;
    if (!check(check_insecure(&app.config, &err), app.config.insecure_line, &err))
        return false;
    bool good = own_key_ready(&app.config, use, &own, &err) && take_keys(&err);
    wipe(&own, sizeof(own));
    return check(good, app.config.own_keys.line, &err);
}

static void remind_insecure(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (app.config.insecure)
        insecure_remind(app.config.node.name, &app.remind_ns, (uint64_t)now.tv_sec * NS_PER_S);
}

static int check_config(void)
{
    uint64_t eal_bytes;
    struct err err;
    if (!app_memory(&app, &eal_bytes, &err)) {
        fprintf(stderr, "%s: %s\n", app.config.source_path, err.text);
        return EXIT_USAGE;
    }
    if (!check_key(OWN_KEY_CHECK))
        return EXIT_USAGE;
    remind_insecure();
    bool ready = check_machine(&app);
    printf("%s: valid%s; memory: %s\n", app.config.source_path,
           ready ? "" : ", but this machine is not ready for it", app.memory_text);
    return ready ? EXIT_SUCCESS : EXIT_FAILED;
}

static bool read_config(const char *path, const char *name)
{
    struct conf_errors errors = {0};
    struct err err;
    if (!conf_read_node_settings(path, NULL, name, &app.config, &app.settings, &errors)) {
        conf_errors_print(&errors, stderr);
        return false;
    }
    struct node_config *node = &app.config.node;
    places_complete(&app.config);
    uint64_t random[2];
    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random)) {
        fprintf(stderr, "sluice: the kernel has no random numbers\n");
        return false;
    }
    node->seed ^= random[0];
    node->incarnation = random[1] | 1; /* new with every start, and never 0 */
    if (node_config_check(node, &err) && starter_user(&app.starter_config, app.config.planner_user, &err))
        return true;
    fprintf(stderr, "%s: %s\n", path, err.text);
    return false;
}

/* Those up to `wanted` that do not run yet. */
static bool threads_start(pthread_t *threads, unsigned *count, unsigned wanted)
{
    void *(*const mains[])(void *) = {server_main, background_main, console_main};
    for (; *count < wanted; (*count)++)
        if (pthread_create(&threads[*count], NULL, mains[*count], &app) != 0)
            return false;
    return true;
}

/* What says ready comes before the console's prompt. */
static bool begin(pthread_t *threads, unsigned *count)
{
    char clock[LOG_TIME_BYTES];
    if (!port_workers_start(&app) || !threads_start(threads, count, 2))
        return false;
    log_time_now(clock);
    printf("%ssluice: %s ready\n", clock, app.config.node.name);
    fflush(stdout);
    return !app.console || threads_start(threads, count, 3);
}

/* A terminal that closes is no word to an appliance; to a console on it, it is the end of its input, unless whoever started
 * it has said otherwise (nohup). */
static void catch_signals(bool console)
{
    struct sigaction action = {.sa_handler = on_signal}, before;
    bool told = sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler == SIG_IGN;
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    if (console && !told)
        sigaction(SIGHUP, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

/* Before anything that a planner has no business with. */
static bool starter_start(struct err *err)
{
    struct starter_config *planner = &app.starter_config;
    app.starter.socket = -1;
    if (app.config.planner == APP_PLANNER_OFF || app.config.control_ring[0] == '\0')
        return true;
    name_copy(planner->ring, sizeof(planner->ring), app.config.control_ring);
    if (geteuid() == 0 && !planner->other_user)
        fprintf(stderr, "%s: planners are started as root: planner_user is not set\n", app.config.node.name);
    return starter_begin(&app.starter, planner, err);
}

static int run(const struct options *options)
{
    struct err err;
    pthread_t threads[3];
    unsigned thread_count = 0;
    log_begin();
    key_memory_guard_process();
    if (!check_key(OWN_KEY_START))
        return EXIT_USAGE;
    remind_insecure();
    app.console = options->console;
    app.listener.fd = -1;
    if (!app.console) /* from the beginning: starting takes its time */
        signal(SIGHUP, SIG_IGN);
    if (!starter_start(&err) || !app_start(&app, options->extra_count, options->extra, &err)) {
        fprintf(stderr, LOG_ERROR "%s: %s\n", app.config.node.name, err.text);
        unix_socket_unlisten(&app.listener);
        starter_end(&app.starter);
        return EXIT_FAILED;
    }
    catch_signals(app.console);
    log_never_wait();
    if (!begin(threads, &thread_count)) {
        fprintf(stderr, LOG_ERROR "%s: a thread could not be made\n", app.config.node.name);
        return EXIT_FAILED;
    }
    eal_worker_pin(&app.eal);
    worker_run(&app);
    port_workers_stop(&app);
    for (unsigned index = 0; index < thread_count; index++)
        pthread_join(threads[index], NULL);
    starter_end(&app.starter);
    app_finish(&app);
    return app.exit_code;
}

int main(int argc, char **argv)
{
    struct options options;
    if (version_asked(argc, argv, "sluice"))
        return 0;
    if (!options_parse(&options, argc, argv))
        return EXIT_USAGE;
    switch (options.action) {
    case OPTIONS_HELP:
        options_print_help();
        return EXIT_SUCCESS;
    case OPTIONS_HELP_CONFIG:
        return conf_print_help("node", stdout) ? EXIT_SUCCESS : EXIT_FAILED;
    case OPTIONS_CHECK:
        return read_config(options.config_path, options.name) ? check_config() : EXIT_USAGE;
    case OPTIONS_RUN:
        return read_config(options.config_path, options.name) ? run(&options) : EXIT_USAGE;
    }
    return EXIT_USAGE;
}
