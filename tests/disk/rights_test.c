/* With whose rights the disk opens what a job names. */
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define OTHER 65534 /* nobody */
#define MORE  54321 /* a group that only the caller is in */

static struct rights below(const struct fixture *fixture, const char *folder)
{
    return (struct rights){.kind = RIGHTS_BELOW,
                           .below_bytes = (uint16_t)strlen(path_of(fixture, folder)),
                           .caller = {.user = OTHER, .group = OTHER}};
}

static struct rights of_caller(void)
{
    return (struct rights){.kind = RIGHTS_CALLER,
                           .caller = {.user = OTHER, .group = OTHER, .group_count = 1, .groups = {MORE}}};
}

static void make_directory(const struct fixture *fixture, const char *name, mode_t mode)
{
    assert_int_equal(mkdir(path_of(fixture, name), 0700), 0);
    assert_int_equal(chmod(path_of(fixture, name), mode), 0);
}

static void make_owned(const struct fixture *fixture, const char *name, mode_t mode, uid_t user, gid_t group)
{
    make_file(fixture, name, "x", 1, FIXED_NS);
    assert_int_equal(chown(path_of(fixture, name), user, group), 0);
    assert_int_equal(chmod(path_of(fixture, name), mode), 0);
}

static int listen_at(const struct fixture *fixture, const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(name_copy(address.sun_path, sizeof(address.sun_path), path_of(fixture, name)));
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(chmod(path_of(fixture, name), 0666), 0);
    return fd;
}

/* cause NULL: it is opened. */
static void assert_opens(struct fixture *fixture, const char *file, enum part_object object,
                         const char *cause)
{
    fixture->open.object = (uint8_t)object;
    struct disk_reply reply = ask_source(fixture, 1, file);
    if (cause == NULL && reply.status != DISK_OK)
        fail_msg("%s: %s", file, reply.text);
    if (cause != NULL)
        assert_failed(&reply, cause);
    assert_int_equal(ask_op(fixture, DISK_CLOSE, 1).status, DISK_OK);
}

/* Whatever was there when the job was accepted, a link that lies there by now is not followed. */
static void open__below_a_directory_follows_no_link(void **state)
{
    const struct {
        const char *file;
        enum part_object object;
        const char *cause;
    } cases[] = {
        {"listed/file", PART_OBJECT_FILE, NULL},
        {"listed//deep/file", PART_OBJECT_FILE, NULL},
        {"listed/deep", PART_OBJECT_DIRECTORY, NULL},
        {"listed/file", PART_OBJECT_STREAM, NULL},
        {"listed/socket", PART_OBJECT_STREAM, NULL},
        {"listed/deep", PART_OBJECT_STREAM, "a directory is no stream"},
        {"listed/link", PART_OBJECT_FILE, "a symbolic link on the way"},
        {"listed/up/outside", PART_OBJECT_FILE, "a symbolic link on the way"},
        {"listed/up", PART_OBJECT_DIRECTORY, "a symbolic link on the way"},
        {"listed/link", PART_OBJECT_STREAM, "a symbolic link on the way"},
        {"listed/socket_link", PART_OBJECT_STREAM, "a symbolic link on the way"},
        {"listed/../outside", PART_OBJECT_FILE, "it leads out of what outgoing lists"},
        {"listed/nothing", PART_OBJECT_FILE, "No such file"},
    };
    struct fixture fixture;
    (void)state;
    fixture_start(&fixture, 1, false);
    make_directory(&fixture, "listed", 0755);
    make_directory(&fixture, "listed/deep", 0755);
    make_file(&fixture, "listed/file", "x", 1, FIXED_NS);
    make_file(&fixture, "listed/deep/file", "x", 1, FIXED_NS);
    make_file(&fixture, "outside", "x", 1, FIXED_NS);
    assert_int_equal(symlink("../outside", path_of(&fixture, "listed/link")), 0);
    assert_int_equal(symlink("..", path_of(&fixture, "listed/up")), 0);
    assert_int_equal(symlink("socket", path_of(&fixture, "listed/socket_link")), 0);
    int listener = listen_at(&fixture, "listed/socket");
    fixture.open.rights = below(&fixture, "listed");
    for (size_t at = 0; at < sizeof(cases) / sizeof(cases[0]); at++)
        assert_opens(&fixture, cases[at].file, cases[at].object, cases[at].cause);
    close(listener);
    fixture_stop(&fixture);
}

/* The links of the directory's own path are the operator's. */
static void open__the_listed_path_may_be_a_link(void **state)
{
    struct fixture fixture;
    (void)state;
    fixture_start(&fixture, 1, false);
    make_directory(&fixture, "there", 0755);
    make_file(&fixture, "there/file", "x", 1, FIXED_NS);
    assert_int_equal(symlink("there", path_of(&fixture, "listed")), 0);
    fixture.open.rights = below(&fixture, "listed");
    assert_opens(&fixture, "listed/file", PART_OBJECT_FILE, NULL);
    assert_opens(&fixture, "listed", PART_OBJECT_DIRECTORY, NULL);
    fixture_stop(&fixture);
}

static void make_world(struct fixture *fixture)
{
    fixture_start(fixture, 1, false);
    assert_int_equal(chmod(fixture->directory, 0755), 0);
    make_owned(fixture, "open", 0644, 0, 0);
    make_owned(fixture, "secret", 0600, 0, 0);
    make_owned(fixture, "own", 0600, OTHER, 0);
    make_owned(fixture, "shared", 0640, 0, MORE);
    make_owned(fixture, "denied", 0604, 0, MORE);
    make_directory(fixture, "tree", 0755);
    make_owned(fixture, "tree/file", 0644, 0, 0);
    assert_int_equal(symlink("../secret", path_of(fixture, "tree/link")), 0);
    make_directory(fixture, "mixed", 0755);
    make_owned(fixture, "mixed/secret", 0600, 0, 0);
    make_directory(fixture, "deep", 0755);
    make_directory(fixture, "deep/shut", 0700);
    make_directory(fixture, "shut", 0711);
    make_owned(fixture, "shut/file", 0644, 0, 0);
    assert_int_equal(symlink("secret", path_of(fixture, "to_secret")), 0);
    assert_int_equal(mkfifo(path_of(fixture, "fifo"), 0600), 0);
    fixture->open.rights = of_caller();
}

static void open__as_the_caller_is_judged_by_the_kernel(void **state)
{
    const struct {
        const char *file;
        enum part_object object;
        const char *cause;
    } cases[] = {
        {"open", PART_OBJECT_FILE, NULL},
        {"own", PART_OBJECT_FILE, NULL},
        {"shared", PART_OBJECT_FILE, NULL},
        {"shut/file", PART_OBJECT_FILE, NULL},
        {"tree", PART_OBJECT_DIRECTORY, NULL}, /* a link is sent as it is */
        {"open", PART_OBJECT_STREAM, NULL},
        {"secret", PART_OBJECT_FILE, "as user 65534: Permission denied"},
        {"to_secret", PART_OBJECT_FILE, "as user 65534: Permission denied"},
        {"denied", PART_OBJECT_FILE, "as user 65534: Permission denied"},
        {"shut", PART_OBJECT_DIRECTORY, "as user 65534: Permission denied"},
        {"mixed", PART_OBJECT_DIRECTORY, "look at secret in"},
        {"deep", PART_OBJECT_DIRECTORY, "read the directory shut in"},
        {"secret", PART_OBJECT_STREAM, "as user 65534: Permission denied"},
        {"fifo", PART_OBJECT_STREAM, "as user 65534: Permission denied"},
        {"socket", PART_OBJECT_STREAM, "no socket of user 65534"},
    };
    struct fixture fixture;
    (void)state;
    if (geteuid() != 0)
        skip();
    make_world(&fixture);
    int listener = listen_at(&fixture, "socket");
    for (size_t at = 0; at < sizeof(cases) / sizeof(cases[0]); at++)
        assert_opens(&fixture, cases[at].file, cases[at].object, cases[at].cause);
    assert_int_equal(chown(path_of(&fixture, "socket"), OTHER, OTHER), 0);
    assert_opens(&fixture, "socket", PART_OBJECT_STREAM, NULL);
    fixture.open.rights = (struct rights){0}; /* what a thread was for one job it is not for the next */
    assert_opens(&fixture, "secret", PART_OBJECT_FILE, NULL);
    assert_opens(&fixture, "mixed", PART_OBJECT_DIRECTORY, NULL);
    assert_opens(&fixture, "fifo", PART_OBJECT_STREAM, NULL);
    assert_int_equal(setfsuid((uid_t)-1), 0);
    close(listener);
    fixture_stop(&fixture);
}

/* What the appliance has open lies in no directory that keeps others out. */
static void open__as_the_caller_reaches_nothing_of_ours(void **state)
{
    struct fixture fixture;
    char by_fd[64];
    (void)state;
    if (geteuid() != 0)
        skip();
    make_world(&fixture);
    make_directory(&fixture, "root", 0700);
    make_owned(&fixture, "root/file", 0644, 0, 0);
    int fd = open(path_of(&fixture, "root"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    snprintf(by_fd, sizeof(by_fd), "/proc/self/fd/%d", fd);
    assert_int_equal(symlink(by_fd, path_of(&fixture, "link")), 0);
    assert_opens(&fixture, "link/file", PART_OBJECT_FILE, "a link of /proc on the way");
    assert_opens(&fixture, "link/file", PART_OBJECT_STREAM, "a link of /proc on the way");
    assert_opens(&fixture, "link", PART_OBJECT_DIRECTORY, "a link of /proc on the way");
    close(fd);
    fixture_stop(&fixture);
}

/* What procfs tells about who opens a file there would be told about the appliance, with whatever rights. */
static void open__nothing_of_procfs(void **state)
{
    static const char told[] = "it lies on procfs", link[] = "a link of /proc on the way";
    const struct {
        const char *file, *target;
        enum part_object object;
        const char *cause;
    } cases[] = {
        {"maps", "/proc/self/maps", PART_OBJECT_FILE, told},
        {"same_maps", "/proc/self/maps", PART_OBJECT_STREAM, told},
        {"task", "/proc/self/task", PART_OBJECT_DIRECTORY, told},
        {"nobodys", "/proc/meminfo", PART_OBJECT_FILE, told},
        {"cwd", "/proc/self/cwd", PART_OBJECT_DIRECTORY, link},
        {"exe", "/proc/self/exe", PART_OBJECT_FILE, link},
        {"same_exe", "/proc/self/exe", PART_OBJECT_STREAM, link},
    };
    struct fixture fixture;
    (void)state;
    fixture_start(&fixture, 1, false);
    assert_int_equal(chmod(fixture.directory, 0755), 0);
    for (size_t at = 0; at < sizeof(cases) / sizeof(cases[0]); at++) {
        assert_int_equal(symlink(cases[at].target, path_of(&fixture, cases[at].file)), 0);
        fixture.open.rights = (struct rights){0};
        assert_opens(&fixture, cases[at].file, cases[at].object, cases[at].cause);
        fixture.open.rights = of_caller();
        if (geteuid() == 0)
            assert_opens(&fixture, cases[at].file, cases[at].object, cases[at].cause);
    }
    assert_int_equal(symlink("/proc", path_of(&fixture, "listed")), 0);
    fixture.open.rights = below(&fixture, "listed");
    assert_opens(&fixture, "listed/meminfo", PART_OBJECT_FILE, told);
    assert_opens(&fixture, "listed", PART_OBJECT_DIRECTORY, told);
    fixture_stop(&fixture);
}

/* In a mount namespace of this test. */
static void open__no_tree_with_procfs_in_it(void **state)
{
    struct fixture fixture;
    (void)state;
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        skip();
    fixture_start(&fixture, 1, false);
    make_directory(&fixture, "tree", 0755);
    make_directory(&fixture, "tree/system", 0755);
    make_file(&fixture, "tree/file", "x", 1, FIXED_NS);
    assert_int_equal(mount("/proc/self/fdinfo", path_of(&fixture, "tree/system"), NULL, MS_BIND, NULL), 0);
    assert_opens(&fixture, "tree", PART_OBJECT_DIRECTORY, "system in ");
    assert_opens(&fixture, "tree", PART_OBJECT_DIRECTORY, "it lies on procfs");
    assert_int_equal(umount(path_of(&fixture, "tree/system")), 0);
    assert_opens(&fixture, "tree", PART_OBJECT_DIRECTORY, NULL);
    fixture_stop(&fixture);
}

static struct disk_reply ask_manifest(struct fixture *fixture, const char *folder)
{
    static uint8_t text[] = "{}";
    assert_true(name_copy(fixture->open.directory, PATH_BYTES, path_of(fixture, folder)));
    strcpy(fixture->open.file, "j.manifest.json");
    return ask(fixture,
               &(struct disk_request){
                   .op = DISK_MANIFEST, .handle = 2, .data = text, .length = 2, .open = &fixture->open});
}

static void manifest__is_the_callers_own(void **state)
{
    struct fixture fixture;
    struct stat stat_of;
    (void)state;
    if (geteuid() != 0)
        skip();
    make_world(&fixture);
    make_directory(&fixture, "his", 0700);
    assert_int_equal(chown(path_of(&fixture, "his"), OTHER, OTHER), 0);
    make_directory(&fixture, "not_his", 0755);
    assert_int_equal(symlink("not_his", path_of(&fixture, "link")), 0);
    assert_int_equal(ask_manifest(&fixture, "his").status, DISK_OK);
    assert_int_equal(stat(path_of(&fixture, "his/j.manifest.json"), &stat_of), 0);
    assert_int_equal(stat_of.st_uid, OTHER);
    struct disk_reply reply = ask_manifest(&fixture, "not_his");
    assert_failed(&reply, "Permission denied");
    reply = ask_manifest(&fixture, "link");
    assert_failed(&reply, "Permission denied");
    fixture.open.rights = (struct rights){0};
    assert_int_equal(ask_manifest(&fixture, "not_his").status, DISK_OK);
    fixture_stop(&fixture);
}

/* Whom a directory above keeps out, he does not get in because the appliance has it open. */
static void manifest__goes_through_nothing_of_ours(void **state)
{
    struct fixture fixture;
    char by_fd[64];
    (void)state;
    if (geteuid() != 0)
        skip();
    make_world(&fixture);
    make_directory(&fixture, "root", 0700);
    make_directory(&fixture, "root/inner", 0777);
    int fd = open(path_of(&fixture, "root/inner"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    snprintf(by_fd, sizeof(by_fd), "/proc/self/fd/%d", fd);
    assert_int_equal(symlink(by_fd, path_of(&fixture, "link")), 0);
    assert_int_equal(symlink("/proc/self", path_of(&fixture, "process")), 0);
    struct disk_reply reply = ask_manifest(&fixture, "link");
    assert_failed(&reply, "a link of /proc on the way");
    reply = ask_manifest(&fixture, "process");
    assert_failed(&reply, "it lies on procfs");
    assert_false(file_exists(&fixture, "root/inner/j.manifest.json"));
    close(fd);
    fixture_stop(&fixture);
}

int run_rights_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(open__below_a_directory_follows_no_link),
        cmocka_unit_test(open__the_listed_path_may_be_a_link),
        cmocka_unit_test(open__as_the_caller_is_judged_by_the_kernel),
        cmocka_unit_test(open__as_the_caller_reaches_nothing_of_ours),
        cmocka_unit_test(open__nothing_of_procfs),
        cmocka_unit_test(open__no_tree_with_procfs_in_it),
        cmocka_unit_test(manifest__is_the_callers_own),
        cmocka_unit_test(manifest__goes_through_nothing_of_ours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
